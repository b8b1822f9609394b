//! `did_without`: the instrument's own error (measures §4).
//!
//! Identifiers that the recorded agent used after a boundary although they
//! stood only before it and not in its summary: it demonstrably did without.
//! The exam leaves them out; their share says how often "used later" does not
//! mean "needed from the context".

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Support, Unit};
use crate::model::TranscriptFacts;

/// See the module.
pub const SPEC: Spec = Spec {
    id: "did_without",
    unit: Unit::Share,
    direction: Direction::Lower,
    summary: "share of references that the recorded agent used after a boundary had removed them",
    pool: Pool::Mean,
    basis: Basis::References(support),
    compute,
};

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
        return Parts::Absent("no recorded boundary");
    }
    let without = f64::from(facts.exam.did_without);
    let all = without + facts.exam.references.len() as f64;
    Parts::one((all > 0.0).then(|| without / all), "no references")
}
