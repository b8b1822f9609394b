//! The recency curve: what the newest tokens alone keep at each size, as a
//! standard for every strategy (measures §8).
//!
//! Plain recency sends the preamble and the newest B tokens of messages. Its
//! mean context is that of `recency_gain`, `mean_j min(preamble + B, full_j)`,
//! and what it keeps is computed from the recording:
//!
//! - Reference recall: exactly the references nearer than B, over requests,
//!   then transcripts, with the support that the measure requires.
//! - Continuity: the probes that `full` answers right and whose evidence is all
//!   within B, in contexts from which something is dropped. Nothing is asked
//!   again, so this is the **least** that recency keeps, provided that a reader
//!   who is right with the whole conversation stays right with all of the
//!   evidence (the self-check measures that). Some answers are found without
//!   the evidence: on LoCoMo `fifo` is 2 to 12 points above this curve at its
//!   own size.

use std::collections::{BTreeMap, BTreeSet};

use super::gather::fits;
use super::names::{ALL, BASELINE};
use super::probed::kinds_by_dataset;
use super::spec::mean;
use crate::model::{
    Cell, Primary, ProbeKind, RIGHT, RecencyCurve, Sessions, Support, TranscriptFacts,
};

/// Number of sizes along a curve.
const STEPS: usize = 24;
/// The smallest B, in tokens. Contexts of agents are larger from the beginning.
const FROM: f64 = 1_000.0;

/// The curve of each data set, and of all of them together.
pub fn curves(
    facts: &[TranscriptFacts],
    sessions: &Sessions,
    primary: Primary,
) -> Vec<RecencyCurve> {
    let exams = exams(facts, sessions, primary);
    let names: BTreeSet<&str> = facts.iter().map(|f| f.dataset.as_str()).collect();
    let curve = |dataset: &str| {
        let mine: Vec<&Exam<'_>> =
            exams.iter().filter(|e| dataset == ALL || e.facts.dataset == dataset).collect();
        let points = points(&mine);
        (!points.is_empty()).then(|| RecencyCurve {
            dataset: dataset.to_owned(),
            measure: primary,
            points,
        })
    };
    names.into_iter().chain([ALL]).filter_map(curve).collect()
}

/// The references or probes of one transcript.
struct Exam<'a> {
    facts: &'a TranscriptFacts,
    asked: Asked,
}

/// What is asked, with distances in tokens of the run.
enum Asked {
    /// For each request, the distances of its references.
    References(Vec<Vec<f64>>),
    /// For each kind of probe with a figure of its own, the probes that `full`
    /// answers right.
    Probes(BTreeMap<Option<ProbeKind>, Vec<Evidence>>),
}

/// The position of a probe's evidence.
struct Evidence {
    /// Tokens from the beginning of the oldest message of the evidence to the
    /// request.
    reach: f64,
    /// Tokens of all messages before the request.
    context: f64,
}

fn exams<'a>(facts: &'a [TranscriptFacts], sessions: &Sessions, primary: Primary) -> Vec<Exam<'a>> {
    if primary == Primary::ReferenceRecall {
        let exam = |facts: &'a TranscriptFacts| Exam { facts, asked: references(facts) };
        return facts.iter().map(exam).collect();
    }
    let kinds = kinds_by_dataset(facts);
    let is_full = |cell: &&Cell| cell.key.strategy == BASELINE && cell.rows().is_some();
    let exam = |facts: &'a TranscriptFacts| {
        let session = sessions.get(&facts.dataset, &facts.transcript);
        let full = session.as_ref().and_then(|session| session.cells().iter().find(is_full));
        Exam { facts, asked: probes(facts, full, &kinds[&facts.dataset]) }
    };
    facts.iter().map(exam).collect()
}

/// The distances of the references; empty if the exam is too small, as in the
/// measure itself.
fn references(facts: &TranscriptFacts) -> Asked {
    if !Support::whole(facts).suffices() {
        return Asked::References(Vec::new());
    }
    let references = &facts.exam.references;
    let distance = |d: u64| d as f64 * facts.factor();
    let by_request = references.chunk_by(|a, b| a.request == b.request);
    Asked::References(
        by_request
            .map(|group| group.iter().map(|r| distance(r.distance_tokens)).collect())
            .collect(),
    )
}

