//! Cuts: places of a recording at which a compaction is forced, what was at
//! stake there, and what each strategy kept of it (`cuts`).

use serde::{Deserialize, Serialize};

use super::{
    Fallbacks, IdentifierClass, LatencySource, MessageIndex, QuestionRow, ReferenceState,
    ReplyFacts, RowKind, Snapshot,
};

/// Prefix of the name of a strategy's no-summary: the same strategy with an empty text in
/// place of what its model writes.
pub const NO_SUMMARY: &str = "no-summary:";

/// Something that the recorded agent used after a cut and could know only from
/// before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Ordinal of the request that uses it, in the whole session.
    pub request: u32,
    /// The identifier, as the agent wrote it.
    pub text: String,
    /// What kind of identifier it is.
    pub class: IdentifierClass,
    /// Message of the material that last held it.
    pub last_seen: MessageIndex,
    /// Tokens of the material from the beginning of that message to the cut,
    /// as the run counts.
    pub newest_tokens: u64,
    /// Smallest tool result that held it: what fetching it again costs. Absent
    /// where it never stood in a tool result.
    pub refetch: Option<MessageIndex>,
    /// Whether the recording itself fetched it again before it used it.
    pub reread: bool,
}

/// A cut: the facts about it that no strategy changes, and the result of each
/// strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// Ordinal of the first request after it.
    pub request: u32,
    /// Whether the recorded agent compacted here.
    pub recorded: bool,
    /// Requests after it that are looked at.
    pub requests: u32,
    /// Requests from it to the next recorded compaction, or to the end of the
    /// session; absent in runs of versions that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
    /// Number of messages before the cut that may be compacted.
    pub messages: u32,
    /// Tokens of what would be sent without any compaction, preamble included.
    pub tokens_before: u64,
    /// Of those, tokens of the preamble, its hidden part included.
    pub preamble_tokens: u64,
    /// The facts, by request and text.
    pub facts: Vec<Fact>,
    /// One result for each strategy and replicate, in this order.
    pub rows: Vec<CutRow>,
}

impl Cut {
    /// The sort key of cuts.
    pub fn key(&self) -> (&str, &str, u32, bool) {
        (&self.dataset, &self.session, self.request, self.recorded)
    }
}

/// The result of a strategy at a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutRow {
    /// Plain strategy id, after [`NO_SUMMARY`] where its summaries are left empty.
    pub strategy: String,
    /// Repetition of the compaction, from 0.
    pub replicate: u32,
    /// Whether the row is ranked.
    pub row_kind: RowKind,
    /// The measured result, or the error.
    pub outcome: CutOutcome,
}

impl CutRow {
    /// The measured result, if the replay reached its end.
    pub fn exam(&self) -> Option<&CutExam> {
        match &self.outcome {
            CutOutcome::Done(exam) => Some(exam),
            CutOutcome::Failed { .. } => None,
        }
    }
}

/// Whether a provider's refusal at a cut counts against a strategy, for facts and
/// for questions alike: not at a first compaction, whose window is made for the
/// cut, and not against controls, which are a scale. One without its summaries stands for its strategy,
/// so that it counts there too.
pub fn counts_refusals(strategy: &str, row_kind: RowKind, depth: u32) -> bool {
    depth > 1 && (row_kind != RowKind::Control || strategy.starts_with(NO_SUMMARY))
}

/// The outcome of a strategy at a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CutOutcome {
    /// The replay reached its end.
    Done(Box<CutExam>),
    /// The replay stopped with an error; the other strategies continue.
    Failed {
        /// The error, in a sentence.
        error: String,
    },
}

/// The measured result of a strategy after a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutExam {
    /// Context limit that was assumed.
    pub window: u64,
    /// Tokens of the first prompt after the cut, preamble included.
    pub tokens_after: u64,
    /// Compactions and views that changed what is sent, up to the cut.
    pub compactions: u32,
    /// The state of each fact, in their order, at the request that uses it.
    /// `Lost` where the provider would have refused that request.
    pub states: Vec<ReferenceState>,
    /// How many facts are carried by the rule of words alone, since a judge that was asked gave no
    /// usable reply.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchecked: u32,
    /// Facts, by position, whose request the provider would have refused
    /// because it is over the window. Depth 1 has none: its window is made for
    /// the cut.
    pub refused: Vec<u32>,
    /// How long the user waited for the compaction at depth 1, or for all that
    /// led to the cut at a greater depth; absent without a model call.
    pub blocking_ms: Option<f64>,
    /// How that time was obtained; absent where there is none.
    pub latency_source: Option<LatencySource>,
    /// Dollars of the compactor's calls up to the cut, as the first billing model of the
    /// run is billed; absent where a price is unknown, and without a billing model.
    pub compactor_usd: Option<f64>,
    /// Texts of the strategy that are sent directly after the cut: hashes into
    /// `texts.jsonl`.
    pub texts: Vec<String>,
    /// The compactor's replies, up to the last request after the cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyFacts>,
    /// The compactions that these replies were for.
    #[serde(default, skip_serializing_if = "Fallbacks::is_empty")]
    pub fallbacks: Fallbacks,
    /// The context in which questions were asked; absent without questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// The results of the questions at this cut, in the order of their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionRow>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
