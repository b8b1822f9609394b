//! `inflated`: compactions that made the context longer (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `inflated`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::INFLATED, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    let longer = |c: &&crate::model::CompactionRow| c.tokens_after > c.tokens_before;
    Parts::One(sample.compactions().filter(longer).count() as f64)
}
