//! `idle_compactions`: compactions that free less than 5 % of the context (cuts
//! §6).

use crate::measure::idle::is_idle;
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `idle_compactions`, summed over transcripts.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::IDLE_COMPACTIONS, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.compactions().filter(|compaction| is_idle(compaction)).count() as f64)
}
