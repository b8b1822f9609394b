//! Files with a row of the run or of a session: `summary.csv`, `sizes.csv`,
//! `recorded_compactions.csv`, `validation.csv` and `calls.csv`.

use std::io::{Result, Write};

use super::{Columns, Field, Sheet, table};
use crate::RenderInput;
use recap_core::model::{
    CallRow, Column, Measure, RecordedRow, RecordedTrigger, RowKind, SessionAtSize, SessionFacts,
    StrategyRow, Unit, UsedAgain, Validation, Value, catalogue,
};

/// The measures that have a column, after the names of the row; `summary.json` has all.
pub(crate) fn summary(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let measures: Vec<&Measure> = catalogue::all().filter(|of| of.column == Column::Csv).collect();
    let mut names = vec!["dataset", "strategy", "window", "agent_model"];
    names.extend(measures.iter().map(|measure| measure.id));
    let mut rows: Vec<&StrategyRow> = source.report.rows.iter().collect();
    rows.sort_by_key(|row| (&row.dataset, &row.strategy, &row.window, &row.agent_model));
    let mut sheet = Sheet::named(&names, out)?;
    for row in rows {
        let key = [&row.dataset, &row.strategy, &row.window, &row.agent_model];
        let key = key.map(|name| Field::from(name.as_str()));
        sheet.push_fields(key.into_iter().chain(measures.iter().map(|of| figure(row, of))))?;
    }
    sheet.finish()
}

/// A measure of a row. What the row carries in a typed field is read there.
fn figure(row: &StrategyRow, measure: &Measure) -> Field {
    match measure.id {
        "offline_summary" => (row.row_kind == RowKind::OfflineSummary).into(),
        "rank" => row.rank.into(),
        "verdict_vs_full" => row.verdict.map(|verdict| verdict.as_str()).into(),
        id => match row.values.get(id) {
            Some(Value::Known(x)) if measure.unit == Unit::Dollars => Field::Dollars(*x),
            Some(Value::Known(x)) => Field::Number(*x),
            Some(Value::Text(text)) => text.as_str().into(),
            Some(Value::Absent(_)) | None => Field::Empty,
        },
    }
}

pub(crate) fn sizes(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let sizes = source.report.curve.iter().flatten().flat_map(|curve| &curve.sizes);
    let rows = sizes.flat_map(|row| row.by_session.iter().map(|at| (row.size, at)));
    let rows = rows.map(|(size, at)| {
        let facts = &source.report.sessions[at.session];
        AtSize { facts, size, at }
    });
    table(OF_SIZES, rows, out)
}

/// What a session would have cost had its agent compacted at another size.
struct AtSize<'a> {
    facts: &'a SessionFacts,
    size: u64,
    at: &'a SessionAtSize,
}

const OF_SIZES: &Columns<fn(&AtSize<'_>) -> Field> = &[
    ("dataset", |row| row.facts.dataset.as_str().into()),
    ("session", |row| row.facts.session.as_str().into()),
    ("size", |row| row.size.into()),
    ("today_usd", |row| Field::Dollars(row.at.today_usd)),
    ("usd", |row| Field::Dollars(row.at.usd)),
    ("compactions_today", |row| row.at.recorded.into()),
    ("compactions", |row| row.at.compactions.into()),
    ("has_room", |row| row.at.room.into()),
];

pub(crate) fn recorded(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let rows = source.report.recorded_compactions.iter();
    let rows = rows.map(|row| OnRecord { facts: &source.report.sessions[row.session], row });
    table(OF_RECORDED, rows, out)
}

/// A compaction on record.
struct OnRecord<'a> {
    facts: &'a SessionFacts,
    row: &'a RecordedRow,
}

impl OnRecord<'_> {
    fn used_again(&self, part: fn(&UsedAgain) -> u32) -> Field {
        self.row.facts.used_again.map(|used| part(&used)).into()
    }
}

const OF_RECORDED: &Columns<fn(&OnRecord<'_>) -> Field> = &[
    ("dataset", |one| one.facts.dataset.as_str().into()),
    ("session", |one| one.facts.session.as_str().into()),
    ("request", |one| one.row.request.into()),
    ("trigger", |one| match one.row.facts.trigger {
        RecordedTrigger::Auto => "auto".into(),
        RecordedTrigger::Manual => "manual".into(),
        RecordedTrigger::Unknown => "unknown".into(),
    }),
    ("first_prompt", |one| one.row.first.into()),
    ("prompt_before", |one| one.row.before.into()),
    ("prompt_after", |one| one.row.behind.into()),
    ("cache_read", |one| one.row.read.into()),
    ("summary_tokens", |one| one.row.facts.summary_tokens.into()),
    ("call_output", |one| one.row.facts.call.as_ref().map(|call| call.usage.output).into()),
    ("wait_ms", |one| one.row.facts.wait_ms.into()),
    ("growth_before", |one| one.row.growth_before.map(|tokens| tokens as f64).into()),
    ("growth_after", |one| one.row.growth_behind.map(|tokens| tokens as f64).into()),
    ("reads_before", |one| one.row.facts.reads.map(|(before, _)| before).into()),
    ("reads_after", |one| one.row.facts.reads.map(|(_, after)| after).into()),
    ("used_again", |one| one.used_again(UsedAgain::all)),
    ("in_summary", |one| one.used_again(|used| used.summary)),
    ("in_kept", |one| one.used_again(|used| used.kept)),
    ("came_back", |one| one.used_again(|used| used.came_back)),
    ("nowhere", |one| one.used_again(|used| used.nowhere)),
];

