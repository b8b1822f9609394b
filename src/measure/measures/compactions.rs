//! `compactions`: how often the preset compacted (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "compactions",
    unit: Unit::Count,
    direction: Direction::Neutral,
    summary: "compactions",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.compactions().filter(|c| c.error.is_none()).count() as f64)
}
