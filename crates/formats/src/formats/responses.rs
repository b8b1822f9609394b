//! Requests to OpenAI's Responses API: a body, a log of many (each a body, or
//! an object with `request` and `response`), or a list of items alone, as
//! OpenAI's Agents SDK keeps its sessions.
//!
//! Read from OpenAI's public types (openai/openai-python,
//! `src/openai/types/responses`), without recordings at hand. Of a log, the
//! conversation that was extended last is read, by repeated items or by
//! `previous_response_id`.

use serde_json::json;

use super::anthropic::entry;
use super::content::{PromptDetails, usage_of};
use super::exchange::{ChatMessage, Part, Request, Requests};
use super::prelude::*;
use crate::source::decoded;

/// The format of requests to OpenAI's Responses API.
pub(super) const FORMAT: Format = Format {
    name: "openai-responses",
    describe: "OpenAI Responses requests (JSON, a log of many, or a list of items as the Agents SDK keeps it)",
    tried: Tried::Documentation,
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_it = |record: &Json| {
        is_request(record) || record.get(0).is_some_and(is_request) || is_items(record)
    };
    head.any(|record| is_it(record) || is_item(record))
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let mut log = Log::default();
    log.requests.is_itemised = true;
    source.each_value(|line, value| match line {
        None => log.all(value),
        Some(_) => log.add(value),
    })?;
    if !log.loose.is_empty() {
        let messages = std::mem::take(&mut log.loose);
        log.requests.add(Request { messages, ..Request::default() });
    }
    log.requests.sessions(source)
}

/// Whether a record can only be a request to this API, or its response.
pub(super) fn is_request(record: &Json) -> bool {
    let request = record.get("request").unwrap_or(record);
    let body = request.get("body").unwrap_or(request);
    let has = |key: &str| body.get(key).is_some();
    match body.get("input") {
        Some(Json::Array(items)) => {
            let is_message = |item: &Json| item.get("role").is_some_and(Json::is_string);
            let is_body = has("model") || has("instructions") || has("previous_response_id");
            items.iter().any(is_item)
                || (is_body && !items.is_empty() && items.iter().all(is_message))
        }
        Some(Json::String(_)) => {
            has("model") && (has("instructions") || has("previous_response_id"))
        }
        _ => body.get("object").is_some_and(|kind| kind == "response") && has("output"),
    }
}

/// OpenAI's usage: cached tokens are part of the input, reasoning of the output.
#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    input_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    output_tokens: u64,
}

impl WireUsage {
    fn usage(&self) -> Usage {
        let cached = PromptDetails::cached(self.input_tokens_details);
        usage_of(self.input_tokens, cached, self.output_tokens)
    }
}

/// What a response reports; nothing where that is of another shape.
pub(super) fn usage(usage: Json) -> Option<Usage> {
    let has_input = usage.get("input_tokens").is_some();
    from_json::<WireUsage>(usage).ok().filter(|_| has_input).map(|usage| usage.usage())
}

/// The requests of a log.
#[derive(Default)]
struct Log {
    requests: Requests,
    /// Items that stand alone.
    loose: Vec<ChatMessage>,
}

impl Log {
    /// A document is a body, a list of bodies, or a list of items.
    fn all(&mut self, document: Json) -> Result<(), Problem> {
        match document {
            Json::Array(entries) if entries.first().is_some_and(is_request) => {
                entries.into_iter().try_for_each(|entry| self.add(entry))
            }
            Json::Array(items) => {
                self.loose = messages_of(items)?;
                Ok(())
            }
            other => self.add(other),
        }
    }

    fn add(&mut self, value: Json) -> Result<(), Problem> {
        if is_item(&value) {
            self.loose.push(message_of(value)?);
            return Ok(());
        }
        // A response repeats the settings of its request.
        let is_response = value.get("output").is_some_and(Json::is_array);
        let (body, response) =
            if is_response { (value.clone(), Some(value)) } else { entry(value) };
        let (mut body, mut response) = (Fields(body), Fields(response.unwrap_or_default()));
        let tools: Vec<Json> = body.take("/tools")?.unwrap_or_default();
        let asked: Option<String> = body.take("/model")?;
        let usage: Option<WireUsage> = response.take("/usage")?;
        let created: Option<f64> = response.take("/created_at")?;
        self.requests.add(Request {
            response: response.take("/id")?,
            previous: body.take("/previous_response_id")?,
            preamble: Preamble {
                system: body.take("/instructions")?.map_or_else(Vec::new, instructions),
                tools: tool_definitions(&tools),
                ..Preamble::default()
            },
            messages: match body.take("/input")?.unwrap_or_default() {
                Content::Text(text) => vec![ChatMessage::new(Role::User, vec![Part::Text(text)])],
                Content::Parts(items) => messages_of(items)?,
            },
            answer: messages_of(response.take("/output")?.unwrap_or_default())?,
            usage: usage.map(|usage| usage.usage()),
            model: response.take("/model")?.or(asked),
            at: created.and_then(|at| Timestamp::from_second(at as i64).ok()),
            ..Request::default()
        });
        Ok(())
    }
}

