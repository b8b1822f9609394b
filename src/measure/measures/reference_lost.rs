//! `reference_lost`: share of the references that are absent in every form. At
//! a request that the provider would have refused everything is lost, so that
//! recall, partial, bare and lost always add up to 1.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, ReferenceState, Support, catalogue};

/// `reference_lost`, the mean over transcripts.
pub const SPEC: Spec = Spec::of_cell(
    catalogue::REFERENCE_LOST,
    Pool::Mean,
    Basis::References(Support::whole),
    compute,
);

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let lost = |asked: &crate::measure::spec::Asked<'_>| {
        if asked.refused { 1.0 } else { asked.share_in(ReferenceState::Lost) }
    };
    let shares = mean(asked.iter().map(lost));
    Parts::one(shares, Absent::NoReferences)
}
