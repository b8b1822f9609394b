//! Items of the Responses API. Those that Codex CLI keeps in its rollouts are
//! read as there.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::dataset::error::Problem;
use crate::dataset::formats::codex::{
    Output, WireAction, WireCall, WireMessage, WirePart, WireReasoning, WireResult, texts,
};
use crate::dataset::formats::content::{Content, media_type};
use crate::dataset::formats::exchange::{Part, Said};
use crate::dataset::source::from_json;
use crate::model::Role;

/// Kinds of items that no other API has, each with a field that it always has.
const OWN: [(&str, &str); 9] = [
    ("function_call", "call_id"),
    ("function_call_output", "call_id"),
    ("custom_tool_call", "call_id"),
    ("custom_tool_call_output", "call_id"),
    ("local_shell_call", "action"),
    ("web_search_call", "status"),
    ("reasoning", "summary"),
    ("compaction", "encrypted_content"),
    ("message", "content"),
];

/// Whether a value can only be an item of this API.
pub(super) fn is_item(item: &Json) -> bool {
    let kind = item.get("type").and_then(Json::as_str);
    let own = |(name, field): &(&str, &str)| kind == Some(name) && item.get(field).is_some();
    let has_part = |item: &Json| {
        let parts = item.get("content").and_then(Json::as_array).into_iter().flatten();
        let kinds = parts.filter_map(|part| part.get("type")?.as_str());
        item.get("role").is_some()
            && kinds.into_iter().any(|kind| matches!(kind, "input_text" | "output_text"))
    };
    OWN.iter().any(own) && (kind != Some("message") || has_part(item))
}

/// Whether a value is a list of such items. Plain messages may stand among them.
pub(in crate::dataset::formats) fn is_items(list: &Json) -> bool {
    list.as_array().is_some_and(|items| items.iter().any(is_item))
}

/// A call that the provider carries out itself, perhaps with what came of it.
#[derive(Deserialize)]
struct Hosted {
    name: Option<String>,
    arguments: Option<String>,
    action: Option<Json>,
    operation: Option<Json>,
    queries: Option<Json>,
    code: Option<String>,
    output: Option<Json>,
    error: Option<Json>,
}

/// An item as a message of its own.
pub(in crate::dataset::formats) fn said(item: Json) -> Result<Said, Problem> {
    let kind = item.get("type").and_then(Json::as_str);
    let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or("message").to_owned();
    let (role, part) = match kind.as_str() {
        "message" => {
            let WireMessage { role, content } = from_json(item)?;
            let role = match role.as_str() {
                "system" | "developer" => Role::System,
                "user" => Role::User,
                "assistant" => Role::Assistant,
                _ => return Err(Problem::UnknownRole { role }),
            };
            return Ok(Said::new(role, parts(content)));
        }
        "reasoning" => {
            let WireReasoning { summary, content } = from_json(item)?;
            let text = [texts(summary), texts(content)].concat().join("\n");
            (Role::Assistant, Part::Reasoning(text))
        }
        "function_call" | "custom_tool_call" => {
            let call: WireCall = from_json(item)?;
            let arguments = match call.input {
                Some(input) => serde_json::json!({ "input": input }),
                None => call.arguments,
            };
            let part = Part::Call { id: Some(call.call_id), name: call.name, arguments };
            (Role::Assistant, part)
        }
        "local_shell_call" | "shell_call" | "computer_call" => {
            let WireAction { call_id, action } = from_json(item)?;
            let name = kind.trim_end_matches("_call").to_owned();
            (Role::Assistant, Part::Call { id: call_id, name, arguments: action })
        }
        "function_call_output" | "custom_tool_call_output" => {
            let WireResult { call_id, output } = from_json(item)?;
            (Role::Tool, result(call_id, output))
        }
        _ if kind.ends_with("_call_output") => (Role::Tool, other_result(&item)),
        "compaction" | "compaction_summary" => (Role::Assistant, Part::Compacted),
        _ if kind.ends_with("_call") => return hosted(&kind, item),
        _ => (Role::Assistant, Part::Other(format!("{kind} item"))),
    };
    Ok(Said::new(role, vec![part]))
}

fn parts(content: Content<WirePart>) -> Vec<Part> {
    let parts = match content {
        Content::Text(text) => return vec![Part::Text(text)],
        Content::Parts(parts) => parts,
    };
    let read = |part: WirePart| match (part.kind.as_str(), part.text.or(part.refusal)) {
        ("input_image", _) => Part::Image(part.image_url.as_deref().and_then(media_type)),
        (_, Some(text)) => Part::Text(text),
        (kind, None) => Part::Other(format!("{kind} part")),
    };
    parts.into_iter().map(read).collect()
}

fn result(call: String, output: Output) -> Part {
    let (text, is_error) = output.read();
    Part::Result { call: Some(call), name: None, text: text.text, images: text.images, is_error }
}

/// What a shell, a computer or a patch gave back.
fn other_result(item: &Json) -> Part {
    let call = ["call_id", "id"].iter().find_map(|key| item.get(key)?.as_str());
    let output = item.get("output").unwrap_or(&Json::Null);
    let is_picture = output.get("type").is_some_and(|kind| kind == "computer_screenshot");
    let is_error = item.get("status").is_some_and(|status| status == "failed");
    let text = if is_picture { String::new() } else { plain(output) };
    let call = call.map(str::to_owned);
    Part::Result { call, name: None, text, images: u32::from(is_picture), is_error }
}

/// A text as it is; anything else as JSON.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// The id of such a call names the item alone: the result is in it.
fn hosted(kind: &str, item: Json) -> Result<Said, Problem> {
    let own = ["call_id", "id"].iter().find_map(|key| item.get(key)?.as_str());
    let id = own.map(str::to_owned);
    let call: Hosted = from_json(item)?;
    let name = call.name.unwrap_or_else(|| kind.trim_end_matches("_call").to_owned());
    let given = call.arguments.map(Json::String).or(call.action).or(call.operation);
    let arguments = given.or(call.queries).or(call.code.map(Json::String)).unwrap_or_default();
    let error = call.error.filter(|error| !error.is_null());
    let is_error = error.is_some();
    let output = error.or(call.output).filter(|output| !output.is_null());
    let mut parts = vec![Part::Call { id: id.clone(), name: name.clone(), arguments }];
    parts.extend(output.map(|output| Part::Result {
        call: id,
        name: Some(name),
        text: plain(&output),
        images: 0,
        is_error,
    }));
    Ok(Said::new(Role::Assistant, parts))
}
