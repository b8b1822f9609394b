//! The main job as a library: data sets in, a report and a run folder out.
//!
//! ```no_run
//! use recap::bench::{Inputs, Settings, Strategies, measure_run, plan};
//! use recap_formats::{LoadOptions, load};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let inputs = Inputs {
//!     datasets: vec![load("sessions".as_ref(), &LoadOptions::default())?],
//!     strategies: Strategies::named(["fifo", "prune"]),
//!     ..Inputs::default()
//! };
//! let settings = Settings { windows: vec!["25%".parse()?], ..Settings::default() };
//! let run = plan(inputs, &settings)?.prepare().await?;
//! let mut folder = run.create("reports/mine".as_ref())?;
//! let results = measure_run(run.run(&mut folder, &()).await?);
//! results.write(&folder, &[])?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: `recap bench` does nothing else. The command line reads options,
//! keys and prices, fills the roles with models, and prints.

mod grid;
mod manifest;
mod native;
mod plan;
mod run;
mod selection;
mod settings;
mod shard;

use recap_billing::pricing::Unpriced;
use recap_core::text::counted;
use recap_replay::run::{FolderError, RunError};

pub use grid::Search;
pub use native::{native_sizes, share_native_windows};
pub(crate) use plan::cores;
pub use plan::{BenchPlan, Inputs, Questions, plan};
pub use run::{BenchRun, Results, clear, measure_run};
pub use selection::{SelectionError, strategy, strategy_text};
pub use settings::{Selection, Settings, Strategies};
pub use shard::{MergeError, Part, merge};

// What can go wrong on the way from data sets to a report.

/// Why a comparison could not be planned, run or written.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// Two data sets of one name hold a session with the same id.
    #[error("session `{session}` of `{dataset}` is given twice")]
    GivenTwice {
        /// Name of the data sets.
        dataset: String,
        /// Id of the session.
        session: String,
    },
    /// The data sets are empty, or the limit is 0.
    #[error("no session is selected")]
    NoSession,
    /// In no session was a model asked.
    #[error("no session has a request: in {} no model was asked", counted(*sessions, "session"))]
    NoRequest {
        /// How many sessions there are.
        sessions: usize,
    },
    /// A billing model that no price is known of.
    #[error("--agent-model: {0}")]
    AgentModel(Unpriced),
    /// A strategy cannot be loaded.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The run stopped.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The run folder cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}
