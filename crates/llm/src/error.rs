//! Errors in a provider's response.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

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
    let text = text.trim();
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The message of an error object, or else the beginning of the object.
pub(super) fn message(error: &Value) -> String {
    match error["message"].as_str().or_else(|| error.as_str()) {
        Some(text) => excerpt(text),
        None => excerpt(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
