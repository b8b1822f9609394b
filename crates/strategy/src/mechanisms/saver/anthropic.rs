//! Anthropic's Messages (<https://docs.claude.com/en/api/messages>): turns of blocks.

use recap_core::model::{Block, Message, Role};
use serde_json::{Value as Json, json};

use super::wire::{PIXEL, Response};

/// The blocks of the system prompt, with a cache breakpoint after them.
pub(super) fn system(texts: &[&str]) -> Json {
    let mut blocks = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    mark(&mut blocks);
    blocks
}

/// A message; `None` where nothing of it is sent.
pub(super) fn message(message: &Message) -> Option<Json> {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let blocks: Vec<Json> = message.blocks.iter().filter_map(block).collect();
    (!blocks.is_empty()).then(|| json!({"role": role, "content": blocks}))
}

/// Sets a cache breakpoint after the last block of a content.
pub(super) fn mark(content: &mut Json) {
    if let Some(last) = content.as_array_mut().and_then(|blocks| blocks.last_mut()) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// Messages in which the roles take turns: consecutive ones of the same role are one.
pub(super) fn turns(messages: Vec<Json>) -> Vec<Json> {
    let mut turns: Vec<Json> = Vec::new();
    for mut message in messages {
        match turns.last_mut().filter(|last| last["role"] == message["role"]) {
            Some(last) => {
                let blocks = message["content"].as_array_mut().map(std::mem::take);
                let all = last["content"].as_array_mut().expect("a turn is written with blocks");
                all.extend(blocks.unwrap_or_default());
            }
            None => turns.push(message),
        }
    }
    turns
}

fn block(block: &Block) -> Option<Json> {
    let image = || {
        json!({"type": "image",
               "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}})
    };
    Some(match block {
        Block::Text { text } if text.is_empty() => return None,
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Reasoning { .. } => return None,
        Block::ToolCall { id, name, arguments } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments})
        }
        Block::ToolResult { call, text, images, is_error } => {
            let content: Json = match images {
                0 => text.as_str().into(),
                &images => {
                    let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
                    text.into_iter().chain((0..images).map(|_| image())).collect()
                }
            };
            let mut result =
                json!({"type": "tool_result", "tool_use_id": call, "content": content});
            if *is_error {
                result["is_error"] = true.into();
            }
            result
        }
        Block::Image { .. } => image(),
    })
}

fn usage(response: &Response<'_>) -> Json {
    let usage = response.usage;
    json!({"input_tokens": usage.input, "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.written()})
}

/// A response in one piece.
pub(super) fn whole(response: &Response<'_>) -> Json {
    let content = message(response.message).map_or(json!([]), |mut turn| turn["content"].take());
    let calls = response.message.calls().next().is_some();
    let reason = if calls { "tool_use" } else { "end_turn" };
    json!({"id": "msg_recorded", "type": "message", "role": "assistant", "model": response.model,
        "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage(response)})
}

/// The same as a stream of events.
pub(super) fn events(response: &Response<'_>) -> Vec<Json> {
    let mut start = whole(response);
    let content = start["content"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let reason = start["stop_reason"].take();
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, mut block) in content.into_iter().enumerate() {
        let delta = if block["type"] == "text" {
            let text = std::mem::replace(&mut block["text"], "".into());
            json!({"type": "text_delta", "text": text})
        } else {
            let input = std::mem::replace(&mut block["input"], json!({}));
            json!({"type": "input_json_delta", "partial_json": input.to_string()})
        };
        events.extend([
            json!({"type": "content_block_start", "index": index, "content_block": block}),
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
            json!({"type": "content_block_stop", "index": index}),
        ]);
    }
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    events.push(json!({"type": "message_delta", "usage": usage(response), "delta": delta}));
    events.push(json!({"type": "message_stop"}));
    events
}
