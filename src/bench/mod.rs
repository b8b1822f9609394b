//! The main job as a library: data sets in, a report and a run folder out.
//!
//! ```no_run
//! use recap::bench::{Inputs, Selection, Settings, measure_run, plan};
//! use recap_formats::{LoadOptions, load};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let inputs = Inputs {
//!     datasets: vec![load("sessions".as_ref(), &LoadOptions::default())?],
//!     strategies: Selection::of(["fifo", "prune"]),
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

pub use native::{native_sizes, share_native_windows};
pub(crate) use plan::cores;
pub use plan::{BenchPlan, Inputs, Questions, plan};
pub use run::{BenchRun, Results, clear, measure_run};
pub use selection::{strategy, strategy_text};
pub use settings::{Selection, Settings};
pub use shard::merge;
