//! `calls.csv`: every call of a real model, what it took and what it cost. The
//! harness's own waiting stands apart from the model's latency.

use super::Format;
use super::sheet::{self, Field};
use recap_core::model::CallRow;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "calls.csv",
    about: "one row per call of a real model: tokens by bucket, price, latency, waiting, attempts",
    render: |source, out| out.write_all(&calls_csv(&source.report.calls)),
};

const COLUMNS: &str = "role,model,key,replicate,outcome,uncached,cache_read,cache_write,cache_write_1h,\
    output,reasoning,cost_usd,queue_ms,first_byte_ms,total_ms,attempts,latency_source";

/// A row for each call.
pub fn calls_csv(calls: &[CallRow]) -> Vec<u8> {
    sheet::csv_bytes(COLUMNS, calls.iter().map(fields))
}

fn fields(call: &CallRow) -> Vec<Field> {
    let count = |n: Option<u64>| n.map_or(Field::Empty, Field::Count);
    let usage = call.usage.as_ref();
    vec![
        Field::text(call.role.as_str()),
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
