//! OpenAI's chat completions, which most other servers speak too.
//!
//! Source: OpenAI's API reference, "Chat completions", "Structured outputs",
//! "Reasoning models", "Prompt caching" and "Error codes"; DeepSeek's and
//! xAI's for what they add.

use serde_json::{Value, json};

use super::{Provider, figure, model, required, rest, sums_to, text, without_null};
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
        let system = Some(&request.system).filter(|text| !text.is_empty());
        let system = system.map(|text| json!({"role": "system", "content": text}));
        let messages: Vec<Value> = system.into_iter().chain(said(request)).collect();
        let format = request.schema.as_ref().map(|schema| {
            json!({
                "type": "json_schema",
                "json_schema": {"name": schema.name, "strict": true, "schema": schema.json},
            })
        });
        without_null(json!({
            "model": request.model,
            "messages": messages,
            self.max_tokens: request.max_tokens,
            "temperature": request.temperature,
            "reasoning_effort": request.effort,
            "response_format": format,
        }))
    }

    fn reply(&self, body: &Value) -> Result<Reply, WireError> {
        let choice = body["choices"].get(0).ok_or(WireError::Lacks("choices".into()))?;
        let message = choice.get("message").ok_or(WireError::Lacks("message".into()))?;
        let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
        let finish = match text(choice, "finish_reason")? {
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
            model: model(body, "model"),
        })
    }
}

/// The conversation, as both of OpenAI's APIs have it.
pub(super) fn said(request: &Request) -> impl Iterator<Item = Value> {
    let messages = request.messages.iter();
    messages.map(|message| json!({"role": message.speaker.as_str(), "content": message.text}))
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

fn tokens(usage: &Value) -> Result<Tokens, NoUsage> {
    let details = &usage["completion_tokens_details"];
    let reasoning = figure(details, "reasoning_tokens")?.unwrap_or(0);
    // Completions include reasoning, except at servers whose total tells that it stands beside
    // them (xAI).
    let whole = |prompt: u64, output: u64, total: Option<u64>| match total {
        Some(total) if total == prompt + output + reasoning => output + reasoning,
        _ => output,
    };
    let mut tokens = openai_tokens(usage, ["prompt", "completion"], whole)?;
    // DeepSeek's name of the same figure.
    let hit = figure(usage, "prompt_cache_hit_tokens")?.unwrap_or(0);
    if figure(&usage["prompt_tokens_details"], "cached_tokens")?.is_none() {
        let uncached = tokens.usage.input;
        tokens.usage.input = rest(("prompt_tokens", uncached), ("cached_tokens", hit))?;
        tokens.usage.cache_read = hit;
    }
    Ok(tokens)
}

/// The tokens of a request in one of OpenAI's APIs, which call prompt and reply by these names.
/// The prompt includes what was read from the cache and what was written to it, which has one
/// price, so that it stands with the shorter life's; the reply, of which `output` gives the
/// whole, includes reasoning.
pub(super) fn openai_tokens(
    usage: &Value,
    [prompt_name, output_name]: [&str; 2],
    output: impl FnOnce(u64, u64, Option<u64>) -> u64,
) -> Result<Tokens, NoUsage> {
    let name = |of: &str, rest: &str| format!("{of}_tokens{rest}");
    let (prompt_tokens, output_tokens) = (name(prompt_name, ""), name(output_name, ""));
    let prompt = required(usage, &prompt_tokens)?;
    let details = &usage[&name(prompt_name, "_details")];
    let read = figure(details, "cached_tokens")?.unwrap_or(0);
    let written = figure(details, "cache_write_tokens")?.unwrap_or(0);
    let unread = rest((&prompt_tokens, prompt), ("cached_tokens", read))?;
    let uncached = format!("uncached {prompt_tokens}");
    let input = rest((&uncached, unread), ("cache_write_tokens", written))?;
    let total = figure(usage, "total_tokens")?;
    let output = output(prompt, required(usage, &output_tokens)?, total);
    let reasoning = figure(&usage[&name(output_name, "_details")], "reasoning_tokens")?;
    rest((&output_tokens, output), ("reasoning_tokens", reasoning.unwrap_or(0)))?;
    sums_to(prompt + output, "total_tokens", total)?;
    let usage = Usage {
        input,
        cache_read: read,
        cache_write_5m: written,
        output,
        output_final: true,
        ..Usage::default()
    };
    Ok(Tokens { usage, reasoning })
}
