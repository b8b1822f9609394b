//! Probes as they were put to a context, and what came of them.

use serde::{Deserialize, Serialize};

use super::{Judgement, LedgerState, MessageIndex, NoAnswer, Probe, Role};

/// A probe with everything that its transcript alone tells about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeFacts {
    /// The question, and what makes an answer right.
    pub probe: Probe,
    /// Ordinal of the request whose context it is put to; the number of
    /// requests for the virtual one at the end (`semantics` 28).
    pub request: u32,
    /// Messages that answer it, ascending; none later than `asked_at`.
    pub evidence: Vec<MessageIndex>,
    /// Tokens of the messages between the newest evidence and that request;
    /// absent without evidence.
    pub age_tokens: Option<u64>,
}

/// One stretch of a snapshot, in the order in which it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotPart {
    /// Recorded messages as recorded.
    Messages {
        /// The first of them.
        from: MessageIndex,
        /// The one behind the last.
        to: MessageIndex,
    },
    /// A recorded message, changed.
    Edited {
        /// The message.
        message: MessageIndex,
        /// Hash of its text in `texts.jsonl`.
        text: String,
    },
    /// Preamble, notes and what a strategy wrote.
    Written {
        /// Its role; `System` for preamble and notes.
        role: Role,
        /// Hash of its text in `texts.jsonl`.
        text: String,
    },
}

/// The context at a probe point: what the answerer is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Ordinal of the request; the number of requests for the virtual one at
    /// the end.
    pub request: u32,
    /// Tokens of the context, preamble included.
    pub tokens: u64,
    /// Whether context and output reserve exceed the window: the provider
    /// would have refused the request.
    pub overflow: bool,
    /// Compactions made so far.
    pub compactions: u32,
    /// What is sent, in order.
    pub parts: Vec<SnapshotPart>,
}

/// What came back for a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The text.
    Said(String),
    /// Nothing, and why: it is never graded.
    Nothing(NoAnswer),
}

/// One probe under one preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeRow {
    /// Position in [`TranscriptFacts::probes`](super::TranscriptFacts).
    pub probe: u32,
    /// Position in [`CellRows::snapshots`](super::CellRows).
    pub snapshot: u32,
    /// Worst state of its evidence (`semantics` 29); absent without evidence.
    pub evidence: Option<LedgerState>,
    /// Compactions since its evidence was last said; absent without evidence.
    pub age_compactions: Option<u32>,
    /// Whether an expected value stands in the context, not negated nearby;
    /// absent where no value is expected (`semantics` 32).
    pub answerable: Option<bool>,
    /// What was answered.
    pub answer: Answer,
    /// What the judge made of it.
    pub judgement: Judgement,
    /// The same with the preset's recovery channel; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Recovered>,
}

/// What came back for a probe whose answerer could search what was dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovered {
    /// What was answered.
    pub answer: Answer,
    /// What the judge made of it.
    pub judgement: Judgement,
    /// Searches made.
    pub calls: u32,
    /// Tokens of what they gave, as the run counts; what came twice counts twice.
    pub tokens: u64,
}

/// What compression did to one probe: right or wrong under `full`, and under
/// the preset, both against the probe's own expectation (`semantics` 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// Right before and after.
    Kept,
    /// Right before, wrong after.
    Lost,
    /// Wrong before, right after.
    Gained,
    /// Wrong before and after.
    Neither,
}

impl Agreement {
    /// From right or wrong before and after.
    pub fn of(before: bool, after: bool) -> Self {
        match (before, after) {
            (true, true) => Agreement::Kept,
            (true, false) => Agreement::Lost,
            (false, true) => Agreement::Gained,
            (false, false) => Agreement::Neither,
        }
    }

    /// The lower-case name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Agreement::Kept => "kept",
            Agreement::Lost => "lost",
            Agreement::Gained => "gained",
            Agreement::Neither => "neither",
        }
    }
}

/// Scores from here on are right (`semantics` 31).
pub const RIGHT: f64 = 0.5;
