//! `compactions`: how often the preset compacted (measures §1).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::COMPACTIONS,
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.compactions().filter(|c| c.error.is_none()).count() as f64)
}
