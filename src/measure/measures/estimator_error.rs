//! `estimator_error`: the preset's own estimate against the exact count (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "estimator_error",
    unit: Unit::Difference,
    direction: Direction::Neutral,
    summary: "median over requests of estimate / exact − 1; absent where the preset estimates nothing",
    pool: Pool::Median,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let errors: Vec<f64> = sample
        .rows
        .requests
        .iter()
        .filter(|r| r.tokens_sent > 0)
        .filter_map(|r| Some(r.estimated? as f64 / r.tokens_sent as f64 - 1.0))
        .collect();
    if errors.is_empty() {
        Parts::Absent("the preset makes no estimate of its own")
    } else {
        Parts::Many(errors)
    }
}
