//! `reference_exposed`: of the references, how many rest on something else than
//! their recorded text. Where it is 0 nothing was at stake, and reference
//! recall says nothing of quality (cuts §3).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec, Support, mean};
use crate::model::{ReferenceState, catalogue};

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::REFERENCE_EXPOSED,
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let shares = asked.iter().map(|asked| match asked.refused {
        true => 1.0,
        false => asked.share(|_, state| state != ReferenceState::Verbatim),
    });
    Parts::one(mean(shares), "no references")
}
