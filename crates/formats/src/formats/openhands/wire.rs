//! Events of OpenHands on disk.

use std::collections::VecDeque;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserializer;

use crate::formats::content::PromptDetails;
use crate::formats::openai_chat::WireCall;
use crate::formats::prelude::*;

/// A run: one line of an evaluation's output.
#[derive(Deserialize)]
pub(super) struct Run {
    pub(super) instance_id: Option<String>,
    pub(super) history: Vec<Event>,
    pub(super) metrics: Option<Metrics>,
}

#[derive(Default, Deserialize)]
pub(super) struct Metrics {
    #[serde(default)]
    token_usages: Vec<TokenUsage>,
}

impl Metrics {
    /// What each response used, by its id and in order.
    pub(super) fn by_response(self) -> FxHashMap<String, VecDeque<Usage>> {
        let mut all: FxHashMap<String, VecDeque<Usage>> = FxHashMap::default();
        for used in self.token_usages {
            let usage = used.usage();
            if let Some(id) = used.response_id.filter(|id| !id.is_empty()) {
                all.entry(id).or_default().push_back(usage);
            }
        }
        all
    }
}

/// Tokens of one response, or of all so far.
#[derive(Deserialize)]
pub(super) struct TokenUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    cache_read_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    pub(super) response_id: Option<String>,
    pub(super) model: Option<String>,
}

impl TokenUsage {
    /// The usage in disjoint buckets: the prompt includes what was cached.
    pub(super) fn usage(&self) -> Usage {
        let cached = self.cache_read_tokens.saturating_add(self.cache_write_tokens);
        let input = self.prompt_tokens.saturating_sub(cached);
        disjoint(input, self.cache_read_tokens, self.cache_write_tokens, self.completion_tokens)
    }
}

/// What was used between two sums; nothing where that is no more than before.
pub(super) fn since(now: Usage, before: Usage) -> Option<Usage> {
    let used = Usage {
        input: now.input.checked_sub(before.input)?,
        cache_read: now.cache_read.checked_sub(before.cache_read)?,
        cache_write_5m: now.cache_write_5m.checked_sub(before.cache_write_5m)?,
        output: now.output.checked_sub(before.output)?,
        ..now
    };
    (used.prompt() > 0).then_some(used)
}

/// An action or an observation.
#[derive(Deserialize)]
pub(super) struct Event {
    pub(super) id: Option<i64>,
    #[serde(default, deserialize_with = "time")]
    pub(super) timestamp: Option<Timestamp>,
    #[serde(default)]
    pub(super) source: String,
    pub(super) action: Option<String>,
    pub(super) observation: Option<String>,
    #[serde(default)]
    pub(super) args: Args,
    #[serde(default)]
    pub(super) content: String,
    #[serde(default)]
    pub(super) extras: Extras,
    /// Id of the action that an observation answers.
    pub(super) cause: Option<i64>,
    pub(super) tool_call_metadata: Option<ToolCallMetadata>,
    pub(super) llm_metrics: Option<LlmMetrics>,
}

/// Arguments of an action; which there are depends on its kind.
#[derive(Default, Deserialize)]
pub(super) struct Args {
    pub(super) content: Option<String>,
    pub(super) thought: Option<String>,
    pub(super) image_urls: Option<Vec<Json>>,
    pub(super) tools: Option<Vec<Json>>,
    pub(super) summary: Option<String>,
    pub(super) forgotten_event_ids: Option<Vec<i64>>,
    pub(super) forgotten_events_start_id: Option<i64>,
    pub(super) forgotten_events_end_id: Option<i64>,
    #[serde(flatten)]
    pub(super) others: serde_json::Map<String, Json>,
}

#[derive(Default, Deserialize)]
pub(super) struct Extras {
    pub(super) metadata: Option<CommandMetadata>,
    pub(super) image_urls: Option<Vec<Json>>,
}

/// What OpenHands knows of a command that ended.
#[derive(Deserialize)]
pub(super) struct CommandMetadata {
    #[serde(default = "running")]
    pub(super) exit_code: i64,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    suffix: String,
    #[serde(default)]
    working_dir: Option<String>,
    #[serde(default)]
    py_interpreter_path: Option<String>,
}

/// The exit code of a command that has not ended.
fn running() -> i64 {
    -1
}

impl CommandMetadata {
    /// A command's output as the model is sent it (OpenHands,
    /// `openhands/events/observation/commands.py`).
    pub(super) fn around(&self, output: &str) -> String {
        let mut text = format!("{}{output}{}", self.prefix, self.suffix);
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        if let Some(folder) = given(&self.working_dir) {
            text.push_str(&format!("\n[Current working directory: {folder}]"));
        }
        if let Some(path) = given(&self.py_interpreter_path) {
            text.push_str(&format!("\n[Python interpreter: {path}]"));
        }
        if self.exit_code != running() {
            text.push_str(&format!("\n[Command finished with exit code {}]", self.exit_code));
        }
        text
    }
}

/// The call that an action carries out, with the response that made it.
#[derive(Deserialize)]
pub(super) struct ToolCallMetadata {
    pub(super) tool_call_id: String,
    pub(super) function_name: Option<String>,
    pub(super) model_response: Option<ModelResponse>,
}

/// A response in the notation of OpenAI.
#[derive(Deserialize)]
pub(super) struct ModelResponse {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) choices: Vec<Choice>,
    pub(super) usage: Option<ResponseUsage>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    pub(super) message: ResponseMessage,
}

#[derive(Deserialize)]
pub(super) struct ResponseMessage {
    pub(super) content: Option<String>,
    pub(super) reasoning_content: Option<String>,
    pub(super) tool_calls: Option<Vec<WireCall>>,
}

#[derive(Deserialize)]
pub(super) struct ResponseUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    cache_creation_input_tokens: Option<u64>,
}

impl ResponseUsage {
    pub(super) fn usage(&self) -> Usage {
        let [cache_read_tokens, written] = PromptDetails::cached(self.prompt_tokens_details);
        let all = TokenUsage {
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            cache_read_tokens,
            cache_write_tokens: self.cache_creation_input_tokens.unwrap_or(written),
            response_id: None,
            model: None,
        };
        all.usage()
    }
}

/// What the model used since the start of the session.
#[derive(Deserialize)]
pub(super) struct LlmMetrics {
    pub(super) accumulated_token_usage: Option<TokenUsage>,
}

/// Times have no zone; they are taken for UTC.
pub(super) fn time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    if let Ok(at) = text.parse() {
        return Ok(Some(at));
    }
    let civil = text.parse().and_then(|civil: DateTime| civil.to_zoned(TimeZone::UTC));
    // What is found here has no place in the text, so its field is named.
    let zoned = civil.map_err(|e| serde::de::Error::custom(format_args!("timestamp: {e}")))?;
    Ok(Some(zoned.timestamp()))
}
