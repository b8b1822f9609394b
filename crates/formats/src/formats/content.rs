//! What several formats share: content that is a string or a list, and the
//! values that a record contains about itself.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::draft::Draft;
use crate::error::Problem;
use crate::source::{Source, from_value, parse};
use recap_core::model::{MessageIndex, Piece, RecordedTrigger, Role, ToolDefinition, Usage};
use recap_core::text::json_error;

/// Warns if more records of a log lie on abandoned branches, counted as
/// `reason`, than on the one that is read: perhaps the file was sorted, and its
/// last record was not the last one written.
pub(super) fn warn_of_branches(source: &mut Source<'_>, draft: &Draft, reason: &str) {
    let left = draft.session.left_out.get(reason).copied().unwrap_or(0);
    let read = draft.session.messages.len() as u64;
    if left > read {
        source.warn(format!(
            "{left} records lie on branches that the conversation left, {read} messages on the \
             one that leads to the last record of the file, which is read"
        ));
    }
}

/// Which records lie on the branch that leads to the last one, given the id and
/// the parent of each. Records without an id are on no branch of their own. A
/// parent that is not in the file stands for the record before; without any
/// parents the records are a list.
///
/// # Errors
/// Parents that run in a circle.
pub(super) fn branch_to_last<'a>(
    records: impl Iterator<Item = (Option<&'a str>, Option<&'a str>)>,
) -> Result<Vec<bool>, Problem> {
    let records: Vec<_> = records.collect();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    let mut before = Vec::with_capacity(records.len());
    let mut last = None;
    for (at, (id, _)) in records.iter().enumerate() {
        before.push(last);
        if let Some(id) = id {
            places.insert(id, at);
            last = Some(at);
        }
    }
    if records.iter().all(|(_, parent)| parent.is_none()) {
        return Ok(vec![true; records.len()]);
    }
    let mut on: Vec<bool> = records.iter().map(|(id, _)| id.is_none()).collect();
    while let Some(at) = last {
        if std::mem::replace(&mut on[at], true) {
            return Err(circle());
        }
        last = records[at].1.and_then(|parent| places.get(parent).copied().or(before[at]));
    }
    Ok(on)
}

/// The problem of records whose parents have no end.
pub(super) fn circle() -> Problem {
    Problem::Inconsistent("the records' parents run in a circle".to_owned())
}

/// The value that a JSON pointer names, which has no escapes: serde_json copies each name to undo
/// them.
fn named<'v>(value: &'v mut Json, pointer: &str) -> Option<&'v mut Json> {
    pointer.split('/').skip(1).try_fold(value, |value, name| match value {
        Json::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        other => other.get_mut(name),
    })
}

/// A record whose fields are taken by their JSON pointers.
pub(crate) struct Fields(pub(crate) Json);

