//! `token_savings`: `1 − tokens_sent / tokens_full` (measures §1). Never the headline: two
//! strategies with equal savings have differed by 41 % in cost.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "token_savings",
    unit: Unit::Share,
    direction: Direction::Higher,
    summary: "share of the whole conversation's tokens that was not sent; negative where more was sent",
    pool: Pool::RatioOfSums,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let full: f64 = sample.facts.requests.iter().map(|r| r.tokens_full as f64).sum();
    let sent: f64 = sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum();
    if full == 0.0 {
        return Parts::Absent("no request");
    }
    Parts::Fraction { of: full - sent, to: full }
}