fn messages_of(items: Vec<Json>) -> Result<Vec<ChatMessage>, Problem> {
    let read = |(at, item)| {
        message_of(item).map_err(|problem: Problem| problem.within(format_args!("input[{at}].")))
    };
    items.into_iter().enumerate().map(read).collect()
}

/// The texts of the instructions; of an item that is no message of texts, its JSON.
fn instructions(content: Content<Json>) -> Vec<String> {
    let items = match content {
        Content::Text(text) => return vec![text],
        Content::Parts(items) => items,
    };
    let texts = |item: Json| {
        let parts = message_of(item.clone()).map_or_else(|_| Vec::new(), |message| message.parts);
        let texts = parts.into_iter().map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
        let texts: Option<Vec<String>> = texts.collect();
        texts.filter(|texts| !texts.is_empty()).unwrap_or_else(|| vec![text_of(&item)])
    };
    items.into_iter().flat_map(texts).collect()
}

// Items of the Responses API. Those that Codex CLI keeps in its rollouts are
// read as there.

/// Kinds of items that no other API has, each with a field that it always has.
const OWN: [(&str, &str); 11] = [
    ("function_call", "call_id"),
    ("function_call_output", "call_id"),
    ("custom_tool_call", "call_id"),
    ("custom_tool_call_output", "call_id"),
    ("local_shell_call", "action"),
    ("tool_search_call", "arguments"),
    ("tool_search_output", "tools"),
    ("web_search_call", "status"),
    ("reasoning", "summary"),
    ("compaction", "encrypted_content"),
    ("message", "content"),
];

