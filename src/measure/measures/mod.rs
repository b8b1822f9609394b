//! One measure per file. Every table, column and test iterates over [`MEASURES`].

use crate::model::catalogue;
use std::sync::LazyLock;

mod abstention;
mod at_cuts;
mod bill;
mod break_even;
mod cache;
mod compression_ratio;
mod continuity;
mod cost_refetch;
mod cost_savings;
mod did_without;
mod estimator_error;
mod evidence;
mod irrecoverable;
mod mean_tokens;
mod message_ratio;
mod peak_tokens;
mod prefill_saved;
mod probe_counts;
mod recall;
mod recency_gain;
mod recency_gain_survival;
mod recovery;
mod reference_bands;
mod reference_bare;
mod reference_exposed;
mod reference_lost;
mod reference_partial;
mod reference_recall;
mod refetch_tokens;
mod sidechain_cost;
mod token_savings;
mod totals;
mod verbatim_recall;
mod void;
pub mod waits;
mod wrong_answers;

use super::exams::Depth;
use super::spec::{Sample, Spec};

/// A measure that has an interval.
pub(in crate::measure) struct Resampled {
    /// Id of the measure.
    pub id: &'static str,
    /// Smallest possible value of the measure.
    pub least: f64,
    /// Largest possible value of the measure.
    pub most: f64,
    /// A figure per request or probe, whose mean is the measure of a session.
    pub series: fn(&Sample<'_>) -> Vec<Option<f64>>,
}

/// Every measure that has an interval.
pub static RESAMPLED: [Resampled; 7] = [
    Resampled {
        id: catalogue::REFERENCE_RECALL.id,
        least: 0.0,
        most: 1.0,
        series: reference_recall::series,
    },
    Resampled { id: catalogue::RECALL.id, least: 0.0, most: 1.0, series: recall::series },
    Resampled { id: catalogue::CONTINUITY.id, least: 0.0, most: 100.0, series: continuity::series },
    Resampled {
        id: catalogue::KEPT_AT_CUT.id,
        least: 0.0,
        most: 1.0,
        series: |sample| at_cuts::kept_series(sample, Depth::Greatest),
    },
    Resampled {
        id: catalogue::KEPT_AT_CUT_FIRST.id,
        least: 0.0,
        most: 1.0,
        series: |sample| at_cuts::kept_series(sample, Depth::First),
    },
    Resampled {
        id: catalogue::ADDED_AT_CUT.id,
        least: -1.0,
        most: 1.0,
        series: |sample| at_cuts::added_series(sample, Depth::Greatest),
    },
    Resampled {
        id: catalogue::ADDED_AT_CUT_FIRST.id,
        least: -1.0,
        most: 1.0,
        series: |sample| at_cuts::added_series(sample, Depth::First),
    },
];

/// All measures of the catalogue that are computed from cells.
pub static MEASURES: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let at_cuts = AT_CUTS.into_iter().flatten();
    let by_kind = recall::by_kind().chain(continuity::by_kind());
    OF_CELLS.into_iter().chain(by_kind).chain(at_cuts).collect()
});

const OF_CELLS: [Spec; 78] = [
    totals::REQUESTS,
    totals::TOKENS_FULL,
    totals::TOKENS_SENT,
    token_savings::SPEC,
    peak_tokens::SPEC,
    mean_tokens::SPEC,
    compression_ratio::SPEC,
    message_ratio::SPEC,
    totals::COMPACTIONS,
    totals::INFLATED,
    totals::IDLE_COMPACTIONS,
    void::REPLIES,
    void::SHARE,
    totals::OVERFLOWS,
    estimator_error::SPEC,
    totals::REFERENCES,
    reference_recall::SPEC,
    reference_partial::SPEC,
    reference_bare::SPEC,
    reference_lost::SPEC,
    reference_exposed::SPEC,
    reference_bands::BAND_4K,
    reference_bands::BAND_8K,
    reference_bands::BAND_16K,
    reference_bands::BAND_32K,
    reference_bands::BAND_64K,
    recency_gain::SPEC,
    recency_gain_survival::SPEC,
    irrecoverable::SHARE,
    irrecoverable::COUNT,
    refetch_tokens::SPEC,
    did_without::SPEC,
    totals::CPU_MS,
    waits::P50,
    waits::P95,
    waits::MAX,
    waits::SUM,
    waits::BACKGROUND,
    prefill_saved::SPEC,
    bill::COST,
    bill::HEAD_BREAKPOINT,
    bill::COMPACTIONS,
    cost_refetch::SPEC,
    cost_savings::AGAINST_FULL,
    cost_savings::AGAINST_RECORDED,
    sidechain_cost::SPEC,
    cache::HIT_RATE,
    cache::BREAKS,
    cache::REWRITTEN,
    break_even::REQUESTS,
    break_even::NEVER,
    probe_counts::PROBES,
    probe_counts::UNSCORED,
    probe_counts::EXPOSED,
    recall::SPEC,
    recovery::RECALL,
    recovery::CALLS,
    recovery::TOKENS,
    continuity::SPEC,
    continuity::KEPT,
    continuity::LOST,
    continuity::GAINED,
    continuity::NEITHER,
    evidence::ANSWERABLE,
    evidence::VERBATIM,
    evidence::EDITED,
    evidence::FOLDED,
    evidence::GONE,
    wrong_answers::LOST,
    wrong_answers::GARBLED,
    wrong_answers::UNUSED,
    abstention::ABSTENTION,
    abstention::FABRICATION,
    verbatim_recall::OWN,
    verbatim_recall::FULL,
    at_cuts::NEAR,
    at_cuts::MIDDLE,
    at_cuts::FAR,
];

/// The measures at cuts: each at the greatest depth and after the first
/// compaction.
const AT_CUTS: [[Spec; 2]; 19] = [
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
];

/// The depth of the cuts that a measure is computed at; `None` if it is not
/// computed at cuts.
pub fn depth_of(id: &str) -> Option<Depth> {
    MEASURES.iter().find(|spec| spec.id() == id)?.depth()
}

#[cfg(test)]
mod tests;
