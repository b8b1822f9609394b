//! The result of one replay: rows that can be measured, judged and reported
//! again without the data set.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bill, CompactionRow, MessageIndex, QuestionRow, SaverFacts, Snapshot};

/// Label of the window that is each recorded model's own context limit.
pub const NATIVE: &str = "native";

/// Smallest context limit that agents in use run with, in tokens (how-it-works
/// §10). Below it, single tool results take a larger share than they ever did
/// for the recorded agent.
pub const SMALLEST_NATIVE: u64 = 128_000;

/// What identifies a cell: one session × strategy × window × replicate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellKey {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// The strategy's id, without markup.
    pub strategy: String,
    /// Window label as typed (`25%`, `200k`, [`NATIVE`]).
    pub window: String,
    /// Repetition of the compaction, from 0.
    pub replicate: u32,
}

/// The role of a row in the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// An ordinary strategy, which takes part in the ranking.
    #[default]
    Ranked,
    /// A control: printed for orientation, never ranked.
    Control,
    /// An LLM-backed mechanism on the offline compactor: it measures our
    /// offline compactor, not the strategy, and is never ranked (reference §6).
    OfflineSummary,
    /// Of rows alone: it would be ranked, but too many replies of the compactor
    /// were unusable (`UNUSABLE_WITHIN`).
    Unusable,
}

/// A request as one strategy would have sent it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestRow {
    /// Tokens of the context, preamble included.
    pub tokens_sent: u64,
    /// What the strategy's own estimator believed; absent where it has no
    /// estimate (it waits for a provider's figure, or counts messages).
    pub estimated: Option<u64>,
    /// Messages in the context.
    pub messages: u32,
    /// Whether context and recorded output exceed the window.
    pub overflow: bool,
    /// Whether every tool call in it has its result, as providers demand.
    pub valid: bool,
    /// Tokens of the longest common prefix with the prompt before; 0 at the first.
    pub common_prefix: u64,
    /// Whether that prefix is shorter than the prompt before: the strategy
    /// edited or removed something.
    pub cache_break: bool,
}

/// Assumed speeds of people, tools and models where nothing was timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeProfile {
    /// Milliseconds before a user's message.
    pub user_ms: f64,
    /// Milliseconds that a tool takes.
    pub tool_ms: f64,
    /// Milliseconds to a model's first token, without the prefill.
    pub first_token_ms: f64,
    /// Prompt tokens a second that are not read from a cache.
    pub prefill_per_s: f64,
    /// Output tokens a second.
    pub decode_per_s: f64,
}

/// Whether a reference, or a fact at a cut, survives in a context; the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ReferenceState {
    /// A recorded message that holds it is sent unedited, or what an edit left of
    /// it holds it together with words that stood near it.
    Verbatim,
    /// Its recorded text is not sent; a text that the strategy wrote holds it,
    /// together with words that stood near it.
    Carried,
    /// It occurs in such texts only, without the words that stood near it.
    Bare,
    /// Only its last component occurs.
    Partial,
    /// It does not occur, and the strategy's own search finds it. Looked for at
    /// cuts only.
    Recovered,
    /// It does not occur.
    Lost,
}

impl ReferenceState {
    /// Whether the context still states it: verbatim, or carried with support.
    pub fn is_kept(self) -> bool {
        matches!(self, ReferenceState::Verbatim | ReferenceState::Carried)
    }
}

/// Whether one reference of the exam survived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceOutcome {
    /// Position of the reference in [`Exam::references`](super::Exam::references).
    pub reference: u32,
    /// Whether it survives in this strategy's context at its request.
    pub state: ReferenceState,
}

/// A message's state from a request on, until its next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossRow {
    /// Position of the message in the session.
    pub message: MessageIndex,
    /// Ordinal of the first request with this state.
    pub request: u32,
    /// Its state from that request on.
    pub state: LedgerState,
}

