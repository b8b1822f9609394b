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
use super::content::{ChatMessage, Part, body_of, each, joined, result, texts};
use super::exchange::{Calls, Request, Requests};
use super::prelude::*;
use crate::format::has_all;
use crate::source::decoded;

/// The format of requests to OpenAI's Responses API.
pub(super) const FORMAT: Format = Format {
    name: "openai-responses",
    describe: "OpenAI Responses requests (JSON, a log of many, or a list of items as the Agents SDK keeps it)",
    tried: Tried::Documentation,
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    let is_it = |record: &Json| {
        is_request(record) || record.get(0).is_some_and(is_request) || is_items(record)
    };
    head.any(|record| is_it(record) || is_item(record))
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
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
    let drafts = log.requests.sessions(source)?;
    drafts.into_iter().try_for_each(|draft| take(source, draft))
}

/// Whether a record can only be a request to this API, or its response.
pub(super) fn is_request(record: &Json) -> bool {
    let body = body_of(record);
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

/// What a response reports, if it is of this API. Cached tokens are part of the input,
/// reasoning of the output.
pub(super) fn usage(usage: Json) -> Result<Option<Usage>, Problem> {
    if usage.get("input_tokens").is_none() {
        return Ok(None);
    }
    let names = [
        "/input_tokens",
        "/input_tokens_details/cached_tokens",
        "/input_tokens_details/cache_write_tokens",
        "/output_tokens",
    ];
    let usage = Fields(usage).usage_within(names);
    usage.map(Some).map_err(|problem| below("/usage", problem))
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
        let used: Option<Json> = response.take("/usage")?;
        let created: Option<f64> = response.take("/created_at")?;
        self.requests.add(Request {
            response: response.take("/id")?,
            previous: body.take("/previous_response_id")?,
            preamble: Preamble {
                system: instructions(body.take("/instructions")?.unwrap_or_default()),
                tools: tool_definitions(&tools),
                ..Preamble::default()
            },
            messages: match body.text("/input") {
                Some(text) => {
                    vec![ChatMessage::new(Role::User, vec![Part::Text(text.to_owned())])]
                }
                None => messages_of(body.take("/input")?.unwrap_or_default())?,
            },
            answer: messages_of(response.take("/output")?.unwrap_or_default())?,
            usage: usage(used.unwrap_or_default())?.map(Calls::from),
            model: response.take("/model")?.or(asked),
            at: created.and_then(|at| Timestamp::from_second(at as i64).ok()),
            ..Request::default()
        });
        Ok(())
    }
}

fn messages_of(items: Vec<Json>) -> Result<Vec<ChatMessage>, Problem> {
    let mut messages = Vec::with_capacity(items.len());
    each(items, "/input", |_, Fields(item)| {
        messages.push(message_of(item)?);
        Ok(())
    })?;
    Ok(messages)
}

/// The texts of the instructions; of an item that is no message of texts, its JSON.
fn instructions(content: Json) -> Vec<String> {
    let items = match content {
        Json::Array(items) => items,
        Json::Null => return Vec::new(),
        text => return vec![text_of(&text)],
    };
    let own = |item: Json| {
        let parts = message_of(item.clone()).map_or_else(|_| Vec::new(), |message| message.parts);
        let own: Vec<String> = texts(&parts).map(str::to_owned).collect();
        if own.is_empty() || own.len() < parts.len() { vec![text_of(&item)] } else { own }
    };
    items.into_iter().flat_map(own).collect()
}

// Items of the Responses API. Those that Codex CLI keeps in its rollouts are
// read as there.

/// Kinds of items that no other API has, each with a field that it always has ([`Head::has`]).
const OWN: [&str; 7] = [
    "/type=function_call|function_call_output|custom_tool_call|custom_tool_call_output /call_id",
    "/type=local_shell_call /action",
    "/type=tool_search_call /arguments",
    "/type=tool_search_output /tools",
    "/type=web_search_call /status",
    "/type=reasoning /summary",
    "/type=compaction /encrypted_content",
];

