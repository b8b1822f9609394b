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
    resampled(catalogue::REFERENCE_RECALL, (0.0, 1.0), references::series),
    resampled(catalogue::RECALL, (0.0, 1.0), questions::scores),
    resampled(catalogue::CONTINUITY, (0.0, 100.0), questions::continuity_series),
    resampled(catalogue::FACTS_KEPT, (0.0, 1.0), at_cuts::kept_series),
    resampled(catalogue::ADDED_AT_CUT, (-1.0, 1.0), at_cuts::added_series),
];

const fn resampled(
    measure: &'static Measure,
    (least, most): (f64, f64),
    series: fn(&CellInput<'_>) -> Vec<Option<f64>>,
) -> Resampled {
    Resampled { id: measure.id, least, most, series }
}

/// All measures of the catalogue that are computed from cells.
pub static MEASURES: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let by_kind = questions::recall_by_kind().chain(questions::continuity_by_kind());
    OF_CELLS.into_iter().chain(by_kind).chain(AT_CUTS).collect()
});

const OF_CELLS: [Spec; 74] = [
    tokens::REQUESTS,
    tokens::TOKENS_FULL,
    tokens::TOKENS_SENT,
    tokens::TOKEN_SAVINGS,
    tokens::PEAK_TOKENS,
    tokens::MEAN_TOKENS,
    tokens::COMPRESSION_RATIO,
    tokens::MESSAGE_RATIO,
    tokens::COMPACTIONS,
    tokens::INFLATED,
    tokens::IDLE_COMPACTIONS,
    compactor::UNUSABLE_REPLIES,
    compactor::UNUSABLE_SHARE,
    tokens::OVERFLOWS,
    tokens::ESTIMATOR_ERROR,
    references::REFERENCES,
    references::RECALL,
    references::PARTIAL,
    references::BARE,
    references::LOST,
    references::EXPOSED,
    references::BAND_4K,
    references::BAND_8K,
    references::BAND_16K,
    references::BAND_32K,
    references::BAND_64K,
    references::RECENCY_GAIN,
    references::RECENCY_GAIN_SURVIVAL,
    references::IRRECOVERABLE,
    references::IRRECOVERABLE_COUNT,
    references::REFETCH_TOKENS,
    references::DID_WITHOUT,
    compactor::P50,
    compactor::P95,
    compactor::MAX,
    compactor::SUM,
    compactor::BACKGROUND,
    bill::PREFILL_SAVED,
    bill::COST,
    bill::HEAD_BREAKPOINT,
    bill::COMPACTIONS,
    bill::REFETCH,
    bill::SAVINGS,
    bill::SAVINGS_VS_RECORDED,
    bill::SIDECHAINS,
    bill::CACHE_HIT_RATE,
    bill::CACHE_BREAKS,
    bill::REWRITTEN,
    bill::BREAK_EVEN,
    bill::NEVER_EVEN,
    questions::QUESTIONS,
    questions::UNSCORED,
    questions::EXPOSED,
    questions::RECALL,
    questions::RECALL_RECOVERY,
    questions::RECOVERY_CALLS,
    questions::RECOVERY_TOKENS,
    questions::CONTINUITY,
    questions::KEPT,
    questions::CONTINUITY_LOST,
    questions::GAINED,
    questions::NEITHER,
    questions::ANSWERABLE,
    questions::EVIDENCE_VERBATIM,
    questions::EVIDENCE_EDITED,
    questions::EVIDENCE_FOLDED,
    questions::EVIDENCE_GONE,
    questions::LOST,
    questions::GARBLED,
    questions::UNUSED,
    questions::ABSTENTION,
    questions::FABRICATION,
    questions::RECALL_VERBATIM[0],
    questions::RECALL_VERBATIM[1],
];

const AT_CUTS: [Spec; 22] = [
    at_cuts::CUTS,
    at_cuts::FACTS,
    at_cuts::SESSIONS,
    at_cuts::KEPT,
    at_cuts::EXPOSED,
    at_cuts::CARRIED,
    at_cuts::ADDED,
    at_cuts::GAIN,
    at_cuts::TOKENS,
    at_cuts::PER_1K,
    at_cuts::FIRST_MISS,
    at_cuts::IRRECOVERABLE,
    at_cuts::REFETCH,
    at_cuts::RECOVERED,
    at_cuts::BARE,
    at_cuts::COST,
    at_cuts::PAYS,
    at_cuts::CONTINUITY,
    at_cuts::QUESTIONS,
    at_cuts::NEAR,
    at_cuts::MIDDLE,
    at_cuts::FAR,
];

/// Whether a measure is computed at cuts.
pub fn is_at_cuts(id: &str) -> bool {
    MEASURES.iter().any(|spec| spec.id() == id && spec.is_at_cuts())
}

#[cfg(test)]
mod tests;
