//! From cells to a report: what each preset keeps, what it saves, and how
//! sure that is.
//!
//! Invariant: pure. The same cells in any order give the same report, byte
//! for byte; a figure that cannot be computed is absent with a reason, and
//! missing scores never move a mean.

mod against_full;
mod aggregate;
mod agreement;
mod bootstrap;
mod by_transcript;
mod comparison;
mod forgetting;
mod gather;
mod measures;
mod money;
mod paired;
mod panel;
mod payers;
mod probed;
mod ranking;
mod rows;
mod sentences;
mod sign_flip;
mod sources;
mod spec;
mod statistics;
#[cfg(test)]
mod testkit;
mod warnings;

pub use agreement::{Graded, agreement};
pub use by_transcript::{ByTranscript, Figure, Sat, UnitRow, by_transcript};
pub use comparison::{Run, compare};
pub use measures::MEASURES;
pub use paired::{Difference, Side, Spread, paired};
pub use rows::ALL;
pub use sign_flip::{holm, sign_flip};
pub use spec::{Asked, Basis, Direction, Parts, Pool, Sample, Spec, Support, SupportOf, Unit};
pub use statistics::{Bounds, Clusters, Confidence, FEWEST_FOR_AN_INTERVAL};

use crate::model::{Cell, Manifest, Report, TranscriptFacts};

/// Measures a run.
///
/// A cell that failed, or that does not fit the facts of its transcript, is
/// named in [`crate::model::PresetRow::failed`] and contributes nothing else.
pub fn measure(
    manifest: Manifest,
    title: String,
    mut transcripts: Vec<TranscriptFacts>,
    mut cells: Vec<Cell>,
) -> Report {
    transcripts.sort_by(|a, b| (&a.dataset, &a.transcript).cmp(&(&b.dataset, &b.transcript)));
    cells.sort_by(|a, b| a.key.cmp(&b.key));
    let primary = rows::primary(&transcripts);
    let mut table = rows::table(&transcripts, &cells, &manifest);
    ranking::arrange(&mut table, &manifest, primary);
    let scene = sentences::Scene { table: &table, primary };
    let sentences = sentences::choose(&scene);
    let panel = panel::agreement(&cells);
    let warnings = warnings::collect(&manifest, &table, &transcripts, &cells, panel.as_ref());
    let forgetting = forgetting::curves(&manifest.windows, &transcripts, &cells);
    let rows = table.into_iter().map(|entry| entry.row).collect();
    let primary = primary.to_owned();
    Report {
        manifest,
        title,
        primary,
        rows,
        forgetting,
        family: None,
        recency: Vec::new(),
        equal_size: Vec::new(),
        variance: Vec::new(),
        gate: None,
        verdict: None,
        sentences,
        warnings,
        transcripts,
        cells,
        calls: Vec::new(),
        panel,
    }
}

#[cfg(test)]
mod money_tests;
#[cfg(test)]
mod probe_tests;
#[cfg(test)]
mod tests;