impl Fields {
    /// Takes a value; `None` where there is none, or null.
    ///
    /// # Errors
    /// A value of another shape, with its place.
    pub(crate) fn take<T: DeserializeOwned + 'static>(
        &mut self,
        pointer: &str,
    ) -> Result<Option<T>, Problem> {
        match named(&mut self.0, pointer).map(Json::take) {
            None if !self.0.is_object() && !self.0.is_null() => {
                Err(Problem::shape(".", "expected an object"))
            }
            None | Some(Json::Null) => Ok(None),
            Some(value) => from_value(value).map(Some).map_err(|error| {
                below(pointer, Problem::shape(".", json_error(&error.to_string())))
            }),
        }
    }

    /// Takes a value that must be there.
    ///
    /// # Errors
    /// As [`Fields::take`], and where it is missing.
    pub(crate) fn need<T: DeserializeOwned + 'static>(
        &mut self,
        pointer: &str,
    ) -> Result<T, Problem> {
        let missing = || below(pointer, Problem::shape(".", "it is missing"));
        self.take(pointer)?.ok_or_else(missing)
    }

    /// Takes JSON in a string, which must be there.
    ///
    /// # Errors
    /// As [`Fields::need`], and a text that is no JSON.
    pub(crate) fn json(&mut self, pointer: &str) -> Result<Json, Problem> {
        parse(&self.need::<String>(pointer)?).map_err(|problem| below(pointer, problem))
    }

    /// Takes the first of several values that is there.
    ///
    /// # Errors
    /// As [`Fields::take`].
    pub(crate) fn first<T: DeserializeOwned + 'static>(
        &mut self,
        pointers: &[&str],
    ) -> Result<Option<T>, Problem> {
        let mut found = pointers.iter().map(|pointer| self.take(pointer).transpose());
        found.find_map(|value| value).transpose()
    }

    /// Takes content as its parts.
    ///
    /// # Errors
    /// As [`parts`].
    pub(crate) fn parts(&mut self, pointer: &str) -> Result<Vec<Part>, Problem> {
        let content = self.take(pointer)?.unwrap_or_default();
        parts(content).map_err(|problem| below(pointer, problem))
    }

    /// Takes a list of calls.
    ///
    /// # Errors
    /// A call without a name, and values of another shape.
    pub(crate) fn calls(&mut self, pointer: &str) -> Result<Vec<Part>, Problem> {
        let calls = self.take(pointer)?.unwrap_or_default();
        let calls = each_item(calls, |one| call(Fields(one)));
        calls.map_err(|problem| below(pointer, problem))
    }

    /// Takes what a tool gave back.
    ///
    /// # Errors
    /// As [`result`].
    pub(crate) fn result(&mut self, pointer: &str) -> Result<ResultText, Problem> {
        let content = self.take(pointer)?.unwrap_or_default();
        result(content).map_err(|problem| below(pointer, problem))
    }

    /// A text, where there is one.
    pub(crate) fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer)?.as_str()
    }

    /// The MIME type of an image, where its source tells it.
    fn media_type(&self) -> Option<String> {
        let named = ["/source/media_type", "/source/mediaType", "/mimeType"];
        let named = named.into_iter().find_map(|at| self.text(at)).map(str::to_owned);
        let url = || self.text("/image_url/url").or_else(|| self.text("/image_url"));
        named.or_else(|| media_type(url()?))
    }

    /// Takes counts of tokens: those of the prompt, of what was read from a cache and
    /// written to it, and of the output, each under the first of its names that is there.
    ///
    /// # Errors
    /// Something that is no count.
    pub(crate) fn counts(&mut self, names: [&str; 4]) -> Result<[u64; 4], Problem> {
        let mut counts = [0; 4];
        for (count, names) in counts.iter_mut().zip(names) {
            *count = self.first(&names.split(' ').collect::<Vec<_>>())?.unwrap_or(0);
        }
        Ok(counts)
    }

    /// Takes usage in which what was cached is part of the prompt.
    ///
    /// # Errors
    /// As [`Fields::counts`].
    pub(crate) fn usage_within(&mut self, names: [&str; 4]) -> Result<Usage, Problem> {
        let [prompt, read, written, output] = self.counts(names)?;
        Ok(usage_of(prompt, [read, written], output))
    }

    /// Takes usage in which what was cached is counted beside the prompt.
    ///
    /// # Errors
    /// As [`Fields::counts`].
    pub(crate) fn usage_beside(&mut self, names: [&str; 4]) -> Result<Usage, Problem> {
        let [input, read, written, output] = self.counts(names)?;
        Ok(disjoint(input, read, written, output))
    }
}

/// A problem at a place below this pointer.
pub(super) fn below(pointer: &str, problem: Problem) -> Problem {
    let place = pointer.trim_start_matches('/').replace('/', ".");
    match problem {
        Problem::Shape { at, message } if at == "." => Problem::Shape { at: place, message },
        Problem::Shape { at, message } if at.starts_with('[') => {
            Problem::Shape { at: format!("{place}{at}"), message }
        }
        Problem::Shape { at, message } => Problem::Shape { at: format!("{place}.{at}"), message },
        other => other,
    }
}

/// The MIME type of an image in a data URL (RFC 2397).
pub(super) fn media_type(url: &str) -> Option<String> {
    let named = url.strip_prefix("data:")?.split([';', ',']).next()?;
    (!named.is_empty()).then(|| named.to_owned())
}

// What a message is made of, in the notation of any provider and agent.

/// The body of a request that a log may wrap.
pub(super) fn body_of(record: &Json) -> &Json {
    let request = record.get("request").unwrap_or(record);
    request.get("body").unwrap_or(request)
}

