//! Requests and responses of Anthropic's Messages API.

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
#[derive(Debug, Deserialize)]
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
    pub(in crate::formats) content: Content<TextPart>,
    pub(in crate::formats) is_error: Option<bool>,
    source: Option<ImageSource>,
}

impl Part {
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
            other => {
                draft.leave_out(format!("{other} part"), 1);
                return Ok(None);
            }
        }))
    }
}

#[derive(Deserialize)]
pub(super) struct Response {
    pub(super) model: Option<String>,
    pub(super) content: Option<Json>,
    pub(super) usage: Option<WireUsage>,
}

/// Anthropic's usage: cached tokens are counted beside the input.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::formats) struct WireUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation: Option<Written>,
    output_tokens: Option<u64>,
}

/// Cache writes by their lifetime.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Written {
    ephemeral_1h_input_tokens: Option<u64>,
}

impl WireUsage {
    /// The usage in disjoint buckets; writes without a lifetime are the
    /// five-minute default.
    pub(in crate::formats) fn usage(&self) -> Usage {
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
