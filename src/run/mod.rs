//! Runs every cell of a comparison and keeps what each one left behind.
//!
//! Invariant: a cell that fails stops nothing but itself, and what finished is
//! on disk before the next event is shown.

mod again;
mod answerable;
mod asking;
mod calibrate;
mod conceal;
mod conduct;
mod cutting;
mod folder;
mod observer;
mod pool;
mod windows;
mod wordless;

pub use again::judge_again;
pub use calibrate::{grade, questions, sample};
pub use conceal::Conceal;
pub use conduct::{Conduct, try_out};
pub use folder::{Folder, FolderError, GATE, Loaded};
pub use observer::{Event, Observer};
pub use pool::{Finished, Prepared, RunError, RunSpec, Sample, Seats, plan, prepare, run};
pub use windows::Windows;
