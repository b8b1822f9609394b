//! Runs every cell of a comparison and stores its results.
//!
//! Invariant: a cell that fails stops no other cell, and a result is on disk
//! before the next event is reported.

mod asking;
mod conceal;
mod conformance;
mod cutting;
mod folder;
mod journal;
mod judging;
mod pool;
mod prepare;
mod record;
mod spec;
mod texts;

pub use conceal::Conceal;
pub use conformance::{ConformanceReport, check_conformance};
pub use folder::{Folder, FolderError, GATE, MANIFEST, REPLIES, SPENT};
pub use judging::{grade, judge_again, sample};
pub use pool::{Finished, run};
pub use prepare::{Prepared, plan, prepare};
pub use record::{RunRecord, unlike};
pub use spec::{
    CutQuestions, Event, ModelRoles, NamedSession, Observer, RunError, RunSpec, Windows, compactor,
};
pub use texts::{RunTexts, TextFile};
