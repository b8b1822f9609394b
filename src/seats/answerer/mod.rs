//! The answerer's seat: who answers questions from a context.
//!
//! Invariant: it sees the context and the questions, never what is expected,
//! nor which strategy made the context.

pub(crate) mod llm;
mod offline;

pub use llm::{ANSWER_PROMPT, Llm, RECOVERY_PROMPT};
pub use offline::Offline;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::model::{NoAnswer, Role, Source};
use crate::seats::finder::Finder;

/// Most tokens of an answer, by the run's counter.
pub const ANSWER_TOKENS: u64 = 120;

/// Tokens that an answer is expected to take, for an estimate of what a run
/// costs: a short sentence. The prompt asks for the answer itself, in at most
/// 60 words; the 887 reference answers of LoCoMo have 5 words on average.
pub const TYPICAL_ANSWER_TOKENS: u64 = 30;

/// One entry of a context as a model would read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its role; preamble and notes are `System`.
    pub role: Role,
    /// When it was said, where that is known: never for a summary.
    pub at: Option<Timestamp>,
    /// Its text as sent.
    pub text: Arc<str>,
}

/// A context at one point, in the order in which it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Preamble first, then every entry.
    pub passages: Vec<Passage>,
    /// When the questions are put, where the recording has times.
    pub now: Option<Timestamp>,
}

/// What came of a question whose answerer may search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The answer.
    pub answer: Result<String, NoAnswer>,
    /// Searches made for it.
    pub calls: u32,
    /// Tokens of what they gave, as the run counts; what came twice counts twice.
    pub tokens: u64,
}

/// Whoever sits in the answerer's seat.
#[async_trait]
pub trait Answerer: Send + Sync {
    /// Answers every question from this context alone: as many outcomes as
    /// questions, in their order. Questions do not see one another.
    async fn answer(&self, shown: &Shown, questions: &[&str]) -> Vec<Result<String, NoAnswer>>;

    /// The same from this context and from what it searches for through a
    /// channel to what was dropped. Whoever cannot search answers as without.
    async fn search(
        &self,
        shown: &Shown,
        questions: &[&str],
        _finder: &Finder<'_>,
    ) -> Vec<Searched> {
        let answers = self.answer(shown, questions).await.into_iter();
        answers.map(|answer| Searched { answer, calls: 0, tokens: 0 }).collect()
    }

    /// `offline`, or `provider/model`.
    fn name(&self) -> &str;

    /// How it works.
    fn source(&self) -> Source;
}
