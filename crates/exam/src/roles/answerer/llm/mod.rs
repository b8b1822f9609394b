//! A model as answerer: it gets the context and one question at a time.
//!
//! It answers from the context alone, or may also search dropped messages
//! ([`recovery`]).

mod recovery;

pub use recovery::RECOVERY_PROMPT;

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};

use super::{ANSWER_TOKENS, AnswerContext, Answerer, Searched};
use crate::roles::ask::{ModelClient, ReplyError, ReplyText};
use crate::roles::fence::Fence;
use crate::roles::finder::Finder;
use recap_core::model::{ModelRole, NoAnswer, NoReply};
use recap_llm::{self as llm, ModelRequest};

/// Version of the answer prompt: answers to different versions are never
/// compared.
pub const ANSWER_PROMPT: u32 = 1;

const PROMPT: &str = include_str!("prompt.md");

/// Number of questions in flight at a time: each holds a copy of its context.
const AT_ONCE: usize = 128;

/// A model in the answerer's role.
///
/// Each question is a call of its own. All questions to a context share the
/// same system text. The first question is sent alone and the others after its
/// answer, so that they read the context from the provider's cache instead of
/// all paying for it in full.
pub struct Llm {
    llm: Arc<dyn llm::Llm>,
    name: String,
    replicate: u32,
}

impl Llm {
    /// An answerer that calls the model behind `llm`.
    pub fn new(llm: Arc<dyn llm::Llm>) -> Self {
        let name = llm.model().id();
        Self { llm, name, replicate: 0 }
    }

    /// The same model, asked once more: its answers are not those of the
    /// repetition before.
    #[must_use]
    pub fn repeated(self, replicate: u32) -> Self {
        Self { replicate, ..self }
    }

    fn line(&self) -> ModelClient<'_> {
        ModelClient { llm: &*self.llm, role: ModelRole::Answerer, replicate: self.replicate }
    }

    async fn one(&self, system: &str, text: &str) -> Result<String, NoAnswer> {
        let line = self.line();
        let question = question(system, text);
        let bound = line.bound(&question);
        let answered = line.put(question.clone()).await;
        let answered = answered.map_err(|error| NoReply::from(ReplyError::from(error)))?;
        match ReplyText::of(&answered, bound)? {
            ReplyText { cut: true, .. } => Err(NoReply::CutOff(bound).into()),
            ReplyText { text: "", .. } => {
                line.discard(question);
                Err(NoAnswer::Empty)
            }
            ReplyText { text, .. } => Ok(text.to_owned()),
        }
    }
}

#[async_trait]
impl Answerer for Llm {
    async fn answer(
        &self,
        shown: &AnswerContext,
        questions: &[&str],
    ) -> Vec<Result<String, NoAnswer>> {
        let (first, others) = questions.split_at(questions.len().min(1));
        let system = system(shown);
        let mut answers = Vec::with_capacity(questions.len());
        for question in first {
            answers.push(self.one(&system, question).await);
        }
        let mut asked = Vec::with_capacity(others.len());
        for other in others {
            asked.push(self.one(&system, other));
        }
        let others: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        answers.extend(others);
        answers
    }

    async fn search(
        &self,
        shown: &AnswerContext,
        questions: &[&str],
        finder: &Finder<'_>,
    ) -> Vec<Searched> {
        let (system, line) = (system(shown), self.line());
        let mut asked = Vec::with_capacity(questions.len());
        for text in questions {
            asked.push(recovery::ask(&line, &system, text, finder));
        }
        stream::iter(asked).buffered(AT_ONCE).collect().await
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// The request for one question, behind the system text that all questions to a
/// context share.
pub(crate) fn question(system: &str, text: &str) -> ModelRequest {
    ModelRequest { shared_system: true, ..ModelRequest::of(system, text, ANSWER_TOKENS) }
}

/// The rules and the context. The time of the questions is behind the context,
/// so that a context that only grew shares its prefix with the earlier one.
pub(crate) fn system(shown: &AnswerContext) -> String {
    let fence = Fence::around(shown.passages.iter().map(|passage| &*passage.text));
    let mark = fence.mark();
    let mut conversation = String::new();
    for passage in &shown.passages {
        let role = passage.role.as_str();
        let at = passage.at.map(|at| format!(", {}", time(at))).unwrap_or_default();
        let text = passage.text.trim_end_matches('\n');
        writeln!(conversation, "[{mark}] {role}{at}\n{text}").expect("a string takes every text");
    }
    let now = shown.now.map(|now| format!("It is now {}. ", time(now))).unwrap_or_default();
    // The conversation is inserted last, so that no text in it is used as a
    // placeholder.
    let prompt = PROMPT.trim_end().replace("{{mark}}", mark).replace("{{now}}", &now);
    prompt.replace("{{conversation}}", &conversation)
}

/// A time with its weekday, which is needed to resolve "last Friday".
fn time(at: jiff::Timestamp) -> String {
    at.strftime("%A, %Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests;
