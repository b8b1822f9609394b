//! Files with a row of the run or of a session: `summary.csv`, `sizes.csv`,
//! `recorded_compactions.csv`, `validation.csv` and `calls.csv`.

use std::io::{Result, Write};

use super::{Columns, Field, Sheet, table};
use crate::RenderInput;
use recap_core::model::{
    Calibration, CallRow, Column, Measure, RecordedRow, RecordedTrigger, RowKind, SessionAtSize,
    SessionFacts, StrategyRow, Unit, UsedAgain, Validation, Value, catalogue,
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

/// What sessions would have cost had their agent compacted at other sizes.
pub(crate) fn sizes(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let sizes = source.report.curve.iter().flatten().flat_map(|curve| &curve.sizes);
    let rows = sizes.flat_map(|row| row.by_session.iter().map(|at| (row.size, at)));
    let rows = rows.map(|(size, at)| (&source.report.sessions[at.session], size, at));
    table(OF_SIZES, rows, out)
}

/// A session at a size.
type AtSize<'a> = (&'a SessionFacts, u64, &'a SessionAtSize);

const OF_SIZES: &Columns<fn(&AtSize<'_>) -> Field> = &[
    ("dataset", |(facts, ..)| facts.dataset.as_str().into()),
    ("session", |(facts, ..)| facts.session.as_str().into()),
    ("size", |(_, size, _)| (*size).into()),
    ("today_usd", |(.., at)| Field::Dollars(at.today_usd)),
    ("usd", |(.., at)| Field::Dollars(at.usd)),
    ("compactions_today", |(.., at)| at.recorded.into()),
    ("compactions", |(.., at)| at.compactions.into()),
    ("has_room", |(.., at)| at.room.into()),
];

/// The compactions on record.
pub(crate) fn recorded(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let rows = source.report.recorded_compactions.iter();
    table(OF_RECORDED, rows.map(|row| (&source.report.sessions[row.session], row)), out)
}

fn used_again(row: &RecordedRow, part: fn(&UsedAgain) -> u32) -> Field {
    row.facts.used_again.map(|used| part(&used)).into()
}

type OnRecord<'a> = (&'a SessionFacts, &'a RecordedRow);

const OF_RECORDED: &Columns<fn(&OnRecord<'_>) -> Field> = &[
    ("dataset", |(facts, _)| facts.dataset.as_str().into()),
    ("session", |(facts, _)| facts.session.as_str().into()),
    ("request", |(_, row)| row.request.into()),
    ("trigger", |(_, row)| match row.facts.trigger {
        RecordedTrigger::Auto => "auto".into(),
        RecordedTrigger::Manual => "manual".into(),
        RecordedTrigger::Unknown => "unknown".into(),
    }),
    ("first_prompt", |(_, row)| row.first.into()),
    ("prompt_before", |(_, row)| row.before.into()),
    ("prompt_after", |(_, row)| row.behind.into()),
    ("cache_read", |(_, row)| row.read.into()),
    ("summary_tokens", |(_, row)| row.facts.summary_tokens.into()),
    ("call_output", |(_, row)| row.facts.call.as_ref().map(|call| call.usage.output).into()),
    ("wait_ms", |(_, row)| row.facts.wait_ms.into()),
    ("growth_before", |(_, row)| row.growth_before.map(|tokens| tokens as f64).into()),
    ("growth_after", |(_, row)| row.growth_behind.map(|tokens| tokens as f64).into()),
    ("reads_before", |(_, row)| row.facts.reads.map(|(before, _)| before).into()),
    ("reads_after", |(_, row)| row.facts.reads.map(|(_, after)| after).into()),
    ("used_again", |(_, row)| used_again(row, UsedAgain::all)),
    ("in_summary", |(_, row)| used_again(row, |used| used.summary)),
    ("in_kept", |(_, row)| used_again(row, |used| used.kept)),
    ("came_back", |(_, row)| used_again(row, |used| used.came_back)),
    ("nowhere", |(_, row)| used_again(row, |used| used.nowhere)),
];

/// What sessions were billed, and what the row `recorded` is billed for the same requests.
pub(crate) fn validation(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let sessions = source.report.sessions.iter();
    let rows = sessions.filter_map(|facts| Some((facts, facts.validation.as_ref()?)));
    table(OF_VALIDATION, rows, out)
}

fn count_error(facts: &SessionFacts, of: fn(&Calibration) -> Option<f64>) -> Field {
    facts.calibration.as_ref().and_then(of).into()
}

type Checked<'a> = (&'a SessionFacts, &'a Validation);

/// Two sums of buckets, as reported and as the row `recorded` has them, then what they differ by.
/// Reads alone validate nothing: a rule with reads within 3 % was 10–22 % off in dollars
/// (reference §2).
const OF_VALIDATION: &Columns<fn(&Checked<'_>) -> Field> = &[
    ("dataset", |(facts, _)| facts.dataset.as_str().into()),
    ("session", |(facts, _)| facts.session.as_str().into()),
    ("model", |(_, bill)| bill.model.as_str().into()),
    ("requests", |(_, bill)| bill.requests.into()),
    ("recorded_uncached", |(_, bill)| bill.recorded.uncached.into()),
    ("recorded_read", |(_, bill)| bill.recorded.read.into()),
    ("recorded_write", |(_, bill)| bill.recorded.write.into()),
    ("recorded_write_1h", |(_, bill)| bill.recorded.write_1h.into()),
    ("simulated_uncached", |(_, bill)| bill.simulated.uncached.into()),
    ("simulated_read", |(_, bill)| bill.simulated.read.into()),
    ("simulated_write", |(_, bill)| bill.simulated.write.into()),
    ("simulated_write_1h", |(_, bill)| bill.simulated.write_1h.into()),
    ("recorded_usd", |(_, bill)| Field::dollars(bill.recorded_usd)),
    ("simulated_usd", |(_, bill)| Field::dollars(bill.simulated_usd)),
    ("tokens_error", |(_, bill)| bill.errors().tokens.into()),
    ("reads_error", |(_, bill)| bill.errors().reads.into()),
    ("writes_error", |(_, bill)| bill.errors().writes.into()),
    ("usd_error", |(_, bill)| bill.errors().usd.into()),
    ("count_error_in_sample", |(facts, _)| count_error(facts, |of| of.in_sample)),
    ("count_error_forward", |(facts, _)| count_error(facts, |of| of.forward)),
    ("count_error_after_boundary", |(facts, _)| count_error(facts, |of| of.after_boundary)),
    ("tokens_source", |(facts, _)| facts.tokens_source.as_str().into()),
    ("cold_starts", |(_, bill)| bill.cold_starts.into()),
    ("expired", |(_, bill)| bill.expired.into()),
    ("renewed", |(_, bill)| bill.renewed.into()),
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
