//! Sizes of what was sent, and compactions (reference §1).

use crate::idle::is_idle;
use crate::spec::{Basis, CellInput, Contribution, Pool, Spec};
use recap_core::model::{Absent, Measure, catalogue};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    REQUESTS,
    TOKENS_FULL,
    TOKENS_SENT,
    TOKEN_SAVINGS,
    PEAK_TOKENS,
    COMPACTIONS,
    IDLE_COMPACTIONS,
    OVERFLOWS,
];

const fn spec(
    measure: &'static Measure,
    pool: Pool,
    compute: fn(&CellInput<'_>) -> Contribution,
) -> Spec {
    Spec::of_cell(measure, pool, Basis::Requests, compute)
}

const fn sum(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    spec(measure, Pool::Sum, compute)
}

/// Tokens of all requests.
fn sent(input: &CellInput<'_>) -> f64 {
    input.rows.requests.iter().map(|r| r.tokens_sent as f64).sum()
}

/// Tokens of the same requests under `full`.
fn sent_in_full(input: &CellInput<'_>) -> f64 {
    input.facts.requests.iter().map(|r| r.tokens_full as f64).sum()
}

/// How often the recorded agent called its model.
const REQUESTS: Spec =
    sum(catalogue::REQUESTS, |input| Contribution::One(input.facts.requests.len() as f64));

/// What `full` would send on the same sessions.
const TOKENS_FULL: Spec =
    sum(catalogue::TOKENS_FULL, |input| Contribution::One(sent_in_full(input)));

/// The sum of every context.
const TOKENS_SENT: Spec = sum(catalogue::TOKENS_SENT, |input| Contribution::One(sent(input)))
    .in_pairs(|input| input.rows.requests.iter().map(|row| Some(row.tokens_sent as f64)).collect());

/// `1 − tokens_sent / tokens_full`. It must not be used alone: two strategies
/// with equal savings have differed by 41 % in cost.
const TOKEN_SAVINGS: Spec = spec(catalogue::TOKEN_SAVINGS, Pool::RatioOfSums, |input| {
    let full = sent_in_full(input);
    Contribution::fraction(full - sent(input), full, Absent::NoRequest)
});

/// The largest context sent.
const PEAK_TOKENS: Spec = spec(catalogue::PEAK_TOKENS, Pool::Max, |input| {
    let largest = input.rows.requests.iter().map(|r| r.tokens_sent).max();
    Contribution::one(largest.map(|t| t as f64), Absent::NoRequest)
});

/// How often the strategy compacted.
const COMPACTIONS: Spec = sum(catalogue::COMPACTIONS, |input| {
    Contribution::One(input.compactions().filter(|c| c.error.is_none()).count() as f64)
});

/// Compactions that free less than 5 % of the context that they found (how-it-works §48).
const IDLE_COMPACTIONS: Spec = sum(catalogue::IDLE_COMPACTIONS, |input| {
    Contribution::One(input.compactions().filter(|compaction| is_idle(compaction)).count() as f64)
});

/// Requests that the provider would have refused.
const OVERFLOWS: Spec = sum(catalogue::OVERFLOWS, |input| {
    Contribution::One(input.rows.requests.iter().filter(|r| r.overflow).count() as f64)
});
