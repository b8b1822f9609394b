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

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use super::Dataset;
use super::source::Source;
use super::walk::unreadable;
use crate::model::Probe;

use super::error::{DatasetError, Problem};

/// Reads a file of probes, as a native data set has it, for the sessions of
/// these data sets; those of other sessions stand last.
///
/// # Errors
///
/// Everything that is wrong with the file, in the order of its lines; a probe of
/// another session is no error.
pub fn load_probes(path: &Path, datasets: &[Dataset]) -> Result<Vec<Probe>, Vec<DatasetError>> {
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|error| vec![unreadable(path, error)])?;
    let mut source = Source::new(&shown, &shown, Box::new(file));
    let mut problems = Vec::new();
    let mut left = read(&mut source, &mut problems).map_err(|error| vec![error])?;
    let mut known = Vec::new();
    for dataset in datasets {
        let ids: BTreeSet<&str> = dataset.transcripts.iter().map(|t| t.id.as_str()).collect();
        let (own, others): (Vec<Placed>, Vec<Placed>) =
            left.into_iter().partition(|one| ids.contains(one.probe.transcript.as_str()));
        problems.extend(broken(&dataset.transcripts, &own));
        known.extend(own);
        left = others;
    }
    problems.sort_by_key(|problem| problem.line);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(known.into_iter().chain(left).map(|one| one.probe).collect())
}

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
