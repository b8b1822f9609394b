//! One measure per file. Every table, column and test iterates over [`MEASURES`].

mod compactions;
mod compression_ratio;
mod cpu_ms;
mod did_without;
mod estimator_error;
mod inflated;
mod irrecoverable;
mod mean_tokens;
mod message_ratio;
mod overflows;
mod peak_tokens;
mod recency_gain;
mod recency_gain_survival;
mod reference_bands;
mod reference_bare;
mod reference_lost;
mod reference_partial;
pub(super) mod reference_recall;
mod references;
mod refetch_tokens;
mod requests;
mod token_savings;
mod tokens_full;
mod tokens_sent;

use super::spec::Spec;

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
    &overflows::SPEC,
    &estimator_error::SPEC,
    &references::SPEC,
    &reference_recall::SPEC,
    &reference_partial::SPEC,
    &reference_bare::SPEC,
    &reference_lost::SPEC,
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
];
