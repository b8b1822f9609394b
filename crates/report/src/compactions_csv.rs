//! `compactions.csv`: every compaction, what set it off, what it took away and
//! what it cost each agent model.

use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_billing::pricing::PriceList;
use recap_core::model::{
    Bill, CallBill, Cell, CompactionRow, Repeated, RepeatedTexts, SessionFacts, UnusableReplies,
};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "compactions.csv",
    about: "one row per compaction and billing model: trigger, sizes, model calls, cost",
    render,
};

const COLUMNS: &str = "request,stage,mechanism,trigger,tokens_before,tokens_after,messages_folded,\
    messages_evicted,messages_edited,model_calls,input_tokens,output_tokens,cost_usd,\
    latency_ms,latency_source,background,fallback,error,at_end,agent_model,begun,unusable,unusable_reasons";

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let prices = PriceList::from(&source.report.manifest.prices);
    let sessions = &source.report.results;
    let repeated = RepeatedTexts::of(sessions);
    sheet::csv_of_cells(COLUMNS, sessions, out, |cell, push| {
        let Some(measured) = cell.rows() else { return Ok(()) };
        let facts = source.report.facts_of(&cell.key.dataset, &cell.key.session);
        let bills: Vec<_> = sheet::bills(measured).into_iter().map(Sorted::new).collect();
        let repeated = repeated.of_row(&cell.key.strategy, &cell.key.window);
        for (at, row) in (0u32..).zip(&measured.compactions) {
            for bill in &bills {
                let billed = Billed::new(bill, at, row, facts, &prices);
                push(fields(cell, row, &billed, repeated))?;
            }
        }
        Ok(())
    })
}

/// A bill with its calls sorted by compaction, so that they are found without
/// a look at all of them.
struct Sorted<'a> {
    bill: Option<&'a Bill>,
    calls: Vec<&'a CallBill>,
}

impl<'a> Sorted<'a> {
    fn new(bill: Option<&'a Bill>) -> Self {
        let mut calls: Vec<_> = bill.iter().flat_map(|bill| &bill.calls).collect();
        calls.sort_by_key(|call| call.compaction);
        Self { bill, calls }
    }

    /// The calls of a compaction, in the order in which they were made.
    fn calls(&self, compaction: u32) -> impl Iterator<Item = &'a CallBill> {
        let first = self.calls.partition_point(|call| call.compaction < compaction);
        self.calls[first..].iter().copied().take_while(move |call| call.compaction == compaction)
    }
}

/// What one agent model is billed for a compaction.
struct Billed<'a> {
    bill: Option<&'a Bill>,
    /// Its calls; absent without a price, and where it is not part of the session.
    usd: Option<f64>,
}

impl<'a> Billed<'a> {
    fn new(
        sorted: &Sorted<'a>,
        at: u32,
        row: &CompactionRow,
        facts: Option<&SessionFacts>,
        prices: &PriceList,
    ) -> Self {
        let bill = sorted.bill;
        let session = bill.filter(|_| !row.at_end);
        let usd = session.and_then(|bill| {
            let requests = &facts?.requests;
            let moment = requests.get(row.begun as usize).or(requests.last())?.at;
            let mut tariff = prices.find(bill.call_model()).ok()?.standard();
            sorted.calls(at).map(|c| tariff.request_usd(&c.prompt.billed, c.output, moment)).sum()
        });
        Billed { bill, usd }
    }
}

fn fields(
    cell: &Cell,
    row: &CompactionRow,
    billed: &Billed<'_>,
    repeated: &Repeated,
) -> Vec<Field> {
    let mut fields = sheet::row_key(&cell.key);
    let mut unusable = UnusableReplies::default();
    row.replies.iter().for_each(|reply| unusable.add(reply, repeated));
    let reasons: Vec<&str> = unusable.reasons.keys().map(|reason| reason.as_str()).collect();
    let reasons = reasons.join("; ");
    fields.extend([
        Field::Count(u64::from(row.request)),
        Field::Count(u64::from(row.stage)),
        Field::text(&row.mechanism),
        Field::text(&row.trigger),
        Field::Count(row.tokens_before),
        Field::Count(row.tokens_after),
        Field::Count(u64::from(row.messages_folded)),
        Field::Count(u64::from(row.messages_evicted)),
        Field::Count(u64::from(row.messages_edited)),
        Field::Count(u64::from(row.model_calls)),
        Field::Count(row.input_tokens),
        Field::Count(row.output_tokens),
        Field::maybe_dollars(billed.usd),
        Field::maybe(row.latency_ms),
        Field::maybe_text(row.latency_source.map(|source| source.as_str())),
        Field::Flag(row.background),
        Field::maybe_text(row.fallback.as_deref()),
        Field::maybe_text(row.error.as_deref()),
        Field::Flag(row.at_end),
        Field::maybe_text(billed.bill.map(sheet::agent_model)),
        Field::Count(u64::from(row.begun)),
        Field::Count(unusable.unusable),
        Field::maybe_text(Some(&*reasons).filter(|reasons| !reasons.is_empty())),
    ]);
    fields
}
