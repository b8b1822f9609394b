//! OpenAI's responses.
//!
//! Source: OpenAI's API reference, "Responses" (`Create`, the response object
//! and its usage), "Structured outputs", "Reasoning models" and "Error codes".

use serde_json::{Value, json};

use super::{Provider, figure, required, rest, sums_to};
use crate::call::{Fault, FaultKind, WireError};
use crate::{Finish, NoUsage, Reply, Request, Tokens};
use recap_core::model::Usage;

/// The wire format of OpenAI's responses API. Nothing is stored at the
/// provider: each request carries its whole conversation.
#[derive(Clone, Copy, Debug)]
pub struct OpenAiResponses;

impl Provider for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn path(&self, _: &Request) -> String {
        "/v1/responses".to_owned()
    }

    fn encode(&self, request: &Request) -> Value {
        let input: Vec<Value> = request
            .messages
            .iter()
            .map(|message| json!({"role": message.speaker.as_str(), "content": message.text}))
            .collect();
        let mut body = json!({"model": request.model});
        if !request.system.is_empty() {
            body["instructions"] = request.system.as_str().into();
        }
        body["input"] = input.into();
        body["max_output_tokens"] = request.max_tokens.into();
        body["store"] = false.into();
        if let Some(temperature) = request.temperature {
            body["temperature"] = temperature.into();
        }
        if let Some(effort) = &request.effort {
            body["reasoning"] = json!({"effort": effort});
        }
        if let Some(schema) = &request.schema {
            body["text"] = json!({"format": {
                "type": "json_schema",
                "name": schema.name,
                "strict": true,
                "schema": schema.json,
            }});
        }
        body
    }

    fn reply(&self, body: &Value) -> Result<Reply, WireError> {
        let output = body["output"].as_array().ok_or(WireError::Lacks("output".into()))?;
        let status = body["status"].as_str().ok_or(WireError::Lacks("status".into()))?;
        let messages = output.iter().filter(|item| item["type"] == "message");
        let parts = || messages.clone().filter_map(|item| item["content"].as_array()).flatten();
        let text = |kind: &str, field: &str| -> String {
            let parts = parts().filter(|part| part["type"] == kind);
            parts.filter_map(|part| part[field].as_str()).collect()
        };
        let refused = parts().any(|part| part["type"] == "refusal");
        let finish = match (status, body["incomplete_details"]["reason"].as_str()) {
            // The error is in the body.
            ("failed", _) => {
                let message = "the response failed without an error".to_owned();
                return Err(Fault { kind: FaultKind::Server, status: 200, message }.into());
            }
            _ if refused => Finish::Refused,
            ("completed", _) => Finish::Done,
            ("incomplete", Some("max_output_tokens")) => Finish::Length,
            ("incomplete", Some("content_filter")) => Finish::Filtered,
            ("incomplete", Some(reason)) => Finish::Other(reason.to_owned()),
            (other, _) => Finish::Other(other.to_owned()),
        };
        Ok(Reply {
            text: if refused { text("refusal", "refusal") } else { text("output_text", "text") },
            finish,
            usage: tokens(&body["usage"]),
            model: body["model"].as_str().map(str::to_owned),
        })
    }
}

/// `input_tokens` includes what was read from the cache and what was written to
/// it, `output_tokens` includes reasoning.
fn tokens(usage: &Value) -> Result<Tokens, NoUsage> {
    let prompt = required(usage, "input_tokens")?;
    let details = &usage["input_tokens_details"];
    let read = figure(details, "cached_tokens")?.unwrap_or(0);
    let written = figure(details, "cache_write_tokens")?.unwrap_or(0);
    let unread = rest(("input_tokens", prompt), ("cached_tokens", read))?;
    let input = rest(("uncached input_tokens", unread), ("cache_write_tokens", written))?;

    let output = required(usage, "output_tokens")?;
    let reasoning = figure(&usage["output_tokens_details"], "reasoning_tokens")?;
    rest(("output_tokens", output), ("reasoning_tokens", reasoning.unwrap_or(0)))?;
    sums_to(prompt + output, "total_tokens", figure(usage, "total_tokens")?)?;
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
