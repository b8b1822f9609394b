//! Calls to a model: the request, the reply with its usage, and the errors.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use recap_core::model::{ModelRole, Timing, Usage};
use recap_core::text::{beginning, counted};

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

impl Model {
    /// `provider/model`, as in files and tables.
    pub fn id(&self) -> String {
        self.to_string()
    }

    /// What a role asks, as this model is sent it.
    pub fn request(&self, asked: Request) -> Request {
        Request {
            model: self.name.clone(),
            max_tokens: asked.max_tokens + self.settings.room,
            temperature: self.settings.temperature,
            effort: self.settings.effort.clone(),
            ..asked
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

/// A request: what a role asks, and what its model adds to that ([`Model::request`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The system text; none is sent if it is empty.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Most tokens of the reply; as it is sent, those for reasoning included.
    pub max_tokens: u64,
    /// The reply's shape; free text if `None`.
    pub schema: Option<Schema>,
    /// Whether later requests share the system text. Only providers with explicit
    /// cache breakpoints use it (Anthropic); the others find shared prefixes by
    /// themselves.
    pub shared_system: bool,
    /// The model, as its provider names it; empty until one is chosen.
    pub model: String,
    /// Sampling temperature of the model; if `None`, the provider's own, which some
    /// models insist on.
    pub temperature: Option<f64>,
    /// How hard a reasoning model thinks, in its provider's word (`low`,
    /// `high`); if `None`, its own default.
    pub effort: Option<String>,
}

impl Request {
    /// A question with a single user message.
    pub fn of(system: impl Into<String>, text: impl Into<String>, max_tokens: u64) -> Self {
        let messages = vec![Message { speaker: Speaker::User, text: text.into() }];
        Self { system: system.into(), messages, max_tokens, ..Self::default() }
    }
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

    /// As [`Llm::call`], with the number of requests that were sent, whatever came of them.
    async fn call_counted(&self, call: Call) -> (Result<Answered, CallError>, u32) {
        let outcome = self.call(call).await;
        let requests = match &outcome {
            Ok(answered) => answered.timing.attempts,
            Err(CallError::Unavailable { attempts, .. }) => *attempts,
            Err(error) => error.is_request_error().into(),
        };
        (outcome, requests)
    }

    /// Says that a role could use a reply of the model.
    fn used(&self, _role: ModelRole) {}

    /// Says that a role could not use the reply to a call, and why. `again`: a resumed run
    /// makes the call again. Models that store and count no replies may ignore it.
    fn discard(&self, _call: Call, _why: &str, _again: bool) {}

    /// Stops all further calls, those that are waiting included, for a reason
    /// outside of the model. Models that call no provider may ignore it.
    fn halt(&self, _reason: &str) {}
}

// Replies of models, with their usage.

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// The model finished its answer.
    Done,
    /// It was cut off: at [`max_tokens`](crate::Request::max_tokens), or at the
    /// end of the model's window.
    Length,
    /// The model declined; the text is its reason, if it gave one.
    Refused,
    /// The provider withheld the reply, or the rest of it.
    Filtered,
    /// Another reason, in the provider's word: the text is not a complete answer.
    Other(String),
}

/// The tokens of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// The tokens in disjoint buckets, which add up to the provider's total.
    pub usage: Usage,
    /// Tokens of `usage.output` that were reasoning, where the provider reports them.
    pub reasoning: Option<u64>,
}

/// Why the tokens of a reply are not known.
///
/// The reply is used all the same: it was paid for, and asking again would cost
/// again. Only its cost is unknown, which is better than a wrong cost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoUsage {
    /// The provider reported none.
    #[error("the provider reported no usage")]
    Missing,
    /// The figures contradict each other, or are not counts of tokens.
    #[error("the provider's usage cannot be right: {0}")]
    Contradictory(String),
}

/// A model's reply with its usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The text without the model's reasoning; may be empty.
    pub text: String,
    /// Why the model stopped writing.
    pub finish: Finish,
    /// The tokens of the request, or why they are not known.
    pub usage: Result<Tokens, NoUsage>,
    /// The model that answered, as the provider names it: often a dated
    /// version of the one asked for.
    pub model: Option<String>,
}

/// Tokens that a provider may add to a prompt by itself, for tools and schemas:
/// a few hundred where it is documented, with a margin for the others.
const ADDED: u64 = 4_096;
/// Tokens of reasoning that a server may count beyond the limit of a reply.
const THOUGHT: u64 = 65_536;

impl Reply {
    /// Rejects usage that is impossible for a request of `bytes` bytes and a
    /// reply of at most `max_tokens` tokens: a token takes a byte at least.
    pub(super) fn with_checked_usage(mut self, bytes: usize, max_tokens: u64) -> Self {
        let Ok(Tokens { usage, .. }) = &self.usage else { return self };
        let (prompt, most_prompt) = (usage.prompt(), ADDED.saturating_add(bytes as u64));
        let (output, most) = (usage.output, max_tokens.saturating_mul(2).saturating_add(THOUGHT));
        let why = if prompt > most_prompt {
            format!("{prompt} tokens of a request of {bytes} bytes")
        } else if output > most {
            format!("{output} tokens of a reply that may have {max_tokens}")
        } else {
            return self;
        };
        self.usage = Err(NoUsage::Contradictory(why));
        self
    }
}

