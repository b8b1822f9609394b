//! Requests to a model.

use std::collections::BTreeSet;

use serde_json::Value;

/// The speaker of a message. The system text is kept apart, in [`Request::system`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user, on whose behalf the seat asks.
    User,
    /// The model that replies.
    Assistant,
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
