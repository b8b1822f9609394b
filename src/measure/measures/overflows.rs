//! `overflows`: requests that the provider would have refused (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "overflows",
    unit: Unit::Count,
    direction: Direction::Lower,
    summary: "requests whose context and recorded output exceed the window",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.rows.requests.iter().filter(|r| r.overflow).count() as f64)
}
