//! `reference_recall`: does what the agent went on to use survive
//! (`measures` §4)? Kept and supported counts, over requests, then transcripts.

use crate::measure::spec::{Direction, Parts, Pool, Sample, Spec, Support, Unit, mean};
use crate::model::ReferenceState;

/// See the module.
pub const SPEC: Spec = Spec {
    id: "reference_recall",
    unit: Unit::Share,
    direction: Direction::Higher,
    summary: "share of what the agent used next that is still in the context, with its support",
    pool: Pool::Mean,
    support: Some(Support::whole),
    compute,
};

/// The share at every request that asks for something, in order.
pub fn by_request(sample: &Sample<'_>) -> Vec<f64> {
    sample.asked(|_| true).iter().map(|asked| asked.share_in(ReferenceState::Kept)).collect()
}

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::one(mean(by_request(sample)), "no references")
}
