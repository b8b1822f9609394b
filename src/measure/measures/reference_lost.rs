//! `reference_lost`: what is not there in any form. At a request that the
//! provider would have refused everything is lost, so that recall, partial,
//! bare and lost always add up to 1.

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec, Support, mean};
use crate::model::{ReferenceState, catalogue};

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::REFERENCE_LOST,
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let lost = |asked: &crate::measure::spec::Asked<'_>| {
        if asked.refused { 1.0 } else { asked.share_in(ReferenceState::Lost) }
    };
    let shares = mean(asked.iter().map(lost));
    Parts::one(shares, "no references")
}