pub(crate) fn validation(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let sessions = source.report.sessions.iter();
    let rows =
        sessions.filter_map(|facts| Some(Checked { facts, bill: facts.validation.as_ref()? }));
    table(OF_VALIDATION, rows, out)
}

/// What a session was billed, and what the row `recorded` is billed for the same requests.
struct Checked<'a> {
    facts: &'a SessionFacts,
    bill: &'a Validation,
}

/// Two sums of buckets, as reported and as the row `recorded` has them, then what they differ by.
/// Reads alone validate nothing: a rule with reads within 3 % was 10–22 % off in dollars
/// (reference §2).
const OF_VALIDATION: &Columns<fn(&Checked<'_>) -> Field> = &[
    ("dataset", |one| one.facts.dataset.as_str().into()),
    ("session", |one| one.facts.session.as_str().into()),
    ("model", |one| one.bill.model.as_str().into()),
    ("requests", |one| one.bill.requests.into()),
    ("recorded_uncached", |one| one.bill.recorded.uncached.into()),
    ("recorded_read", |one| one.bill.recorded.read.into()),
    ("recorded_write", |one| one.bill.recorded.write.into()),
    ("recorded_write_1h", |one| one.bill.recorded.write_1h.into()),
    ("simulated_uncached", |one| one.bill.simulated.uncached.into()),
    ("simulated_read", |one| one.bill.simulated.read.into()),
    ("simulated_write", |one| one.bill.simulated.write.into()),
    ("simulated_write_1h", |one| one.bill.simulated.write_1h.into()),
    ("recorded_usd", |one| Field::dollars(one.bill.recorded_usd)),
    ("simulated_usd", |one| Field::dollars(one.bill.simulated_usd)),
    ("tokens_error", |one| one.bill.errors().tokens.into()),
    ("reads_error", |one| one.bill.errors().reads.into()),
    ("writes_error", |one| one.bill.errors().writes.into()),
    ("usd_error", |one| one.bill.errors().usd.into()),
    ("count_error_in_sample", |one| {
        one.facts.calibration.as_ref().and_then(|of| of.in_sample).into()
    }),
    ("count_error_forward", |one| one.facts.calibration.as_ref().and_then(|of| of.forward).into()),
    ("count_error_after_boundary", |one| {
        one.facts.calibration.as_ref().and_then(|of| of.after_boundary).into()
    }),
    ("tokens_source", |one| one.facts.tokens_source.as_str().into()),
    ("cold_starts", |one| one.bill.cold_starts.into()),
    ("expired", |one| one.bill.expired.into()),
    ("renewed", |one| one.bill.renewed.into()),
];

pub(crate) fn calls(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    table(OF_CALLS, &source.report.calls, out)
}

/// `calls.csv` in memory.
pub fn calls_csv(calls: &[CallRow]) -> Vec<u8> {
    super::bytes(OF_CALLS, calls)
}

/// The harness's own waiting stands apart from the model's latency.
const OF_CALLS: &Columns<fn(&&CallRow) -> Field> = &[
    ("role", |call| call.role.as_str().into()),
    ("model", |call| call.model.as_str().into()),
    ("key", |call| call.key.as_str().into()),
    ("replicate", |call| call.replicate.into()),
    ("outcome", |call| call.outcome.as_str().into()),
    ("uncached", |call| call.usage.as_ref().map(|usage| usage.input).into()),
    ("cache_read", |call| call.usage.as_ref().map(|usage| usage.cache_read).into()),
    ("cache_write", |call| call.usage.as_ref().map(|usage| usage.cache_write_5m).into()),
    ("cache_write_1h", |call| call.usage.as_ref().map(|usage| usage.cache_write_1h).into()),
    ("output", |call| call.usage.as_ref().map(|usage| usage.output).into()),
    ("reasoning", |call| call.reasoning.into()),
    ("cost_usd", |call| Field::dollars(call.usd)),
    ("queue_ms", |call| call.timing.queue_ms.into()),
    ("first_byte_ms", |call| call.timing.first_byte_ms.into()),
    ("total_ms", |call| call.timing.total_ms.into()),
    ("attempts", |call| call.timing.attempts.into()),
    ("latency_source", |call| call.source.as_str().into()),
];
