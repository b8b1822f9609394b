//! Built-in check (1) of the offline mode (measures §6): is a probe whose
//! evidence is all in the context as often right as under `full`? A smaller
//! context makes retrieval easier, so a difference is due to the reader and not
//! to the preset.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, LedgerState, Measure, catalogue};

const fn spec(measure: &'static Measure, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec::of_cell(measure, Pool::RatioOfSums, Basis::Probes, compute)
}

/// Scores under the preset and under `full`, of the probes whose evidence is
/// sent as recorded and that were graded both times.
fn verbatim(sample: &Sample<'_>) -> Vec<(f64, f64)> {
    let whole =
        sample.answered().filter(|p| p.row.evidence == Some(LedgerState::Verbatim) && !p.refused);
    whole.filter_map(|result| Some((result.score?, result.before?))).collect()
}

fn fraction(scores: impl ExactSizeIterator<Item = f64>) -> Parts {
    match scores.len() {
        0 => Parts::Absent(Absent::NoWholeEvidence),
        n => Parts::Fraction { of: scores.sum(), to: n as f64 },
    }
}

/// Mean score under the preset.
pub const OWN: Spec = spec(catalogue::RECALL_VERBATIM, |sample| {
    fraction(verbatim(sample).iter().map(|(own, _)| *own))
});
/// Mean score under `full`, on the same probes.
pub const FULL: Spec = spec(catalogue::RECALL_VERBATIM_FULL, |sample| {
    fraction(verbatim(sample).iter().map(|(_, full)| *full))
});
