//! Probes of a data set: their file, the rules that they must satisfy, and how
//! good they are.
//!
//! Invariant: a data set that loads has only probes that can be asked and
//! graded: everything they name exists, and no value is both right and wrong.

mod audit;
mod check;
mod file;
mod flaw;

pub use audit::{KindCoverage, ProbeAudit, audit_probes};
pub(crate) use check::{broken, wording};
pub use file::write as write_probes;
pub(crate) use file::{WireExpectation, read};
pub use flaw::ProbeFlaw;

use crate::model::Probe;

use super::error::{DatasetError, Problem};

/// A probe that was read, with its position in the file.
pub(crate) struct Placed {
    pub(crate) probe: Probe,
    /// Path of its file, as shown in errors.
    pub(crate) file: String,
    /// Line from 1; absent where the file is one document.
    pub(crate) line: Option<u64>,
}

impl Placed {
    fn error(&self, flaw: ProbeFlaw) -> DatasetError {
        let id = self.probe.id.clone();
        DatasetError {
            file: self.file.clone(),
            line: self.line,
            problem: Problem::Probe { id, flaw },
        }
    }
}
