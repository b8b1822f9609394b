//! Controls of questions: is a question answered without the conversation, from
//! the messages around its evidence, and from everything that the agent had?
//!
//! The offline reader answers and the offline judge grades, so that the controls
//! cost nothing and are the same each time. A question that is right without the
//! conversation is invalid; one that is wrong with its evidence may be too hard
//! for this reader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::preamble;
use crate::roles::answerer::{AnswerContext, Answerer, Offline, Passage};
use crate::roles::judge::{Grading, Offline as Judge};
use recap_core::model::{Expectation, MessageIndex, Question, RIGHT, Session};
use recap_core::text::Normal;
use recap_core::tokens::Counter;

/// Messages on each side of the evidence that are shown with it (reference §5).
const NEIGHBOURS: MessageIndex = 2;

/// How a question fares in three contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    /// Right without the conversation, from its evidence, and from everything;
    /// `None` where only a model can grade the answer.
    pub right: Option<[bool; 3]>,
    /// Whether a stale value is said again behind the newest evidence, so that
    /// it is not clear which value holds.
    pub ambiguous: bool,
}

/// Asks the questions about a session. Questions that are asked at one place
/// share the reading of what stands before it.
pub async fn controls(session: &Session, questions: &[&Question]) -> Vec<Controls> {
    let reader = Offline::new(Arc::new(Counter::default()));
    let places: BTreeMap<&str, MessageIndex> =
        (0..).zip(&session.messages).map(|(at, m)| (m.id.as_str(), at)).collect();
    let evidence = |question: &Question| -> BTreeSet<MessageIndex> {
        question.evidence.iter().filter_map(|id| places.get(id.as_str()).copied()).collect()
    };
    let mut at: BTreeMap<(MessageIndex, MessageIndex), Vec<usize>> = BTreeMap::new();
    for (number, question) in questions.iter().enumerate() {
        at.entry((begin(session, question, &evidence(question)), question.asked_at))
            .or_default()
            .push(number);
    }
    let mut found = vec![Controls::default(); questions.len()];
    for ((from, to), numbers) in at {
        let texts: Vec<&str> = numbers.iter().map(|&n| questions[n].question.as_str()).collect();
        let all = shown(session, from..=to);
        let whole = reader.answer(&all, &texts).await;
        for (number, full) in numbers.into_iter().zip(whole) {
            let question = questions[number];
            let own = evidence(question);
            let near: BTreeSet<MessageIndex> = own
                .iter()
                .flat_map(|&at| at.saturating_sub(NEIGHBOURS)..=at + NEIGHBOURS)
                .filter(|at| *at <= to)
                .collect();
            let asked = [question.question.as_str()];
            let empty = reader.answer(&preamble(session, to), &asked).await.remove(0);
            let near = reader.answer(&shown(session, near), &asked).await.remove(0);
            let right =
                [empty, near, full].map(|answer| is_right(question, answer.ok().as_deref()));
            let graded = !matches!(question.expect, Expectation::Rubric(_));
            found[number].right = graded.then_some(right);
            found[number].ambiguous = said_again(session, question, own.last().copied());
        }
    }
    found
}

/// The first message that the agent still had where a question is asked: behind
/// the last recorded compaction, if all evidence is.
fn begin(
    session: &Session,
    question: &Question,
    evidence: &BTreeSet<MessageIndex>,
) -> MessageIndex {
    let before = session.compactions.iter().filter(|c| c.folds() && c.after <= question.asked_at);
    let from = before.map(|c| c.kept_from).max().unwrap_or(0);
    if evidence.first().is_none_or(|first| *first >= from) { from } else { 0 }
}

fn shown(session: &Session, messages: impl IntoIterator<Item = MessageIndex>) -> AnswerContext {
    let messages = messages.into_iter().filter_map(|at| session.messages.get(at as usize));
    let passages = messages.map(|message| Passage {
        role: message.role,
        at: message.at,
        text: Arc::from(message.sent().as_str()),
    });
    let passages: Vec<Passage> = passages.collect();
    let now = passages.iter().rev().find_map(|passage| passage.at);
    AnswerContext { passages, now }
}

fn is_right(question: &Question, answer: Option<&str>) -> bool {
    let Some(answer) = answer else { return false };
    let grading = Grading::of(question, answer);
    Judge.judge(&grading).score.is_some_and(|score| score >= RIGHT)
}

/// Whether a stale value stands in a message of a person or an agent between the
/// newest evidence and the question.
fn said_again(session: &Session, question: &Question, newest: Option<MessageIndex>) -> bool {
    let Some(newest) = newest.filter(|_| !question.stale.is_empty()) else { return false };
    let stale: Vec<Normal> = question.stale.iter().map(|value| Normal::new(value)).collect();
    let end = (question.asked_at as usize + 1).min(session.messages.len());
    let between = session.messages.get(newest as usize + 1..end).unwrap_or_default();
    between.iter().filter(|message| message.tool_result().is_none()).any(|message| {
        let said = Normal::new(&message.sent());
        stale.iter().any(|value| said.contains(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{Block, Message, QuestionKind, RecordedCompaction, Role};

    fn session(texts: &[&str]) -> Session {
        let message = |(at, text): (usize, &&str)| Message {
            id: format!("m{at}"),
            role: if at % 2 == 0 { Role::User } else { Role::Assistant },
            at: None,
            blocks: vec![Block::Text { text: (*text).to_owned() }],
            usage: None,
            synthetic: false,
            broadcast: false,
        };
        let messages = texts.iter().enumerate().map(message).collect();
        Session { id: "t".to_owned(), messages, ..Session::default() }
    }

    fn question(question: &str, answer: &str, evidence: &[&str], stale: &[&str]) -> Question {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Question {
            id: question.to_owned(),
            session: "t".to_owned(),
            asked_at: 5,
            kind: QuestionKind::Fact,
            question: question.to_owned(),
            expect: Expectation::AnyOf(vec![answer.to_owned()]),
            evidence: texts(evidence),
            stale: texts(stale),
        }
    }

    #[tokio::test]
    async fn controls_ask_without_context_with_evidence_and_everything() {
        let mut session = session(&[
            "The service listens on port 8443 now.",
            "Noted.",
            "The backup runs at night.",
            "Noted, the old port was 8080.",
            "Go on with the tests.",
            "All tests pass.",
        ]);
        let port = question("Which port does the service listen on?", "8443", &["m0"], &["8080"]);
        let rubric =
            Question { expect: Expectation::Rubric(vec!["It passes".into()]), ..port.clone() };
        let found = controls(&session, &[&port, &rubric]).await;
        assert_eq!(found[0].right, Some([false, true, true]));
        assert!(found[0].ambiguous, "8080 is said again behind the evidence");
        assert_eq!(found[1].right, None);
        // Behind a recorded compaction the agent no longer had the port.
        session.compactions =
            vec![RecordedCompaction { after: 4, kept_from: 4, ..RecordedCompaction::default() }];
        let tests = question("Do all tests pass or fail?", "pass", &["m5"], &[]);
        assert_eq!(begin(&session, &tests, &BTreeSet::from([5])), 4);
        assert_eq!(begin(&session, &port, &BTreeSet::from([0])), 0);
    }
}