/// Everything one cell measured; the default is that of one that sends nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellRows {
    /// Assumed context limit in tokens.
    pub window: u64,
    /// Tokens of the preamble that the strategy itself adds (awareness, guidance) at the start.
    pub preamble_added: u64,
    /// One row per request, in order. Cells that sent the same share them.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub requests: Arc<Vec<RequestRow>>,
    /// The compactions of the cell, in order.
    pub compactions: Vec<CompactionRow>,
    /// One row per reference of the exam, in its order.
    pub references: Vec<ReferenceOutcome>,
    /// The contexts in which questions were asked, by request.
    pub snapshots: Vec<Snapshot>,
    /// One row per question of the session, in their order.
    pub questions: Vec<QuestionRow>,
    /// State changes of the messages, by request; a message is verbatim from
    /// its first request on unless a row says otherwise.
    pub loss: Vec<LossRow>,
    /// CPU time of the strategy over the whole cell. It differs from run to run,
    /// so it stands in a file of its own and not among the results.
    #[serde(skip)]
    pub cpu_ms: f64,
    /// Lines that the strategy would have shown to its user.
    pub notices: Vec<String>,
    /// What the session is billed for, one for each agent model of the run. Cells
    /// that are billed the same share them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bills: Vec<Arc<Bill>>,
    /// What a token saver did; absent for all other strategies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saver: Option<Arc<SaverFacts>>,
}

/// The outcome of a replay: of a cell, or of a strategy at a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayOutcome<T> {
    /// The replay reached its end.
    Done(Box<T>),
    /// The replay stopped with an error; the others continue.
    Failed {
        /// What went wrong, in a sentence.
        error: String,
    },
}

/// The outcome of a cell.
pub type CellOutcome = ReplayOutcome<CellRows>;

impl<T, E: ToString> From<Result<T, E>> for ReplayOutcome<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(measured) => ReplayOutcome::Done(Box::new(measured)),
            Err(error) => ReplayOutcome::Failed { error: error.to_string() },
        }
    }
}

impl<T> ReplayOutcome<T> {
    /// What was measured, if the replay reached its end.
    pub fn done(&self) -> Option<&T> {
        match self {
            ReplayOutcome::Done(measured) => Some(measured),
            ReplayOutcome::Failed { .. } => None,
        }
    }

    /// The same, to be changed.
    pub fn done_mut(&mut self) -> Option<&mut T> {
        match self {
            ReplayOutcome::Done(measured) => Some(measured),
            ReplayOutcome::Failed { .. } => None,
        }
    }

    /// Why the replay stopped, if it did.
    pub fn error(&self) -> Option<&str> {
        match self {
            ReplayOutcome::Done(_) => None,
            ReplayOutcome::Failed { error } => Some(error),
        }
    }
}

/// One cell of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The session, strategy, window and replicate of the cell.
    pub key: CellKey,
    /// Whether the row is ranked.
    pub row_kind: RowKind,
    /// The rows of the cell, or its error.
    pub outcome: CellOutcome,
}

impl Cell {
    /// Whether the provider would have refused a request, so that nothing
    /// counts as kept at it. Controls are exempt.
    pub fn refuses_request(&self, request: u32) -> bool {
        let sent = self.rows().and_then(|rows| rows.requests.get(request as usize));
        self.row_kind != RowKind::Control && sent.is_some_and(|sent| sent.overflow)
    }

    /// The rows of a cell that reached its end.
    pub fn rows(&self) -> Option<&CellRows> {
        self.outcome.done()
    }

    /// Whether the overflow of a question's context counts against this cell, as
    /// that of a request does (reference §1). Controls are exempt.
    pub fn refuses(&self, question: &QuestionRow) -> bool {
        let snapshot = self.rows().and_then(|rows| rows.snapshots.get(question.snapshot as usize));
        self.row_kind != RowKind::Control && snapshot.is_some_and(|s| s.overflow)
    }

    /// Score of a question, `0.0..=1.0`: 0 where the provider would have refused
    /// the request, absent where neither a grade nor a passage tells.
    pub fn score(&self, question: &QuestionRow) -> Option<f64> {
        self.counted(question, question.score())
    }

    /// The same for the answer with the strategy's recovery channel.
    pub fn recovered_score(&self, question: &QuestionRow) -> Option<f64> {
        self.counted(question, question.recovered.as_ref()?.answered.judgement.score)
    }

    fn counted(&self, question: &QuestionRow, score: Option<f64>) -> Option<f64> {
        if self.refuses(question) { score.map(|_| 0.0) } else { score }
    }
}

/// The state of a recorded message in a context (how-it-works §24), best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum LedgerState {
    /// Sent exactly as recorded.
    Verbatim,
    /// Sent with part of it replaced or removed.
    Edited,
    /// Covered by a summary that is sent.
    Folded,
    /// Not sent in any form, even if only for this request.
    Gone,
}
