//! `references`: the number of references in the exam (measures §4).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `references`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::REFERENCES, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.facts.exam.references.len() as f64)
}
