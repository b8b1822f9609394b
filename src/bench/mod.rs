//! The main job as a library: data sets in, a report and a run folder out.
//!
//! ```no_run
//! use recap::bench::Bench;
//! use recap_formats::{LoadOptions, load};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let dataset = load("sessions".as_ref(), &LoadOptions::default())?;
//! let bench = Bench::new([dataset]).strategies(["fifo", "prune"]).windows(["25%".parse()?]);
//! let run = bench.plan()?.prepare().await?;
//! let mut folder = run.create("reports/mine".as_ref())?;
//! let results = run.run(&mut folder, &()).await?.measure();
//! results.write(&folder, &[])?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: `recap bench` does nothing else. The command line reads options,
//! keys and prices, fills the roles with models, and prints.

mod error;
mod follow;
mod manifest;
mod merge;
mod native;
mod plan;
mod results;
mod run;
mod selection;
mod shard;

pub use error::BenchError;
pub use merge::{MergeError, merge};
pub use native::native_sizes;
pub use plan::BenchPlan;
pub use results::{Results, clear};
pub use run::{BenchRun, Outcome};
pub use selection::{SelectionError, strategy, strategy_text};
pub use shard::Part;

use std::sync::Arc;

use recap_billing::pricing::PriceList;
use recap_core::model::{Question, Shard};
use recap_core::tokens::Counter;
use recap_exam::facts::Cuts;
use recap_formats::Dataset;
use recap_replay::WindowSpec;
use recap_strategy::Strategy;
use selection::Selection;

/// Cuts of a session where nothing else is asked for.
const CUTS: Cuts = Cuts::Spread(5);

/// Depth of the cuts where nothing else is asked for: the first compaction.
const DEPTH: u32 = 1;

/// What is to be compared, on which sessions. Everything but the data sets has
/// the default of `recap bench`.
#[derive(Clone, Debug)]
pub struct Bench {
    datasets: Vec<Dataset>,
    asks: bool,
    limit: Option<usize>,
    shard: Option<Shard>,
    no_text: bool,
    selection: Selection,
    only: Option<Vec<Arc<Strategy>>>,
    windows: Vec<WindowSpec>,
    prices: Option<Arc<PriceList>>,
    agent_models: Vec<String>,
    compactor_model: Option<String>,
    counter: Arc<Counter>,
    cuts: Cuts,
    questions: Questions,
    depth: u32,
    replicates: u32,
    seed: u64,
    scaled: bool,
    jobs: usize,
}

/// The questions that are asked at cuts alone, besides the data sets' own
/// questions.
#[derive(Clone, Debug, PartialEq)]
pub enum Questions {
    /// Made from every session without questions of its own.
    Auto,
    /// None.
    None,
    /// These, with the hash of their file.
    Given(Vec<Question>, String),
}

