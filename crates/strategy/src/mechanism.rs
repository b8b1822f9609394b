//! What a mechanism is to a strategy and to the harness: what it is built from, what it may use
//! and what it gives back. The harness decides when to compact, a mechanism decides how.

use std::fmt::Display;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::prompt::Prompt;
use crate::compactor::{Compactor, CompactorError, ModelCall};
use crate::context::{Context, OpError};
use crate::state::StrategyState;
use crate::strategy::Strategy;
use crate::trigger::When;
use recap_core::model::{MessageIndex, RecordedCompaction, SaverFacts};
use recap_core::text::read_json;
use recap_core::tokens::{Estimator, Reported, Weight};

/// A mechanism: one file, one constant, one line in
/// `MECHANISMS`.
#[derive(Debug)]
pub struct MechanismSpec {
    /// The kebab-case name used in strategies.
    pub name: &'static str,
    /// One sentence for `--help` and documentation.
    pub summary: &'static str,
    /// Whether it calls the compactor.
    pub uses_compactor: bool,
    /// Whether the entries that it hides are shown again at the next run of the stage.
    pub is_view: bool,
    /// Parameters that are absolute numbers of tokens or characters: they are
    /// written for the native window and can scale with the run's. Those of a
    /// table are given as `table.key`. Counts, shares and durations do not scale.
    pub scales: &'static [&'static str],
    /// Builds the mechanism for one cell; the error is a sentence without a position.
    pub build: fn(&Build<'_>) -> Result<Box<dyn Mechanism>, BuildError>,
}

impl MechanismSpec {
    /// What most mechanisms are: without a model, without numbers that scale, and what they change
    /// stays changed.
    pub const PLAIN: Self = Self {
        name: "",
        summary: "",
        uses_compactor: false,
        is_view: false,
        scales: &[],
        build: |_| Err(BuildError(String::new())),
    };
}

impl PartialEq for MechanismSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Why a mechanism cannot be built, in words. A strategy adds the stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError(pub String);

impl<T: Display> From<T> for BuildError {
    fn from(problem: T) -> Self {
        BuildError(problem.to_string())
    }
}

/// The inputs from which a mechanism is built.
pub struct Build<'a> {
    /// Its parameters, scaled to the run's window.
    pub parameters: &'a Table,
    /// Assumed context limit in tokens.
    pub window: u64,
    /// The strategy.
    pub strategy: &'a Strategy,
    /// Position of the stage in the strategy, from 1.
    pub stage: usize,
}

impl Build<'_> {
    /// Reads the mechanism's parameters into its own struct, which refuses
    /// unknown keys.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, BuildError> {
        Ok(keyed(&Value::Table(self.parameters.clone()))?)
    }

    /// The text of a prompt file, by the name that a parameter gives.
    pub fn text(&self, file: &str) -> Result<&str, BuildError> {
        let text = self.strategy.prompts.get(file);
        text.map(String::as_str).ok_or_else(|| format!("prompt `{file}` is not there").into())
    }

    /// The same as a template.
    pub fn prompt(&self, file: &str, allowed: &[&str]) -> Result<Prompt, BuildError> {
        Prompt::new(self.text(file)?, allowed)
            .map_err(|error| format!("prompt `{file}`: {error}").into())
    }
}

/// Deserializes a value; an error names the key.
pub(super) fn keyed<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    read_json(&text).map_err(|(key, problem)| {
        // The message itself names an unknown key.
        if key == "." || problem.contains(&format!("`{key}`")) {
            problem
        } else {
            format!("{key}: {problem}")
        }
    })
}

// The interface between the harness, which decides when to compact, and a
// mechanism, which decides how.

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
    /// The recorded agent's compaction at this point of the recording, if there is one.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The step that was done instead.
    pub to: String,
    /// The reason of the failure.
    pub reason: String,
}

impl Fallback {
    /// What stands for the step where a design names none: the context stays as it was.
    pub const NONE: &str = "none";

    /// Another step, because one failed.
    pub fn new(to: &str, reason: impl ToString) -> Self {
        Self { to: to.to_owned(), reason: reason.to_string() }
    }
}

/// The effects of a compaction besides changing the context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The fallback, if a step failed.
    pub fallback: Option<Fallback>,
    /// Lines for the user.
    pub notices: Vec<String>,
    /// Calls of models that it made itself, bypassing the compactor's role.
    pub calls: Vec<ModelCall>,
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

impl Outcome {
    /// Nothing but another step, because one failed.
    pub(crate) fn fell_back(to: &str, reason: impl ToString) -> Self {
        Self { fallback: Some(Fallback::new(to, reason)), ..Self::default() }
    }
}

/// A file that a system keeps, in its own format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its path below the system's folder, with `/`.
    pub path: String,
    /// The content of the file.
    pub content: Vec<u8>,
}

impl StoredFile {
    pub(crate) fn json(path: String, body: &impl serde::Serialize) -> Self {
        let content = serde_json::to_vec_pretty(body).expect("plain data serialises");
        Self { path, content }
    }
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
    /// A program failed, or the recording lacks what is repeated: what, and why. A program's last
    /// output follows [`ITS_WORDS`](crate::ITS_WORDS).
    #[error("{0}")]
    Outside(String),
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

/// Copies a mechanism with its state: compactions in the background run beside the conversation.
/// Every mechanism that is [`Clone`] has it.
pub trait Copied {
    /// A mechanism that goes on from here by itself.
    fn copied(&self) -> Box<dyn Mechanism>;
}

impl<M: Mechanism + Clone + 'static> Copied for M {
    fn copied(&self) -> Box<dyn Mechanism> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Mechanism> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// A mechanism that shrinks a conversation. One value serves one cell.
#[async_trait]
pub trait Mechanism: Copied + Send {
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
}