/// Whether a value can only be an item of this API.
fn is_item(item: &Json) -> bool {
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
pub(super) fn is_items(list: &Json) -> bool {
    list.as_array().is_some_and(|items| items.iter().any(is_item))
}

/// An item as a message of its own.
pub(super) fn message_of(item: Json) -> Result<ChatMessage, Problem> {
    let kind = item.get("type").and_then(Json::as_str);
    let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or("message").to_owned();
    let mut item = Fields(item);
    let (role, part) = match kind.as_str() {
        "message" => {
            let role: String = item.need("/role")?;
            let role = if role == "developer" { Role::System } else { role_of(role)? };
            return Ok(ChatMessage::new(role, parts(item.take("/content")?.unwrap_or_default())));
        }
        "reasoning" => {
            let (summary, content) = (item.take("/summary")?, item.take("/content")?);
            let all = [summary, content].into_iter().flatten().flat_map(texts);
            (Role::Assistant, Part::Reasoning(all.collect::<Vec<_>>().join("\n")))
        }
        "function_call" | "custom_tool_call" => {
            // A custom tool takes one text and no object.
            let input = item.take::<String>("/input")?.map(|input| json!({ "input": input }));
            let arguments = input.or(item.take("/arguments")?).unwrap_or_default();
            let (id, name) = (Some(item.need("/call_id")?), item.need("/name")?);
            (Role::Assistant, Part::Call { id, name, arguments })
        }
        "local_shell_call" | "shell_call" | "computer_call" => {
            let arguments = item.take("/action")?.unwrap_or_default();
            let name = kind.trim_end_matches("_call").to_owned();
            (Role::Assistant, Part::Call { id: item.take("/call_id")?, name, arguments })
        }
        "function_call_output" | "custom_tool_call_output" => {
            (Role::Tool, result(Some(item.need("/call_id")?), item.need("/output")?))
        }
        // A search for tools, which loads their definitions into the context.
        "tool_search_call" => {
            let arguments = item.take("/arguments")?.unwrap_or_default();
            let (id, name) = (item.take("/call_id")?, "tool_search".to_owned());
            (Role::Assistant, Part::Call { id, name, arguments })
        }
        "tool_search_output" => {
            let tools: Vec<Json> = item.take("/tools")?.unwrap_or_default();
            let tools: Vec<String> = tools.iter().map(Json::to_string).collect();
            let found = Output::Content(Content::Text(tools.join("\n")));
            (Role::Tool, result(item.take("/call_id")?, found))
        }
        _ if kind.ends_with("_call_output") => (Role::Tool, other_result(&item.0)),
        "compaction" | "compaction_summary" => (Role::Assistant, Part::Compacted),
        _ if kind.ends_with("_call") => return hosted(&kind, item),
        _ => (Role::Assistant, Part::Other(format!("{kind} item"))),
    };
    Ok(ChatMessage::new(role, vec![part]))
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

fn result(call: Option<String>, output: Output) -> Part {
    let (text, is_error) = output.read();
    Part::Result { call, name: None, text: text.text, images: text.images, is_error }
}

/// What a shell, a computer or a patch gave back.
fn other_result(item: &Json) -> Part {
    let call = ["call_id", "id"].iter().find_map(|key| item.get(key)?.as_str());
    let output = item.get("output").unwrap_or(&Json::Null);
    let is_picture = output.get("type").is_some_and(|kind| kind == "computer_screenshot");
    let is_error = item.get("status").is_some_and(|status| status == "failed");
    let text = if is_picture { String::new() } else { text_of(output) };
    let call = call.map(str::to_owned);
    Part::Result { call, name: None, text, images: u32::from(is_picture), is_error }
}

/// A call that the provider carries out itself, perhaps with what came of it: its id names
/// the item alone.
fn hosted(kind: &str, mut item: Fields) -> Result<ChatMessage, Problem> {
    let id: Option<String> = item.take("/call_id")?.or(item.take("/id")?);
    let name = item.take("/name")?.unwrap_or_else(|| kind.trim_end_matches("_call").to_owned());
    let mut arguments = Json::Null;
    for key in ["/arguments", "/action", "/revised_prompt", "/operation", "/queries", "/code"] {
        if arguments.is_null() {
            arguments = item.take(key)?.unwrap_or_default();
        }
    }
    let error: Option<Json> = item.take("/error")?;
    let is_error = error.is_some();
    let output = error.or(item.take("/output")?);
    let mut parts = vec![Part::Call { id: id.clone(), name: name.clone(), arguments }];
    parts.extend(output.map(|output| Part::Result {
        call: id,
        name: Some(name),
        text: text_of(&output),
        images: 0,
        is_error,
    }));
    Ok(ChatMessage::new(Role::Assistant, parts))
}

/// A part of a message's content.
#[derive(Deserialize)]
pub(super) struct WirePart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<String>,
}

/// The result: text, parts, or a text with a status.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Output {
    Content(Content<WirePart>),
    Judged { content: Content<WirePart>, success: Option<bool> },
    Other(serde_json::Map<String, Json>),
}

/// Begins a shell's result in files of 2026.
const EXIT_CODE: &str = "Exit code: ";

impl Output {
    /// The text, and whether the tool failed. A shell's JSON is unpacked, so
    /// that escape sequences are not mistaken for text (how-it-works §34).
    fn read(self) -> (ResultText, bool) {
        let (content, success) = match self {
            Output::Content(content) => (content, None),
            Output::Judged { content, success } => (content, success),
            Output::Other(other) => (Content::Text(Json::Object(other).to_string()), None),
        };
        let text = match content {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let mut result = ResultText::default();
                for part in parts {
                    match part.text {
                        Some(text) => result.add(&text),
                        None => result.images += u32::from(part.kind == "input_image"),
                    }
                }
                return (result, success == Some(false));
            }
        };
        // In files of 2025 a shell's result is JSON within the text.
        let shell = decoded::<Json>(&text).filter(|_| text.starts_with('{')).unwrap_or_default();
        let output = shell.get("output").and_then(Json::as_str);
        let code = shell.pointer("/metadata/exit_code").and_then(Json::as_i64);
        let (text, code) = if let (Some(output), Some(_)) = (output, code) {
            (output.to_owned(), code)
        } else {
            let code = text.strip_prefix(EXIT_CODE).and_then(|rest| rest.lines().next());
            let code = code.and_then(|code| code.trim().parse().ok());
            (text, code)
        };
        let failed = success == Some(false) || code.is_some_and(|code| code != 0);
        (ResultText { text, images: 0 }, failed)
    }
}

/// The texts among parts, in order.
pub(super) fn texts(content: Content<WirePart>) -> Vec<String> {
    content.texts(|part| part.text)
}
