//! `tokens_full`: what `full` would send on the same transcripts (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "tokens_full",
    unit: Unit::Tokens,
    direction: Direction::Neutral,
    summary: "tokens that the whole conversation would have sent, over all requests",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.facts.requests.iter().map(|r| r.tokens_full as f64).sum())
}
