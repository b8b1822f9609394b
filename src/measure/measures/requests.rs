//! `requests`: how often the recorded agent called its model.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `requests`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::REQUESTS, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.facts.requests.len() as f64)
}
