//! `compression_ratio`: tokens after a compaction over tokens before (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, catalogue};

/// `compression_ratio`, the median over all compactions.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::COMPRESSION_RATIO, Pool::Median, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    let ratios: Vec<f64> = sample
        .compactions()
        .filter(|c| c.error.is_none() && c.tokens_before > 0)
        .map(|c| c.tokens_after as f64 / c.tokens_before as f64)
        .collect();
    if ratios.is_empty() { Parts::Absent(Absent::NoCompaction) } else { Parts::Many(ratios) }
}
