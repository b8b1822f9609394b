//! `reference_partial`: only the last component of the path is left (measures §4).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Support, Unit, mean};
use crate::model::ReferenceState;

/// See the module.
pub const SPEC: Spec = Spec {
    id: "reference_partial",
    unit: Unit::Share,
    direction: Direction::Lower,
    summary: "share of which only the last component is still in the context",
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let shares = mean(asked.iter().map(|asked| asked.share_in(ReferenceState::Partial)));
    Parts::one(shares, "no references")
}
