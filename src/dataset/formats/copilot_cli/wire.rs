//! Events of Copilot CLI on disk.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::model::{RecordedCall, Usage};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: Option<String>,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) agent_id: Option<String>,
    #[serde(default)]
    pub(super) data: Json,
}

impl Event {
    /// The subagent that it belongs to: older versions name the call that started it.
    pub(super) fn agent_of(&self) -> Option<String> {
        let parent = || self.data.get("parentToolCallId")?.as_str().map(str::to_owned);
        let own = self.agent_id.clone().or_else(parent);
        own.filter(|_| !self.kind.starts_with("subagent."))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    pub(super) session_id: Option<String>,
    pub(super) selected_model: Option<String>,
    pub(super) context: Option<Place>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Place {
    pub(super) cwd: Option<String>,
    pub(super) git_root: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) branch: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    #[serde(default)]
    pub(super) content: String,
    /// The text as the model was sent it.
    pub(super) transformed_content: Option<String>,
    pub(super) attachments: Option<Vec<Attached>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attached {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) mime_type: Option<String>,
}

impl Attached {
    pub(super) fn image(&self) -> Option<&str> {
        self.mime_type.as_deref().filter(|kind| kind.starts_with("image/"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    #[serde(default)]
    pub(super) content: String,
    pub(super) model: Option<String>,
    pub(super) reasoning_text: Option<String>,
    pub(super) reasoning_opaque: Option<String>,
    pub(super) tool_requests: Option<Vec<Request>>,
    pub(super) output_tokens: Option<u64>,
    /// The same for all messages that one response was split into.
    pub(super) api_call_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) tool_call_id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Json,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Done {
    pub(super) tool_call_id: String,
    #[serde(default)]
    pub(super) success: bool,
    pub(super) result: Option<Returned>,
    pub(super) error: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Returned {
    #[serde(default)]
    pub(super) content: String,
    pub(super) binary_results_for_llm: Option<Vec<Attached>>,
}

#[derive(Deserialize)]
pub(super) struct Failure {
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compaction {
    pub(super) success: Option<bool>,
    pub(super) summary_content: Option<String>,
    pub(super) pre_compaction_tokens: Option<u64>,
    pub(super) compaction_tokens_used: Option<Spent>,
    pub(super) trigger: Option<String>,
}

/// Cached tokens are part of the input, as the totals of a session bear out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spent {
    pub(super) model: Option<String>,
    #[serde(default, alias = "input")]
    pub(super) input_tokens: u64,
    #[serde(default, alias = "output")]
    pub(super) output_tokens: u64,
    #[serde(default, alias = "cachedInput")]
    pub(super) cache_read_tokens: u64,
    #[serde(default)]
    pub(super) cache_write_tokens: u64,
    pub(super) duration: Option<f64>,
}

impl Spent {
    pub(super) fn call(self) -> RecordedCall {
        let cache_read = self.cache_read_tokens.min(self.input_tokens);
        let cache_write_5m = self.cache_write_tokens.min(self.input_tokens - cache_read);
        let usage = Usage {
            input: self.input_tokens - cache_read - cache_write_5m,
            cache_read,
            cache_write_5m,
            output: self.output_tokens,
            output_final: true,
            ..Usage::default()
        };
        RecordedCall { model: self.model, usage, latency_ms: self.duration }
    }
}
