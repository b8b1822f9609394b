//! The judge's seat: who grades answers.
//!
//! Invariant: it sees question, expectation and answer, never the context nor
//! which strategy made it.

pub(crate) mod llm;
mod offline;
mod panel;
mod planted;

pub use llm::{JUDGE_PROMPT, Llm, TYPICAL_VERDICT_TOKENS, typical_tokens};
pub use offline::{Haystack, Offline, Sought};
pub use panel::Panel;
pub use planted::{draw, plant};

use async_trait::async_trait;

use crate::model::{Expectation, Judgement, ProbeKind, Source};

/// One answer to be graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grading<'a> {
    /// The question as it was put.
    pub question: &'a str,
    /// What it asks for.
    pub kind: ProbeKind,
    /// What makes an answer right.
    pub expect: &'a Expectation,
    /// Values that would be wrong.
    pub stale: &'a [String],
    /// What was answered.
    pub answer: &'a str,
}

/// Whoever sits in the judge's seat.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Grades one answer. What it cannot grade is unscored, with the reason.
    async fn grade(&self, grading: &Grading<'_>) -> Judgement;

    /// `offline`, or `provider/model`.
    fn name(&self) -> &str;

    /// How it works.
    fn source(&self) -> Source;
}
