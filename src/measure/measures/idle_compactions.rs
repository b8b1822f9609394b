//! `idle_compactions`: compactions that free less than 5 % of the context that
//! they found (cuts §6).

use crate::measure::idle::is_idle;
use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::IDLE_COMPACTIONS,
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.compactions().filter(|compaction| is_idle(compaction)).count() as f64)
}
