//! `token_savings`: `1 − tokens_sent / tokens_full` (measures §1). It must not
//! be used alone: two strategies with equal savings have differed by 41 % in
//! cost.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, catalogue};

/// `token_savings`, a ratio of sums over transcripts.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::TOKEN_SAVINGS, Pool::RatioOfSums, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    let full: f64 = sample.facts.requests.iter().map(|r| r.tokens_full as f64).sum();
    let sent: f64 = sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum();
    if full == 0.0 {
        return Parts::Absent(Absent::NoRequest);
    }
    Parts::Fraction { of: full - sent, to: full }
}
