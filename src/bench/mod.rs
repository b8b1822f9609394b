//! The main job as a library: data sets in, a report and a run folder out.
//!
//! ```no_run
//! use recap::bench::{Inputs, Results, Settings, Strategies, plan};
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
//! let results = Results::from(run.run(&mut folder, &()).await?);
//! results.write(&folder, &[])?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: `recap bench` does nothing else. The command line reads options,
//! keys and prices, fills the roles with models, and prints.

mod error;
mod grid;
mod manifest;
mod merge;
mod native;
mod plan;
mod results;
mod run;
mod selection;
mod settings;
mod shard;

pub use error::BenchError;
pub use grid::Search;
pub use merge::{MergeError, merge};
pub use native::{native_sizes, share_native_windows};
pub(crate) use plan::cores;
pub use plan::{BenchPlan, Inputs, Questions, plan};
pub use results::{Results, clear};
pub use run::BenchRun;
pub use selection::{SelectionError, strategy, strategy_text};
pub use settings::{Selection, Settings, Strategies};
pub use shard::Part;
