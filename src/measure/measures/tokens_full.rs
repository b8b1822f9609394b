//! `tokens_full`: what `full` would send on the same transcripts (measures §1).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::TOKENS_FULL,
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.facts.requests.iter().map(|r| r.tokens_full as f64).sum())
}
