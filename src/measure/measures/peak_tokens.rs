//! `peak_tokens`: the largest context sent (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, catalogue};

/// `peak_tokens`, the maximum over all cells.
pub const SPEC: Spec = Spec::of_cell(catalogue::PEAK_TOKENS, Pool::Max, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    let largest = sample.rows.requests.iter().map(|r| r.tokens_sent).max();
    Parts::one(largest.map(|t| t as f64), Absent::NoRequest)
}
