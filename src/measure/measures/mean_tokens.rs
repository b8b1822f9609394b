//! `mean_tokens`: the mean context over all requests (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "mean_tokens",
    unit: Unit::Tokens,
    direction: Direction::Lower,
    summary: "mean tokens of a context",
    pool: Pool::RatioOfSums,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let requests = sample.rows.requests.len();
    if requests == 0 {
        return Parts::Absent("no request");
    }
    Parts::Fraction {
        of: sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum(),
        to: requests as f64,
    }
}
