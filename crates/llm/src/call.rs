//! Calls to a model: the request, the reply, and the errors.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use thiserror::Error;

use super::{Fault, Reply, WireError};
use recap_core::model::{ModelRole, Timing};
use recap_core::text::counted;

/// A model as the user names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Provider, as the user names it (`openai`, `ollama`).
    pub provider: String,
    /// Model, as the provider names it.
    pub name: String,
    /// How the model is asked.
    pub settings: Settings,
}

/// Settings of a model that are the same for every call.
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

/// A request of a role, before a model is chosen for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// The system text, sent before the messages.
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

impl ModelRequest {
    /// A question with a single user message.
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

    /// The request that asks this model the question.
    pub fn request(&self, question: ModelRequest) -> Request {
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

/// The speaker of a message. The system text is kept apart, in [`Request::system`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user, on whose behalf the role asks.
    User,
    /// The model that replies.
    Assistant,
}

impl Speaker {
    /// The name that most providers have for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        }
    }
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The speaker of the message.
    pub speaker: Speaker,
    /// Its text, sent as it is.
    pub text: String,
}

/// The shape that a reply must have.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// Its name: letters, digits, `_` and `-`, at most 64 (OpenAI, "Structured
    /// outputs").
    pub name: String,
    /// JSON Schema. To hold at every provider, each object lists all its
    /// properties as required and sets `additionalProperties` to false
    /// (OpenAI's `strict`).
    pub json: Value,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The model, as its provider names it.
    pub model: String,
    /// The system text; none is sent if it is empty.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Most tokens that the model may write, reasoning included.
    pub max_tokens: u64,
    /// Sampling temperature; if `None`, the provider's own, which some models
    /// insist on.
    pub temperature: Option<f64>,
    /// How hard a reasoning model thinks, in its provider's word (`low`,
    /// `high`); if `None`, its own default.
    pub effort: Option<String>,
    /// The reply's shape; free text if `None`.
    pub schema: Option<Schema>,
    /// The ends of prefixes that later requests share, as numbers of messages;
    /// 0 is the system text alone. Only providers with explicit cache
    /// breakpoints use it (Anthropic); the others find shared prefixes by
    /// themselves.
    pub breakpoints: BTreeSet<usize>,
}

/// A call of a role to its model.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The role that asks.
    pub role: ModelRole,
    /// Repetition, from 0: the same request may be sent several times.
    pub replicate: u32,
    /// The request that is sent.
    pub request: Request,
}

/// A reply, with its timing and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The model's reply with its usage.
    pub reply: Reply,
    /// The time that the call took, by phase.
    pub timing: Timing,
    /// Whether it was read from a recording of earlier calls.
    pub recorded: bool,
}

/// Why a call brought no reply.
///
/// The first two are about the request: if it were sent again, it would fail
/// again. The others are about the provider or the run, and must not count as
/// an answer to the request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The provider rejected the request for a lasting reason.
    #[error(transparent)]
    Rejected(Fault),
    /// The response could not be read.
    #[error(transparent)]
    Malformed(WireError),
    /// The provider could not be reached, or failed at every attempt.
    #[error("no reply after {}: {why}", counted(*attempts, "attempt"))]
    Unavailable {
        /// Number of requests that were sent.
        attempts: u32,
        /// The error of the last attempt.
        why: String,
        /// How long it took, waits between attempts included.
        took: Duration,
    },
    /// Calls to this model were stopped for the rest of the run.
    #[error("{0}")]
    Halted(String),
    /// The call could cost more than what is left of `--max-cost`.
    #[error("{0}")]
    OverBudget(String),
    /// The run replays a recording that does not contain this call.
    #[error("the cassette has no such call: {0}")]
    NotRecorded(String),
}

impl CallError {
    /// Whether the error is about the request rather than about the run.
    pub fn is_request_error(&self) -> bool {
        matches!(self, CallError::Rejected(_) | CallError::Malformed(_))
    }
}

/// Something that makes calls to a model: the model itself, or a wrapper around one.
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

    /// As [`Llm::call`], with the number of requests that were sent, whatever
    /// came of them.
    async fn call_counted(&self, call: Call) -> (Result<Answered, CallError>, u32) {
        let outcome = self.call(call).await;
        let sent = match &outcome {
            Ok(answered) => answered.timing.attempts,
            Err(CallError::Unavailable { attempts, .. }) => *attempts,
            Err(error) => error.is_request_error().into(),
        };
        (outcome, sent)
    }

    /// Says that the reply to a call has no usable form, so that a resumed run
    /// makes the call again. Models that store no replies may ignore it.
    fn discard(&self, _call: Call) {}

    /// Stops all further calls, those that are waiting included, for a reason
    /// outside of the model. Models that call no provider may ignore it.
    fn halt(&self, _reason: &str) {}
}
