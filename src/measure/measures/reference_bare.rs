//! `reference_bare`: references that summaries name without words about their
//! subject (measures §4).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, ReferenceState, Support, catalogue};

/// `reference_bare`, the mean over transcripts.
pub const SPEC: Spec = Spec::of_cell(
    catalogue::REFERENCE_BARE,
    Pool::Mean,
    Basis::References(Support::whole),
    compute,
);

fn compute(sample: &Sample<'_>) -> Parts {
    let asked = sample.asked(|_| true);
    let shares = mean(asked.iter().map(|asked| asked.share_in(ReferenceState::Bare)));
    Parts::one(shares, Absent::NoReferences)
}
