//! Requests and responses of Anthropic's Messages API.

use super::passes::{Calls, PartKind};
use crate::formats::content::ImageSource;
use crate::formats::prelude::*;

/// A request's body.
#[derive(Default, Deserialize)]
pub(super) struct Body {
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) system: Content<Part>,
    pub(super) tools: Option<Vec<Json>>,
    pub(super) messages: Vec<Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMessage {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Content<Part>,
    /// Milliseconds since 1970, which agents add to messages that they keep.
    pub(super) ts: Option<i64>,
    /// What Cline adds: the model, and what its request used.
    pub(super) model_info: Option<ModelInfo>,
    pub(super) metrics: Option<Metrics>,
    /// What Roo and Kilo add to messages that they condensed or hid.
    pub(super) is_summary: Option<bool>,
    pub(super) condense_id: Option<String>,
    pub(super) condense_parent: Option<String>,
    pub(super) is_truncation_marker: Option<bool>,
    pub(super) truncation_id: Option<String>,
    pub(super) truncation_parent: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelInfo {
    pub(super) model_id: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Metrics {
    tokens: Option<Tokens>,
}

/// Tokens that were read from a cache or written to it are one sum, beside the
/// prompt's (cline/cline, `src/core/task/index.ts`).
#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt: u64,
    #[serde(default)]
    completion: u64,
    #[serde(default)]
    cached: u64,
}

impl Metrics {
    pub(super) fn usage(self) -> Option<Usage> {
        let Tokens { prompt, completion, cached } = self.tokens?;
        let usage = disjoint(prompt, cached, 0, completion);
        Some(Usage { cache_unknown: cached > 0, ..usage })
    }
}

/// A part of a message, in the API's notation; which fields there are depends on
/// `kind`.
#[derive(Debug, PartialEq, Deserialize)]
pub(in crate::formats) struct Part {
    #[serde(rename = "type")]
    pub(in crate::formats) kind: String,
    pub(in crate::formats) text: Option<String>,
    thinking: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Json>,
    pub(in crate::formats) tool_use_id: Option<String>,
    #[serde(default)]
    pub(in crate::formats) content: Content<ResultPart>,
    pub(in crate::formats) is_error: Option<bool>,
    source: Option<ImageSource>,
}

/// A part of a result. A server's tool has parts of many kinds, and some are the
/// whole content.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(from = "WireResultPart")]
pub(in crate::formats) struct ResultPart {
    kind: String,
    text: Option<String>,
}

impl ResultPart {
    /// Its kind and its text.
    pub(in crate::formats) fn split(self) -> (String, Option<String>) {
        (self.kind, self.text)
    }
}

/// What the model read of it: ciphertext and files are not named.
#[derive(Deserialize)]
#[serde(expecting = "struct Part")]
struct WireResultPart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    title: Json,
    #[serde(default)]
    url: Json,
    text: Option<String>,
    #[serde(default)]
    stdout: Json,
    #[serde(default)]
    stderr: Json,
    #[serde(default)]
    content: Json,
    #[serde(default)]
    source: Json,
    #[serde(default)]
    lines: Json,
    #[serde(default)]
    tool_references: Json,
    #[serde(default)]
    error_code: Json,
    #[serde(default)]
    error_message: Json,
}

impl From<WireResultPart> for ResultPart {
    fn from(part: WireResultPart) -> Self {
        if part.text.is_some() {
            return Self { kind: part.kind, text: part.text };
        }
        let mut texts = Vec::new();
        let fields = [part.title, part.url, part.stdout, part.stderr, part.content, part.source];
        let fields = fields.into_iter().chain([part.lines, part.tool_references]);
        let fields = fields.chain([part.error_code, part.error_message]);
        fields.for_each(|field| gather(field, &mut texts));
        let text = texts.join("\n");
        Self { kind: part.kind, text: Some(text).filter(|text| !text.is_empty()) }
    }
}

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

/// A call that the server runs, as the model wrote it.
fn server_call(name: &str, input: &Json) -> String {
    match input.as_object().is_none_or(serde_json::Map::is_empty) {
        true => name.to_owned(),
        false => format!("{name} {input}"),
    }
}

impl Part {
    /// What it is for the passes of its response.
    pub(in crate::formats) fn place(&self) -> PartKind {
        match self.kind.as_str() {
            "compaction" => PartKind::Compaction,
            "tool_result" => PartKind::Other,
            kind if kind.ends_with("_tool_result") => PartKind::ServerResult,
            _ => PartKind::Other,
        }
    }

