//! The judge's role, which grades answers.
//!
//! Invariant: a judge sees question, expectation and answer, or what a summary says of a name
//! beside its source, never the context nor the name of the strategy that made it.

pub(crate) mod llm;
mod offline;
mod panel;

pub use llm::{Llm, TYPICAL_VERDICT_TOKENS, typical_tokens};
pub use offline::{Haystack, Offline, Sought};
pub use panel::Panel;

use async_trait::async_trait;
use serde::Serialize;

pub use super::ask::NoReply;
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

/// What a written text says of an identifier, beside the last place at which that stood before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// The identifier.
    pub name: String,
    /// The last place in the recording before the cut, some hundred characters.
    pub source: String,
    /// The place in the written text, as long.
    pub summary: String,
}

/// A model or the offline rules in the judge's role.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Grades one answer. If that is impossible, the judgement is unscored and
    /// has a reason.
    async fn grade(&self, grading: &Grading<'_>) -> Judgement;

    /// Whether each statement is true, in one call; `None` where only a model could tell.
    ///
    /// # Errors
    /// The model gave no usable reply.
    async fn check(&self, _: &[Statement]) -> Result<Option<Vec<bool>>, NoReply> {
        Ok(None)
    }

    /// Name of the judge: `offline`, or `provider/model`.
    fn name(&self) -> &str;

    /// Whether a model judges or the offline rules do.
    fn source(&self) -> Source;
}
