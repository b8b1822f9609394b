//! Controls of questions: is the answer findable without the conversation, in the
//! messages around its evidence, and in everything that the agent had?
//!
//! They need no model, cost nothing and are the same each time. A question whose
//! answer is findable without the conversation is invalid; one whose answer is not
//! findable beside its evidence is worded too differently for this measure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::view::preamble_text;
use crate::findable::Findable;
use recap_core::model::{MessageIndex, Question, Role, Session, SnapshotPart};
use recap_core::text::Normal;

/// Messages on each side of the evidence that are shown with it (reference §5).
const NEIGHBOURS: MessageIndex = 2;

/// The messages before `end` that are shown with evidence: themselves and their neighbours.
pub fn beside<'a>(
    evidence: impl IntoIterator<Item = &'a MessageIndex>,
    end: MessageIndex,
) -> BTreeSet<MessageIndex> {
    let around =
        evidence.into_iter().flat_map(|at| at.saturating_sub(NEIGHBOURS)..=at + NEIGHBOURS);
    around.filter(|at| *at < end).collect()
}

/// How a question fares in three contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    /// Whether its answer is findable without the conversation, beside its evidence,
    /// and in everything; `None` where no value is expected.
    pub findable: Option<[bool; 3]>,
    /// Whether a stale value is said again after the newest evidence, so that
    /// it is not clear which value holds.
    pub ambiguous: bool,
}

/// Looks for the answers to questions about a session.
pub fn controls(session: &Session, questions: &[&Question]) -> Vec<Controls> {
    let places: BTreeMap<&str, MessageIndex> =
        (0..).zip(&session.messages).map(|(at, m)| (m.id.as_str(), at)).collect();
    let texts = session.messages.iter().map(|m| (m.role, Arc::from(m.sent().as_str())));
    let first = |question: &Question| {
        question.evidence.iter().filter_map(|id| places.get(id.as_str()).copied()).min()
    };
    let asked = questions.iter().map(|question| (*question, first(question).unwrap_or(0)));
    let findable = Findable::new(texts.collect(), asked);
    let mut all = Vec::with_capacity(questions.len());
    for (number, question) in questions.iter().enumerate() {
        let own = question.evidence.iter().filter_map(|id| places.get(id.as_str()).copied());
        let own: BTreeSet<MessageIndex> = own.collect();
        let end = (question.asked_at + 1).min(session.messages.len() as MessageIndex);
        let near =
            beside(&own, end).into_iter().map(|at| SnapshotPart::Messages { from: at, to: at + 1 });
        let near: Vec<SnapshotPart> = near.collect();
        let from = begin(session, question, &own).min(end);
        let whole = vec![SnapshotPart::Messages { from, to: end }];
        // A text is its own name here.
        let text = preamble_text(session, question.asked_at);
        let preamble = vec![SnapshotPart::Written { role: Role::System, text: text.clone() }];
        let texts = BTreeMap::from([(text.clone(), text)]);
        let in_context = |context: &[SnapshotPart]| {
            findable.is_findable(number, &findable.context(context, &texts))
        };
        let found = [in_context(&preamble), in_context(&near), in_context(&whole)];
        let findable = match found {
            [Some(empty), Some(evidence), Some(full)] => Some([empty, evidence, full]),
            _ => None,
        };
        all.push(Controls {
            findable,
            ambiguous: said_again(session, question, own.last().copied()),
        });
    }
    all
}

/// The first message that the agent still had where a question is asked: after
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
    use recap_core::model::{Block, Expectation, Message, QuestionKind, RecordedCompaction};

    fn session(texts: &[&str]) -> Session {
        let message = |(at, text): (usize, &&str)| {
            let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
            let blocks = vec![Block::Text { text: (*text).to_owned() }];
            Message::new(format!("m{at}"), role, None, blocks)
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

    #[test]
    fn controls_look_without_context_beside_evidence_and_everywhere() {
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
        let found = controls(&session, &[&port, &rubric]);
        assert_eq!(found[0].findable, Some([false, true, true]));
        assert!(found[0].ambiguous, "8080 is said again behind the evidence");
        assert_eq!(found[1].findable, None);
        // After a recorded compaction the agent no longer had the port.
        session.compactions =
            vec![RecordedCompaction { after: 4, kept_from: 4, ..RecordedCompaction::default() }];
        let tests = question("Do all tests pass or fail?", "pass", &["m5"], &[]);
        assert_eq!(begin(&session, &tests, &BTreeSet::from([5])), 4);
        assert_eq!(begin(&session, &port, &BTreeSet::from([0])), 0);
    }
}
