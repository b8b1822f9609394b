//! The contract between the harness, which decides when, and a mechanism,
//! which decides how.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::chain::{Chain, fill_in};
use super::compactor::{Compactor, CompactorError};
use super::context::{Context, EntryId, OpError};
use super::metered::ModelCall;
use super::trigger::When;
use crate::model::{MessageIndex, RecordedCompaction};
use crate::tokens::{Estimator, Reported, Weight};

/// The only things that a mechanism may use beside the context: no files, no
/// environment, no wall clock, never a probe.
pub struct Host<'a> {
    /// Assumed context limit of the model, in tokens.
    pub window: u64,
    /// What the preset lets itself use of it.
    pub budget: u64,
    /// Size to shrink to, in the preset's own measure. Missing it is no error.
    pub target: u64,
    /// What the preset believes its context to hold now; `None` while it waits
    /// for a provider's figure.
    pub believed: Option<u64>,
    /// Simulated time.
    pub now: Timestamp,
    /// Why the stage runs.
    pub cause: &'a When,
    /// What a provider would have reported for this preset's previous request.
    pub reported: Option<Reported>,
    /// How the preset sizes things.
    pub estimator: Estimator,
    /// The vendor's compaction at this point of the recording, if there is one.
    pub recorded: Option<&'a RecordedCompaction>,
    /// The preset's compactor, metered.
    pub compactor: &'a dyn Compactor,
    /// Seeded stream for ids.
    pub(crate) random: &'a Mutex<ChaCha8Rng>,
}

impl Host<'_> {
    /// An id like a seed's `sum-{timestamp}-{random}`, from simulated time and
    /// a seeded stream (semantics §43).
    pub fn id(&self, prefix: &str) -> String {
        let random =
            self.random.lock().expect("nothing panics while drawing").next_u32() & 0xff_ffff;
        format!("{prefix}-{}-{random:06x}", self.now.as_millisecond())
    }

    /// A piece's size in the unit that the preset adds and removes with.
    pub fn size(&self, piece: Weight) -> u64 {
        self.estimator.fallback(piece)
    }
}

/// What went wrong on the way, and what was done instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// What stands in for the failed step.
    pub to: String,
    /// Why.
    pub reason: String,
}

/// A record that a strategy keeps beside the context (a summary's metadata,
/// an archive, a memory file).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// What it is (`summary`, `archive`, `memory`).
    pub kind: String,
    /// Its content.
    pub body: Json,
}

/// What a compaction did beside changing the context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What it fell back to, if a step failed.
    pub fallback: Option<Fallback>,
    /// Records for the run folder.
    pub records: Vec<Record>,
    /// Lines for the user.
    pub notices: Vec<String>,
    /// Calls of models that it made itself, past the compactor's seat.
    pub calls: Vec<ModelCall>,
    /// CPU time that a process of its own took.
    pub cpu: Duration,
    /// Whether the token counters began anew: what the provider reported for
    /// the request before says nothing of the next (seed 004, GSV: a reset).
    pub forgets_usage: bool,
}

/// State that the stages of one preset share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetState {
    /// Last entry whose tool output has been considered for pruning.
    pub pruned_through: Option<EntryId>,
    /// Tool results whose text was replaced, and when.
    pub pruned: BTreeMap<MessageIndex, Timestamp>,
    /// Last recorded message that a summary covers.
    pub boundary: Option<MessageIndex>,
    /// Lines of the daily memory files by day (`YYYY-MM-DD`): `###` headers
    /// that say when, and the memories below them.
    pub memories: BTreeMap<String, Vec<String>>,
    /// Sessions that were brought to an end, oldest first.
    pub sessions: Vec<PastSession>,
    /// How they follow one another, where a strategy keeps that.
    pub chain: Chain,
    /// Results that were replaced and whose originals a later summary is to
    /// be written from.
    pub originals: BTreeSet<MessageIndex>,
}

