//! `reference_recall`: share of the references that survive, verbatim or
//! carried (measures §4), averaged over requests, then over transcripts.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, Support, catalogue};

/// `reference_recall`, the mean over transcripts.
pub const SPEC: Spec = Spec::of_cell(
    catalogue::REFERENCE_RECALL,
    Pool::Mean,
    Basis::References(Support::whole),
    compute,
);

/// The share at every request that uses a reference, in order.
pub fn series(sample: &Sample<'_>) -> Vec<Option<f64>> {
    let asked = sample.asked(|_| true);
    asked.iter().map(|asked| Some(asked.share_kept())).collect()
}

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::one(mean(series(sample).into_iter().flatten()), Absent::NoReferences)
}
