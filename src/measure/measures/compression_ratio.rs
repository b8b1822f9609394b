//! `compression_ratio`: tokens after a compaction over tokens before (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "compression_ratio",
    unit: Unit::Ratio,
    direction: Direction::Lower,
    summary: "median over compactions of the context's tokens after / before",
    pool: Pool::Median,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let ratios: Vec<f64> = sample
        .compactions()
        .filter(|c| c.error.is_none() && c.tokens_before > 0)
        .map(|c| c.tokens_after as f64 / c.tokens_before as f64)
        .collect();
    if ratios.is_empty() { Parts::Absent("nothing was compacted") } else { Parts::Many(ratios) }
}
