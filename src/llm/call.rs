//! Asking a model: who asks what, and what came of it.

use std::fmt;

use async_trait::async_trait;
use thiserror::Error;

use super::{Fault, Message, Reply, Request, Schema, Speaker, WireError};
use crate::model::{Seat, Timing};
use crate::text::counted;

/// A model as the user names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Provider, as the user names it (`openai`, `ollama`).
    pub provider: String,
    /// Model, as the provider names it.
    pub name: String,
    /// How it is asked.
    pub settings: Settings,
}

/// How a model is asked, whatever it is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Sampling temperature; the provider's own if none.
    pub temperature: Option<f64>,
    /// How hard a reasoning model thinks, in its provider's word; its own
    /// default if none.
    pub effort: Option<String>,
    /// Tokens granted on top of the bound of a reply: reasoning counts as
    /// output.
    pub room: u64,
}

/// What a seat wants to know, before it is known of whom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// What stands before the conversation.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Most tokens of the reply itself.
    pub max_tokens: u64,
    /// The reply's shape; free text if none.
    pub schema: Option<Schema>,
    /// Whether later calls share the system text, so that it is worth caching.
    pub shared_system: bool,
}

impl Question {
    /// One user message.
    pub fn of(system: impl Into<String>, text: impl Into<String>, max_tokens: u64) -> Self {
        let messages = vec![Message { speaker: Speaker::User, text: text.into() }];
        Self { system: system.into(), messages, max_tokens, ..Self::default() }
    }
}

impl Model {
    /// `provider/model`, as in files and tables.
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }

    /// The request that puts a question to this model.
    pub fn request(&self, question: Question) -> Request {
        Request {
            model: self.name.clone(),
            system: question.system,
            messages: question.messages,
            max_tokens: question.max_tokens + self.settings.room,
            temperature: self.settings.temperature,
            effort: self.settings.effort.clone(),
            schema: question.schema,
            breakpoints: question.shared_system.then_some(0).into_iter().collect(),
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Who asks.
    pub seat: Seat,
    /// Repetition, from 0: the same request may be put several times.
    pub replicate: u32,
    /// What is asked.
    pub request: Request,
}

/// A reply with what the call took.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The reply.
    pub reply: Reply,
    /// Where the time went.
    pub timing: Timing,
    /// Whether it was read from a recording of earlier calls.
    pub recorded: bool,
}

/// Why a call brought no reply.
///
/// The first two say something of the request: asked again, it would fail
/// again. The others say something of the provider or the run, never of what
/// was asked, and must not pass for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The provider turned the request down for good.
    #[error(transparent)]
    Rejected(Fault),
    /// The response could not be read.
    #[error(transparent)]
    Malformed(WireError),
    /// The provider could not be reached, or failed at every attempt.
    #[error("no reply after {}: {why}", counted(*attempts, "attempt"))]
    Unavailable {
        /// Requests sent.
        attempts: u32,
        /// What the last one met.
        why: String,
    },
    /// Nothing more is sent to this provider in this run.
    #[error("{0}")]
    Halted(String),
    /// The call could cost more than is left of `--max-cost`.
    #[error("{0}")]
    OverBudget(String),
    /// A recording is replayed, and it does not hold this call.
    #[error("the cassette has no such call: {0}")]
    NotRecorded(String),
}

impl CallError {
    /// Whether it says something of the request rather than of the run.
    pub fn is_of_the_request(&self) -> bool {
        matches!(self, CallError::Rejected(_) | CallError::Malformed(_))
    }
}

/// Whoever passes calls to a model.
#[async_trait]
pub trait Llm: Send + Sync {
    /// The model that is asked.
    fn model(&self) -> &Model;

    /// Makes one call.
    ///
    /// # Errors
    /// If there is no reply; see [`CallError`]. A refusal, a filtered and a
    /// truncated reply are replies: [`Reply::finish`] tells.
    async fn call(&self, call: Call) -> Result<Answered, CallError>;

    /// Asks nothing more from here on, calls that wait for their turn included:
    /// for a reason outside of the model. Whoever asks nobody need not listen.
    fn halt(&self, _reason: &str) {}
}
