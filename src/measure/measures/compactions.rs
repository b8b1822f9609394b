//! `compactions`: how often the preset compacted (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `compactions`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::COMPACTIONS, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.compactions().filter(|c| c.error.is_none()).count() as f64)
}