/// A part of the conversation that a strategy closed (seed 002, Lis: a session
/// is "a self-contained segment of a chat with its own summary"; seed 004, GSV:
/// what a reset archives).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastSession {
    /// Its id, unique within a cell.
    pub id: String,
    /// Its first recorded message.
    pub from: MessageIndex,
    /// The recorded message behind its last one.
    pub to: MessageIndex,
    /// What was written of it, if anything was.
    pub summary: Option<String>,
    /// When it was closed.
    pub closed: Timestamp,
}

impl PresetState {
    /// Takes over what changed between two states, and keeps its own of the
    /// rest. If another session was opened since, work that was begun in the
    /// one before has nothing left to do: `false`, and only what it wrote of
    /// closed sessions is taken.
    pub(crate) fn adopt(&mut self, before: &Self, after: Self) -> bool {
        let Self { pruned_through, pruned, boundary, memories, sessions, chain, originals } = after;
        if self.chain.open != before.chain.open {
            fill_in(&mut self.sessions, sessions);
            return false;
        }
        if pruned != before.pruned {
            self.pruned = pruned;
        }
        if pruned_through != before.pruned_through {
            self.pruned_through = pruned_through;
        }
        if boundary != before.boundary {
            self.boundary = boundary;
        }
        if memories != before.memories {
            self.memories = memories;
        }
        if sessions != before.sessions {
            let own = std::mem::replace(&mut self.sessions, sessions);
            fill_in(&mut self.sessions, own);
        }
        if chain != before.chain {
            self.chain = chain;
        }
        if originals != before.originals {
            self.originals = originals;
        }
        true
    }
}

/// A file that a system keeps of its own accord, in its own format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its path below the system's folder, with `/`.
    pub path: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// Why a strategy could not do its work. It fails the cell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategyError {
    /// The context refused an operation: a bug of the strategy.
    #[error("the context refused an operation: {0}")]
    Operation(#[from] OpError),
    /// A model call failed and the preset has no fallback.
    #[error("the compactor failed: {0}")]
    Compactor(#[from] CompactorError),
    /// A program of the user's did not answer, or not as agreed.
    #[error("preset `{preset}`, {during} of `{program}`: {problem}")]
    Program {
        /// The preset that names it.
        preset: String,
        /// The command.
        program: String,
        /// When: at its start, or at which call.
        during: String,
        /// What is wrong, with its last words behind [`ITS_WORDS`](super::ITS_WORDS).
        problem: String,
    },
    /// The recording does not hold what the mechanism repeats.
    #[error("the recording cannot be repeated: {reason}")]
    Unreadable {
        /// What it does not hold, and why.
        reason: String,
    },
    /// A saved state that this mechanism did not write.
    #[error("cannot restore the state of `{mechanism}`: {reason}")]
    State {
        /// The mechanism.
        mechanism: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

/// A saved state as its mechanism wrote it.
pub(crate) fn restored<T: DeserializeOwned>(
    mechanism: &'static str,
    state: Json,
) -> Result<T, StrategyError> {
    serde_json::from_value(state)
        .map_err(|e| StrategyError::State { mechanism, reason: e.to_string() })
}

/// A mechanism that shrinks a conversation. One value serves one cell.
#[async_trait]
pub trait Strategy: Send {
    /// At open and before every request: notes that are always there
    /// (awareness, guidance, daily notes).
    fn prepare(
        &mut self,
        _context: &mut Context,
        _shared: &mut PresetState,
        _host: &Host<'_>,
    ) -> Result<(), StrategyError> {
        Ok(())
    }

    /// Shrinks towards `host.target`. Missing it is no error; the harness
    /// records what came of it.
    async fn compact(
        &mut self,
        context: &mut Context,
        shared: &mut PresetState,
        host: &Host<'_>,
    ) -> Result<Outcome, StrategyError>;

    /// The files that the system would have on its own disk now.
    fn stored(&self, _context: &Context, _shared: &PresetState) -> Vec<StoredFile> {
        Vec::new()
    }

    /// The session is over: a process of its own may end.
    async fn close(&mut self) {}

    /// What a later session needs to go on where this one stopped. Stateless
    /// mechanisms have none.
    fn state(&self) -> Json {
        Json::Null
    }

    /// Takes back what [`Strategy::state`] gave.
    fn restore(&mut self, _state: Json) -> Result<(), StrategyError> {
        Ok(())
    }
}
