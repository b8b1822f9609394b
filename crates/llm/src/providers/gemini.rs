//! Gemini's generateContent.
//!
//! Source: Gemini's API reference, "Generating content" (`GenerationConfig`,
//! `FinishReason`, `UsageMetadata`, `PromptFeedback`), "Gemini thinking" and
//! "Troubleshooting".

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Provider, figure, model, required, rest, sums_to, text, without_null};
use crate::call::{FaultKind, WireError};
use crate::{Finish, NoUsage, Reply, Request, Speaker, Tokens};
use recap_core::model::Usage;

/// The wire format of Gemini's `generateContent` method.
#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Provider for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn path(&self, request: &Request) -> String {
        let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
        format!("/v1beta/models/{}:generateContent", segment(model))
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn encode(&self, request: &Request) -> Value {
        let contents = request.messages.iter().map(|message| {
            let role = match message.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "model",
            };
            json!({"role": role, "parts": [{"text": message.text}]})
        });
        let schema = request.schema.as_ref();
        let config = without_null(json!({
            "maxOutputTokens": request.max_tokens,
            "temperature": request.temperature,
            // Supported from Gemini 3 on; 2.5 knows only budgets of tokens, and
            // rejects a level.
            "thinkingConfig": request.effort.as_ref().map(|effort| json!({"thinkingLevel": effort})),
            "responseMimeType": schema.map(|_| "application/json"),
            // `responseSchema` is OpenAPI's dialect, which has no
            // `additionalProperties`; this one is JSON Schema.
            "responseJsonSchema": schema.map(|schema| &schema.json),
        }));
        let system = Some(&request.system).filter(|text| !text.is_empty());
        without_null(json!({
            "systemInstruction": system.map(|text| json!({"parts": [{"text": text}]})),
            "contents": contents.collect::<Vec<Value>>(),
            "generationConfig": config,
        }))
    }

    fn reply(&self, body: &Value) -> Result<Reply, WireError> {
        let usage = tokens(&body["usageMetadata"]);
        let model = model(body, "modelVersion");
        let Some(candidate) = body["candidates"].get(0) else {
            // A blocked prompt has no candidates.
            return match body["promptFeedback"]["blockReason"].as_str() {
                Some(_) => {
                    Ok(Reply { text: String::new(), finish: Finish::Filtered, usage, model })
                }
                None => Err(WireError::Lacks("candidates".into())),
            };
        };
        let finish = match text(candidate, "finishReason")? {
            "STOP" => Finish::Done,
            "MAX_TOKENS" => Finish::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
                Finish::Filtered
            }
            other => Finish::Other(other.to_owned()),
        };
        let parts = candidate["content"]["parts"].as_array().into_iter().flatten();
        let said = parts.filter(|part| part["thought"] != true);
        let text = said.filter_map(|part| part["text"].as_str()).collect();
        Ok(Reply { text, finish, usage, model })
    }

    fn fault_kind(&self, error: &Value) -> Option<FaultKind> {
        let message = error["message"].as_str().unwrap_or("");
        Some(match error["status"].as_str()? {
            // One status covers all errors of a request; the message distinguishes them.
            "INVALID_ARGUMENT" if message.contains("API key") => FaultKind::Auth,
            "INVALID_ARGUMENT" if message.contains("exceeds the maximum number of tokens") => {
                FaultKind::ContextTooLong
            }
            "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => FaultKind::BadRequest,
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => FaultKind::Auth,
            "NOT_FOUND" => FaultKind::NotFound,
            "RESOURCE_EXHAUSTED" => FaultKind::RateLimited,
            "UNAVAILABLE" => FaultKind::Overloaded,
            "INTERNAL" | "DEADLINE_EXCEEDED" => FaultKind::Server,
            _ => return None,
        })
    }
}

/// A name as one segment of a path (RFC 3986 §2.1, §2.3).
fn segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            segment.push(char::from(byte));
        } else {
            write!(segment, "%{byte:02X}").expect("a string takes every text");
        }
    }
    segment
}

/// `promptTokenCount` includes what was read from the cache, but not what a
/// tool added to the prompt; reasoning is counted besides the candidates. A
/// count of zero is left out (protocol buffers' JSON).
fn tokens(usage: &Value) -> Result<Tokens, NoUsage> {
    let count = |name| figure(usage, name).map(|count| count.unwrap_or(0));
    let prompt = required(usage, "promptTokenCount")?;
    let read = count("cachedContentTokenCount")?;
    let uncached = rest(("promptTokenCount", prompt), ("cachedContentTokenCount", read))?;
    let tools = count("toolUsePromptTokenCount")?;
    let thoughts = figure(usage, "thoughtsTokenCount")?;
    let output = count("candidatesTokenCount")? + thoughts.unwrap_or(0);
    sums_to(prompt + tools + output, "totalTokenCount", figure(usage, "totalTokenCount")?)?;
    let usage = Usage {
        input: uncached + tools,
        cache_read: read,
        output,
        output_final: true,
        ..Usage::default()
    };
    Ok(Tokens { usage, reasoning: thoughts })
}
