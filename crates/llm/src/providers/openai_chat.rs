//! OpenAI's chat completions, which most other servers speak too.
//!
//! Source: OpenAI's API reference, "Chat completions", "Structured outputs",
//! "Reasoning models", "Prompt caching" and "Error codes"; DeepSeek's and
//! xAI's for what they add.

use serde_json::{Value, json};

use super::{Provider, figure, required, rest, sums_to};
use crate::call::{FaultKind, WireError};
use crate::{Finish, NoUsage, Reply, Request, Tokens};
use recap_core::model::Usage;

/// The wire format of OpenAI's chat completions, and of compatible servers.
#[derive(Clone, Copy, Debug)]
pub struct OpenAiChat {
    name: &'static str,
    /// The name of the field for [`Request::max_tokens`].
    max_tokens: &'static str,
}

impl OpenAiChat {
    /// OpenAI itself, whose reasoning models know only the newer field.
    pub const OPENAI: Self = Self { name: "openai", max_tokens: "max_completion_tokens" };
    /// Compatible servers, all of which know the older field.
    pub const COMPATIBLE: Self = Self { name: "openai-compatible", max_tokens: "max_tokens" };
}

impl Provider for OpenAiChat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn path(&self, _: &Request) -> String {
        "/v1/chat/completions".to_owned()
    }

    fn encode(&self, request: &Request) -> Value {
        let mut messages = Vec::with_capacity(request.messages.len() + 1);
        if !request.system.is_empty() {
            messages.push(json!({"role": "system", "content": request.system}));
        }
        messages.extend(
            request
                .messages
                .iter()
                .map(|message| json!({"role": message.speaker.as_str(), "content": message.text})),
        );
        let mut body = json!({"model": request.model, "messages": messages});
        body[self.max_tokens] = request.max_tokens.into();
        if let Some(temperature) = request.temperature {
            body["temperature"] = temperature.into();
        }
        if let Some(effort) = &request.effort {
            body["reasoning_effort"] = effort.as_str().into();
        }
        if let Some(schema) = &request.schema {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": {"name": schema.name, "strict": true, "schema": schema.json},
            });
        }
        body
    }

    fn reply(&self, body: &Value) -> Result<Reply, WireError> {
        let choice = body["choices"].get(0).ok_or(WireError::Lacks("choices".into()))?;
        let message = choice.get("message").ok_or(WireError::Lacks("message".into()))?;
        let reason =
            choice["finish_reason"].as_str().ok_or(WireError::Lacks("finish_reason".into()))?;
        let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
        let finish = match reason {
            _ if refusal.is_some() => Finish::Refused,
            "stop" => Finish::Done,
            "length" => Finish::Length,
            "content_filter" => Finish::Filtered,
            other => Finish::Other(other.to_owned()),
        };
        Ok(Reply {
            text: refusal.map_or_else(|| content(&message["content"]), str::to_owned),
            finish,
            usage: tokens(&body["usage"]),
            model: body["model"].as_str().map(str::to_owned),
        })
    }
}

/// The kind of fault that an error of OpenAI's names, in both of its APIs.
pub(super) fn openai_fault_kind(error: &Value) -> Option<FaultKind> {
    let names = [error["code"].as_str(), error["type"].as_str()];
    let kind = names.into_iter().flatten().find_map(|name| match name {
        // llama.cpp's server has an error type of its own.
        "context_length_exceeded" | "exceed_context_size_error" => Some(FaultKind::ContextTooLong),
        // The prompt was flagged as violating the usage policy.
        "content_filter" | "invalid_prompt" => Some(FaultKind::Filtered),
        "insufficient_quota" => Some(FaultKind::Quota),
        "rate_limit_exceeded" => Some(FaultKind::RateLimited),
        "invalid_api_key" => Some(FaultKind::Auth),
        "model_not_found" => Some(FaultKind::NotFound),
        _ => None,
    });
    // vLLM gives no code, only the same message as OpenAI.
    let too_long = || error["message"].as_str()?.find("maximum context length");
    kind.or_else(|| too_long().map(|_| FaultKind::ContextTooLong))
}

/// The text of a message: a string, or parts of which some are text (Mistral).
fn content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// `prompt_tokens` includes what was read from the cache and what was written
/// to it; `completion_tokens` includes reasoning, except at servers whose
/// `total_tokens` tells that it stands beside it (xAI).
/// Writes have one price, so that they stand with the shorter life's.
fn tokens(usage: &Value) -> Result<Tokens, NoUsage> {
    let prompt = required(usage, "prompt_tokens")?;
    let details = &usage["prompt_tokens_details"];
    let read = match figure(details, "cached_tokens")? {
        Some(read) => read,
        // DeepSeek's name of the same figure.
        None => figure(usage, "prompt_cache_hit_tokens")?.unwrap_or(0),
    };
    let written = figure(details, "cache_write_tokens")?.unwrap_or(0);
    let unread = rest(("prompt_tokens", prompt), ("cached_tokens", read))?;
    let input = rest(("uncached prompt_tokens", unread), ("cache_write_tokens", written))?;

    let completion = required(usage, "completion_tokens")?;
    let reasoning = figure(&usage["completion_tokens_details"], "reasoning_tokens")?;
    let total = figure(usage, "total_tokens")?;
    let beside = reasoning.map(|reasoning| completion + reasoning);
    let output = match beside {
        Some(output) if total == Some(prompt + output) => output,
        _ => completion,
    };
    rest(("completion_tokens", output), ("reasoning_tokens", reasoning.unwrap_or(0)))?;
    sums_to(prompt + output, "total_tokens", total)?;
    let usage = Usage {
        input,
        cache_read: read,
        cache_write_5m: written,
        cache_write_1h: 0,
        output,
        output_final: true,
        ..Usage::default()
    };
    Ok(Tokens { usage, reasoning })
}
