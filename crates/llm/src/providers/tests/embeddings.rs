//! Embeddings, as OpenAI's API has them.

use super::*;
use crate::providers::OpenAiEmbeddings;
use crate::{Fault, FaultKind, Model, Request, Settings};

fn decoded(body: &str) -> Result<Reply, String> {
    OpenAiEmbeddings.decode(200, body.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn request_contains_only_model_and_text() {
    let settings = Settings { temperature: Some(0.0), effort: Some("low".into()), room: 9 };
    let model = Model { provider: "openai".into(), name: "small".into(), settings };
    let request = model.request(Request::of("", "Rum?", 0));
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
        (r#"{"data": [{"embedding": []}]}"#, "the response has no numbers in data[0].embedding"),
        (
            r#"{"data": [{"embedding": [0.5, null]}]}"#,
            "the response has no vector of numbers alone in data[0].embedding",
        ),
    ] {
        assert_eq!(decoded(body), Err(why.to_owned()), "{body}");
    }
    for body in [r#"{"data": [{"embedding": [NaN]}]}"#, r#"{"data": [{"embedding": [1e999]}]}"#] {
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
