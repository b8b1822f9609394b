//! What one compaction did, set off by what, and at what price.

use serde::{Deserialize, Serialize};

use super::{LatencySource, ReplyFacts};

/// Whether a trigger, as presets write it, waits for a context of some size, in
/// tokens or messages.
pub fn is_of_size(trigger: &str) -> bool {
    ["above ", "over "].iter().any(|word| trigger.starts_with(word))
}

/// One compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionRow {
    /// Ordinal of the first request that sees it (the number of requests made before it).
    pub request: u32,
    /// Requests that had been made when it began: fewer than `request` where
    /// the conversation went on meanwhile.
    pub begun: u32,
    /// Messages that had arrived when it ran.
    pub messages_seen: u32,
    /// Made for the probes at the end, by no request of the recording: it is
    /// recorded and neither counted nor billed (semantics §28).
    pub at_end: bool,
    /// Position of the stage in the preset, from 0.
    pub stage: u32,
    /// Mechanism of the stage.
    pub mechanism: String,
    /// What set it off, as written in the preset.
    pub trigger: String,
    /// Tokens of the context before. What a stage that hides (a window, `fifo`)
    /// had hidden the last time is shown again by then, so this is all it hides from.
    pub tokens_before: u64,
    /// Tokens of the context after.
    pub tokens_after: u64,
    /// Messages that a summary covers from here on.
    pub messages_folded: u32,
    /// Messages dropped.
    pub messages_evicted: u32,
    /// Messages partly replaced.
    pub messages_edited: u32,
    /// Calls to the compactor's model.
    pub model_calls: u32,
    /// Tokens that the compactor read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// The mechanism's own CPU time.
    pub cpu_ms: f64,
    /// Latency of the model calls; absent where there were none.
    pub latency_ms: Option<f64>,
    /// How it came about.
    pub latency_source: Option<LatencySource>,
    /// Whether it ran while the conversation went on.
    pub background: bool,
    /// What it fell back to, and why.
    pub fallback: Option<String>,
    /// Why it failed, if the conversation went on unchanged.
    pub error: Option<String>,
    /// Texts put in place of what was folded: hashes into `texts.jsonl`.
    pub texts: Vec<String>,
    /// What the compactor replied, call by call; nothing of calls that were made
    /// past its seat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyFacts>,
    /// Whether it only chose what is sent of a context that stays as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub view: bool,
}
