//! `recency_gain_survival`: `recency_gain` with overflows left out, so that
//! what is over the window and what is lost can be told apart.

use super::recency_gain::less_plain_recency;
use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec, Support};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::RECENCY_GAIN_SURVIVAL,
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    less_plain_recency(sample, |asked| asked.share(|_, state| state.is_kept()))
}
