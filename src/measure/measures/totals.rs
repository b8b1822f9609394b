//! Sums over the requests of a session (measures §1), and the references of its
//! exam (measures §4).

use crate::measure::idle::is_idle;
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Measure, catalogue};

const fn sum(measure: &'static Measure, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Requests, compute)
}

/// How often the recorded agent called its model.
pub const REQUESTS: Spec =
    sum(catalogue::REQUESTS, |sample| Parts::One(sample.facts.requests.len() as f64));

/// What `full` would send on the same transcripts.
pub const TOKENS_FULL: Spec = sum(catalogue::TOKENS_FULL, |sample| {
    Parts::One(sample.facts.requests.iter().map(|r| r.tokens_full as f64).sum())
});

/// The sum of every context.
pub const TOKENS_SENT: Spec = sum(catalogue::TOKENS_SENT, |sample| {
    Parts::One(sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum())
});

/// How often the preset compacted.
pub const COMPACTIONS: Spec = sum(catalogue::COMPACTIONS, |sample| {
    Parts::One(sample.compactions().filter(|c| c.error.is_none()).count() as f64)
});

/// Compactions that made the context longer.
pub const INFLATED: Spec = sum(catalogue::INFLATED, |sample| {
    let longer = sample.compactions().filter(|c| c.tokens_after > c.tokens_before);
    Parts::One(longer.count() as f64)
});

/// Requests that the provider would have refused.
pub const OVERFLOWS: Spec = sum(catalogue::OVERFLOWS, |sample| {
    Parts::One(sample.rows.requests.iter().filter(|r| r.overflow).count() as f64)
});

/// How many references the exam asks for.
pub const REFERENCES: Spec =
    sum(catalogue::REFERENCES, |sample| Parts::One(sample.facts.exam.references.len() as f64));

/// Compactions that free less than 5 % of the context that they found (cuts §6).
pub const IDLE_COMPACTIONS: Spec = sum(catalogue::IDLE_COMPACTIONS, |sample| {
    Parts::One(sample.compactions().filter(|compaction| is_idle(compaction)).count() as f64)
});

/// The mechanism's own CPU time (measures §3), the one column that two equal runs
/// may differ in.
pub const CPU_MS: Spec = sum(catalogue::CPU_MS, |sample| Parts::One(sample.rows.cpu_ms));
