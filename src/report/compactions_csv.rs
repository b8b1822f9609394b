//! `compactions.csv`: every compaction, what set it off and what it took away.

use super::sheet::{self, Field};
use super::{Format, Source};
use crate::model::{Cell, CompactionRow};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "compactions.csv",
    about: "one row per compaction: trigger, sizes before and after, model calls",
    render,
};

const COLUMNS: [&str; 20] = [
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
];

fn render(source: &Source<'_>) -> Vec<u8> {
    let header = sheet::ROW_KEY.iter().chain(&COLUMNS);
    let rows = sheet::cells(source.report).into_iter().flat_map(|cell| {
        let compactions = cell.rows().map_or(&[][..], |rows| &rows.compactions);
        compactions.iter().map(move |row| fields(cell, row))
    });
    sheet::write(header, rows)
}

fn fields(cell: &Cell, row: &CompactionRow) -> Vec<Field> {
    let mut fields = sheet::row_key(&cell.key);
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
        Field::Empty,
        Field::Number(row.cpu_ms),
        Field::maybe(row.latency_ms),
        Field::Empty,
        Field::Flag(row.background),
        Field::maybe_text(row.fallback.as_deref()),
        Field::maybe_text(row.error.as_deref()),
        Field::Flag(row.at_end),
    ]);
    fields
}
