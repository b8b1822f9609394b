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
    MEAN_TOKENS,
    COMPRESSION_RATIO,
    MESSAGE_RATIO,
    COMPACTIONS,
    INFLATED,
    IDLE_COMPACTIONS,
    OVERFLOWS,
    ESTIMATOR_ERROR,
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

/// Several figures, or the reason why there is none.
fn many(figures: impl Iterator<Item = f64>, reason: Absent) -> Contribution {
    let figures: Vec<f64> = figures.collect();
    if figures.is_empty() { Contribution::Absent(reason) } else { Contribution::Many(figures) }
}

/// Tokens of all requests.
fn sent(sample: &CellInput<'_>) -> f64 {
    sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum()
}

/// Tokens of the same requests under `full`.
fn sent_in_full(sample: &CellInput<'_>) -> f64 {
    sample.facts.requests.iter().map(|r| r.tokens_full as f64).sum()
}

/// How often the recorded agent called its model.
const REQUESTS: Spec =
    sum(catalogue::REQUESTS, |sample| Contribution::One(sample.facts.requests.len() as f64));

/// What `full` would send on the same sessions.
const TOKENS_FULL: Spec =
    sum(catalogue::TOKENS_FULL, |sample| Contribution::One(sent_in_full(sample)));

/// The sum of every context.
const TOKENS_SENT: Spec = sum(catalogue::TOKENS_SENT, |sample| Contribution::One(sent(sample)));

/// `1 − tokens_sent / tokens_full`. It must not be used alone: two strategies
/// with equal savings have differed by 41 % in cost.
const TOKEN_SAVINGS: Spec =
    spec(catalogue::TOKEN_SAVINGS, Pool::RatioOfSums, |sample| match sent_in_full(sample) {
        0.0 => Contribution::Absent(Absent::NoRequest),
        to => Contribution::Fraction { of: to - sent(sample), to },
    });

/// The largest context sent.
const PEAK_TOKENS: Spec = spec(catalogue::PEAK_TOKENS, Pool::Max, |sample| {
    let largest = sample.rows.requests.iter().map(|r| r.tokens_sent).max();
    Contribution::one(largest.map(|t| t as f64), Absent::NoRequest)
});

/// The mean context over all requests.
const MEAN_TOKENS: Spec =
    spec(catalogue::MEAN_TOKENS, Pool::RatioOfSums, |sample| match sample.rows.requests.len() {
        0 => Contribution::Absent(Absent::NoRequest),
        requests => Contribution::Fraction { of: sent(sample), to: requests as f64 },
    });

/// Tokens after a compaction over tokens before.
const COMPRESSION_RATIO: Spec = spec(catalogue::COMPRESSION_RATIO, Pool::Median, |sample| {
    let whole = sample.compactions().filter(|c| c.error.is_none() && c.tokens_before > 0);
    many(whole.map(|c| c.tokens_after as f64 / c.tokens_before as f64), Absent::NoCompaction)
});

/// Active messages over all messages at the last request, as GenCode computes it.
const MESSAGE_RATIO: Spec = spec(catalogue::MESSAGE_RATIO, Pool::Mean, |sample| {
    match sample.rows.requests.last().zip(sample.facts.requests.last()) {
        None => Contribution::Absent(Absent::NoRequest),
        Some((_, fact)) if fact.message == 0 => Contribution::Absent(Absent::NoMessageBefore),
        Some((row, fact)) => Contribution::One(f64::from(row.messages) / f64::from(fact.message)),
    }
});

/// How often the strategy compacted.
const COMPACTIONS: Spec = sum(catalogue::COMPACTIONS, |sample| {
    Contribution::One(sample.compactions().filter(|c| c.error.is_none()).count() as f64)
});

/// Compactions that made the context longer.
const INFLATED: Spec = sum(catalogue::INFLATED, |sample| {
    let longer = sample.compactions().filter(|c| c.tokens_after > c.tokens_before);
    Contribution::One(longer.count() as f64)
});

/// Compactions that free less than 5 % of the context that they found (how-it-works §48).
const IDLE_COMPACTIONS: Spec = sum(catalogue::IDLE_COMPACTIONS, |sample| {
    Contribution::One(sample.compactions().filter(|compaction| is_idle(compaction)).count() as f64)
});

/// Requests that the provider would have refused.
const OVERFLOWS: Spec = sum(catalogue::OVERFLOWS, |sample| {
    Contribution::One(sample.rows.requests.iter().filter(|r| r.overflow).count() as f64)
});

/// The strategy's own estimate against the exact count.
const ESTIMATOR_ERROR: Spec = spec(catalogue::ESTIMATOR_ERROR, Pool::Median, |sample| {
    let sized = sample.rows.requests.iter().filter(|r| r.tokens_sent > 0);
    let errors = sized.filter_map(|r| Some(r.estimated? as f64 / r.tokens_sent as f64 - 1.0));
    many(errors, Absent::NoEstimate)
});
