//! What a token saver, which stands between an agent and its provider, did to a session.

use std::collections::BTreeMap;

use derive_more::AddAssign;
use serde::{Deserialize, Serialize};

use super::Absent;

/// What a token saver did to the requests of one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SaverFacts {
    /// Tokens that it says it saved; absent where it gives no report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_tokens: Option<u64>,
    /// Dollars that it says it saved; absent where its report names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_usd: Option<f64>,
    /// Milliseconds that it added to each request, in order; empty for a filter, which runs beside
    /// the tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added_ms: Vec<f64>,
    /// What arrived of the results of each tool at the end, by the tool's name.
    pub tools: BTreeMap<String, ToolCut>,
    /// Facts that it had removed and that its own tool was asked for; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<SaverRecovery>,
    /// How the answers of a filter were.
    #[serde(default, skip_serializing_if = "FilterAnswers::are_plain")]
    pub answers: FilterAnswers,
}

/// How the answers of a filter were, one for each result that it was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FilterAnswers {
    /// Answers that took the place of a result.
    pub used: u64,
    /// Answers that could not be used, so that the results stand as recorded.
    pub refused: u64,
    /// Used answers without any text, to a result that had some.
    pub empty: u64,
    /// The first of the refused: command, call and reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_refused: Option<String>,
}

impl FilterAnswers {
    /// Whether there is nothing to tell of them.
    fn are_plain(&self) -> bool {
        (self.refused, self.empty) == (0, 0)
    }
}

/// What a saver cut of the results of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, AddAssign, Serialize, Deserialize)]
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

/// How the tool of a saver did that brings back what it removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, AddAssign, Serialize, Deserialize)]
pub struct SaverRecovery {
    /// Handles that it had left in the place of what it removed.
    pub tried: u64,
    /// Those for which its tool brought back a text.
    pub found: u64,
    /// Tokens of these texts.
    pub tokens: u64,
}

/// What the sessions of a token saver cost in USD.
#[derive(Clone, Copy, Debug, Default, PartialEq, AddAssign)]
pub struct SaverSavings {
    /// Bill of the whole conversations.
    pub full_usd: f64,
    /// Bill of what arrived behind the saver.
    pub usd: f64,
}

impl SaverSavings {
    /// What the whole bill is smaller by; negative where it is larger.
    pub fn saved_usd(&self) -> f64 {
        self.full_usd - self.usd
    }
}

/// A token saver over all sessions that it and `full` finished, at a window and as one billing
/// model is billed.
#[derive(Clone, Debug, PartialEq)]
pub struct SaverRow {
    /// Name of the strategy.
    pub strategy: String,
    /// Label of the window, as typed.
    pub window: String,
    /// The billing model, as shown.
    pub agent_model: String,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of sessions that it or `full` did not finish.
    pub failed: u64,
    /// Requests of these sessions.
    pub requests: u64,
    /// Tokens that it says it saved; absent where it gives no report.
    pub claimed_tokens: Option<u64>,
    /// Dollars that it says it saved; absent where its report names none.
    pub claimed_usd: Option<f64>,
    /// Tokens that the requests are smaller by; negative where they are larger.
    pub removed_tokens: i64,
    /// Requests whose prompt does not begin with the one before, where that of the whole
    /// conversation does.
    pub cache_breaks: u64,
    /// What this is worth, or why that is not known.
    pub money: Result<SaverSavings, Absent>,
    /// Median and 95th percentile of the milliseconds that it adds to a request; absent for a
    /// filter.
    pub added_ms: Option<(f64, f64)>,
    /// What it cut of the results of each tool, the largest cut first.
    pub tools: Vec<(String, ToolCut)>,
    /// How its own tool for getting back what it removed did; absent where it has none.
    pub recovery: Option<SaverRecovery>,
}