/// Whether a value can only be an item of this API.
fn is_item(item: &Json) -> bool {
    let parts = item.get("content").and_then(Json::as_array).into_iter().flatten();
    let mut kinds = parts.filter_map(|part| part.get("type")?.as_str());
    OWN.iter().any(|places| has_all(item, places))
        || has_all(item, "/type=message /role")
            && kinds.any(|kind| matches!(kind, "input_text" | "output_text"))
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
            return Ok(ChatMessage::new(role, item.parts("/content")?));
        }
        "reasoning" => {
            let all = [item.parts("/summary")?, item.parts("/content")?].concat();
            (Role::Assistant, Part::Reasoning(joined(&all)))
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
            let call = Some(item.need("/call_id")?);
            (Role::Tool, output(call, item.need("/output")?)?)
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
            (Role::Tool, output(item.take("/call_id")?, Json::String(tools.join("\n")))?)
        }
        _ if kind.ends_with("_call_output") => (Role::Tool, other_result(&item.0)),
        "compaction" | "compaction_summary" => (Role::Assistant, Part::Compacted),
        _ if kind.ends_with("_call") => return hosted(&kind, item),
        _ => (Role::Assistant, Part::Other(format!("{kind} item"))),
    };
    Ok(ChatMessage::new(role, vec![part]))
}

/// What a shell, a computer or a patch gave back.
fn other_result(item: &Json) -> Part {
    let call = ["call_id", "id"].iter().find_map(|key| item.get(key)?.as_str());
    let output = item.get("output").unwrap_or(&Json::Null);
    let is_picture = output.get("type").is_some_and(|kind| kind == "computer_screenshot");
    let is_error = item.get("status").is_some_and(|status| status == "failed");
    let text = if is_picture { String::new() } else { text_of(output) };
    let result = ResultText { is_error, ..ResultText::new(text, u32::from(is_picture)) };
    Part::Result { call: call.map(str::to_owned), name: None, result }
}

/// A call that the provider carries out itself, perhaps with what came of it: its id names
/// the item alone.
fn hosted(kind: &str, mut item: Fields) -> Result<ChatMessage, Problem> {
    let id: Option<String> = item.take("/call_id")?.or(item.take("/id")?);
    let name = item.take("/name")?.unwrap_or_else(|| kind.trim_end_matches("_call").to_owned());
    let given = ["/arguments", "/action", "/revised_prompt", "/operation", "/queries", "/code"];
    let arguments: Json = item.first(&given)?.unwrap_or_default();
    let error: Option<Json> = item.take("/error")?;
    let is_error = error.is_some();
    let output = error.or(item.take("/output")?);
    let mut parts = vec![Part::Call { id: id.clone(), name: name.clone(), arguments }];
    parts.extend(output.map(|output| Part::Result {
        call: id,
        name: Some(name),
        result: ResultText { is_error, ..ResultText::new(text_of(&output), 0) },
    }));
    Ok(ChatMessage::new(Role::Assistant, parts))
}

/// Begins a shell's result in files of 2026.
const EXIT_CODE: &str = "Exit code: ";

/// The result of a call: text, parts, or either with whether it succeeded. A shell's JSON
/// is unpacked, so that escape sequences are not mistaken for text (how-it-works §34).
fn output(call: Option<String>, output: Json) -> Result<Part, Problem> {
    let (content, success) = match output {
        Json::Object(mut fields) if fields.contains_key("content") => {
            let success = fields.get("success").and_then(Json::as_bool);
            (fields.remove("content").unwrap_or_default(), success)
        }
        other @ Json::Object(_) => (Json::String(other.to_string()), None),
        other => (other, None),
    };
    let of_shell = content.as_str().and_then(shell);
    let result = match &of_shell {
        Some((text, _)) => ResultText::new(text.as_str(), 0),
        None => result(content)?,
    };
    let is_error = success == Some(false) || of_shell.is_some_and(|(_, code)| code != 0);
    Ok(Part::Result { call, name: None, result: ResultText { is_error, ..result } })
}

/// What a shell wrote, with its exit code. In files of 2025 its result is JSON within the
/// text.
fn shell(text: &str) -> Option<(String, i64)> {
    let json = decoded::<Json>(text).filter(|_| text.starts_with('{')).unwrap_or_default();
    let code = json.pointer("/metadata/exit_code").and_then(Json::as_i64);
    if let (Some(output), Some(code)) = (json.get("output").and_then(Json::as_str), code) {
        return Some((output.to_owned(), code));
    }
    let code = text.strip_prefix(EXIT_CODE)?.lines().next()?.trim().parse().ok()?;
    Some((text.to_owned(), code))
}
