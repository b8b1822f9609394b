//! The measures by subject. Every table, column and test iterates over [`MEASURES`].

use recap_core::model::{Measure, catalogue};
use std::sync::LazyLock;

pub(crate) mod at_cuts;
mod bill;
mod compactor;
mod questions;
mod references;
mod tokens;

pub(crate) use compactor::WAITS;

use super::spec::{CellInput, Spec};

/// A measure that has an interval.
pub(crate) struct Resampled {
    /// Id of the measure.
    pub id: &'static str,
    /// Smallest possible value of the measure.
    pub least: f64,
    /// Largest possible value of the measure.
    pub most: f64,
    /// A figure per request or question, whose mean is the measure of a session.
    pub series: fn(&CellInput<'_>) -> Vec<Option<f64>>,
}

/// Every measure that has an interval.
pub static RESAMPLED: [Resampled; 5] = [
    resampled(catalogue::REFERENCE_RECALL, 0.0, 1.0, references::series),
    resampled(catalogue::RECALL, 0.0, 1.0, questions::scores),
    resampled(catalogue::CONTINUITY, 0.0, 100.0, questions::continuity_series),
    resampled(catalogue::FACTS_KEPT, 0.0, 1.0, at_cuts::kept_series),
    resampled(catalogue::ADDED_AT_CUT, -1.0, 1.0, at_cuts::added_series),
];

const fn resampled(
    measure: &'static Measure,
    least: f64,
    most: f64,
    series: fn(&CellInput<'_>) -> Vec<Option<f64>>,
) -> Resampled {
    Resampled { id: measure.id, least, most, series }
}

/// All measures of the catalogue that are computed from cells: those of each subject.
pub static MEASURES: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let subjects =
        [tokens::ALL, compactor::ALL, references::ALL, bill::ALL, questions::ALL, at_cuts::ALL];
    let by_kind = questions::recall_by_kind().chain(questions::continuity_by_kind());
    subjects.concat().into_iter().chain(by_kind).collect()
});

/// Whether a measure is computed at cuts.
pub fn is_at_cuts(id: &str) -> bool {
    MEASURES.iter().any(|spec| spec.id() == id && spec.is_at_cuts())
}

#[cfg(test)]
mod tests;
