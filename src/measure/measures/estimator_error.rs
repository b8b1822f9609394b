//! `estimator_error`: the preset's own estimate against the exact count (measures §1).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::ESTIMATOR_ERROR,
    pool: Pool::Median,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
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
