//! `compactions`: how often the preset compacted (`measures` §1).

use crate::measure::spec::{Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "compactions",
    unit: Unit::Count,
    direction: Direction::Neutral,
    summary: "compactions",
    pool: Pool::Sum,
    support: None,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.rows.compactions.iter().filter(|c| c.error.is_none()).count() as f64)
}
