//! `tokens_sent`: the sum of every context (measures §1).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::TOKENS_SENT,
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum())
}
