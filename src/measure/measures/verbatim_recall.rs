//! Built-in validity (1) of the offline mode (`measures` §6): is a probe whose
//! evidence is all there as often right as under `full`? A smaller context
//! makes retrieval easier, so a difference is the reader's, not the preset's.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};
use crate::model::LedgerState;

const fn spec(id: &'static str, summary: &'static str, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec {
        id,
        unit: Unit::Share,
        direction: Direction::Neutral,
        summary,
        pool: Pool::RatioOfSums,
        basis: Basis::Probes,
        compute,
    }
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
        0 => Parts::Absent("no graded probe has all of its evidence"),
        n => Parts::Fraction { of: scores.sum(), to: n as f64 },
    }
}

/// Under the preset.
pub const OWN: Spec = spec(
    "recall_verbatim",
    "mean score of the probes whose evidence is all sent as recorded",
    |sample| fraction(verbatim(sample).iter().map(|(own, _)| *own)),
);
/// Under `full`, on the same probes.
pub const FULL: Spec =
    spec("recall_verbatim_full", "mean score of the same probes under `full`", |sample| {
        fraction(verbatim(sample).iter().map(|(_, full)| *full))
    });
