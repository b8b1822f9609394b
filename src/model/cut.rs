//! Cuts: places of a recording at which a compaction is made to happen, what
//! was at stake there, and what each preset kept of it (docs/cuts.md).

use serde::{Deserialize, Serialize};

use super::{
    IdentifierClass, LatencySource, MessageIndex, ProbeRow, ReferenceState, ReplyFacts, Snapshot,
    Standing,
};

/// What the name of a preset's null begins with: the same preset with an empty
/// text in the place of what its model writes.
pub const NULL: &str = "null:";

/// Something that the recorded agent used behind a cut and could only know from
/// before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactAtStake {
    /// Ordinal of the request that uses it, in the whole transcript.
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

/// A cut with everything about it that no preset changes, and what came of it
/// under each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the transcript.
    pub transcript: String,
    /// Ordinal of the first request behind it.
    pub request: u32,
    /// Whether the recorded agent compacted here.
    pub recorded: bool,
    /// Requests behind it that are looked at.
    pub requests: u32,
    /// Messages of the material.
    pub messages: u32,
    /// Tokens of what would be sent without any compaction, preamble included.
    pub tokens_before: u64,
    /// Of those, tokens of the preamble, its hidden part included.
    pub preamble_tokens: u64,
    /// What is at stake, by request and text.
    pub facts: Vec<FactAtStake>,
    /// One for each preset, replicate and depth, in this order.
    pub rows: Vec<CutRow>,
}

impl Cut {
    /// What cuts are sorted by.
    pub fn key(&self) -> (&str, &str, u32, bool) {
        (&self.dataset, &self.transcript, self.request, self.recorded)
    }
}

/// A preset at a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutRow {
    /// Plain preset id, behind [`NULL`] for its null.
    pub strategy: String,
    /// Repetition of the compaction, from 0.
    pub replicate: u32,
    /// 1: the first compaction, made to happen here. Above: the material was
    /// replayed at a window that many times smaller.
    pub depth: u32,
    /// Whether the row is ranked.
    pub standing: Standing,
    /// How it ended.
    pub outcome: CutOutcome,
}

impl CutRow {
    /// What came of it, if it ran through.
    pub fn exam(&self) -> Option<&CutExam> {
        match &self.outcome {
            CutOutcome::Done(exam) => Some(exam),
            CutOutcome::Failed { .. } => None,
        }
    }
}

/// How a preset ended at a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CutOutcome {
    /// It ran through.
    Done(Box<CutExam>),
    /// It stopped; the others go on.
    Failed {
        /// What went wrong, in a sentence.
        error: String,
    },
}

/// What a preset sent behind a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutExam {
    /// Context limit that was assumed.
    pub window: u64,
    /// Tokens of the first prompt behind the cut, preamble included.
    pub tokens_after: u64,
    /// Compactions and views that changed what is sent, up to the cut.
    pub compactions: u32,
    /// What became of each fact, in their order, at the request that uses it.
    /// `Lost` where the provider would have refused that request.
    pub states: Vec<ReferenceState>,
    /// Facts, by position, whose request the provider would have refused
    /// because it is over the window. Depth 1 has none: its window is made for
    /// the cut.
    pub refused: Vec<u32>,
    /// The mechanisms' own CPU time up to the cut.
    pub cpu_ms: f64,
    /// How long the user waited for the compaction at depth 1, or for all that
    /// led to the cut at a greater depth; absent without a model call.
    pub blocking_ms: Option<f64>,
    /// How that time came about.
    pub latency_source: Option<LatencySource>,
    /// What it costs, one for each payer of the run.
    pub bills: Vec<CutBill>,
    /// Texts that the strategy wrote and that stand right behind the cut:
    /// hashes into `texts.jsonl`.
    pub texts: Vec<String>,
    /// What the compactor answered, up to the last request behind the cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyFacts>,
    /// The context that probes were put to; absent without probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// The probes that stand at this cut, in the order of their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeRow>,
}

#[cfg(test)]
impl CutExam {
    /// Facts in these states behind one compaction, and nothing else.
    pub(crate) fn of_states(window: u64, tokens_after: u64, states: Vec<ReferenceState>) -> Self {
        Self {
            window,
            tokens_after,
            compactions: 1,
            states,
            refused: Vec::new(),
            cpu_ms: 0.5,
            blocking_ms: None,
            latency_source: None,
            bills: Vec::new(),
            texts: Vec::new(),
            replies: Vec::new(),
            snapshot: None,
            probes: Vec::new(),
        }
    }
}

/// Dollars of a cut as one payer is billed; absent where a price is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutBill {
    /// Whose bill it is: [`super::Bill::billed_as`].
    pub billed_as: String,
    /// Calls of the compactor's model up to the cut.
    pub compactions_usd: Option<f64>,
    /// The requests behind the cut.
    pub with_usd: Option<f64>,
    /// The same requests had nothing been compacted.
    pub without_usd: Option<f64>,
    /// The first request behind the cut, from 1, at which the bill with the
    /// compaction is no higher than without; absent where none is.
    pub pays_after: Option<u32>,
    /// Dollars by which the bill with the compaction falls behind that without
    /// at each request, in the mean from the second on: how fast it pays.
    pub saved_per_request_usd: Option<f64>,
}
