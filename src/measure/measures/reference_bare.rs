//! `reference_bare`: named by summaries that no longer say what it was
//! about (measures §4).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec, Support, mean};
use crate::model::{ReferenceState, catalogue};

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::REFERENCE_BARE,
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let shares = mean(asked.iter().map(|asked| asked.share_in(ReferenceState::Bare)));
    Parts::one(shares, "no references")
}
