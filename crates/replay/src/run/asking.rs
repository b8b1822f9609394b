//! Looks for the answers to the questions of a cell, and sends the questions to the
//! answerer and the answers to the judge where models have these roles.
//!
//! The same questions to the same context are asked once in a run, and the same
//! answer to a question is graded once: `full` is asked once for all windows, and
//! a strategy that compacted nothing shares its answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::join_all;
use rustc_hash::FxHashMap;
use tokio::sync::OnceCell;

use super::spec::ModelRoles;
use crate::{PendingQuestion, PreparedSession, Replayed};
use recap_core::model::{
    Answer, CellOutcome, GradedAnswer, Judgement, NoGrade, QuestionFacts, QuestionRow, Recovered,
    Snapshot, SnapshotPart,
};
use recap_exam::findable::{Findable, ReadContext};
use recap_exam::roles::answerer::{AnswerContext, Answerer, Passage, Searched};
use recap_exam::roles::finder::Finder;
use recap_exam::roles::judge::Grading;
use recap_strategy::{Archived, ArchivedSession, Channel, ClosedSession, RecoverySpec};

/// Results by key; each is computed once, however many cells wait for it.
type Once<K, V> = Mutex<FxHashMap<K, Arc<OnceCell<V>>>>;

/// Asks and grades the questions of one session.
pub(super) struct Asking {
    prepared: Arc<PreparedSession>,
    roles: ModelRoles,
    findable: Findable,
    /// The messages as a search returns them.
    archive: OnceLock<Vec<Archived>>,
    answers: Once<blake3::Hash, Vec<Result<String, String>>>,
    searched: Once<blake3::Hash, Vec<Searched>>,
    judgements: Once<(u32, String), Judgement>,
}

impl Asking {
    /// An object for one session that has asked no question yet.
    pub fn new(prepared: Arc<PreparedSession>, roles: ModelRoles) -> Self {
        let asked = prepared.facts.all_questions().next().is_some();
        let messages = (0..).zip(&prepared.facts.messages).filter(|_| asked);
        let messages = messages.map(|(at, m)| (m.role, prepared.recording.text(at).shared()));
        let first = |facts: &QuestionFacts| facts.evidence.first().copied().unwrap_or(0);
        let questions = prepared.facts.all_questions().map(|facts| (&facts.question, first(facts)));
        let findable = Findable::new(messages.collect(), questions);
        Self {
            prepared,
            roles,
            findable,
            archive: OnceLock::new(),
            answers: Once::default(),
            searched: Once::default(),
            judgements: Once::default(),
        }
    }

    /// Fills in the question rows of a replayed cell. If its strategy has a recovery
    /// channel, every question is asked once more with that channel.
    pub async fn ask(&self, replayed: &mut Replayed, channel: Option<&'static RecoverySpec>) {
        let CellOutcome::Done(rows) = &mut replayed.cell.outcome else { return };
        let mut asked = Vec::with_capacity(replayed.asked.len());
        for (number, snapshot) in (0u32..).zip(&rows.snapshots) {
            let here: Vec<&PendingQuestion> =
                replayed.asked.iter().filter(|p| p.snapshot == number).collect();
            asked.extend(self.rows(snapshot, &replayed.texts, &here, channel).await);
        }
        asked.sort_by_key(|row| row.question);
        rows.questions = asked;
    }

    /// The rows of the questions of one snapshot, in their order.
    pub(super) async fn rows(
        &self,
        snapshot: &Snapshot,
        texts: &BTreeMap<String, String>,
        here: &[&PendingQuestion],
        channel: Option<&'static RecoverySpec>,
    ) -> Vec<QuestionRow> {
        if here.is_empty() {
            return Vec::new();
        }
        let numbers: Vec<u32> = here.iter().map(|asked| asked.question).collect();
        let question = |number: &u32| self.question(*number).question.question.as_str();
        let questions: Vec<&str> = numbers.iter().map(question).collect();
        let context = self.findable.context(&snapshot.parts, texts);
        let found = here.iter().map(|asked| self.found(asked, &context));
        let mut rows: Vec<QuestionRow> = found.collect();
        let Some(answerer) = &self.roles.answerer else { return rows };
        let asked = (&numbers[..], &questions[..]);
        let answers = self.answers(&**answerer, snapshot, texts, asked).await;
        let graded = rows.iter().zip(answers).map(|(row, said)| self.graded(row.question, said));
        let graded = join_all(graded).await;
        rows.iter_mut().zip(graded).for_each(|(row, graded)| row.answered = Some(graded));
        if let Some(spec) = channel {
            let closed = &*here[0].sessions;
            let searched = self.searched(&**answerer, snapshot, texts, asked, (spec, closed)).await;
            let graded = rows.iter().zip(searched).map(async |(row, searched)| {
                let Searched { answer, calls, tokens } = searched;
                Recovered { answered: self.graded(row.question, answer).await, calls, tokens }
            });
            let recovered = join_all(graded).await;
            rows.iter_mut().zip(recovered).for_each(|(row, found)| row.recovered = Some(found));
        }
        rows
    }

    /// What is known of a question without a model.
    fn found(&self, asked: &PendingQuestion, context: &ReadContext) -> QuestionRow {
        let number = asked.question as usize;
        QuestionRow {
            question: asked.question,
            snapshot: asked.snapshot,
            evidence: asked.evidence,
            age_compactions: asked.age_compactions,
            findable: self.findable.is_findable(number, context),
            answered: None,
            recovered: None,
        }
    }

