//! Runs every cell of a comparison and stores its results.
//!
//! Invariant: a cell that fails stops no other cell, and a result is on disk
//! before the next event is reported.

mod again;
mod asking;
mod calibrate;
mod conceal;
mod conduct;
mod cutting;
mod earlier;
mod files;
mod folder;
mod journal;
mod observer;
mod pool;
mod prepare;
mod record;
mod spec;
mod texts;
mod windows;

pub use again::judge_again;
pub use calibrate::{grade, sample};
pub use conceal::Conceal;
pub use conduct::{ConductError, ConformanceReport, check_conformance};
pub use earlier::unlike;
pub use files::{FolderError, GATE, RESULT_FILES};
pub use folder::{Folder, REPLIES};
pub use observer::{Event, Observer};
pub use pool::{Finished, run};
pub use prepare::{Prepared, plan, prepare};
pub use record::RunRecord;
pub use spec::{CutQuestions, ModelRoles, NamedSession, RunError, RunSpec};
pub use texts::{RunTexts, TextFile};
pub use windows::Windows;
