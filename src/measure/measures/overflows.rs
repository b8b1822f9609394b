//! `overflows`: requests that the provider would have refused (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `overflows`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::OVERFLOWS, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.rows.requests.iter().filter(|r| r.overflow).count() as f64)
}