// Errors in a provider's response.

/// Most characters that an error repeats of a response.
const EXCERPT: usize = 300;

/// Why a response holds no reply.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum WireError {
    /// The body of a success is not JSON.
    #[error("the response is not JSON ({why}): {excerpt}")]
    NotJson {
        /// The error of the JSON parser.
        why: String,
        /// The beginning of the body.
        excerpt: String,
    },
    /// The body lacks something that every reply has.
    #[error("the response has no {0}")]
    Lacks(Cow<'static, str>),
    /// The provider reports a fault.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A fault that the provider reports.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[error("the provider answered {status}, {}: {message}", kind.as_str())]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The HTTP status of the response.
    pub status: u16,
    /// The provider's message, or the beginning of the body.
    pub message: String,
}

/// Kinds of faults, by how they can be remedied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Too many requests or tokens a minute; succeeds later.
    RateLimited,
    /// The provider is overloaded; succeeds later.
    Overloaded,
    /// The provider failed; may succeed later.
    Server,
    /// The request does not fit the model's window.
    ContextTooLong,
    /// The provider's filter rejected the prompt.
    Filtered,
    /// The key is missing or wrong, or may not use this model.
    Auth,
    /// The account's credit or quota is used up.
    Quota,
    /// The provider has no such model, or no such path.
    NotFound,
    /// The request is malformed or not supported.
    BadRequest,
}

impl FaultKind {
    /// The name used in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            FaultKind::RateLimited => "rate limited",
            FaultKind::Overloaded => "overloaded",
            FaultKind::Server => "server error",
            FaultKind::ContextTooLong => "context too long",
            FaultKind::Filtered => "prompt filtered",
            FaultKind::Auth => "not authorised",
            FaultKind::Quota => "quota used up",
            FaultKind::NotFound => "not found",
            FaultKind::BadRequest => "bad request",
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(self) -> bool {
        matches!(self, FaultKind::RateLimited | FaultKind::Overloaded | FaultKind::Server)
    }

    /// The kind of fault that a status alone stands for (RFC 9110 §15; RFC 6585
    /// §4 for 429; Anthropic, "Errors", for 529).
    pub(super) fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => FaultKind::Auth,
            402 => FaultKind::Quota,
            404 => FaultKind::NotFound,
            413 => FaultKind::ContextTooLong,
            429 => FaultKind::RateLimited,
            503 | 529 => FaultKind::Overloaded,
            408 | 500.. => FaultKind::Server,
            _ => FaultKind::BadRequest,
        }
    }
}

/// The beginning of a text, for a message.
pub(super) fn excerpt(text: &str) -> String {
    beginning(text.trim(), EXCERPT).into_owned()
}

/// The message of an error object, or else the beginning of the object.
pub(super) fn error_message(error: &Value) -> String {
    match error["message"].as_str().or_else(|| error.as_str()) {
        Some(text) => excerpt(text),
        None => excerpt(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(usage: Usage) -> Result<Tokens, NoUsage> {
        let usage = Ok(Tokens { usage, reasoning: None });
        let reply = Reply { text: String::new(), finish: Finish::Done, usage, model: None };
        reply.with_checked_usage(2_000, 500).usage
    }

    #[test]
    fn impossible_usage_is_refused_with_the_reason() {
        // 2,000 bytes and 4,096 tokens of the provider's; twice 500 and 65,536.
        let most = Usage { input: 96, cache_read: 6_000, output: 66_536, ..Usage::default() };
        assert!(checked(most).is_ok());
        let why = |usage| checked(usage).unwrap_err().to_string();
        assert_eq!(
            why(Usage { input: 97, ..most }),
            "the provider's usage cannot be right: 6097 tokens of a request of 2000 bytes"
        );
        assert_eq!(
            why(Usage { output: 66_537, ..most }),
            "the provider's usage cannot be right: 66537 tokens of a reply that may have 500"
        );
        assert!(checked(Usage { cache_write_1h: u64::MAX, ..most }).is_err());
    }

    #[test]
    fn a_status_tells_whether_waiting_helps() {
        for status in [408, 429, 500, 502, 503, 504, 529] {
            assert!(FaultKind::of_status(status).is_transient(), "{status}");
        }
        for status in [400, 401, 402, 403, 404, 413, 422] {
            assert!(!FaultKind::of_status(status).is_transient(), "{status}");
        }
    }

    #[test]
    fn an_excerpt_counts_characters_not_bytes() {
        assert_eq!(excerpt(" é "), "é");
        assert_eq!(excerpt(&"é".repeat(300)), "é".repeat(300));
        assert_eq!(excerpt(&"é".repeat(301)), "é".repeat(300) + "…");
    }

    #[test]
    fn a_fault_says_what_the_provider_said() {
        let fault =
            Fault { kind: FaultKind::RateLimited, status: 429, message: "slow down".to_owned() };
        assert_eq!(fault.to_string(), "the provider answered 429, rate limited: slow down");
    }
}
