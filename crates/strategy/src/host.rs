//! The interface between the harness, which decides when to compact, and a
//! mechanism, which decides how.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::compactor::{Compactor, CompactorError};
use super::context::{Context, OpError};
use super::metered::ModelCall;
use super::state::StrategyState;
use super::trigger::When;
use recap_core::model::{MessageIndex, RecordedCompaction, SaverFacts};
use recap_core::tokens::{Estimator, Reported, Weight};

/// Everything that a mechanism may use besides the context: no files, no
/// environment, no wall clock, no questions.
pub struct Host<'a> {
    /// Assumed context limit of the model, in tokens.
    pub window: u64,
    /// The tokens that the strategy allows itself.
    pub budget: u64,
    /// Size to shrink to, in the strategy's own measure. Missing it is not an error.
    pub target: u64,
    /// The strategy's own estimate of its context; `None` while it waits for a
    /// provider's figure.
    pub believed: Option<u64>,
    /// The simulated time of the compaction.
    pub now: Timestamp,
    /// The trigger of the stage.
    pub cause: &'a When,
    /// What a provider would have reported for this strategy's previous request.
    pub reported: Option<Reported>,
    /// How the strategy estimates sizes.
    pub estimator: Estimator,
    /// The vendor's compaction at this point of the recording, if there is one.
    pub recorded: Option<&'a RecordedCompaction>,
    /// The strategy's compactor, with a meter.
    pub compactor: &'a dyn Compactor,
    /// Seeded random numbers for ids.
    pub random: &'a Mutex<ChaCha8Rng>,
}

impl Host<'_> {
    /// An id such as GenCode's `sum-{timestamp}-{random}`, from simulated time
    /// and seeded random numbers (how-it-works §43).
    pub fn id(&self, prefix: &str) -> String {
        let random =
            self.random.lock().expect("nothing panics while drawing").next_u32() & 0xff_ffff;
        format!("{prefix}-{}-{random:06x}", self.now.as_millisecond())
    }

    /// A text's size in the unit that the strategy adds and removes with.
    pub fn size(&self, piece: Weight) -> u64 {
        self.estimator.fallback(piece)
    }
}

/// A failed step, and what was done instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// The step that was done instead.
    pub to: String,
    /// The reason of the failure.
    pub reason: String,
}

impl Fallback {
    /// What stands for the step where a design names none: the context stays as it was.
    pub const NONE: &str = "none";
}

/// A record that a strategy keeps beside the context (a summary's metadata,
/// an archive, a memory file).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The kind of record (`summary`, `archive`, `memory`).
    pub kind: String,
    /// The content of the record.
    pub body: Json,
}

/// The effects of a compaction besides changing the context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The fallback, if a step failed.
    pub fallback: Option<Fallback>,
    /// Records for the run folder.
    pub records: Vec<Record>,
    /// Lines for the user.
    pub notices: Vec<String>,
    /// Calls of models that it made itself, bypassing the compactor's role.
    pub calls: Vec<ModelCall>,
    /// CPU time of a process that it runs.
    pub cpu: Duration,
    /// How long it took, where that is on record.
    pub took_ms: Option<f64>,
    /// How long the agent waited for it, where that was measured.
    pub waited_ms: Option<f64>,
    /// What a token saver did to the session.
    pub saver: Option<Arc<SaverFacts>>,
    /// Whether the token counters were reset: then the provider's last report
    /// says nothing about the next request (GSV, after a reset).
    pub forgets_usage: bool,
}

/// A file that a system keeps, in its own format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its path below the system's folder, with `/`.
    pub path: String,
    /// The content of the file.
    pub content: Vec<u8>,
}

