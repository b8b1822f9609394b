//! `compactions.csv`: every compaction, what set it off, what it took away and
//! what it cost each agent model.

use super::sheet::{self, Field};
use super::{Format, Source};
use crate::model::{Bill, BreakEven, Cell, CompactionRow, TranscriptFacts};
use crate::pricing::PriceList;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "compactions.csv",
    about: "one row per compaction and agent model: trigger, sizes, model calls, cost, break-even",
    render,
};

const COLUMNS: [&str; 24] = [
    "request",
    "stage",
    "mechanism",
    "trigger",
    "tokens_before",
    "tokens_after",
    "messages_folded",
    "messages_evicted",
    "messages_edited",
    "model_calls",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "cpu_ms",
    "latency_ms",
    "latency_source",
    "background",
    "fallback",
    "error",
    "at_end",
    "break_even_requests",
    "break_even_formula",
    "agent_model",
    "begun",
];

fn render(source: &Source<'_>) -> Vec<u8> {
    let header = sheet::ROW_KEY.iter().chain(&COLUMNS);
    let prices = PriceList::from(&source.report.manifest.prices);
    let mut rows = Vec::new();
    for cell in sheet::cells(source.report) {
        let Some(measured) = cell.rows() else { continue };
        let facts = sheet::facts(source.report, &cell.key);
        let bills = sheet::bills(measured);
        for (at, row) in (0u32..).zip(&measured.compactions) {
            for bill in &bills {
                let billed = Billed::new(*bill, at, row, facts, &prices);
                rows.push(fields(cell, row, &billed));
            }
        }
    }
    sheet::write(header, rows)
}

/// What one agent model is billed for a compaction.
struct Billed<'a> {
    bill: Option<&'a Bill>,
    /// Its calls; absent without a price, and where it is not part of the session.
    usd: Option<f64>,
    even: Option<&'a BreakEven>,
}

impl<'a> Billed<'a> {
    fn new(
        bill: Option<&'a Bill>,
        at: u32,
        row: &CompactionRow,
        facts: Option<&TranscriptFacts>,
        prices: &PriceList,
    ) -> Self {
        let session = bill.filter(|_| !row.at_end);
        let usd = session.and_then(|bill| {
            let requests = &facts?.requests;
            let moment = requests.get(row.begun as usize).or(requests.last())?.at;
            let mut tariff = prices.find(bill.call_model()).ok()?.standard();
            let calls = bill.calls.iter().filter(|call| call.compaction == at);
            calls.map(|c| tariff.request_usd(&c.prompt.billed, c.output, moment)).sum()
        });
        let even = bill.and_then(|b| b.break_even.iter().find(|even| even.compaction == at));
        Billed { bill, usd, even }
    }
}

fn fields(cell: &Cell, row: &CompactionRow, billed: &Billed<'_>) -> Vec<Field> {
    let mut fields = sheet::row_key(&cell.key);
    let requests = billed.even.and_then(|even| even.requests);
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
        Field::Number(row.cpu_ms),
        Field::maybe(row.latency_ms),
        Field::maybe_text(row.latency_source.map(|source| source.as_str())),
        Field::Flag(row.background),
        Field::maybe_text(row.fallback.as_deref()),
        Field::maybe_text(row.error.as_deref()),
        Field::Flag(row.at_end),
        requests.map_or(Field::Empty, |n| Field::Count(u64::from(n))),
        Field::maybe(billed.even.and_then(|even| even.formula)),
        Field::maybe_text(billed.bill.map(sheet::agent_model)),
        Field::Count(u64::from(row.begun)),
    ]);
    fields
}
