//! Requests and responses of Anthropic's Messages API.

use crate::formats::content::ImageSource;
use crate::formats::prelude::*;

/// A request's body.
#[derive(Default, Deserialize)]
pub(super) struct Body {
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) system: Content<Part>,
    pub(super) tools: Option<Vec<Tool>>,
    pub(super) messages: Vec<Json>,
}

#[derive(Deserialize)]
pub(super) struct Tool {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) input_schema: Json,
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
        Some(Usage {
            input: prompt,
            cache_read: cached,
            cache_unknown: cached > 0,
            output: completion,
            output_final: true,
            ..Usage::default()
        })
    }
}

/// A part of a message, in the API's notation.
#[derive(Deserialize)]
pub(in crate::formats) struct Part {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) input: Option<Json>,
    pub(super) tool_use_id: Option<String>,
    #[serde(default)]
    pub(super) content: Content<ResultPart>,
    pub(super) is_error: Option<bool>,
    pub(super) source: Option<ImageSource>,
}

#[derive(Deserialize)]
pub(super) struct ResultPart {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Response {
    pub(super) model: Option<String>,
    pub(super) content: Option<Json>,
    pub(super) usage: Option<WireUsage>,
}

/// Anthropic's usage: cached tokens are counted beside the input.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation: Option<Written>,
    #[serde(default)]
    output_tokens: u64,
}

#[derive(Clone, Copy, Deserialize)]
struct Written {
    ephemeral_1h_input_tokens: Option<u64>,
}

impl WireUsage {
    pub(super) fn usage(&self) -> Usage {
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let hour = self.cache_creation.and_then(|written| written.ephemeral_1h_input_tokens);
        let cache_write_1h = hour.unwrap_or(0).min(written);
        Usage {
            input: self.input_tokens,
            cache_read: self.cache_read_input_tokens.unwrap_or(0),
            cache_write_5m: written - cache_write_1h,
            cache_write_1h,
            output: self.output_tokens,
            output_final: true,
            ..Usage::default()
        }
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
            matches!(kind, "tool_use" | "tool_result" | "thinking" | "redacted_thinking")
        })
    };
    let system = body.get("system").is_some_and(|system| system.is_string() || system.is_array());
    let is_marked = |message: &Json| {
        message.get("isSummary") == Some(&Json::Bool(true))
            || MARKS.iter().any(|mark| message.get(mark).is_some_and(Json::is_string))
    };
    let is_own = |message: &Json| blocks(message) || is_marked(message);
    messages.first().is_some_and(is_message) && (system || own_tools || messages.iter().any(is_own))
}
