//! `recency_gain_survival`: `recency_gain` with overflows left out, so that
//! what is over the window and what is lost can be told apart.

use super::recency_gain::less_plain_recency;
use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Support, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "recency_gain_survival",
    unit: Unit::Difference,
    direction: Direction::Higher,
    summary: "gain over recency as if no request had been refused",
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    less_plain_recency(sample, |asked| asked.share(|_, state| state.is_kept()))
}
