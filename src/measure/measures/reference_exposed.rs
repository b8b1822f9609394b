//! `reference_exposed`: of the references, how many rest on something else than
//! their recorded text. Where it is 0 nothing was at stake, and reference
//! recall says nothing of quality (cuts §3).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, ReferenceState, Support, catalogue};

/// See the module.
pub const SPEC: Spec = Spec::of_cell(
    catalogue::REFERENCE_EXPOSED,
    Pool::Mean,
    Basis::References(Support::whole),
    compute,
);

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let shares = asked.iter().map(|asked| match asked.refused {
        true => 1.0,
        false => asked.share(|_, state| state != ReferenceState::Verbatim),
    });
    Parts::one(mean(shares), Absent::NoReferences)
}
