//! Anthropic's messages.
//!
//! Source: Anthropic's API reference, "Messages", "Prompt caching",
//! "Structured outputs", "Effort", "Handling stop reasons" and "Errors".

use serde_json::{Value, json};

use super::{Provider, figure, list, model, required, sums_to, text, without_null};
use crate::call::{FaultKind, WireError};
use crate::{Finish, NoUsage, Reply, Request, Tokens};
use recap_core::model::Usage;

/// The wire format of Anthropic's messages API.
#[derive(Clone, Copy, Debug)]
pub struct Anthropic;

impl Provider for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn path(&self, _: &Request) -> String {
        "/v1/messages".to_owned()
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn encode(&self, request: &Request) -> Value {
        let block = |text: &str| json!([{"type": "text", "text": text}]);
        let messages = request.messages.iter().map(
            |message| json!({"role": message.speaker.as_str(), "content": block(&message.text)}),
        );
        let mut system = Some(block(&request.system)).filter(|_| !request.system.is_empty());
        if let Some(system) = system.as_mut().filter(|_| request.shared_system) {
            system[0]["cache_control"] = json!({"type": "ephemeral"});
        }
        let format = request.schema.as_ref();
        let format = format.map(|schema| json!({"type": "json_schema", "schema": schema.json}));
        let config = without_null(json!({"effort": request.effort, "format": format}));
        without_null(json!({
            "model": request.model,
            "max_tokens": request.max_tokens,
            "system": system,
            "messages": messages.collect::<Vec<Value>>(),
            "temperature": request.temperature,
            "output_config": Some(config).filter(|config| *config != json!({})),
        }))
    }

    fn reply(&self, body: &Value) -> Result<Reply, WireError> {
        let blocks = list(body, "content")?;
        let finish = match text(body, "stop_reason")? {
            "end_turn" | "stop_sequence" => Finish::Done,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "refusal" => Finish::Refused,
            other => Finish::Other(other.to_owned()),
        };
        let texts = blocks.iter().filter(|block| block["type"] == "text");
        Ok(Reply {
            text: texts.filter_map(|block| block["text"].as_str()).collect(),
            finish,
            usage: tokens(&body["usage"]),
            model: model(body, "model"),
        })
    }

    fn fault_kind(&self, error: &Value) -> Option<FaultKind> {
        let message = error["message"].as_str().unwrap_or("");
        Some(match error["type"].as_str()? {
            // There is no error type of its own for this; only the message says it.
            "invalid_request_error" if is_too_long(message) => FaultKind::ContextTooLong,
            "invalid_request_error" if message.contains("credit balance") => FaultKind::Quota,
            "invalid_request_error" => FaultKind::BadRequest,
            "authentication_error" | "permission_error" => FaultKind::Auth,
            "billing_error" => FaultKind::Quota,
            "not_found_error" => FaultKind::NotFound,
            "request_too_large" => FaultKind::ContextTooLong,
            "rate_limit_error" => FaultKind::RateLimited,
            "overloaded_error" => FaultKind::Overloaded,
            "api_error" | "timeout_error" => FaultKind::Server,
            _ => return None,
        })
    }
}

/// Whether a message says that the prompt, or prompt and reply, do not fit.
fn is_too_long(message: &str) -> bool {
    message.contains("prompt is too long") || message.contains("exceed context limit")
}

/// `input_tokens` excludes cached tokens. Writes are split by lifetime where
/// the provider reports that; otherwise they are for five minutes, as
/// requested.
fn tokens(usage: &Value) -> Result<Tokens, NoUsage> {
    let written = figure(usage, "cache_creation_input_tokens")?;
    let split = &usage["cache_creation"];
    let (short, long) = if split.is_null() {
        (written.unwrap_or(0), 0)
    } else {
        let short = figure(split, "ephemeral_5m_input_tokens")?.unwrap_or(0);
        let long = figure(split, "ephemeral_1h_input_tokens")?.unwrap_or(0);
        sums_to(short + long, "cache_creation_input_tokens", written)?;
        (short, long)
    };
    let usage = Usage {
        input: required(usage, "input_tokens")?,
        cache_read: figure(usage, "cache_read_input_tokens")?.unwrap_or(0),
        cache_write_5m: short,
        cache_write_1h: long,
        output: required(usage, "output_tokens")?,
        output_final: true,
        ..Usage::default()
    };
    Ok(Tokens { usage, reasoning: None })
}