    /// The block that it is, at this path in its record. Kinds that the model does
    /// not have are counted as left out.
    pub(in crate::formats) fn block(
        self,
        at: &str,
        draft: &mut Draft,
    ) -> Result<Option<Block>, Problem> {
        let lacks = |field| Problem::lacks(at, &self.kind, field);
        Ok(Some(match self.kind.as_str() {
            "text" => Block::Text { text: self.text.ok_or_else(|| lacks("text"))? },
            // A redacted part has only ciphertext, but there was reasoning.
            "thinking" | "redacted_thinking" => {
                Block::Reasoning { text: self.thinking.unwrap_or_default() }
            }
            "tool_use" => Block::ToolCall {
                id: self.id.ok_or_else(|| lacks("id"))?,
                name: self.name.ok_or_else(|| lacks("name"))?,
                arguments: self.input.unwrap_or_else(|| serde_json::json!({})),
            },
            "image" => Block::Image { media_type: self.source.and_then(ImageSource::media_type) },
            "server_tool_use" | "mcp_tool_use" => {
                let name = self.name.ok_or_else(|| lacks("name"))?;
                Block::Text { text: server_call(&name, &self.input.unwrap_or_default()) }
            }
            kind => {
                let is_read = self.place() != PartKind::Other;
                let text = self.content.texts(|part| part.text).join("\n");
                if !is_read || text.is_empty() {
                    draft.leave_out(format!("{kind} part"), 1);
                    return Ok(None);
                }
                Block::Text { text }
            }
        }))
    }
}

#[derive(Deserialize)]
pub(super) struct Response {
    pub(super) model: Option<String>,
    pub(super) content: Option<Json>,
    pub(super) usage: Option<WireUsage>,
    pub(super) diagnostics: Option<Diagnostics>,
}

/// What the API says of a request besides.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::formats) struct Diagnostics(Option<CacheMiss>);

impl<'de> Deserialize<'de> for Diagnostics {
    fn deserialize<D: serde::Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let value = Json::deserialize(value)?;
        let told = value.pointer("/cache_miss_reason/type").cloned();
        // A reason of a later version is none that is known.
        Ok(Self(told.and_then(|kind| from_json(kind).ok())))
    }
}

/// Anthropic's usage: cached tokens are counted beside the input.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::formats) struct WireUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation: Option<Written>,
    output_tokens: Option<u64>,
    /// How the request was served, which changes its price.
    #[serde(default, deserialize_with = "word")]
    speed: Option<String>,
    #[serde(default, deserialize_with = "word")]
    inference_geo: Option<String>,
    #[serde(default, deserialize_with = "word")]
    service_tier: Option<String>,
    /// The requests that the response is made of, where there are several.
    #[serde(default, deserialize_with = "iterations")]
    iterations: Vec<Iteration>,
    #[serde(skip)]
    cache_miss: Option<CacheMiss>,
}

/// One of several requests.
#[derive(Clone, Debug, Deserialize)]
struct Iteration {
    #[serde(rename = "type")]
    kind: String,
    model: Option<String>,
    #[serde(flatten)]
    usage: WireUsage,
}

/// A text; anything else is none.
fn word<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    match Json::deserialize(value)? {
        Json::String(text) => Ok(Some(text)),
        _ => Ok(None),
    }
}

/// The entries that can be read. A single one repeats what stands around it.
fn iterations<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Vec<Iteration>, D::Error> {
    let mut entries = match Json::deserialize(value)? {
        Json::Array(entries) if entries.len() > 1 => entries,
        _ => Vec::new(),
    };
    // Of each depth one more copy would be made.
    for entry in &mut entries {
        entry.as_object_mut().map(|fields| fields.remove("iterations"));
    }
    Ok(entries.into_iter().filter_map(|entry| from_json(entry).ok()).collect())
}

/// Cache writes by their lifetime.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Written {
    ephemeral_1h_input_tokens: Option<u64>,
}

impl WireUsage {
    /// Takes along why the cache was not read.
    pub(in crate::formats) fn diagnosed(&mut self, diagnostics: Option<Diagnostics>) {
        self.cache_miss = self.cache_miss.or(diagnostics.and_then(|told| told.0));
    }

    /// What the request used that wrote the end of the response, in disjoint
    /// buckets: the prompt that the next one extends.
    pub(in crate::formats) fn usage(&self) -> Usage {
        self.calls(None).own.pop().unwrap_or_default()
    }

    /// Tokens that the models wrote, by which a later report is told.
    pub(in crate::formats) fn output(&self) -> u64 {
        self.output_tokens.unwrap_or(0)
    }

    /// The requests that are reported, where a model answered. One that declined
    /// before another took over is not that model.
    pub(super) fn calls(&self, model: Option<&str>) -> Calls {
        let mut calls = Calls::default();
        let answers = |entry: &&Iteration| matches!(&*entry.kind, "message" | "fallback_message");
        let last = self.iterations.iter().rfind(answers);
        for entry in &self.iterations {
            let is_own = answers(&entry)
                && last.is_some_and(|last| entry.model == last.model && entry.kind == last.kind);
            let usage = entry.usage.counted();
            let named = || match entry.model.as_deref().filter(|own| Some(*own) != model) {
                // Only the response's own model is asked to hurry.
                Some(own) => Some(marked(own, [None, self.geo(), self.tier()])),
                None => self.named(model),
            };
            match entry.kind.as_str() {
                _ if is_own => calls.own.push(usage),
                // Nothing says which model declined.
                "message" if entry.model.is_none() => calls.beside.push((None, usage)),
                "compaction" => calls.compactions.push((named(), usage)),
                _ => calls.beside.push((named(), usage)),
            }
        }
        if calls.own.iter().all(|usage| usage.prompt() == 0) {
            calls.own = vec![self.counted()];
        }
        // The first request is the one that was compared with the one before.
        if let Some(first) = calls.own.first_mut() {
            first.cache_miss = self.cache_miss;
        }
        calls
    }

