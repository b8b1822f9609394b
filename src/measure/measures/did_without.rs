//! `did_without`: the instrument's own error (measures §4).
//!
//! Identifiers that the recorded agent used after a boundary although they were
//! only before it and not in its summary: the agent did not need them from the
//! context. The exam leaves them out; their share shows how often "used later"
//! does not mean "needed from the context".

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, Support, TranscriptFacts, catalogue};

/// `did_without`, the mean over transcripts.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::DID_WITHOUT, Pool::Mean, Basis::References(support), compute);

fn support(facts: &TranscriptFacts) -> Support {
    if facts.recorded_compactions == 0 {
        return Support::default();
    }
    let mut support = Support::whole(facts);
    support.references += u64::from(facts.exam.did_without);
    support
}

fn compute(sample: &Sample<'_>) -> Parts {
    let facts = sample.facts;
    if facts.recorded_compactions == 0 {
        return Parts::Absent(Absent::NoRecordedBoundary);
    }
    let without = f64::from(facts.exam.did_without);
    let all = without + facts.exam.references.len() as f64;
    Parts::one((all > 0.0).then(|| without / all), Absent::NoReferences)
}
