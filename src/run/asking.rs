//! Puts the probes of a cell to the answerer and its answers to the judge.
//!
//! The same questions to the same context are asked once in a run, and the
//! same answer to a probe is graded once: `full` is asked once for all
//! windows, and a preset that compacted nothing shares its answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tokio::sync::OnceCell;

use super::pool::Seats;
use crate::model::{
    Answer, CellOutcome, Expectation, Judgement, NoAnswer, Part, ProbeFacts, ProbeRow, Snapshot,
    Verdict,
};
use crate::replay::{Probed, Replayed, Subject};
use crate::seats::answerer::{Passage, Shown};
use crate::seats::judge::Grading;

/// Something that is worked out once, however many cells wait for it.
type Once<K, V> = Mutex<FxHashMap<K, Arc<OnceCell<V>>>>;

/// Asks and grades for one transcript.
pub(super) struct Asking {
    subject: Arc<Subject>,
    seats: Seats,
    /// The messages as a model would read them.
    messages: Vec<Arc<str>>,
    answers: Once<blake3::Hash, Vec<Result<String, NoAnswer>>>,
    judgements: Once<(u32, String), Judgement>,
}

impl Asking {
    /// Nothing is asked yet.
    pub fn new(subject: Arc<Subject>, seats: Seats) -> Self {
        let asked = !subject.facts.probes.is_empty();
        let messages = subject.facts.messages.iter().filter(|_| asked);
        let messages = messages.map(|m| Arc::from(subject.texts[&m.text].as_str())).collect();
        Self { subject, seats, messages, answers: Once::default(), judgements: Once::default() }
    }

    /// Fills in the probe rows of a cell that was replayed.
    pub async fn ask(&self, replayed: &mut Replayed) {
        let CellOutcome::Done(rows) = &mut replayed.cell.outcome else { return };
        let mut asked = Vec::with_capacity(replayed.probed.len());
        for (number, snapshot) in (0u32..).zip(&rows.snapshots) {
            let here = replayed.probed.iter().filter(|p| p.snapshot == number);
            let here: Vec<&Probed> = here.collect();
            let shown = self.shown(snapshot, &replayed.texts);
            let answers = self.answers(snapshot, &shown, &here).await;
            for (probed, answer) in here.into_iter().zip(answers) {
                asked.push(self.row(probed, &shown, answer).await);
            }
        }
        asked.sort_by_key(|row| row.probe);
        rows.probes = asked;
    }

    async fn row(
        &self,
        probed: &Probed,
        shown: &Shown,
        answer: Result<String, NoAnswer>,
    ) -> ProbeRow {
        let probe = self.probe(probed.probe);
        let (answer, judgement) = match answer {
            Ok(text) => {
                let judgement = self.judgement(probed.probe, &text).await;
                (Answer::Said(text), judgement)
            }
            Err(why) => {
                let judgement = unscored(format!("not answered: {why}"));
                (Answer::Nothing(why), judgement)
            }
        };
        ProbeRow {
            probe: probed.probe,
            snapshot: probed.snapshot,
            evidence: probed.evidence,
            age_compactions: probed.age_compactions,
            answerable: answerable(&probe.probe.expect, shown),
            answer,
            judgement,
        }
    }

    fn probe(&self, number: u32) -> &ProbeFacts {
        &self.subject.facts.probes[number as usize]
    }

    /// The answers to the probes of a snapshot, in their order.
    async fn answers(
        &self,
        snapshot: &Snapshot,
        shown: &Shown,
        probed: &[&Probed],
    ) -> Vec<Result<String, NoAnswer>> {
        let numbers: Vec<u32> = probed.iter().map(|p| p.probe).collect();
        let once = once(&self.answers, key(&snapshot.parts, &numbers));
        let questions: Vec<&str> =
            numbers.iter().map(|&n| self.probe(n).probe.question.as_str()).collect();
        once.get_or_init(|| self.seats.answerer.answer(shown, &questions)).await.clone()
    }

    async fn judgement(&self, number: u32, answer: &str) -> Judgement {
        let probe = &self.probe(number).probe;
        let grading = Grading {
            question: &probe.question,
            kind: probe.kind,
            expect: &probe.expect,
            stale: &probe.stale,
            answer,
        };
        let once = once(&self.judgements, (number, answer.to_owned()));
        once.get_or_init(|| self.seats.judge.grade(&grading)).await.clone()
    }

    /// A snapshot as the answerer reads it.
    fn shown(&self, snapshot: &Snapshot, texts: &BTreeMap<String, String>) -> Shown {
        let messages = &self.subject.facts.messages;
        let passage = |number: u32, text: Arc<str>| {
            let facts = &messages[number as usize];
            Passage { role: facts.role, at: facts.at, text }
        };
        let mut passages = Vec::new();
        for part in &snapshot.parts {
            match part {
                Part::Messages { from, to } => passages.extend(
                    (*from..*to).map(|n| passage(n, Arc::clone(&self.messages[n as usize]))),
                ),
                Part::Edited { message, text } => {
                    passages.push(passage(*message, Arc::from(texts[text].as_str())));
                }
                Part::Written { role, text } => passages.push(Passage {
                    role: *role,
                    at: None,
                    text: Arc::from(texts[text].as_str()),
                }),
            }
        }
        Shown { passages, now: self.now(snapshot.request) }
    }

    /// When a request was made, as far as the recording tells.
    fn now(&self, request: u32) -> Option<jiff::Timestamp> {
        let facts = &self.subject.facts;
        let message = facts.requests.get(request as usize).map(|r| r.message as usize);
        let until = message.map_or(facts.messages.len(), |m| m + 1);
        facts.messages[..until].iter().rev().find_map(|m| m.at)
    }
}

/// The place where something is worked out, made if nobody asked for it yet.
fn once<K: std::hash::Hash + Eq, V>(places: &Once<K, V>, key: K) -> Arc<OnceCell<V>> {
    Arc::clone(places.lock().expect("no holder panics").entry(key).or_default())
}

/// What makes two askings the same: the context and the probes.
fn key(parts: &[Part], probes: &[u32]) -> blake3::Hash {
    let json = serde_json::to_vec(&(parts, probes)).expect("plain data serialises");
    blake3::hash(&json)
}

fn unscored(why: String) -> Judgement {
    Judgement { verdict: Verdict::Unscored(why.clone()), score: None, rationale: why }
}

/// Whether an expected value stands in the context.
fn answerable(expect: &Expectation, shown: &Shown) -> Option<bool> {
    let values: Vec<crate::text::Normal> =
        expect.alternatives().iter().map(|v| crate::text::Normal::new(v)).collect();
    if values.is_empty() {
        return None;
    }
    Some(shown.passages.iter().any(|p| {
        let text = crate::text::Normal::new(&p.text);
        values.iter().any(|v| text.contains(v))
    }))
}
