//! `tokens_sent`: the sum of every context (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "tokens_sent",
    unit: Unit::Tokens,
    direction: Direction::Lower,
    summary: "tokens sent over all requests, preamble included",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum())
}