/// The body of the response beside a request.
pub(super) fn response_of(record: &Json) -> Option<&Json> {
    let response = record.get("response")?;
    Some(response.get("body").unwrap_or(response))
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) enum Part {
    Text(String),
    /// Thoughts are dropped from later requests.
    Reasoning(String),
    Image(Option<String>),
    Call {
        /// Some providers give none; then the next result of the tool is its.
        id: Option<String>,
        name: String,
        arguments: Json,
    },
    Result {
        call: Option<String>,
        /// The tool's name, where that stands for the call's id.
        name: Option<String>,
        result: ResultText,
    },
    /// What a tool of the provider gave back within the response.
    Served(String),
    /// The summary that a provider put in the place of all before it.
    Summary(String),
    /// The same, which the provider encrypted.
    Compacted,
    /// A part that is not imported, with the reason under which it is counted.
    Other(String),
}

/// A message of a request, or of a conversation.
#[derive(Clone, Debug)]
pub(super) struct ChatMessage {
    pub(super) role: Role,
    pub(super) parts: Vec<Part>,
    pub(super) at: Option<Timestamp>,
}

impl ChatMessage {
    pub(super) fn new(role: Role, parts: Vec<Part>) -> ChatMessage {
        ChatMessage { role, parts, at: None }
    }
}

/// The texts among parts.
pub(super) fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// The texts among parts, one a line.
pub(super) fn joined(parts: &[Part]) -> String {
    texts(parts).collect::<Vec<_>>().join("\n")
}

/// The parts of content, which is a text, a part, or a list of parts.
///
/// # Errors
/// Content of another shape, with its place.
pub(super) fn parts(content: Json) -> Result<Vec<Part>, Problem> {
    match content {
        Json::String(text) => Ok(vec![Part::Text(text)]),
        other => each_item(other, |item| part(Fields(item))),
    }
}

/// The items of a list; anything else but nothing as the only one.
pub(super) fn list(value: Json) -> Vec<Json> {
    match value {
        Json::Array(all) => all,
        Json::Null => Vec::new(),
        one => vec![one],
    }
}

/// Reads records of a list one by one, each with its number; what is wrong with one has
/// its place.
pub(super) fn each(
    records: Vec<Json>,
    place: &str,
    mut read: impl FnMut(usize, Fields) -> Result<(), Problem>,
) -> Result<(), Problem> {
    for (at, record) in records.into_iter().enumerate() {
        read(at, Fields(record)).map_err(|problem| below(&format!("{place}[{at}]"), problem))?;
    }
    Ok(())
}

/// Reads the items of a list, or the one that stands for a list of one.
fn each_item<T>(
    content: Json,
    read: impl Fn(Json) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    let items = match content {
        Json::Null => Vec::new(),
        Json::Array(items) => items,
        one @ Json::Object(_) => return Ok(vec![read(one)?]),
        _ => return Err(Problem::shape(".", "expected a string or a list of content parts")),
    };
    let read = |(at, item)| read(item).map_err(|problem| below(&format!("[{at}]"), problem));
    items.into_iter().enumerate().map(read).collect()
}

fn part(mut part: Fields) -> Result<Part, Problem> {
    let kind: String = part.need("/type")?;
    Ok(match kind.as_str() {
        "thinking" | "redacted_thinking" | "think" | "reasoning" => {
            // A redacted part has only ciphertext, but there was reasoning.
            let text = part.first(&["/thinking", "/think", "/reasoning", "/summary"])?;
            Part::Reasoning(text.unwrap_or_default())
        }
        "tool_use" | "toolCall" => Part::Call {
            id: Some(part.need("/id")?),
            name: part.need("/name")?,
            arguments: part
                .first(&["/input", "/arguments"])?
                .unwrap_or_else(|| serde_json::json!({})),
        },
        "tool_result" => Part::Result {
            call: Some(part.need("/tool_use_id")?),
            name: None,
            result: ResultText {
                is_error: part.take("/is_error")?.unwrap_or(false),
                ..part.result("/content")?
            },
        },
        "server_tool_use" | "mcp_tool_use" => {
            let (name, input) = (part.need::<String>("/name")?, part.take::<Json>("/input")?);
            let input = input.filter(|input| *input != serde_json::json!({}));
            Part::Text(input.map_or(name.clone(), |input| format!("{name} {input}")))
        }
        kind if is_image(kind) => Part::Image(part.media_type()),
        kind if kind == "compaction" || kind.ends_with("_tool_result") => {
            let text = served(part.take("/content")?.unwrap_or_default())?;
            match (text.is_empty(), kind) {
                (true, _) => Part::Other(format!("{kind} part")),
                (false, "compaction") => Part::Summary(text),
                (false, _) => Part::Served(text),
            }
        }
        _ => match part.first(&["/text", "/refusal"])? {
            Some(text) => Part::Text(text),
            None => Part::Other(format!("{kind} part")),
        },
    })
}

