//! A question before it is chosen.

use recap_core::model::{Expectation, MessageIndex, QuestionKind};

/// A question with its answer, and the messages that give it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    pub kind: QuestionKind,
    pub question: String,
    pub expect: Expectation,
    pub evidence: Vec<MessageIndex>,
    /// What was true before.
    pub stale: Vec<String>,
}

impl Draft {
    /// A question that any of these values answers.
    pub fn new(
        kind: QuestionKind,
        question: String,
        answers: impl IntoIterator<Item = String>,
        evidence: impl IntoIterator<Item = MessageIndex>,
    ) -> Draft {
        let mut answers: Vec<String> = answers.into_iter().collect();
        let mut seen = Vec::new();
        answers.retain(|answer| {
            let new = !seen.contains(answer);
            seen.push(answer.clone());
            new
        });
        let expect = Expectation::AnyOf(answers);
        Draft { kind, question, expect, evidence: ascending(evidence), stale: Vec::new() }
    }

    /// A question whose answer has all of these parts, which a model judges.
    pub fn rubric(
        kind: QuestionKind,
        question: String,
        parts: Vec<String>,
        evidence: impl IntoIterator<Item = MessageIndex>,
    ) -> Draft {
        let (expect, evidence) = (Expectation::Rubric(parts), ascending(evidence));
        Draft { kind, question, expect, evidence, stale: Vec::new() }
    }

    /// Whether its answer rests on a message from this one on.
    pub fn is_about(&self, from: MessageIndex) -> bool {
        self.evidence.last().is_some_and(|&last| last >= from)
    }

    /// The same with values that were true before and are wrong now.
    pub fn with_stale(self, stale: impl IntoIterator<Item = String>) -> Draft {
        let mut stale: Vec<String> = stale.into_iter().collect();
        stale.retain(|value| !self.expect.alternatives().contains(value));
        stale.sort();
        stale.dedup();
        Draft { stale, ..self }
    }
}

fn ascending(evidence: impl IntoIterator<Item = MessageIndex>) -> Vec<MessageIndex> {
    let mut evidence: Vec<MessageIndex> = evidence.into_iter().collect();
    evidence.sort_unstable();
    evidence.dedup();
    evidence
}
