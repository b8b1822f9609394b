//! Rules that a question must satisfy to be asked and graded.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use super::Placed;
use crate::error::DatasetError;
use recap_core::model::{Expectation, Question, QuestionKind, Session};
use recap_core::text::{Normal, excerpt};

/// Positions of a session's messages by id.
pub(super) type Positions<'a> = FxHashMap<&'a str, u32>;

/// Every session by id, with the positions of its messages.
pub(super) fn index(sessions: &[Session]) -> FxHashMap<&str, (&Session, Positions<'_>)> {
    sessions.iter().map(|t| (t.id.as_str(), (t, positions(t)))).collect()
}

fn positions(session: &Session) -> Positions<'_> {
    session.messages.iter().map(|m| m.id.as_str()).zip(0..).collect()
}

/// The problems that keep a data set from loading, question by question.
pub(crate) fn broken(sessions: &[Session], placed: &[Placed]) -> Vec<DatasetError> {
    let index = index(sessions);
    let mut ids = BTreeSet::new();
    let mut problems = Vec::new();
    for one in placed {
        let question = &one.question;
        let mut flaws =
            wording(&question.question, question.kind, &question.expect, &question.stale);
        if !ids.insert(question.id.as_str()) {
            flaws.push(QuestionFlaw::RepeatedId);
        }
        match index.get(question.session.as_str()) {
            Some((session, positions)) => {
                flaws.extend(references(question, session, positions));
            }
            None => {
                let session = question.session.clone();
                flaws.push(QuestionFlaw::UnknownSession { session });
            }
        }
        problems.extend(flaws.into_iter().map(|flaw| one.error(flaw)));
    }
    problems
}

/// Flaws in the texts of a question and its expectation.
pub(crate) fn wording(
    question: &str,
    kind: QuestionKind,
    expect: &Expectation,
    stale: &[String],
) -> Vec<QuestionFlaw> {
    let mut flaws = Vec::new();
    if question.trim().is_empty() {
        flaws.push(QuestionFlaw::EmptyQuestion);
    }
    let unanswerable = *expect == Expectation::Unanswerable;
    if let Expectation::AnyOf(values) | Expectation::Rubric(values) = expect
        && (values.is_empty() || values.iter().any(|value| value.trim().is_empty()))
    {
        flaws.push(QuestionFlaw::EmptyExpectation);
    }
    if unanswerable != (kind == QuestionKind::Abstain) {
        flaws.push(QuestionFlaw::KindMismatch { kind: kind.as_str() });
    }
    if !stale.is_empty() {
        let right: FxHashSet<&str> = expect.alternatives().iter().map(String::as_str).collect();
        let meant: FxHashSet<Normal> = right.iter().map(|value| Normal::new(value)).collect();
        let is_meant = |value: &Normal| !value.is_empty() && meant.contains(value);
        let is_right = |value: &str| right.contains(value) || is_meant(&Normal::new(value));
        let stale = stale.iter().filter(|value| is_right(value));
        flaws.extend(stale.map(|value| QuestionFlaw::StaleIsRight { value: value.clone() }));
    }
    flaws
}

/// Flaws in the references to its session.
fn references(
    question: &Question,
    session: &Session,
    positions: &Positions<'_>,
) -> Vec<QuestionFlaw> {
    let mut flaws = Vec::new();
    let (asked_at, messages) = (question.asked_at, session.messages.len());
    if asked_at as usize >= messages {
        flaws.push(QuestionFlaw::AskedAfterEnd { asked_at, messages });
    }
    let mut named = BTreeSet::new();
    for message in &question.evidence {
        let message = message.clone();
        if !named.insert(message.clone()) {
            flaws.push(QuestionFlaw::RepeatedEvidence { message });
            continue;
        }
        match positions.get(message.as_str()) {
            None => flaws.push(QuestionFlaw::UnknownEvidence { message }),
            Some(&position) if position > asked_at => {
                flaws.push(QuestionFlaw::EvidenceAfter { message, position, asked_at });
            }
            Some(_) => {}
        }
    }
    flaws
}

