//! `reference_partial`: only the last component of the path is left (measures §4).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, ReferenceState, Support, catalogue};

/// `reference_partial`, the mean over transcripts.
pub const SPEC: Spec = Spec::of_cell(
    catalogue::REFERENCE_PARTIAL,
    Pool::Mean,
    Basis::References(Support::whole),
    compute,
);

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let shares = mean(asked.iter().map(|asked| asked.share_in(ReferenceState::Partial)));
    Parts::one(shares, Absent::NoReferences)
}