/// A call of a tool, in OpenAI's notation or that of most agents.
fn call(mut call: Fields) -> Result<Part, Problem> {
    let name = call.first(&["/function/name", "/name", "/function"])?;
    Ok(Part::Call {
        id: call.first(&["/id", "/toolCallId"])?,
        name: name.ok_or_else(|| Problem::shape("name", "it is missing"))?,
        arguments: call.first(&["/function/arguments", "/arguments"])?.unwrap_or_default(),
    })
}

fn is_image(kind: &str) -> bool {
    matches!(kind, "image" | "image_url" | "input_image")
}

/// What a tool gave back: its text, the number of its pictures, whether the call failed, and the
/// kinds of its other parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ResultText {
    pub(crate) text: String,
    pub(crate) images: u32,
    pub(crate) is_error: bool,
    pub(crate) others: Vec<String>,
}

impl ResultText {
    pub(crate) fn new(text: impl Into<String>, images: u32) -> ResultText {
        ResultText { text: text.into(), images, ..ResultText::default() }
    }

    /// Adds a text part. Parts are separated by a line feed, since a model sees
    /// them as separate blocks.
    pub(super) fn add(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

/// What a tool gave back, as a text, a part, or a list of parts.
///
/// # Errors
/// A content of another shape, with its place.
pub(super) fn result(content: Json) -> Result<ResultText, Problem> {
    if let Json::String(text) = content {
        return Ok(ResultText::new(text, 0));
    }
    let mut result = ResultText::default();
    let read = |item| {
        let mut part = Fields(item);
        Ok((part.need::<String>("/type")?, part.take::<String>("/text")?))
    };
    for (kind, text) in each_item(content, read)? {
        match (kind.as_str(), text) {
            (kind, _) if is_image(kind) => result.images += 1,
            // Exporters name the part of a text as they like.
            (_, Some(text)) => result.add(&text),
            (kind, _) => result.others.push(format!("{kind} part in a tool result")),
        }
    }
    Ok(result)
}

/// What the model read of what a tool of the provider gave back, which has parts of many
/// kinds, and some are the whole content: ciphertext and files are not named.
fn served(content: Json) -> Result<String, Problem> {
    let read = |mut item: Json| {
        let mut texts = Vec::new();
        match item.get_mut("text").map(Json::take) {
            Some(Json::String(text)) => texts.push(text),
            _ if item.get("type").is_none_or(|kind| !kind.is_string()) => {
                return Err(Problem::shape(".", "a part lacks its `type`"));
            }
            _ => READ.split(' ').for_each(|field| {
                gather(item.get_mut(field).map(Json::take).unwrap_or_default(), &mut texts);
            }),
        }
        Ok(texts.join("\n"))
    };
    let texts = match content {
        Json::String(text) => vec![text],
        other => each_item(other, read)?,
    };
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// The fields of such a part that a model reads.
const READ: &str = "title url stdout stderr content source lines tool_references error_code \
    error_message";

/// The texts of a value: those of documents, of pages and of what a program wrote.
fn gather(value: Json, texts: &mut Vec<String>) {
    match value {
        Json::String(text) if !text.is_empty() => texts.push(text),
        Json::Array(items) => items.into_iter().for_each(|item| gather(item, texts)),
        Json::Object(mut fields) => {
            // Bytes of a picture or a file are no text.
            let is_text = fields.get("type").is_none_or(|kind| kind != "base64");
            let own = ["title", "text", "stdout", "stderr", "content", "source", "tool_name"];
            let data = is_text.then_some("data");
            for field in own.into_iter().chain(data) {
                gather(fields.remove(field).unwrap_or_default(), texts);
            }
        }
        _ => {}
    }
}

/// What triggered a compaction, under the names that most agents have for it.
pub(super) fn trigger_of(name: Option<&str>) -> RecordedTrigger {
    match name {
        Some("auto" | "threshold" | "context_limit_retry") => RecordedTrigger::Auto,
        Some("manual") => RecordedTrigger::Manual,
        _ => RecordedTrigger::Unknown,
    }
}

/// The role that most formats name so.
pub(super) fn role_of(name: String) -> Result<Role, Problem> {
    match name.as_str() {
        "system" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        _ => Err(Problem::UnknownRole(name)),
    }
}

/// The tools that a model was offered, in the notation of OpenAI, Anthropic or
/// OpenTelemetry.
pub(super) fn tool_definitions<'a>(
    tools: impl IntoIterator<Item = &'a Json>,
) -> Vec<ToolDefinition> {
    let is_one = |tool: &&Json| !tool.is_null() && **tool != serde_json::json!({});
    tools.into_iter().filter(is_one).map(tool_definition).collect()
}

/// One without a name keeps its JSON: it was sent, too.
fn tool_definition(tool: &Json) -> ToolDefinition {
    let own = tool.get("function").unwrap_or(tool);
    let text = |key: &str| own.get(key)?.as_str().filter(|text| !text.is_empty());
    let Some(name) = text("name").or_else(|| text("title")) else {
        // A tool of the provider may have a type and nothing else.
        let is_bare = tool.as_object().is_some_and(|fields| fields.keys().eq(["type"]));
        let description = if is_bare { String::new() } else { tool.to_string() };
        let name = text("type").unwrap_or_default().to_owned();
        return ToolDefinition { name, description, parameters: Json::Null };
    };
    let parameters = own.get("parameters").or_else(|| own.get("input_schema"));
    ToolDefinition {
        name: name.to_owned(),
        description: own.get("description").map(text_of).unwrap_or_default(),
        parameters: parameters.cloned().unwrap_or_default(),
    }
}

/// A text as it is; anything else but nothing as JSON.
pub(crate) fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// A time without a zone, taken for UTC.
pub(super) fn in_utc(time: DateTime) -> Option<Timestamp> {
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Takes the newest of `after` messages off the end of what is sent, as far as
/// they have no gap; returns the first of them.
pub(crate) fn take_tail(pieces: &mut Vec<Piece>, after: MessageIndex) -> MessageIndex {
    let mut first = after;
    while first > 0 && pieces.pop_if(|piece| *piece == Piece::Message(first - 1)).is_some() {
        first -= 1;
    }
    first
}

/// Name of the project that a working directory belongs to: its last
/// component, or that of the repository where the directory is one of its
/// worktrees (`.worktrees/x`, `.claude/worktrees/x`).
pub(crate) fn project_of(cwd: &str) -> Option<String> {
    let parts: Vec<&str> = cwd.split(['/', '\\']).filter(|p| !p.is_empty()).collect();
    let cut = parts
        .iter()
        .position(|p| matches!(*p, ".worktrees" | ".claude" | "worktrees"))
        .unwrap_or(parts.len());
    parts[..cut].last().map(|&p| p.to_owned())
}

/// OpenAI's usage of a chat completion: cached tokens are part of the prompt's, and LiteLLM
/// adds what Anthropic wrote to its cache. Nothing where that is of another shape.
pub(super) fn chat_usage(usage: &Json) -> Option<Usage> {
    usage.get("prompt_tokens")?;
    let names = [
        "/prompt_tokens",
        "/prompt_tokens_details/cached_tokens",
        "/cache_creation_input_tokens /prompt_tokens_details/cache_write_tokens",
        "/completion_tokens",
    ];
    Fields(usage.clone()).usage_within(names).ok()
}

/// The usage where what was read from a cache or written to it is counted beside
/// the rest of the prompt.
pub(super) fn disjoint(input: u64, cache_read: u64, cache_write_5m: u64, output: u64) -> Usage {
    Usage { input, cache_read, cache_write_5m, output, output_final: true, ..Usage::default() }
}

/// The usage in disjoint buckets where what was read from a cache and written to it is
/// part of the prompt.
pub(super) fn usage_of(prompt: u64, [read, written]: [u64; 2], output: u64) -> Usage {
    let cache_read = read.min(prompt);
    let written = written.min(prompt - cache_read);
    disjoint(prompt - cache_read - written, cache_read, written, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktree_belongs_to_its_repository_project() {
        let project = |cwd| project_of(cwd).unwrap_or_default();
        assert_eq!(project("/Users/ada/work/engine"), "engine");
        assert_eq!(project("/Users/ada/work/engine/.worktrees/fix-loop"), "engine");
        assert_eq!(project("/home/ada/engine/.claude/worktrees/a/src"), "engine");
        assert_eq!(project("C:\\Users\\ada\\engine"), "engine");
        assert_eq!(project_of("/"), None);
    }
}
