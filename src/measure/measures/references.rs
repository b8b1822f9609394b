//! `references`: how many references the exam asks for (measures §4).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "references",
    unit: Unit::Count,
    direction: Direction::Neutral,
    summary: "references of the exam",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.facts.exam.references.len() as f64)
}
