//! `peak_tokens`: the largest context sent (measures §1).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::PEAK_TOKENS,
    pool: Pool::Max,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    let largest = sample.rows.requests.iter().map(|r| r.tokens_sent).max();
    Parts::one(largest.map(|t| t as f64), "no request")
}
