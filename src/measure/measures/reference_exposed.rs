//! `reference_exposed`: of the references, how many rest on something else than
//! their recorded text. Where it is 0 nothing was at stake, and reference
//! recall says nothing of quality (cuts §3).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Support, Unit, mean};
use crate::model::ReferenceState;

/// See the module.
pub const SPEC: Spec = Spec {
    id: "reference_exposed",
    unit: Unit::Share,
    direction: Direction::Neutral,
    summary: "share of the references whose recorded text was no longer sent",
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let shares = asked.iter().map(|asked| match asked.refused {
        true => 1.0,
        false => asked.share(|_, state| state != ReferenceState::Verbatim),
    });
    Parts::one(mean(shares), "no references")
}
