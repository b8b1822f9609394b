//! Rules that a probe must satisfy to be asked and graded.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Placed, ProbeFlaw};
use crate::dataset::error::DatasetError;
use crate::model::{Expectation, Probe, ProbeKind, Transcript};
use crate::text::Normal;

/// Positions of a transcript's messages by id.
pub(super) type Positions<'a> = FxHashMap<&'a str, u32>;

/// Every transcript by id, with the positions of its messages.
pub(super) fn index(transcripts: &[Transcript]) -> FxHashMap<&str, (&Transcript, Positions<'_>)> {
    transcripts.iter().map(|t| (t.id.as_str(), (t, positions(t)))).collect()
}

fn positions(transcript: &Transcript) -> Positions<'_> {
    transcript.messages.iter().map(|m| m.id.as_str()).zip(0..).collect()
}

/// The problems that keep a data set from loading, probe by probe.
pub(crate) fn broken(transcripts: &[Transcript], placed: &[Placed]) -> Vec<DatasetError> {
    let index = index(transcripts);
    let mut ids = BTreeSet::new();
    let mut problems = Vec::new();
    for one in placed {
        let probe = &one.probe;
        let mut flaws = wording(&probe.question, probe.kind, &probe.expect, &probe.stale);
        if !ids.insert(probe.id.as_str()) {
            flaws.push(ProbeFlaw::RepeatedId);
        }
        match index.get(probe.transcript.as_str()) {
            Some((transcript, positions)) => {
                flaws.extend(references(probe, transcript, positions));
            }
            None => {
                let transcript = probe.transcript.clone();
                flaws.push(ProbeFlaw::UnknownTranscript { transcript });
            }
        }
        problems.extend(flaws.into_iter().map(|flaw| one.error(flaw)));
    }
    problems
}

/// Flaws in the texts of a question and its expectation.
pub(crate) fn wording(
    question: &str,
    kind: ProbeKind,
    expect: &Expectation,
    stale: &[String],
) -> Vec<ProbeFlaw> {
    let mut flaws = Vec::new();
    if question.trim().is_empty() {
        flaws.push(ProbeFlaw::EmptyQuestion);
    }
    let unanswerable = *expect == Expectation::Unanswerable;
    if let Expectation::AnyOf(values) | Expectation::Rubric(values) = expect
        && (values.is_empty() || values.iter().any(|value| value.trim().is_empty()))
    {
        flaws.push(ProbeFlaw::EmptyExpectation);
    }
    if unanswerable != (kind == ProbeKind::Abstain) {
        flaws.push(ProbeFlaw::KindMismatch { kind: kind.as_str() });
    }
    if !stale.is_empty() {
        let right: FxHashSet<&str> = expect.alternatives().iter().map(String::as_str).collect();
        let meant: FxHashSet<Normal> = right.iter().map(|value| Normal::new(value)).collect();
        let is_meant = |value: &Normal| !value.is_empty() && meant.contains(value);
        let is_right = |value: &str| right.contains(value) || is_meant(&Normal::new(value));
        let stale = stale.iter().filter(|value| is_right(value));
        flaws.extend(stale.map(|value| ProbeFlaw::StaleIsRight { value: value.clone() }));
    }
    flaws
}

/// Flaws in the references to its transcript.
fn references(probe: &Probe, transcript: &Transcript, positions: &Positions<'_>) -> Vec<ProbeFlaw> {
    let mut flaws = Vec::new();
    let (asked_at, messages) = (probe.asked_at, transcript.messages.len());
    if asked_at as usize >= messages {
        flaws.push(ProbeFlaw::AskedAfterEnd { asked_at, messages });
    }
    let mut named = BTreeSet::new();
    for message in &probe.evidence {
        let message = message.clone();
        if !named.insert(message.clone()) {
            flaws.push(ProbeFlaw::RepeatedEvidence { message });
            continue;
        }
        match positions.get(message.as_str()) {
            None => flaws.push(ProbeFlaw::UnknownEvidence { message }),
            Some(&position) if position > asked_at => {
                flaws.push(ProbeFlaw::EvidenceAfter { message, position, asked_at });
            }
            Some(_) => {}
        }
    }
    flaws
}
