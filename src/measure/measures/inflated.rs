//! `inflated`: compactions that made the context longer (measures §1).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::INFLATED,
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    let longer = |c: &&crate::model::CompactionRow| c.tokens_after > c.tokens_before;
    Parts::One(sample.compactions().filter(longer).count() as f64)
}
