//! `reference_recall`: does what the agent went on to use survive
//! (measures §4)? Kept and supported counts, over requests, then transcripts.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, Support, catalogue};

/// See the module.
pub const SPEC: Spec = Spec::of_cell(
    catalogue::REFERENCE_RECALL,
    Pool::Mean,
    Basis::References(Support::whole),
    compute,
);

/// The share at every request that asks for something, in order.
pub fn series(sample: &Sample<'_>) -> Vec<Option<f64>> {
    let asked = sample.asked(|_| true);
    asked.iter().map(|asked| Some(asked.share_kept())).collect()
}

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::one(mean(series(sample).into_iter().flatten()), Absent::NoReferences)
}