impl Bench {
    /// A comparison on the sessions and the questions of these data sets.
    pub fn new(datasets: impl IntoIterator<Item = Dataset>) -> Self {
        Self {
            datasets: datasets.into_iter().collect(),
            asks: true,
            limit: None,
            shard: None,
            no_text: false,
            selection: Selection::default(),
            only: None,
            windows: Vec::new(),
            prices: None,
            agent_models: Vec::new(),
            compactor_model: None,
            counter: Arc::new(Counter::where_reported()),
            cuts: CUTS,
            questions: Questions::Auto,
            depth: DEPTH,
            replicates: 1,
            seed: 1,
            scaled: true,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// The same comparison on other data sets.
    #[must_use]
    pub fn on(self, datasets: impl IntoIterator<Item = Dataset>) -> Self {
        Self { datasets: datasets.into_iter().collect(), ..self }
    }

    /// Whether the data sets' own questions are asked: a replay leaves them out.
    #[must_use]
    pub fn asks(self, asks: bool) -> Self {
        Self { asks, ..self }
    }

    /// Uses only the first sessions of each data set; `None`: all.
    #[must_use]
    pub fn limit(self, sessions: Option<usize>) -> Self {
        Self { limit: sessions, ..self }
    }

    /// Replays only this part of the sessions: [`merge`] puts the parts together.
    /// `None`: all.
    #[must_use]
    pub fn shard(self, shard: Option<Shard>) -> Self {
        Self { shard, ..self }
    }

    /// Keeps the sessions' words out of the run folder and the report:
    /// identifiers are named by their class and a hash.
    #[must_use]
    pub fn no_text(self, no_text: bool) -> Self {
        Self { no_text, ..self }
    }

    /// Adds strategies: names of built-in ones, TOML files, `all`, or one of the
    /// groups `mechanisms`, `systems` and `agents`. Without any, the seven
    /// mechanisms run, and with recordings what widely used agents do, with a
    /// data set (of a version, or with questions of its own) the five published
    /// systems. The controls `full`, `empty` and
    /// `id-list` always run, and so does `evidence` where there are questions.
    #[must_use]
    pub fn strategies<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.selection.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds strategies with a changed value, each written as `STRATEGY.KEY=VALUE`.
    #[must_use]
    pub fn changes<S: Into<String>>(mut self, changes: impl IntoIterator<Item = S>) -> Self {
        self.selection.changes.extend(changes.into_iter().map(Into::into));
        self
    }

    /// Runs these strategies and nothing else: no controls, and none without its summaries.
    #[must_use]
    pub fn only(self, strategies: Vec<Arc<Strategy>>) -> Self {
        Self { only: Some(strategies), ..self }
    }

    /// Adds windows; one that is there already is not added again. Without any,
    /// each data set has its own ([`Windows::or_default`](recap_replay::run::Windows::or_default)).
    #[must_use]
    pub fn windows(mut self, windows: impl IntoIterator<Item = WindowSpec>) -> Self {
        for window in windows {
            if !self.windows.iter().any(|known| known.label() == window.label()) {
                self.windows.push(window);
            }
        }
        self
    }

    /// The price list; without one, the bundled one.
    #[must_use]
    pub fn prices(self, prices: Arc<PriceList>) -> Self {
        Self { prices: Some(prices), ..self }
    }

    /// Adds models that bill the sessions, for a row each. Without any, each
    /// session is billed as the model that it was recorded with.
    #[must_use]
    pub fn agent_models<S: AsRef<str>>(mut self, models: impl IntoIterator<Item = S>) -> Self {
        for model in models {
            let model = model.as_ref().trim().to_owned();
            if !self.agent_models.contains(&model) {
                self.agent_models.push(model);
            }
        }
        self
    }

    /// The model in the compactor's role, as the price list names it; `None`:
    /// the offline compactor. It bills the calls of compactions.
    #[must_use]
    pub fn compactor_model(self, model: Option<String>) -> Self {
        Self { compactor_model: model, ..self }
    }

    /// How tokens are counted.
    #[must_use]
    pub fn counter(self, counter: Arc<Counter>) -> Self {
        Self { counter, ..self }
    }

    /// Where compactions are forced, and at which depth: 1 for a first compaction,
    /// above it the size of the session before the cut in windows. A recorded
    /// compaction is examined at depth 1.
    #[must_use]
    pub fn cuts(self, cuts: Cuts, depth: u32) -> Self {
        Self { cuts, depth, ..self }
    }

    /// The questions that are asked at the cuts, besides the data sets' own
    /// questions.
    #[must_use]
    pub fn questions(self, questions: Questions) -> Self {
        Self { questions, ..self }
    }

    /// Repetitions of the strategies that call a compactor.
    #[must_use]
    pub fn replicates(self, replicates: u32) -> Self {
        Self { replicates, ..self }
    }

    /// Seed of every random stream.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Whether the strategies' numbers of tokens and characters scale with the
    /// window.
    #[must_use]
    pub fn scaled(self, scaled: bool) -> Self {
        Self { scaled, ..self }
    }

    /// Cells at a time.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Loads the strategies and chooses the windows, the billing models and the sessions.
    /// Nothing is replayed, sent or written.
    ///
    /// # Errors
    /// If no session is selected, two have the same name, or a strategy cannot
    /// be loaded.
    pub fn plan(self) -> Result<BenchPlan, BenchError> {
        plan::plan(self)
    }
}
