//! `summary.csv`: one row per data set, strategy, window and agent model, with every measure.

use std::collections::BTreeSet;
use std::io::{Result, Write};

use super::number;
use super::sheet::{self, Field, Kind};
use super::{Format, Source};
use crate::model::{PresetRow, Report, Standing, Value};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "summary.csv",
    about: "one row per data set, strategy, window and agent model: every measure",
    render,
};

const KEY: [&str; 4] = ["dataset", "strategy", "window", "agent_model"];

/// Columns that users and scripts rely on, in this order (reports/README.md);
/// `agent_model` stands among the key.
const CONTRACTED: [&str; 76] = [
    "transcripts",
    "requests",
    "probes",
    "unscored",
    "recall",
    "recall_lo",
    "recall_hi",
    "retention",
    "continuity",
    "continuity_lo",
    "continuity_hi",
    "reference_recall",
    "answerable",
    "evidence_verbatim",
    "evidence_edited",
    "evidence_folded",
    "evidence_gone",
    "lost",
    "unused",
    "fabrication_rate",
    "tokens_full",
    "tokens_sent",
    "token_savings",
    "peak_tokens",
    "compactions",
    "inflated",
    "overflows",
    "estimator_error",
    "cost_usd",
    "cost_ideal_cache_usd",
    "cost_no_cache_usd",
    "cost_savings",
    "compaction_cost_usd",
    "cache_hit_rate",
    "cache_breaks",
    "rewritten_tokens",
    "refetch_tokens",
    "blocking_ms_p50",
    "blocking_ms_p95",
    "blocking_ms_max",
    "background_ms",
    "cpu_ms",
    "latency_source",
    "verdict_vs_full",
    "mean_tokens",
    "compression_ratio",
    "message_ratio",
    "break_even_requests",
    "prefill_ms_saved",
    "recall_filtered",
    "recall_abstain",
    "recall_recovery",
    "recovery_tokens",
    "recovery_calls",
    "reference_recall_lo",
    "reference_recall_hi",
    "references",
    "reference_partial",
    "reference_bare",
    "recency_gain",
    "irrecoverable",
    "did_without",
    "kept",
    "gained",
    "garbled",
    "exposed",
    "abstention_rate",
    "continuity_source",
    "cost_ttl_only_usd",
    "cost_usd_refetch",
    "sidechain_cost_usd",
    "output_source",
    "tokens_source",
    "stand_in",
    "mde",
    "n_clusters",
];

/// Kinds of probes in the contract, one column `recall_<kind>` each.
const KINDS: [&str; 15] = [
    "fact",
    "decision",
    "artifact",
    "plan",
    "update",
    "temporal",
    "multi-hop",
    "constraint",
    "preference",
    "tone",
    "shared-concept",
    "snapshot",
    "ordering",
    "summary",
    "contradiction",
];

/// Columns added since, before those that only some measures bring.
const ADDED: [&str; 35] = [
    "rank",
    "depth",
    "cuts",
    "facts_at_stake",
    "sessions_at_stake",
    "largest_share",
    "kept_at_cut",
    "kept_at_cut_lo",
    "kept_at_cut_hi",
    "exposed_share",
    "carried_share",
    "added_at_cut",
    "added_at_cut_lo",
    "added_at_cut_hi",
    "gain_at_cut",
    "tokens_at_cut",
    "first_miss",
    "continuity_at_cut",
    "void_replies",
    "idle_compactions",
    "cuts_first",
    "facts_at_stake_first",
    "sessions_at_stake_first",
    "kept_at_cut_first",
    "kept_at_cut_first_lo",
    "kept_at_cut_first_hi",
    "exposed_share_first",
    "carried_share_first",
    "added_at_cut_first",
    "added_at_cut_first_lo",
    "added_at_cut_first_hi",
    "gain_at_cut_first",
    "tokens_at_cut_first",
    "first_miss_first",
    "continuity_at_cut_first",
];

fn render(source: &Source<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let columns: Vec<(String, Kind)> = columns(report)
        .into_iter()
        .map(|name| {
            let kind = kind(report, &name);
            (name, kind)
        })
        .collect();
    let mut rows: Vec<&PresetRow> = report.rows.iter().collect();
    rows.sort_by_key(|row| (&row.dataset, &row.strategy, &row.window, &row.agent_model));
    let fields = rows.into_iter().map(|row| {
        let mut fields = vec![
            Field::text(&row.dataset),
            Field::text(&row.strategy),
            Field::text(&row.window),
            Field::text(&row.agent_model),
        ];
        fields.extend(columns.iter().map(|(name, kind)| field(row, name, *kind)));
        fields
    });
    let key = KEY.into_iter().map(|name| (name.to_owned(), Kind::Text));
    sheet::csv(key.chain(columns.iter().cloned()), fields, out)
}

/// What a column holds. Measures are numbers or, throughout, words.
fn kind(report: &Report, column: &str) -> Kind {
    match column {
        "stand_in" => Kind::Flag,
        "rank" => Kind::Count,
        "verdict_vs_full" => Kind::Text,
        column => {
            let worded = |row: &PresetRow| matches!(row.values.get(column), Some(Value::Text(_)));
            match report.rows.iter().any(worded) {
                true => Kind::Text,
                false if column.contains("_usd") => Kind::Dollars,
                false => Kind::Number,
            }
        }
    }
}

/// The contract's columns, one per kind of probe, then every other measure that
/// a row holds, by name: a new measure needs no edit here.
fn columns(report: &Report) -> Vec<String> {
    let mut columns: Vec<String> = CONTRACTED.iter().map(|c| (*c).to_owned()).collect();
    columns.extend(KINDS.iter().map(|kind| format!("recall_{kind}")));
    columns.extend(ADDED.map(str::to_owned));
    let known: BTreeSet<&str> = columns.iter().map(String::as_str).chain(KEY).collect();
    let measured: BTreeSet<&str> =
        report.rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
    let more: Vec<String> = measured.difference(&known).map(|c| (*c).to_owned()).collect();
    columns.extend(more);
    columns
}

/// A measure of a row. What the row carries in a typed field is read there.
fn field(row: &PresetRow, column: &str, kind: Kind) -> Field {
    match column {
        "stand_in" => Field::Flag(row.standing == Standing::StandIn),
        "rank" => row.rank.map_or(Field::Empty, |rank| Field::Count(u64::from(rank))),
        "verdict_vs_full" => Field::maybe_text(row.verdict.map(|v| v.as_str())),
        _ => match (row.values.get(column), kind) {
            (Some(Value::Known(x)), Kind::Text) => Field::maybe_text(number::plain(*x).as_deref()),
            (Some(Value::Known(x)), _) => Field::Number(*x),
            (Some(Value::Text(text)), _) => Field::text(text),
            (Some(Value::Absent(_)) | None, _) => Field::Empty,
        },
    }
}
