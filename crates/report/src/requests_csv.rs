//! `requests.csv`: every request as every strategy would have sent it, as each
//! agent model would be billed.

use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_billing::pricing::PriceList;
use recap_core::model::{Bill, Cell, CellRows, Report, RequestFacts, SessionFacts};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "requests.csv",
    about: "one row per request and billing model: what was sent, billed and needed",
    render,
};

/// Contracted columns, then those added since.
const COLUMNS: &str = "request,message,tokens_full,tokens_sent,cache_read,cache_write,uncached,output,\
    cost_usd,overflow,references,references_kept,messages,valid,estimated,agent_model";

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let prices = PriceList::from(&source.report.manifest.prices);
    let report = source.report;
    sheet::csv_of_cells(COLUMNS, &report.results, out, |cell, push| {
        cell_rows(report, &prices, cell).into_iter().flatten().try_for_each(push)
    })
}

/// The rows of a cell, made one after the other: a session may have very many.
fn cell_rows<'a>(
    report: &'a Report,
    prices: &'a PriceList,
    cell: &'a Cell,
) -> Option<impl Iterator<Item = Vec<Field>> + 'a> {
    let rows = cell.rows()?;
    let facts = report.facts_of(&cell.key.dataset, &cell.key.session)?;
    let asked = asked_and_kept(cell, rows, facts);
    let bills = sheet::bills(rows);
    let sent = rows.requests.iter().zip(&facts.requests).zip(asked).enumerate();
    let each = sent.flat_map(move |(at, ((row, request), (references, kept)))| {
        let message = facts.messages.get(request.message as usize);
        let by_bill = bills.iter().map(|bill| {
            let [read, write, uncached, cost] = billed(*bill, at, request, prices);
            let mut fields = sheet::row_key(&cell.key);
            fields.extend([
                Field::Count(at as u64),
                Field::maybe_text(message.map(|m| m.id.as_str())),
                Field::Count(request.tokens_full),
                Field::Count(row.tokens_sent),
                read,
                write,
                uncached,
                Field::Count(request.output),
                cost,
                Field::Flag(row.overflow),
                Field::Count(references),
                Field::Count(kept),
                Field::Count(u64::from(row.messages)),
                Field::Flag(row.valid),
                row.estimated.map_or(Field::Empty, Field::Count),
                Field::maybe_text(bill.map(sheet::agent_model)),
            ]);
            fields
        });
        by_bill.collect::<Vec<_>>()
    });
    Some(each)
}

/// Tokens read, written and uncached, and dollars, the output included; empty
/// where the request was not billed.
fn billed(
    bill: Option<&Bill>,
    at: usize,
    request: &RequestFacts,
    prices: &PriceList,
) -> [Field; 4] {
    let found = bill.and_then(|bill| Some((bill, bill.requests.get(at)?.as_ref()?)));
    let Some((bill, billed)) = found else { return [const { Field::Empty }; 4] };
    let prompt = &billed.prompt.billed;
    let usd = prices.find(bill.model_of(billed)).ok();
    let usd =
        usd.and_then(|model| model.standard().request_usd(prompt, request.output, request.at));
    [
        Field::Count(prompt.read),
        Field::Count(prompt.written()),
        Field::Count(prompt.uncached),
        Field::maybe_dollars(usd),
    ]
}

/// References asked at each request, and how many of them survive.
fn asked_and_kept(cell: &Cell, rows: &CellRows, facts: &SessionFacts) -> Vec<(u64, u64)> {
    let mut counts = vec![(0, 0); facts.requests.len()];
    for outcome in &rows.references {
        let Some(reference) = facts.exam.references.get(outcome.reference as usize) else {
            continue;
        };
        if let Some(count) = counts.get_mut(reference.request as usize) {
            count.0 += 1;
            let kept = outcome.state.is_kept() && !cell.refuses_request(reference.request);
            count.1 += u64::from(kept);
        }
    }
    counts
}
