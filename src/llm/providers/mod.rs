//! How each provider writes a request and a reply: one file each.

use serde_json::Value;

use super::error::{self, Fault, FaultKind, WireError};
use super::{Reply, Request};

mod anthropic;
pub mod batches;
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

/// The provider of chat models with this name.
pub fn named(name: &str) -> Option<&'static dyn Provider> {
    PROVIDERS.iter().copied().find(|provider| provider.name() == name)
}

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
    fn key_header(&self) -> (&'static str, &'static str);

    /// The body of a request.
    fn encode(&self, request: &Request) -> Value;

    /// The reply in the body of a success.
    ///
    /// # Errors
    /// If the body lacks what every reply has, or is a fault after all.
    fn reply(&self, body: &Value) -> Result<Reply, WireError>;

    /// How it takes requests in batches; `None` if it has no such interface, or
    /// not at half the price.
    fn batches(&self) -> Option<&'static dyn batches::Batches> {
        None
    }

    /// The kind of fault that an error object names, if it says more than the status.
    fn fault_kind(&self, error: &Value) -> Option<FaultKind>;

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
                let excerpt = error::excerpt(&String::from_utf8_lossy(body));
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
        Fault { kind, status, message: error::message(error) }
    }
}
