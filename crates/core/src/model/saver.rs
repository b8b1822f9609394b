//! What a token saver, which stands between an agent and its provider, did to a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a token saver did to the requests of one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaverFacts {
    /// Tokens that it says it saved; absent where it gives no report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_tokens: Option<u64>,
    /// Milliseconds that it added to each request, in order; empty for a filter, which runs beside
    /// the tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added_ms: Vec<f64>,
    /// What arrived of the results of each tool at the end, by the tool's name.
    pub tools: BTreeMap<String, ToolCut>,
    /// Facts that it had removed and that its own tool was asked for; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<SaverRecovery>,
}

/// What a saver cut of the results of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCut {
    /// Recorded results.
    pub results: u64,
    /// Results that did not arrive as recorded.
    pub cut: u64,
    /// Tokens of all its results as recorded.
    pub tokens_before: u64,
    /// Tokens of them that arrived.
    pub tokens_after: u64,
}

/// How a saver's own tool for getting back what it removed did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaverRecovery {
    /// Messages that it had changed and left a handle in.
    pub tried: u64,
    /// Those for which the handle brought back a text.
    pub found: u64,
    /// Tokens of these texts.
    pub tokens: u64,
}
