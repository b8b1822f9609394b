//! `requests`: how often the recorded agent called its model.

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::REQUESTS,
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.facts.requests.len() as f64)
}
