//! OpenAI's responses.
//!
//! Source: OpenAI's API reference, "Responses" (`Create`, the response object
//! and its usage), "Structured outputs", "Reasoning models" and "Error codes".

use serde_json::{Value, json};

use super::openai_chat::{openai_tokens, said};
use super::{Provider, list, model, text};
use crate::call::{Fault, FaultKind, WireError};
use crate::{Finish, Reply, Request};

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
        let mut body = json!({"model": request.model});
        if !request.system.is_empty() {
            body["instructions"] = request.system.as_str().into();
        }
        body["input"] = said(request).collect();
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
        let (output, status) = (list(body, "output")?, text(body, "status")?);
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
            usage: openai_tokens(&body["usage"], ["input", "output"], |_, output, _| output),
            model: model(body, "model"),
        })
    }
}
