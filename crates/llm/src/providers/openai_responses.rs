//! OpenAI's responses.
//!
//! Source: OpenAI's API reference, "Responses" (`Create`, the response object
//! and its usage), "Structured outputs", "Reasoning models" and "Error codes".

use serde_json::{Value, json};

use super::openai_chat::{openai_tokens, said};
use super::{Provider, list, model, text, without_null};
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
        let format = request.schema.as_ref().map(|schema| {
            json!({"format": {
                "type": "json_schema",
                "name": schema.name,
                "strict": true,
                "schema": schema.json,
            }})
        });
        without_null(json!({
            "model": request.model,
            "instructions": Some(&request.system).filter(|text| !text.is_empty()),
            "input": said(request).collect::<Vec<Value>>(),
            "max_output_tokens": request.max_tokens,
            "store": false,
            "temperature": request.temperature,
            "reasoning": request.effort.as_ref().map(|effort| json!({"effort": effort})),
            "text": format,
        }))
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
