//! `peak_tokens`: the largest context sent (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "peak_tokens",
    unit: Unit::Tokens,
    direction: Direction::Lower,
    summary: "largest context sent",
    pool: Pool::Max,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let largest = sample.rows.requests.iter().map(|r| r.tokens_sent).max();
    Parts::one(largest.map(|t| t as f64), "no request")
}
