//! Holds the wire formats by bodies in the providers' documented shapes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

mod embeddings;
mod faults;
mod replies;
mod requests;
mod responses;
mod usage;

use super::{
    Anthropic, Gemini, LARGEST, OpenAiChat, OpenAiResponses, PROVIDERS, Provider, figure, required,
    rest,
};
use crate::{
    FaultKind, Finish, Message, NoUsage, Reply, Request, Schema, Speaker, Tokens, WireError,
};
use recap_core::model::Usage;

const OPENAI: OpenAiChat = OpenAiChat::OPENAI;

fn request() -> Request {
    let message = |speaker, text: &str| Message { speaker, text: text.to_owned() };
    Request {
        model: "some-model".to_owned(),
        system: "Answer briefly.".to_owned(),
        messages: vec![
            message(Speaker::User, "Which port?"),
            message(Speaker::Assistant, "8080."),
            message(Speaker::User, "And the host?"),
        ],
        max_tokens: 256,
        temperature: Some(0.0),
        effort: None,
        schema: Some(Schema { name: "answer".to_owned(), json: json!({"type": "object"}) }),
        shared_system: true,
    }
}

fn decoded(provider: &dyn Provider, status: u16, body: &Value) -> Result<Reply, WireError> {
    provider.decode(status, body.to_string().as_bytes())
}

fn reply(provider: &dyn Provider, body: &Value) -> Reply {
    decoded(provider, 200, body).unwrap()
}

fn contradiction(reply: &Reply) -> &str {
    match &reply.usage {
        Err(NoUsage::Contradictory(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Buckets: input, read, written for five minutes, for an hour, output.
fn tokens(buckets: [u64; 5], reasoning: Option<u64>) -> Result<Tokens, NoUsage> {
    let [input, cache_read, cache_write_5m, cache_write_1h, output] = buckets;
    let output_final = true;
    let usage = Usage {
        input,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        output,
        output_final,
        ..Usage::default()
    };
    Ok(Tokens { usage, reasoning })
}

fn openai(message: Value, reason: &str, usage: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "some-model-2026-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    })
}

fn openai_usage(usage: Value) -> Reply {
    reply(&OPENAI, &openai(json!({"role": "assistant", "content": "ok"}), "stop", usage))
}

fn anthropic(content: Value, reason: &str, usage: Value) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "some-model",
        "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage,
    })
}

fn anthropic_usage(usage: Value) -> Reply {
    reply(&Anthropic, &anthropic(json!([]), "end_turn", usage))
}

fn gemini(parts: Value, reason: &str, usage: Value) -> Value {
    json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason}],
        "usageMetadata": usage, "modelVersion": "some-model-001",
    })
}

fn gemini_usage(usage: Value) -> Reply {
    reply(&Gemini, &gemini(json!([]), "STOP", usage))
}
