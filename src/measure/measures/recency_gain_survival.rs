//! `recency_gain_survival`: `recency_gain` without the effect of overflows,
//! which separates requests over the window from losses.

use super::recency_gain::less_plain_recency;
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Support, catalogue};

/// `recency_gain_survival`, the mean over transcripts.
pub const SPEC: Spec = Spec::of_cell(
    catalogue::RECENCY_GAIN_SURVIVAL,
    Pool::Mean,
    Basis::References(Support::whole),
    compute,
);

fn compute(sample: &Sample<'_>) -> Parts {
    less_plain_recency(sample, |asked| asked.share(|_, state| state.is_kept()))
}
