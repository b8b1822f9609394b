//! OpenAI's embeddings, which most servers of its chat completions have too.
//!
//! Source: OpenAI's API reference, "Embeddings"; Ollama's, llama.cpp's and
//! Mistral's pages on the same path.
//!
//! A request embeds the text of its last message. The reply's text is the
//! vector as JSON: so an embedding is limited, billed and recorded like any
//! other call.

use serde_json::{Value, json};

use super::{Provider, figure, list, model, required, sums_to};
use crate::call::WireError;
use crate::{Finish, NoUsage, Reply, Request, Tokens};
use recap_core::model::Usage;

/// The wire format of OpenAI's embeddings, with one text per request.
#[derive(Clone, Copy, Debug)]
pub struct OpenAiEmbeddings;

impl Provider for OpenAiEmbeddings {
    fn name(&self) -> &'static str {
        "openai-embeddings"
    }

    fn path(&self, _: &Request) -> String {
        "/v1/embeddings".to_owned()
    }

    fn encode(&self, request: &Request) -> Value {
        let text = request.messages.last().map_or("", |message| message.text.as_str());
        json!({"model": request.model, "input": text})
    }

    fn reply(&self, body: &Value) -> Result<Reply, WireError> {
        let data = list(body, "data")?;
        let [one] = data else {
            let found = format!("single embedding for a single text: it has {}", data.len());
            return Err(WireError::Lacks(found.into()));
        };
        let vector = one["embedding"].as_array().filter(|numbers| !numbers.is_empty());
        let vector = vector.ok_or(WireError::Lacks("numbers in data[0].embedding".into()))?;
        // NaN does not exist in JSON; some servers write it as null.
        if !vector.iter().all(Value::is_number) {
            let what = "vector of numbers alone in data[0].embedding";
            return Err(WireError::Lacks(what.into()));
        }
        Ok(Reply {
            text: one["embedding"].to_string(),
            finish: Finish::Done,
            usage: tokens(&body["usage"]),
            model: model(body, "model"),
        })
    }
}

/// Tokens of the text. There is no output, though some servers report some (Mistral).
fn tokens(usage: &Value) -> Result<Tokens, NoUsage> {
    let input = required(usage, "prompt_tokens")?;
    let output = figure(usage, "completion_tokens")?.unwrap_or(0);
    sums_to(input + output, "total_tokens", figure(usage, "total_tokens")?)?;
    let usage = Usage { input, output, output_final: true, ..Usage::default() };
    Ok(Tokens { usage, reasoning: None })
}
