//! `recency_gain_survival`: `recency_gain` with overflows left out, so that
//! what is over the window and what is lost can be told apart.

use super::recency_gain::less_plain_recency;
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Support, catalogue};

/// See the module.
pub const SPEC: Spec = Spec::of_cell(
    catalogue::RECENCY_GAIN_SURVIVAL,
    Pool::Mean,
    Basis::References(Support::whole),
    compute,
);

fn compute(sample: &Sample<'_>) -> Parts {
    less_plain_recency(sample, |asked| asked.share(|_, state| state.is_kept()))
}
