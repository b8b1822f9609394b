//! A chat message in any of the shapes in which tracing tools record one:
//! OpenAI's, Anthropic's, that of OpenTelemetry's conventions, or LangChain's.

use serde_json::Value as Json;

use super::content::media_type;
use super::exchange::{Part, Said};
use crate::dataset::error::Problem;
use crate::model::Role;

/// Reads a message.
pub(super) fn said(message: &Json) -> Result<Said, Problem> {
    let (kind, message) = plain(message);
    let name = text_at(message, "role").or(kind).unwrap_or("user");
    let role = match name {
        "system" | "developer" | "SystemMessage" => Role::System,
        "user" | "human" | "HumanMessage" => Role::User,
        "assistant" | "ai" | "model" | "AIMessage" | "AIMessageChunk" => Role::Assistant,
        "tool" | "function" | "ToolMessage" | "FunctionMessage" => Role::Tool,
        other => return Err(Problem::UnknownRole { role: other.to_owned() }),
    };
    let mut parts: Vec<Part> = text_at(message, "reasoning_content")
        .map(|text| Part::Reasoning(text.into()))
        .into_iter()
        .collect();
    let content = message.get("parts").or_else(|| message.get("content")).unwrap_or(&Json::Null);
    let has_results = content.as_array().is_some_and(|all| all.iter().any(is_result));
    if role == Role::Tool && !has_results {
        parts.push(result(message, content));
        return Ok(Said::new(role, parts));
    }
    match content {
        Json::String(text) => parts.push(Part::Text(text.clone())),
        Json::Array(all) => parts.extend(all.iter().map(part)),
        Json::Object(_) => parts.push(part(content)),
        _ => {}
    }
    let called = parts.iter().any(|part| matches!(part, Part::Call { .. }));
    let extra = message.get("additional_kwargs").and_then(|more| more.get("tool_calls"));
    let listed = message.get("tool_calls").filter(|calls| calls.get(0).is_some()).or(extra);
    let calls = listed.and_then(Json::as_array).filter(|_| !called);
    parts.extend(calls.into_iter().flatten().map(call));
    Ok(Said::new(role, parts))
}

/// Reads a list of messages, or one.
pub(super) fn all_said(messages: &Json) -> Result<Vec<Said>, Problem> {
    match messages {
        Json::Array(all) => all.iter().map(said).collect(),
        Json::Null => Ok(Vec::new()),
        Json::String(text) => Ok(vec![Said::new(Role::User, vec![Part::Text(text.clone())])]),
        one => Ok(vec![said(one)?]),
    }
}

/// LangChain keeps a message's fields within another object, and its class.
fn plain(message: &Json) -> (Option<&str>, &Json) {
    let class = message.get("id").and_then(Json::as_array).and_then(|path| path.last()?.as_str());
    match (message.get("kwargs"), message.get("data")) {
        (Some(fields), _) if class.is_some() => (class, fields),
        (_, Some(fields)) if fields.is_object() => (text_at(message, "type"), fields),
        _ => (text_at(message, "type"), message),
    }
}

fn text_at<'a>(value: &'a Json, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Json::as_str).filter(|text| !text.is_empty())
}

fn is_result(part: &Json) -> bool {
    matches!(text_at(part, "type"), Some("tool_result" | "tool_call_response"))
}

fn part(part: &Json) -> Part {
    if let Some(text) = part.as_str() {
        return Part::Text(text.to_owned());
    }
    let text =
        ["text", "content", "thinking", "reasoning"].iter().find_map(|key| text_at(part, key));
    let text = text.unwrap_or_default();
    match text_at(part, "type").unwrap_or("text") {
        "text" | "input_text" | "output_text" | "refusal" => Part::Text(text.to_owned()),
        "thinking" | "redacted_thinking" | "reasoning" => Part::Reasoning(text.to_owned()),
        "tool_call" | "tool_use" | "function" => call(part),
        "tool_result" => result(part, part.get("content").unwrap_or(&Json::Null)),
        "tool_call_response" => {
            let response = part.get("response").or_else(|| part.get("result"));
            result(part, response.unwrap_or(&Json::Null))
        }
        "image" | "image_url" | "input_image" => {
            let url = part.pointer("/image_url/url").or_else(|| part.get("image_url"));
            Part::Image(url.and_then(Json::as_str).and_then(media_type))
        }
        "blob" | "uri" | "file" if text_at(part, "modality") == Some("image") => {
            Part::Image(text_at(part, "mime_type").map(str::to_owned))
        }
        kind => Part::Other(format!("{kind} part")),
    }
}

fn call(call: &Json) -> Part {
    let function = call.get("function").unwrap_or(call);
    let given = ["arguments", "input", "args"].iter().find_map(|key| function.get(key));
    Part::Call {
        id: text_at(call, "id").map(str::to_owned),
        name: text_at(function, "name").unwrap_or_default().to_owned(),
        arguments: given.cloned().unwrap_or_default(),
    }
}

fn result(message: &Json, content: &Json) -> Part {
    let call = ["tool_call_id", "tool_use_id", "id"].iter().find_map(|key| text_at(message, key));
    let is_error = message.get("is_error").is_some_and(|error| error == true)
        || text_at(message, "status") == Some("error");
    let (text, images) = match content {
        Json::String(text) => (text.clone(), 0),
        Json::Null => (String::new(), 0),
        Json::Array(parts) if parts.iter().all(|part| text_at(part, "type").is_some()) => {
            let pictures = parts.iter().filter(|one| matches!(part(one), Part::Image(_))).count();
            let texts = parts.iter().filter_map(|one| match part(one) {
                Part::Text(text) => Some(text),
                _ => None,
            });
            (texts.collect::<Vec<_>>().join("\n"), pictures as u32)
        }
        other => (other.to_string(), 0),
    };
    let name = text_at(message, "name").map(str::to_owned);
    Part::Result { call: call.map(str::to_owned), name, text, images, is_error }
}

/// Tool definitions in the notation of OpenAI, Anthropic or the conventions.
pub(super) fn definition(tool: &Json) -> Option<crate::model::ToolDefinition> {
    let own = tool.get("function").unwrap_or(tool);
    let parameters = own.get("parameters").or_else(|| own.get("input_schema"));
    Some(crate::model::ToolDefinition {
        name: text_at(own, "name")?.to_owned(),
        description: text_at(own, "description").unwrap_or_default().to_owned(),
        parameters: parameters.cloned().unwrap_or_default(),
    })
}