    async fn graded(&self, question: u32, answer: Result<String, String>) -> GradedAnswer {
        match answer {
            Ok(text) => {
                let judgement = self.judgement(question, &text).await;
                GradedAnswer { answer: Answer::Said(text), judgement }
            }
            Err(why) => {
                let judgement = Judgement::unscored(NoGrade::NotAnswered(why.clone()));
                GradedAnswer { answer: Answer::Nothing(why), judgement }
            }
        }
    }

    fn question(&self, number: u32) -> &QuestionFacts {
        self.prepared.facts.question(number).expect("only known questions are asked")
    }

    /// The answers to the questions of a snapshot, in the order of the questions.
    async fn answers(
        &self,
        answerer: &dyn Answerer,
        snapshot: &Snapshot,
        texts: &BTreeMap<String, String>,
        (numbers, questions): (&[u32], &[&str]),
    ) -> Vec<Result<String, String>> {
        let once = once(&self.answers, key(&snapshot.parts, &numbers));
        let answers = once.get_or_init(|| async {
            let shown = self.shown(snapshot, texts);
            let answers = answerer.answer(&shown, questions).await;
            assert_eq!(answers.len(), questions.len(), "an answerer answers every question");
            answers
        });
        answers.await.clone()
    }

    /// The answers to the same questions with a search over all messages before
    /// this request and over all sessions that were closed by then.
    async fn searched(
        &self,
        answerer: &dyn Answerer,
        snapshot: &Snapshot,
        texts: &BTreeMap<String, String>,
        (numbers, questions): (&[u32], &[&str]),
        (spec, closed): (&'static RecoverySpec, &[ClosedSession]),
    ) -> Vec<Searched> {
        let end = self.end(snapshot.request);
        let once = once(&self.searched, key(&snapshot.parts, &(&numbers, end, spec.name, closed)));
        let searched = once.get_or_init(|| async {
            let shown = self.shown(snapshot, texts);
            let sessions: Vec<ArchivedSession> =
                closed.iter().map(|one| self.session(one)).collect();
            let channel = Channel::new(spec, &self.archive()[..end])
                .with_sessions(&sessions)
                .of(&self.prepared.facts.session);
            let finder = Finder::new(channel, self.roles.embedder.as_deref());
            let searched = answerer.search(&shown, questions, &finder).await;
            assert_eq!(searched.len(), questions.len(), "an answerer answers every question");
            searched
        });
        searched.await.clone()
    }

    /// Every message as a search returns it.
    fn archive(&self) -> &[Archived] {
        self.archive.get_or_init(|| {
            let mut archive = self.prepared.archived();
            for archived in &mut archive {
                let reasoning = archived.reasoning.as_deref();
                let counter = &self.prepared.recording.counter;
                archived.tokens += reasoning.map_or(0, |text| counter.count(text));
            }
            archive
        })
    }

    /// A closed session as a search returns it.
    fn session(&self, closed: &ClosedSession) -> ArchivedSession {
        ArchivedSession::of(closed, self.prepared.recording.counter.count(&closed.summary))
    }

    async fn judgement(&self, number: u32, answer: &str) -> Judgement {
        let question = &self.question(number).question;
        let grading = Grading::of(question, answer);
        let once = once(&self.judgements, (number, answer.to_owned()));
        once.get_or_init(|| self.roles.judge.grade(&grading)).await.clone()
    }

    /// A snapshot as the answerer reads it.
    fn shown(&self, snapshot: &Snapshot, texts: &BTreeMap<String, String>) -> AnswerContext {
        let (recording, messages) = (&self.prepared.recording, &self.prepared.facts.messages);
        let passage = |number: u32, text: Arc<str>| {
            let facts = &messages[number as usize];
            Passage { role: facts.role, at: facts.at, text }
        };
        let mut passages = Vec::new();
        for part in &snapshot.parts {
            match part {
                SnapshotPart::Messages { from, to } => {
                    passages.extend((*from..*to).map(|n| passage(n, recording.text(n).shared())));
                }
                SnapshotPart::Edited { message, text } => {
                    passages.push(passage(*message, Arc::from(texts[text].as_str())));
                }
                SnapshotPart::Written { role, text } => passages.push(Passage {
                    role: *role,
                    at: None,
                    text: Arc::from(texts[text].as_str()),
                }),
            }
        }
        AnswerContext { passages, now: self.now(snapshot.request) }
    }

    /// The recorded time of a request, if it is known.
    fn now(&self, request: u32) -> Option<jiff::Timestamp> {
        let facts = &self.prepared.facts;
        let answered = usize::from((request as usize) < facts.requests.len());
        facts.messages[..self.end(request) + answered].iter().rev().find_map(|m| m.at)
    }

    /// The number of messages before a request.
    fn end(&self, request: u32) -> usize {
        let facts = &self.prepared.facts;
        let request = facts.requests.get(request as usize);
        request.map_or(facts.messages.len(), |r| r.message as usize)
    }
}

/// The result of a key, created empty at the first call.
fn once<K: std::hash::Hash + Eq, V>(places: &Once<K, V>, key: K) -> Arc<OnceCell<V>> {
    Arc::clone(places.lock().expect("no holder panics").entry(key).or_default())
}

/// The key of a batch of questions: the context, the questions, and what may be
/// searched.
fn key(parts: &[SnapshotPart], asked: &impl serde::Serialize) -> blake3::Hash {
    let json = serde_json::to_vec(&(parts, asked)).expect("plain data serialises");
    blake3::hash(&json)
}
