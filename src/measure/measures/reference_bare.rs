//! `reference_bare`: named by summaries that no longer say what it was
//! about (measures §4).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Support, Unit, mean};
use crate::model::ReferenceState;

/// See the module.
pub const SPEC: Spec = Spec {
    id: "reference_bare",
    unit: Unit::Share,
    direction: Direction::Lower,
    summary: "share that only summaries name, without the words that gave it meaning",
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let shares = mean(asked.iter().map(|asked| asked.share_in(ReferenceState::Bare)));
    Parts::one(shares, "no references")
}
