//! `inflated`: compactions that made the context longer (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "inflated",
    unit: Unit::Count,
    direction: Direction::Lower,
    summary: "compactions with more tokens after than before",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let longer = |c: &&crate::model::CompactionRow| c.tokens_after > c.tokens_before;
    Parts::One(sample.compactions().filter(longer).count() as f64)
}
