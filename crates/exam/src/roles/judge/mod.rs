//! The judge's role, which grades answers.
//!
//! Invariant: a judge sees question, expectation and answer, never the context
//! nor the name of the strategy that made it.

pub(crate) mod llm;
mod offline;
mod panel;

pub use llm::{JUDGE_PROMPT, Llm, TYPICAL_VERDICT_TOKENS, typical_tokens};
pub use offline::{Haystack, Offline, Sought};
pub use panel::Panel;

use async_trait::async_trait;

use recap_core::model::{Expectation, Judgement, Question, QuestionKind, Source};

/// One answer to be graded, with its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grading<'a> {
    /// The question as it was asked.
    pub question: &'a str,
    /// The kind of the question.
    pub kind: QuestionKind,
    /// The condition for a correct answer.
    pub expect: &'a Expectation,
    /// Outdated values, which would be wrong.
    pub stale: &'a [String],
    /// The answer to grade.
    pub answer: &'a str,
}

impl<'a> Grading<'a> {
    /// An answer to a question.
    pub fn of(question: &'a Question, answer: &'a str) -> Self {
        Self {
            question: &question.question,
            kind: question.kind,
            expect: &question.expect,
            stale: &question.stale,
            answer,
        }
    }
}

/// A model or offline summary in the judge's role.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Grades one answer. If that is impossible, the judgement is unscored and
    /// has a reason.
    async fn grade(&self, grading: &Grading<'_>) -> Judgement;

    /// Name of the judge: `offline`, or `provider/model`.
    fn name(&self) -> &str;

    /// Whether the judge is a model or the offline summary, and which one.
    fn source(&self) -> Source;
}
