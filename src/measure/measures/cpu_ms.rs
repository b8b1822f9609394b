//! `cpu_ms`: the mechanism's own CPU time (measures §3), the only column that
//! may differ between two equal runs.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// `cpu_ms`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::CPU_MS, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.rows.cpu_ms)
}
