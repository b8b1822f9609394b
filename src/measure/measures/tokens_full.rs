//! `tokens_full`: what `full` would send on the same transcripts (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `tokens_full`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::TOKENS_FULL, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.facts.requests.iter().map(|r| r.tokens_full as f64).sum())
}
