//! `token_savings`: `1 − tokens_sent / tokens_full` (measures §1). Never the headline: two
//! strategies with equal savings have differed by 41 % in cost.

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::TOKEN_SAVINGS,
    pool: Pool::RatioOfSums,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    let full: f64 = sample.facts.requests.iter().map(|r| r.tokens_full as f64).sum();
    let sent: f64 = sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum();
    if full == 0.0 {
        return Parts::Absent("no request");
    }
    Parts::Fraction { of: full - sent, to: full }
}