    /// The model with the marks of how it was served (`pricing::service`).
    pub(in crate::formats) fn named(&self, model: Option<&str>) -> Option<String> {
        let fast = self.speed.as_deref().filter(|speed| *speed == "fast");
        Some(marked(model?, [fast, self.geo(), self.tier()]))
    }

    fn geo(&self) -> Option<&str> {
        self.inference_geo.as_deref().filter(|geo| matches!(*geo, "us" | "eu"))
    }

    fn tier(&self) -> Option<&str> {
        let tier = self.service_tier.as_deref();
        tier.filter(|tier| matches!(*tier, "batch" | "flex" | "priority"))
    }

    /// Its own figures; writes without a lifetime are the five-minute default.
    fn counted(&self) -> Usage {
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let hour = self.cache_creation.and_then(|written| written.ephemeral_1h_input_tokens);
        let cache_write_1h = hour.unwrap_or(0).min(written);
        let [input, read, output] =
            [self.input_tokens, self.cache_read_input_tokens, self.output_tokens]
                .map(Option::unwrap_or_default);
        let usage = disjoint(input, read, written - cache_write_1h, output);
        Usage { cache_write_1h, ..usage }
    }
}

fn marked(model: &str, marks: [Option<&str>; 3]) -> String {
    let marks: Vec<&str> = marks.into_iter().flatten().collect();
    match marks.is_empty() || model.contains('[') {
        true => model.to_owned(),
        false => format!("{model}[{}]", marks.join(",")),
    }
}

/// An entry of a log: the request's body, and the response where it is there.
pub(in crate::formats) fn entry(mut value: Json) -> (Json, Option<Json>) {
    let Some(request) = value.get_mut("request").map(Json::take) else { return (value, None) };
    let inner = |mut value: Json| match value.get_mut("body").map(Json::take) {
        Some(body) => body,
        None => value,
    };
    let response = value.get_mut("response").map(Json::take).filter(|value| !value.is_null());
    (inner(request), response.map(inner))
}

/// What only messages have that Roo or Kilo condensed or hid.
const MARKS: [&str; 2] = ["condenseParent", "truncationParent"];

/// Whether a record can only be a request to this API: other APIs have roles
/// and contents, too.
pub(in crate::formats) fn is_request(record: &Json) -> bool {
    let request = record.get("request").unwrap_or(record);
    let body = request.get("body").unwrap_or(request);
    let tools = body.get("tools").and_then(|tools| tools.get(0));
    let own_tools = tools.is_some_and(|tool| tool.get("input_schema").is_some());
    let Some(messages) = body.get("messages").or(Some(body)).and_then(Json::as_array) else {
        return false;
    };
    let is_message = |message: &Json| {
        message.get("role").is_some_and(Json::is_string) && message.get("content").is_some()
    };
    let blocks = |message: &Json| {
        let parts = message.get("content").and_then(Json::as_array).into_iter().flatten();
        parts.filter_map(|part| part.get("type")?.as_str()).any(|kind| {
            let own = ["tool_use", "thinking", "redacted_thinking", "compaction"];
            own.contains(&kind) || kind.ends_with("tool_use") || kind.ends_with("tool_result")
        })
    };
    let edits = body.pointer("/context_management/edits").is_some_and(Json::is_array);
    let system = body.get("system").is_some_and(|system| system.is_string() || system.is_array());
    let is_marked = |message: &Json| {
        message.get("isSummary") == Some(&Json::Bool(true))
            || MARKS.iter().any(|mark| message.get(mark).is_some_and(Json::is_string))
    };
    let is_own = |message: &Json| blocks(message) || is_marked(message);
    messages.first().is_some_and(is_message)
        && (system || own_tools || edits || messages.iter().any(is_own) || is_plain(record, body))
}

/// Whether a request of plain texts is one to this API: by its response, or by what it
/// asks for. OpenAI's API needs no `max_tokens`, and has other models and roles.
fn is_plain(record: &Json, body: &Json) -> bool {
    let response = record.get("response").map(|own| own.get("body").unwrap_or(own));
    if let Some(response) = response.filter(|own| own.is_object()) {
        return response.get("content").is_some_and(Json::is_array);
    }
    let text = |key: &str| body.get(key).and_then(Json::as_str);
    let is_claude = text("model").is_some_and(|model| model.starts_with("claude"));
    let messages = body.get("messages").and_then(Json::as_array);
    let mut roles = messages.into_iter().flatten().map(|message| message.get("role"));
    let are_own = roles.all(|role| role.is_some_and(|role| role == "user" || role == "assistant"));
    are_own
        && body.get("max_tokens").is_some_and(Json::is_u64)
        && (is_claude || text("anthropic_version").is_some())
}
