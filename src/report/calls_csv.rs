//! `calls.csv`: every call of a real model, what it took and what it cost. The
//! harness's own waiting stands apart from the model's latency.

use super::Format;
use super::sheet::{self, Field, Kind};
use crate::model::CallRow;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "calls.csv",
    about: "one row per call of a real model: tokens by bucket, price, latency, waiting, attempts",
    render: |source, out| out.write_all(&calls_csv(&source.report.calls)),
};

const COLUMNS: [(&str, Kind); 17] = [
    ("seat", Kind::Text),
    ("model", Kind::Text),
    ("key", Kind::Text),
    ("replicate", Kind::Count),
    ("outcome", Kind::Text),
    ("uncached", Kind::Count),
    ("cache_read", Kind::Count),
    ("cache_write", Kind::Count),
    ("cache_write_1h", Kind::Count),
    ("output", Kind::Count),
    ("reasoning", Kind::Count),
    ("cost_usd", Kind::Dollars),
    ("queue_ms", Kind::Number),
    ("first_byte_ms", Kind::Number),
    ("total_ms", Kind::Number),
    ("attempts", Kind::Count),
    ("latency_source", Kind::Text),
];

/// A row for each call.
pub fn calls_csv(calls: &[CallRow]) -> Vec<u8> {
    sheet::csv_bytes(COLUMNS, calls.iter().map(fields))
}

fn fields(call: &CallRow) -> Vec<Field> {
    let count = |n: Option<u64>| n.map_or(Field::Empty, Field::Count);
    let usage = call.usage.as_ref();
    vec![
        Field::text(call.seat.as_str()),
        Field::text(&call.model),
        Field::text(&call.key),
        Field::Count(u64::from(call.replicate)),
        Field::text(call.outcome.as_str()),
        count(usage.map(|u| u.input)),
        count(usage.map(|u| u.cache_read)),
        count(usage.map(|u| u.cache_write_5m)),
        count(usage.map(|u| u.cache_write_1h)),
        count(usage.map(|u| u.output)),
        count(call.reasoning),
        Field::maybe_dollars(call.usd),
        Field::Number(call.timing.queue_ms),
        Field::Number(call.timing.first_byte_ms),
        Field::Number(call.timing.total_ms),
        Field::Count(u64::from(call.timing.attempts)),
        Field::text(call.source.as_str()),
    ]
}
