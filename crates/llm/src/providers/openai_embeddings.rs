//! OpenAI's embeddings, which most servers of its chat completions have too.
//!
//! Source: OpenAI's API reference, "Embeddings"; Ollama's, llama.cpp's and
//! Mistral's pages on the same path.
//!
//! A request embeds the text of its last message. The reply's text is the
//! vector as JSON: so an embedding is limited, billed and recorded like any
//! other call.

use serde_json::{Value, json};

use super::{Provider, figure, required, sums_to};
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
        let data = body["data"].as_array().ok_or(WireError::Lacks("data".into()))?;
        let [one] = &data[..] else {
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
            model: body["model"].as_str().map(str::to_owned),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, FaultKind, Model, ModelRequest, Settings};

    fn decoded(body: &str) -> Result<Reply, String> {
        OpenAiEmbeddings.decode(200, body.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn request_contains_only_model_and_text() {
        let settings = Settings { temperature: Some(0.0), effort: Some("low".into()), room: 9 };
        let model = Model { provider: "openai".into(), name: "small".into(), settings };
        let request = model.request(ModelRequest::of("", "Rum?", 0));
        let expected = json!({"model": "small", "input": "Rum?"});
        assert_eq!(OpenAiEmbeddings.encode(&request), expected);
        assert_eq!(OpenAiEmbeddings.path(&request), "/v1/embeddings");
    }

    #[test]
    fn reply_is_vector_with_text_token_count() {
        // As in OpenAI's reference.
        let body = r#"{"object": "list", "data": [{"object": "embedding", "index": 0,
            "embedding": [0.0023064255, -9e-3, 1]}], "model": "text-embedding-ada-002",
            "usage": {"prompt_tokens": 8, "total_tokens": 8}}"#;
        let reply = decoded(body).unwrap();
        assert_eq!(reply.text, "[0.0023064255,-0.009,1]");
        assert_eq!(
            (reply.finish, reply.model.as_deref()),
            (Finish::Done, Some("text-embedding-ada-002"))
        );
        let usage = reply.usage.unwrap().usage;
        assert_eq!((usage.input, usage.output, usage.output_final), (8, 0, true));
        let untold = decoded(r#"{"data": [{"embedding": [1]}]}"#).unwrap();
        assert_eq!(untold.usage, Err(NoUsage::Missing));
    }

    #[test]
    fn invalid_vector_is_reported_with_reason() {
        for (body, why) in [
            ("{}", "the response has no data"),
            (r#"{"data": []}"#, "the response has no single embedding for a single text: it has 0"),
            (
                r#"{"data": [{"embedding": [1]}, {"embedding": [2]}]}"#,
                "the response has no single embedding for a single text: it has 2",
            ),
            (r#"{"data": [{}]}"#, "the response has no numbers in data[0].embedding"),
            (
                r#"{"data": [{"embedding": []}]}"#,
                "the response has no numbers in data[0].embedding",
            ),
            (
                r#"{"data": [{"embedding": [0.5, null]}]}"#,
                "the response has no vector of numbers alone in data[0].embedding",
            ),
        ] {
            assert_eq!(decoded(body), Err(why.to_owned()), "{body}");
        }
        for body in [r#"{"data": [{"embedding": [NaN]}]}"#, r#"{"data": [{"embedding": [1e999]}]}"#]
        {
            assert!(decoded(body).unwrap_err().starts_with("the response is not JSON"), "{body}");
        }
    }

    #[test]
    fn faults_are_read_as_in_other_openai_apis() {
        let body = r#"{"error": {"code": "model_not_found", "message": "no such model"}}"#;
        let error = OpenAiEmbeddings.decode(400, body.as_bytes()).unwrap_err();
        let fault =
            Fault { kind: FaultKind::NotFound, status: 400, message: "no such model".to_owned() };
        assert_eq!(error, WireError::Fault(fault));
    }
}