fn probes(facts: &TranscriptFacts, full: Option<&Cell>, alone: &BTreeSet<ProbeKind>) -> Asked {
    let mut groups: BTreeMap<Option<ProbeKind>, Vec<Evidence>> = BTreeMap::new();
    let whole = full.and_then(|cell| Some((cell, cell.rows()?)));
    let Some((full, rows)) = whole.filter(|(_, rows)| fits(facts, rows).is_ok()) else {
        return Asked::Probes(groups);
    };
    let until: Vec<f64> = (facts.messages.iter())
        .scan(0.0, |sum, message| {
            let before = *sum;
            *sum += message.tokens as f64;
            Some(before)
        })
        .collect();
    let end = until.last().zip(facts.messages.last()).map_or(0.0, |(b, m)| b + m.tokens as f64);
    for row in &rows.probes {
        let asked = &facts.probes[row.probe as usize];
        let kind = asked.probe.kind;
        let right = full.score(row).is_some_and(|score| score >= RIGHT);
        let Some(oldest) = asked.evidence.first() else { continue };
        if kind == ProbeKind::Abstain || !right {
            continue;
        }
        let at = facts.requests.get(asked.request as usize);
        let context = at.and_then(|r| until.get(r.message as usize)).copied().unwrap_or(end);
        let Some(begins) = until.get(*oldest as usize) else { continue };
        let evidence = Evidence { reach: context - begins, context };
        groups.entry(alone.contains(&kind).then_some(kind)).or_default().push(evidence);
    }
    Asked::Probes(groups)
}

impl Exam<'_> {
    /// The share that the newest `tokens` of messages keep; `None` if nothing
    /// is asked, or nothing is dropped.
    fn kept(&self, tokens: f64) -> Option<f64> {
        match &self.asked {
            Asked::References(requests) => mean(requests.iter().map(|distances| {
                let near = distances.iter().filter(|d| **d < tokens).count();
                near as f64 / distances.len() as f64
            })),
            Asked::Probes(kinds) => mean(kinds.values().filter_map(|probes| {
                let exposed = probes.iter().filter(|probe| probe.context > tokens);
                mean(exposed.map(|probe| f64::from(u8::from(probe.reach <= tokens))))
            })),
        }
    }

    /// The largest value that the measure can have.
    fn unit(&self) -> f64 {
        match self.asked {
            Asked::References(_) => 1.0,
            Asked::Probes(_) => 100.0,
        }
    }
}

/// Mean size and figure at each step, ascending by size.
fn points(exams: &[&Exam<'_>]) -> Vec<(f64, f64)> {
    let most = |exam: &&Exam<'_>| {
        let contexts = exam.facts.requests.iter().map(|r| r.tokens_full);
        contexts.max().unwrap_or(0).saturating_sub(exam.facts.preamble_tokens) as f64
    };
    let largest = exams.iter().map(most).fold(0.0, f64::max);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for tokens in ladder(largest) {
        let kept = mean(exams.iter().filter_map(|exam| Some(exam.kept(tokens)? * exam.unit())));
        points.extend(mean_size(exams, tokens).zip(kept));
    }
    points
}

/// Values of B, evenly spaced on a logarithmic scale.
fn ladder(largest: f64) -> Vec<f64> {
    if largest <= 0.0 {
        return Vec::new();
    }
    let from = FROM.min(largest / 10.0);
    let step = |at: usize| from * (largest / from).powf(at as f64 / (STEPS - 1) as f64);
    // The last value is exact: nothing is dropped there.
    (0..STEPS - 1).map(step).chain([largest]).collect()
}

/// Mean tokens over all requests, as `mean_tokens` pools them.
fn mean_size(exams: &[&Exam<'_>], tokens: f64) -> Option<f64> {
    let sent = exams.iter().flat_map(|exam| {
        let preamble = exam.facts.preamble_tokens as f64;
        exam.facts.requests.iter().map(move |r| (r.tokens_full as f64).min(preamble + tokens))
    });
    mean(sent)
}

#[cfg(test)]
#[path = "recency_tests.rs"]
mod tests;
