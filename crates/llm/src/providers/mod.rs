//! How each provider writes a request and a reply: one file each.

use serde_json::Value;

use super::{NoUsage, Reply, Request};
use crate::call::{Fault, FaultKind, WireError, error_message, excerpt};

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_embeddings;
mod openai_responses;
#[cfg(test)]
mod tests;

pub use anthropic::Anthropic;
pub use gemini::Gemini;
pub use openai_chat::OpenAiChat;
pub use openai_embeddings::OpenAiEmbeddings;
pub use openai_responses::OpenAiResponses;

/// Every provider of chat models.
pub static PROVIDERS: &[&dyn Provider] =
    &[&OpenAiChat::OPENAI, &OpenAiChat::COMPATIBLE, &OpenAiResponses, &Anthropic, &Gemini];

/// A provider's wire format.
pub trait Provider: Sync {
    /// The name used in commands and files.
    fn name(&self) -> &'static str;

    /// The path of a request after the server's address, with a leading slash.
    fn path(&self, request: &Request) -> String;

    /// Headers besides the key and the content type.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The header that carries the key, and the prefix of its value.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// The body of a request.
    fn encode(&self, request: &Request) -> Value;

    /// The reply in the body of a success.
    ///
    /// # Errors
    /// If the body lacks what every reply has, or is a fault after all.
    fn reply(&self, body: &Value) -> Result<Reply, WireError>;

    /// The kind of fault that an error object names, if it says more than the
    /// status; by default in OpenAI's words.
    fn fault_kind(&self, error: &Value) -> Option<FaultKind> {
        openai_chat::openai_fault_kind(error)
    }

    /// Reads a response.
    ///
    /// # Errors
    /// If the provider reports a fault, or the body cannot be read. A body that
    /// is not JSON (a proxy's page) is a fault by its status, unless the status
    /// is a success.
    fn decode(&self, status: u16, body: &[u8]) -> Result<Reply, WireError> {
        let success = (200..300).contains(&status);
        match serde_json::from_slice::<Value>(body) {
            // Routers report faults of their providers with status 200
            // (OpenRouter, "Errors").
            Ok(body) if !success || body.get("error").is_some_and(|e| !e.is_null()) => {
                Err(self.fault(status, &body).into())
            }
            Ok(body) => self.reply(&body),
            Err(why) => {
                let excerpt = excerpt(&String::from_utf8_lossy(body));
                Err(if success {
                    WireError::NotJson { why: why.to_string(), excerpt }
                } else {
                    let kind = FaultKind::of_status(status);
                    Fault { kind, status, message: excerpt }.into()
                })
            }
        }
    }

    /// The fault that a body describes.
    fn fault(&self, status: u16, body: &Value) -> Fault {
        let error = body.get("error").unwrap_or(body);
        // A fault inside a success may carry its own status.
        let own = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let status = if status < 300 { own.unwrap_or(status) } else { status };
        let by_status = if status < 300 { FaultKind::Server } else { FaultKind::of_status(status) };
        let kind = self.fault_kind(error).unwrap_or(by_status);
        Fault { kind, status, message: error_message(error) }
    }
}

/// An object without the fields that are null: what is not asked for is not sent.
fn without_null(mut object: Value) -> Value {
    object.as_object_mut().expect("it is one").retain(|_, field| !field.is_null());
    object
}

/// A text that every body has.
fn text<'a>(body: &'a Value, name: &'static str) -> Result<&'a str, WireError> {
    body[name].as_str().ok_or(WireError::Lacks(name.into()))
}

/// A list that every body has.
fn list<'a>(body: &'a Value, name: &'static str) -> Result<&'a [Value], WireError> {
    body[name].as_array().map(Vec::as_slice).ok_or(WireError::Lacks(name.into()))
}

/// The model that answered, as the provider names it.
fn model(body: &Value, name: &str) -> Option<String> {
    body[name].as_str().map(str::to_owned)
}

// Counts of tokens, which are read without trusting them.

/// Largest whole number that every JSON reader keeps exactly (RFC 8259 §6).
/// With it as bound, no sum of a few figures overflows.
const LARGEST: u64 = (1 << 53) - 1;

/// A count by its name; `None` if it is absent or null.
fn figure(object: &Value, name: &str) -> Result<Option<u64>, NoUsage> {
    match &object[name] {
        Value::Null => Ok(None),
        value => match value.as_u64().filter(|count| *count <= LARGEST) {
            Some(count) => Ok(Some(count)),
            None => Err(NoUsage::Contradictory(format!("{name} is {value}"))),
        },
    }
}

/// A count that every usage report has.
fn required(object: &Value, name: &str) -> Result<u64, NoUsage> {
    figure(object, name)?.ok_or_else(|| match object {
        Value::Null => NoUsage::Missing,
        _ => NoUsage::Contradictory(format!("{name} is missing")),
    })
}

/// The difference of a whole and its part.
fn rest((whole, all): (&str, u64), (part, some): (&str, u64)) -> Result<u64, NoUsage> {
    let problem = || NoUsage::Contradictory(format!("{some} {part} of {all} {whole}"));
    all.checked_sub(some).ok_or_else(problem)
}

/// Checks that the buckets add up to the sum that the provider reports.
fn sums_to(sum: u64, name: &str, reported: Option<u64>) -> Result<(), NoUsage> {
    match reported {
        Some(reported) if reported != sum => {
            Err(NoUsage::Contradictory(format!("{name} is {reported}, its parts sum to {sum}")))
        }
        _ => Ok(()),
    }
}
