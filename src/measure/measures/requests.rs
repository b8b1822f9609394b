//! `requests`: how often the recorded agent called its model.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "requests",
    unit: Unit::Count,
    direction: Direction::Neutral,
    summary: "requests of the recorded agent",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.facts.requests.len() as f64)
}
