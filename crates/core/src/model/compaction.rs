//! One compaction: its trigger, its effect and its cost.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{LatencySource, ReplyFacts};

/// Whether a trigger, as strategies write it, waits for a context of some size, in
/// tokens or messages.
pub fn is_of_size(trigger: &str) -> bool {
    ["above ", "over "].iter().any(|word| trigger.starts_with(word))
}

/// The result of one compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionRow {
    /// Ordinal of the first request that sees it (the number of requests made before it).
    pub request: u32,
    /// Requests that had been made when it began: fewer than `request` where
    /// the conversation continued meanwhile.
    pub begun: u32,
    /// Messages that had arrived when it ran.
    pub messages_seen: u32,
    /// Made only for the questions at the end, not for a request of the recording:
    /// it is recorded, but neither counted nor billed (how-it-works §28).
    pub at_end: bool,
    /// Position of the stage in the strategy, from 0.
    pub stage: u32,
    /// Mechanism of the stage.
    pub mechanism: Arc<str>,
    /// The trigger, as written in the strategy.
    pub trigger: Arc<str>,
    /// Tokens of the context before. What a stage that hides (a window, `fifo`)
    /// had hidden the last time is shown again by then, so this is all it hides from.
    pub tokens_before: u64,
    /// Tokens of the context after.
    pub tokens_after: u64,
    /// Messages that a summary covers from here on.
    pub messages_folded: u32,
    /// Messages that were removed without a replacement.
    pub messages_evicted: u32,
    /// Messages of which a part was replaced or removed.
    pub messages_edited: u32,
    /// Calls to the compactor's model.
    pub model_calls: u32,
    /// Tokens that the compactor read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// Latency of the model calls; absent where there were none.
    pub latency_ms: Option<f64>,
    /// How the latency was obtained; absent where there is none.
    pub latency_source: Option<LatencySource>,
    /// Whether it ran while the conversation continued.
    pub background: bool,
    /// What it fell back to, and why.
    pub fallback: Option<String>,
    /// The error, if it failed and the conversation continued unchanged.
    pub error: Option<String>,
    /// Texts that replaced the folded messages: hashes into `texts.jsonl`.
    pub texts: Vec<String>,
    /// The compactor's replies, call by call; without calls that bypassed the
    /// role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyFacts>,
    /// Whether it only selected what is sent, and left the stored context as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub view: bool,
}