/// Why a strategy could not do its work. It fails the cell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MechanismError {
    /// The context refused an operation: a bug of the strategy.
    #[error("the context refused an operation: {0}")]
    Operation(#[from] OpError),
    /// A model call failed and the strategy has no fallback.
    #[error("the compactor failed: {0}")]
    Compactor(#[from] CompactorError),
    /// The user's program did not answer, or not according to the protocol.
    #[error("strategy `{strategy}`, {during} of `{program}`: {problem}")]
    Program {
        /// The strategy that runs it.
        strategy: String,
        /// The command that starts the program.
        program: String,
        /// During its start, or during which call.
        during: String,
        /// The problem, with the program's last output after
        /// [`ITS_WORDS`](super::ITS_WORDS).
        problem: String,
    },
    /// A token saver failed, or sent what a provider would refuse.
    #[error("strategy `{strategy}`, `{program}`: {problem}")]
    Saver {
        /// The strategy that runs it.
        strategy: String,
        /// The command that starts it, or its address.
        program: String,
        /// The problem, with the program's last output after [`ITS_WORDS`](super::ITS_WORDS).
        problem: String,
    },
    /// The recording lacks what the mechanism repeats.
    #[error("the recording cannot be repeated: {reason}")]
    Unreadable {
        /// What it lacks, and why.
        reason: String,
    },
    /// A saved state that was not written by this mechanism.
    #[error("cannot restore the state of `{mechanism}`: {reason}")]
    State {
        /// The name of the mechanism.
        mechanism: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads a saved state of a mechanism.
pub(crate) fn restored<T: DeserializeOwned>(
    mechanism: &'static str,
    state: Json,
) -> Result<T, MechanismError> {
    serde_json::from_value(state)
        .map_err(|e| MechanismError::State { mechanism, reason: e.to_string() })
}

/// What a mechanism works on, and with.
pub struct Work<'a> {
    /// What is sent.
    pub context: &'a mut Context,
    /// What the stages of the strategy share.
    pub shared: &'a mut StrategyState,
    /// Everything else that it may use.
    pub host: &'a Host<'a>,
}

/// A mechanism that shrinks a conversation. One value serves one cell.
#[async_trait]
pub trait Mechanism: Send {
    /// Called at the start and before every request: sets permanent notes
    /// (awareness, guidance, daily notes).
    fn prepare(&mut self, _: Work<'_>) -> Result<(), MechanismError> {
        Ok(())
    }

    /// Shrinks towards [`Host::target`]. Missing it is not an error; the harness
    /// records the result.
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError>;

    /// The files that the system would have on its own disk now.
    fn stored(&self, _context: &Context, _shared: &StrategyState) -> Vec<StoredFile> {
        Vec::new()
    }

    /// What the strategy's own tool brings back of a message that it changed, if it has one.
    fn recovered(&self, _message: MessageIndex) -> Option<&str> {
        None
    }

    /// Called after the session: a process may be ended.
    async fn close(&mut self) {}

    /// The state with which a later process resumes where this one stopped.
    /// Stateless mechanisms have none.
    fn state(&self) -> Json {
        Json::Null
    }

    /// Restores the result of [`Mechanism::state`].
    fn restore(&mut self, _state: Json) -> Result<(), MechanismError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::testkit::Scripted;

    #[test]
    fn id_has_time_and_six_random_digits() {
        let compactor = Scripted::default();
        let random = Mutex::new(ChaCha8Rng::seed_from_u64(7));
        let host = Host {
            window: 1_000,
            budget: 900,
            target: 500,
            believed: None,
            now: Timestamp::from_millisecond(1_234_567).unwrap(),
            cause: &When::Always,
            reported: None,
            estimator: Estimator::CharsOverFour,
            recorded: None,
            compactor: &compactor,
            random: &random,
        };
        let ids: Vec<String> = (0..20).map(|_| host.id("sum")).collect();
        let drawn = |id: &String| id.strip_prefix("sum-1234567-").unwrap().to_owned();
        let digits: std::collections::BTreeSet<String> = ids.iter().map(drawn).collect();
        assert!(digits.iter().all(|digits| digits.len() == 6), "{ids:?}");
        assert_eq!(digits.len(), 20, "each is drawn anew");
    }

    #[test]
    fn foreign_state_is_refused_naming_this_mechanism() {
        let error = restored::<u32>("mine", Json::Null).unwrap_err().to_string();
        assert!(error.starts_with("cannot restore the state of `mine`: "), "{error}");
        assert_eq!(restored::<u32>("mine", Json::from(7)).unwrap(), 7);
    }
}
