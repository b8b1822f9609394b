//! `estimator_error`: the preset's own estimate against the exact count (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, catalogue};

/// `estimator_error`, the median over all values of all cells.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::ESTIMATOR_ERROR, Pool::Median, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    let errors: Vec<f64> = sample
        .rows
        .requests
        .iter()
        .filter(|r| r.tokens_sent > 0)
        .filter_map(|r| Some(r.estimated? as f64 / r.tokens_sent as f64 - 1.0))
        .collect();
    if errors.is_empty() { Parts::Absent(Absent::NoEstimate) } else { Parts::Many(errors) }
}
