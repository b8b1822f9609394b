//! OpenAI's Responses (<https://platform.openai.com/docs/api-reference>): items.

use recap_core::model::{Message, Role};
use serde_json::{Value as Json, json};

use super::wire::{PIXEL, Response, calls, images, texts};

/// The items of a message.
pub(super) fn items(message: &Message) -> Vec<Json> {
    let (role, kind) = match message.role {
        Role::Assistant => ("assistant", "output_text"),
        Role::System => ("developer", "input_text"),
        Role::User | Role::Tool => ("user", "input_text"),
    };
    let url = format!("data:image/png;base64,{PIXEL}");
    let image = json!({"type": "input_image", "image_url": url});
    let texts = texts(message).into_iter().map(|text| json!({"type": kind, "text": text}));
    let content: Vec<Json> = texts.chain(images(message, image)).collect();
    let said =
        (!content.is_empty()).then(|| json!({"type": "message", "role": role, "content": content}));
    let calls = calls(message).map(|(id, name, arguments)| {
        json!({"type": "function_call", "call_id": id, "name": name,
               "arguments": arguments.to_string()})
    });
    let result = message.tool_result().map(
        |(call, text)| json!({"type": "function_call_output", "call_id": call, "output": text}),
    );
    said.into_iter().chain(calls).chain(result).collect()
}

/// The items of a response, which has ended.
fn output(response: &Response<'_>) -> Vec<Json> {
    let mut items = items(response.message);
    for item in &mut items {
        item["status"] = "completed".into();
        item["id"] = match item["call_id"].as_str() {
            Some(call) => format!("fc_{call}").into(),
            None => "msg_recorded".into(),
        };
        for part in item.get_mut("content").and_then(Json::as_array_mut).into_iter().flatten() {
            part["annotations"] = json!([]);
        }
    }
    items
}

fn with(response: &Response<'_>, status: &str, output: &[Json]) -> Json {
    let (prompt, written) = (response.usage.prompt(), response.usage.output);
    json!({"id": "resp_recorded", "object": "response", "created_at": 0, "status": status,
        "model": response.model, "output": output, "error": null,
        "usage": {"input_tokens": prompt, "output_tokens": written,
            "total_tokens": prompt.saturating_add(written),
            "input_tokens_details": {"cached_tokens": response.usage.cache_read},
            "output_tokens_details": {"reasoning_tokens": 0}}})
}

/// A response in one piece.
pub(super) fn whole(response: &Response<'_>) -> Json {
    with(response, "completed", &output(response))
}

/// The same as a stream of events.
pub(super) fn events(response: &Response<'_>) -> Vec<Json> {
    let items = output(response);
    let started = with(response, "in_progress", &[]);
    let mut all = vec![json!({"type": "response.created", "response": started})];
    for (index, item) in items.iter().enumerate() {
        all.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": item}),
        );
        for (at, part) in item["content"].as_array().into_iter().flatten().enumerate() {
            all.push(json!({"type": "response.output_text.delta", "output_index": index,
                "content_index": at, "item_id": item["id"], "delta": part["text"]}));
        }
        if item["type"] == "function_call" {
            all.push(json!({"type": "response.function_call_arguments.delta",
                "output_index": index, "item_id": item["id"], "delta": item["arguments"]}));
        }
        all.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let ended = with(response, "completed", &items);
    all.push(json!({"type": "response.completed", "response": ended}));
    for (number, data) in all.iter_mut().enumerate() {
        data["sequence_number"] = number.into();
    }
    all
}