// The flaws that make a question unusable or misleading.

/// The kinds of flaws of a question.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuestionFlaw {
    /// The data set has no such session.
    #[error("asks session `{}`, which the data set does not have", excerpt(.session))]
    UnknownSession {
        /// The id that it names.
        session: String,
    },
    /// It is asked later than the last message.
    #[error("is asked after message {asked_at}, but the session has {messages} (from 0)")]
    AskedAfterEnd {
        /// The position that it names.
        asked_at: u32,
        /// Number of messages in the session.
        messages: usize,
    },
    /// Evidence that is not a message of its session.
    #[error("names evidence `{}`, which is not a message of its session", excerpt(.message))]
    UnknownEvidence {
        /// The id that it names.
        message: String,
    },
    /// Evidence that comes after the question.
    #[error(
        "names evidence `{}` (position {position}) but is asked after message {asked_at}", excerpt(.message)
    )]
    EvidenceAfter {
        /// The id of the evidence message.
        message: String,
        /// The position of that message.
        position: u32,
        /// Where the question is asked.
        asked_at: u32,
    },
    /// A message is named twice.
    #[error("names evidence `{}` twice", excerpt(.message))]
    RepeatedEvidence {
        /// The id of that message.
        message: String,
    },
    /// Two questions with the same id.
    #[error("has the same id as an earlier question")]
    RepeatedId,
    /// The question is empty.
    #[error("has an empty question")]
    EmptyQuestion,
    /// Nothing is expected, or one of the expected values is blank.
    #[error("expects nothing, or a blank value")]
    EmptyExpectation,
    /// The kind of the question and its expectation do not match.
    #[error("is of kind {kind}; only questions of kind abstain, and all of them, are unanswerable")]
    KindMismatch {
        /// The kind of the question.
        kind: &'static str,
    },
    /// A value is both expected and stale.
    #[error("lists `{}` as right and as stale", excerpt(.value))]
    StaleIsRight {
        /// The value in question.
        value: String,
    },
    /// The same question is asked twice at the same point of the same session.
    #[error("asks what question `{}` asks at the same point", excerpt(.first))]
    RepeatedQuestion {
        /// Id of the other question.
        first: String,
    },
    /// The evidence contains none of the answers.
    #[error("expects {expected}, but its evidence contains none of it")]
    NotInEvidence {
        /// The expected alternatives, in quotes.
        expected: String,
    },
    /// The question contains the answer.
    #[error("gives its answer `{}` away in the question", excerpt(.answer))]
    GivenAway {
        /// The alternative that it contains.
        answer: String,
    },
}

impl QuestionFlaw {
    /// What the user can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            QuestionFlaw::UnknownSession { .. } => "write the id of a session of this data set",
            QuestionFlaw::AskedAfterEnd { .. } => {
                "count messages from 0; the last one asks at the end"
            }
            QuestionFlaw::UnknownEvidence { .. } | QuestionFlaw::RepeatedEvidence { .. } => {
                "name the ids of messages of that session, each once"
            }
            QuestionFlaw::EvidenceAfter { .. } => "ask later, or leave that message out",
            QuestionFlaw::RepeatedId => "give every question an id of its own",
            QuestionFlaw::EmptyQuestion => "write the question",
            QuestionFlaw::EmptyExpectation => {
                "write any_of or rubric with a value, or unanswerable: true"
            }
            QuestionFlaw::KindMismatch { .. } => {
                "make it kind abstain and unanswerable, or neither of both"
            }
            QuestionFlaw::StaleIsRight { .. } => "keep the value in any_of or in stale",
            QuestionFlaw::RepeatedQuestion { .. } => "drop one of the two, or ask at another point",
            QuestionFlaw::NotInEvidence { .. } => {
                "name the message that says it, or add the alternative that the message uses"
            }
            QuestionFlaw::GivenAway { .. } => "put the question without the answer",
        }
    }
}
