//! Files of a run folder, and what is wrong with one.

use std::path::{Path, PathBuf};

use super::journal::JOURNAL;
use recap_core::model::INSTRUMENT;

/// What went wrong with a run folder, and where.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The run was made by another version of the instrument.
    #[error(
        "{}: this run was made by version {instrument} of the instrument, this program is \
         version {INSTRUMENT}: their figures cannot be mixed",
        path.display()
    )]
    Instrument {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        instrument: u32,
    },
    /// Another program writes to the folder.
    #[error("{}: another run of recap is writing to this folder", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds something else than a run.
    #[error("{}: this folder is not empty and holds no run of recap", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// The run to go on with used other settings.
    #[error("{}: cannot resume: the run in this folder used other settings: {}", path.display(), differ.join("; "))]
    Unlike {
        /// The folder.
        path: PathBuf,
        /// What differs, each with both values where they are short.
        differ: Vec<String>,
    },
    /// A line is not what this program wrote.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// What the gate of a run found.
pub const GATE: &str = "gate.json";

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const TEXTS: &str = "texts.jsonl";
/// What each cell took, which differs from run to run.
pub(super) const TIMES: &str = "times.jsonl";

/// The files of a run folder that its results are read from; under `--no-text`
/// there are no texts.
pub const RESULT_FILES: [&str; 3] = [MANIFEST, JOURNAL, TEXTS];

pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FolderError + '_ {
    move |source| FolderError::Io { path: path.to_owned(), source }
}
