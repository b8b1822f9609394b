//! What a model is asked.

use std::collections::BTreeSet;

use serde_json::Value;

/// Who says a message. The system text stands apart, in [`Request::system`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The one who asks.
    User,
    /// The model.
    Assistant,
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
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
    /// What stands before the conversation; nothing is sent if it is empty.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Most tokens that the model may write, reasoning included.
    pub max_tokens: u64,
    /// Sampling temperature; the provider's own if none, which some models
    /// insist on.
    pub temperature: Option<f64>,
    /// How hard a reasoning model thinks, in its provider's word (`low`,
    /// `high`); its own default if none.
    pub effort: Option<String>,
    /// The reply's shape; free text if none.
    pub schema: Option<Schema>,
    /// Where a prefix ends that later requests share, as the number of messages
    /// in it; 0 is the system text alone. Only providers that cache at marks
    /// read it (Anthropic); the others find shared prefixes by themselves.
    pub breakpoints: BTreeSet<usize>,
}
