//! One measure per file. Every table, column and test iterates over [`MEASURES`].

mod abstention;
mod at_cuts;
mod bill;
mod break_even;
mod cache;
mod compactions;
mod compression_ratio;
mod continuity;
mod cost_refetch;
mod cost_savings;
mod cpu_ms;
mod did_without;
mod estimator_error;
mod evidence;
mod idle_compactions;
mod inflated;
mod irrecoverable;
mod mean_tokens;
mod message_ratio;
mod overflows;
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
mod references;
mod refetch_tokens;
mod requests;
mod sidechain_cost;
mod token_savings;
mod tokens_full;
mod tokens_sent;
mod verbatim_recall;
mod void;
pub mod waits;
mod wrong_answers;

use super::exams::Depth;
use super::spec::{Basis, Sample, Spec};

/// A measure with an interval.
pub struct Resampled {
    /// Its id.
    pub id: &'static str,
    /// Its smallest value.
    pub least: f64,
    /// Its largest value.
    pub most: f64,
    /// A figure per request or probe: their mean is the measure of a session.
    pub series: fn(&Sample<'_>) -> Vec<Option<f64>>,
}

/// Every measure with an interval.
pub static RESAMPLED: [Resampled; 7] = [
    Resampled { id: "reference_recall", least: 0.0, most: 1.0, series: reference_recall::series },
    Resampled { id: "recall", least: 0.0, most: 1.0, series: recall::series },
    Resampled { id: "continuity", least: 0.0, most: 100.0, series: continuity::series },
    Resampled {
        id: "kept_at_cut",
        least: 0.0,
        most: 1.0,
        series: |sample| at_cuts::kept_series(sample, Depth::Greatest),
    },
    Resampled {
        id: "kept_at_cut_first",
        least: 0.0,
        most: 1.0,
        series: |sample| at_cuts::kept_series(sample, Depth::First),
    },
    Resampled {
        id: "added_at_cut",
        least: -1.0,
        most: 1.0,
        series: |sample| at_cuts::added_series(sample, Depth::Greatest),
    },
    Resampled {
        id: "added_at_cut_first",
        least: -1.0,
        most: 1.0,
        series: |sample| at_cuts::added_series(sample, Depth::First),
    },
];

/// Every measure of a row.
pub static MEASURES: &[&Spec] = &[
    &requests::SPEC,
    &tokens_full::SPEC,
    &tokens_sent::SPEC,
    &token_savings::SPEC,
    &peak_tokens::SPEC,
    &mean_tokens::SPEC,
    &compression_ratio::SPEC,
    &message_ratio::SPEC,
    &compactions::SPEC,
    &inflated::SPEC,
    &idle_compactions::SPEC,
    &void::REPLIES,
    &void::SHARE,
    &overflows::SPEC,
    &estimator_error::SPEC,
    &references::SPEC,
    &reference_recall::SPEC,
    &reference_partial::SPEC,
    &reference_bare::SPEC,
    &reference_lost::SPEC,
    &reference_exposed::SPEC,
    &reference_bands::BAND_4K,
    &reference_bands::BAND_8K,
    &reference_bands::BAND_16K,
    &reference_bands::BAND_32K,
    &reference_bands::BAND_64K,
    &recency_gain::SPEC,
    &recency_gain_survival::SPEC,
    &irrecoverable::SHARE,
    &irrecoverable::COUNT,
    &refetch_tokens::SPEC,
    &did_without::SPEC,
    &cpu_ms::SPEC,
    &waits::P50,
    &waits::P95,
    &waits::MAX,
    &waits::SUM,
    &waits::BACKGROUND,
    &prefill_saved::SPEC,
    &bill::COST,
    &bill::TTL_ONLY,
    &bill::HEAD_BREAKPOINT,
    &bill::IDEAL,
    &bill::NO_CACHE,
    &bill::COMPACTIONS,
    &cost_refetch::SPEC,
    &cost_savings::AGAINST_FULL,
    &cost_savings::AGAINST_RECORDED,
    &sidechain_cost::SPEC,
    &cache::HIT_RATE,
    &cache::BREAKS,
    &cache::REWRITTEN,
    &break_even::REQUESTS,
    &break_even::NEVER,
    &probe_counts::PROBES,
    &probe_counts::UNSCORED,
    &probe_counts::EXPOSED,
    &recall::SPEC,
    &recall::KINDS[0],
    &recall::KINDS[1],
    &recall::KINDS[2],
    &recall::KINDS[3],
    &recall::KINDS[4],
    &recall::KINDS[5],
    &recall::KINDS[6],
    &recall::KINDS[7],
    &recall::KINDS[8],
    &recall::KINDS[9],
    &recall::KINDS[10],
    &recall::KINDS[11],
    &recall::KINDS[12],
    &recall::KINDS[13],
    &recall::KINDS[14],
    &recall::KINDS[15],
    &recall::KINDS[16],
    &recovery::RECALL,
    &recovery::CALLS,
    &recovery::TOKENS,
    &continuity::SPEC,
    &continuity::KEPT,
    &continuity::LOST,
    &continuity::GAINED,
    &continuity::NEITHER,
    &continuity::KINDS[0],
    &continuity::KINDS[1],
    &continuity::KINDS[2],
    &continuity::KINDS[3],
    &continuity::KINDS[4],
    &continuity::KINDS[5],
    &continuity::KINDS[6],
    &continuity::KINDS[7],
    &continuity::KINDS[8],
    &continuity::KINDS[9],
    &continuity::KINDS[10],
    &continuity::KINDS[11],
    &continuity::KINDS[12],
    &continuity::KINDS[13],
    &continuity::KINDS[14],
    &continuity::KINDS[15],
    &evidence::ANSWERABLE,
    &evidence::VERBATIM,
    &evidence::EDITED,
    &evidence::FOLDED,
    &evidence::GONE,
    &wrong_answers::LOST,
    &wrong_answers::GARBLED,
    &wrong_answers::UNUSED,
    &abstention::ABSTENTION,
    &abstention::FABRICATION,
    &verbatim_recall::OWN,
    &verbatim_recall::FULL,
    &at_cuts::CUTS[0],
    &at_cuts::CUTS[1],
    &at_cuts::FACTS[0],
    &at_cuts::FACTS[1],
    &at_cuts::SESSIONS[0],
    &at_cuts::SESSIONS[1],
    &at_cuts::KEPT[0],
    &at_cuts::KEPT[1],
    &at_cuts::EXPOSED[0],
    &at_cuts::EXPOSED[1],
    &at_cuts::CARRIED[0],
    &at_cuts::CARRIED[1],
    &at_cuts::ADDED[0],
    &at_cuts::ADDED[1],
    &at_cuts::GAIN[0],
    &at_cuts::GAIN[1],
    &at_cuts::TOKENS[0],
    &at_cuts::TOKENS[1],
    &at_cuts::PER_1K[0],
    &at_cuts::PER_1K[1],
    &at_cuts::FIRST_MISS[0],
    &at_cuts::FIRST_MISS[1],
    &at_cuts::IRRECOVERABLE[0],
    &at_cuts::IRRECOVERABLE[1],
    &at_cuts::REFETCH[0],
    &at_cuts::REFETCH[1],
    &at_cuts::RECOVERED[0],
    &at_cuts::RECOVERED[1],
    &at_cuts::BARE[0],
    &at_cuts::BARE[1],
    &at_cuts::COST[0],
    &at_cuts::COST[1],
    &at_cuts::PAYS[0],
    &at_cuts::PAYS[1],
    &at_cuts::CONTINUITY[0],
    &at_cuts::CONTINUITY[1],
    &at_cuts::NEAR,
    &at_cuts::MIDDLE,
    &at_cuts::FAR,
];

/// Measures at cuts that rest on the bill.
const BILLED_AT_CUTS: [&str; 4] =
    ["cut_cost_usd", "cut_cost_usd_first", "pays_after", "pays_after_first"];

/// At which depth a measure looks at cuts; `None`: it does not.
pub fn depth_of(id: &str) -> Option<Depth> {
    let spec = MEASURES.iter().find(|spec| spec.id == id)?;
    let at_cuts = matches!(spec.basis, Basis::Cuts) || BILLED_AT_CUTS.contains(&id);
    let depth = if id.ends_with("_first") { Depth::First } else { Depth::Greatest };
    at_cuts.then_some(depth)
}
