//! `reference_exposed`: share of the references whose recorded text is no
//! longer sent. If it is 0, no reference was at stake, and reference recall
//! does not measure quality (cuts §3).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, ReferenceState, Support, catalogue};

/// `reference_exposed`, the mean over transcripts.
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
