//! The answerer's role: answers questions from a context.
//!
//! Invariant: the answerer sees the context and the questions, never the
//! expected answers, nor the name of the strategy that made the context.

pub(crate) mod llm;

pub use llm::{ANSWER_PROMPT, Llm, RECOVERY_PROMPT};

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::roles::finder::Finder;
use recap_core::model::{NoAnswer, Role};

/// Largest length of an answer in tokens of the run's counter.
pub const ANSWER_TOKENS: u64 = 120;

/// Typical length of an answer in tokens, to estimate the cost of a run: a
/// short sentence. The prompt asks for the answer itself, in at most 60 words;
/// the 887 reference answers of LoCoMo have 5 words on average.
pub const TYPICAL_ANSWER_TOKENS: u64 = 30;

/// One entry of a context as a model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Role of the entry; preamble and notes have `System`.
    pub role: Role,
    /// Time of the message, if it is known; a summary has none.
    pub at: Option<Timestamp>,
    /// Text of the entry as sent.
    pub text: Arc<str>,
}

/// The context at one point of a session, in the order in which it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerContext {
    /// The preamble first, then every entry.
    pub passages: Vec<Passage>,
    /// Time at which the questions are asked, if the recording has times.
    pub now: Option<Timestamp>,
}

/// The result of a question whose answerer may search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The answer, or why there is none.
    pub answer: Result<String, NoAnswer>,
    /// Number of searches for the question.
    pub calls: u32,
    /// Tokens of the search results, by the run's counter; a repeated result
    /// counts again.
    pub tokens: u64,
}

/// A model in the answerer's role.
#[async_trait]
pub trait Answerer: Send + Sync {
    /// Answers every question from this context alone. The results are in the
    /// order of the questions, which do not see one another.
    async fn answer(
        &self,
        shown: &AnswerContext,
        questions: &[&str],
    ) -> Vec<Result<String, NoAnswer>>;

    /// Answers the questions from this context and from searches in a channel
    /// to dropped messages.
    async fn search(
        &self,
        shown: &AnswerContext,
        questions: &[&str],
        finder: &Finder<'_>,
    ) -> Vec<Searched>;

    /// Name of the answerer as `provider/model`.
    fn name(&self) -> &str;
}
