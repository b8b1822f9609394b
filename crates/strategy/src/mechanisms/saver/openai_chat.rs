//! OpenAI's Chat Completions (<https://platform.openai.com/docs/api-reference>): messages.

use recap_core::model::{Message, Role};
use serde_json::{Value as Json, json};

use super::wire::{PIXEL, Response, calls, images, texts};

/// The messages of the system prompt.
pub(super) fn system(texts: &[&str]) -> Vec<Json> {
    texts.iter().map(|text| json!({"role": "system", "content": text})).collect()
}

/// A message; `None` where nothing of it is sent: one without any content is refused.
pub(super) fn message(message: &Message) -> Option<Json> {
    let texts = texts(message);
    match message.role {
        Role::Tool => {
            let (call, text) = message.tool_result()?;
            Some(json!({"role": "tool", "tool_call_id": call, "content": text}))
        }
        Role::Assistant => {
            let call = |(id, name, arguments): (&str, &str, &Json)| {
                json!({"id": id, "type": "function",
                       "function": {"name": name, "arguments": arguments.to_string()}})
            };
            let calls: Vec<Json> = calls(message).map(call).collect();
            let content = if texts.is_empty() { Json::Null } else { texts.join("\n").into() };
            let mut turn = json!({"role": "assistant", "content": content});
            if !calls.is_empty() {
                turn["tool_calls"] = calls.into();
            }
            (turn["content"].is_string() || turn.get("tool_calls").is_some()).then_some(turn)
        }
        role => {
            let url = format!("data:image/png;base64,{PIXEL}");
            let image = json!({"type": "image_url", "image_url": {"url": url}});
            let written = texts.iter().map(|text| json!({"type": "text", "text": text}));
            let parts: Vec<Json> = written.chain(images(message, image)).collect();
            let content: Json = match (&texts[..], parts.len()) {
                (_, 0) => return None,
                ([text], 1) => (*text).into(),
                _ => parts.into(),
            };
            Some(json!({"role": role.as_str(), "content": content}))
        }
    }
}

fn usage(response: &Response<'_>) -> Json {
    let (prompt, output) = (response.usage.prompt(), response.usage.output);
    json!({"prompt_tokens": prompt, "completion_tokens": output,
        "total_tokens": prompt.saturating_add(output),
        "prompt_tokens_details": {"cached_tokens": response.usage.cache_read}})
}

/// The only choice of a response: its message, and why it ends.
fn choice(response: &Response<'_>) -> (Json, &'static str) {
    let mut turn =
        message(response.message).unwrap_or_else(|| json!({"role": "assistant", "content": ""}));
    let Some(calls) = turn.get_mut("tool_calls").and_then(Json::as_array_mut) else {
        return (turn, "stop");
    };
    for (index, call) in calls.iter_mut().enumerate() {
        call["index"] = index.into();
    }
    (turn, "tool_calls")
}

/// A response in one piece.
pub(super) fn whole(response: &Response<'_>) -> Json {
    let (message, reason) = choice(response);
    json!({"id": "chatcmpl-recorded", "object": "chat.completion", "created": 0,
        "model": response.model, "usage": usage(response),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
}

/// The same as a stream of chunks.
pub(super) fn stream(response: &Response<'_>) -> String {
    let chunk = |choices: Json, usage: Json| {
        let chunk = json!({"id": "chatcmpl-recorded", "object": "chat.completion.chunk",
            "created": 0, "model": response.model, "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let part = |delta: Json, reason: Json| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}]), Json::Null)
    };
    let (message, reason) = choice(response);
    let end = "data: [DONE]\n\n";
    part(message, Json::Null)
        + &part(json!({}), reason.into())
        + &chunk(json!([]), usage(response))
        + end
}
