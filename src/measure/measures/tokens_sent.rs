//! `tokens_sent`: the sum of every context (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `tokens_sent`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::TOKENS_SENT, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum())
}
