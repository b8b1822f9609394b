//! What is wrong with a cassette.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::line::LineError;
use recap_core::text::io_remedy;

/// An error of a cassette.
#[derive(Debug, Error)]
pub enum CassetteError {
    /// The system failed to read or write it.
    #[error("cannot {action} the cassette: {source}\n  --> {}", file.display())]
    Io {
        /// The failed action, as an infinitive.
        action: &'static str,
        /// Path of the cassette.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line is not a recorded call.
    #[error(
        "the line is not a recorded call: {problem}\n  --> {}:{line}",
        file.display()
    )]
    Line {
        /// Path of the cassette.
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: LineError,
    },
    /// Two cassettes hold different replies to the same call.
    #[error(
        "{call} (key {key}) has one reply in {} and another in {}",
        first.display(), second.display()
    )]
    Contradiction {
        /// Role, model and repetition of the call.
        call: String,
        /// The beginning of its key.
        key: String,
        /// The first file.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// Another program is recording to it.
    #[error(
        "another run is recording to the cassette\n  --> {}",
        file.display()
    )]
    Busy {
        /// Path of the cassette.
        file: PathBuf,
    },
}

impl CassetteError {
    /// What the user can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            CassetteError::Io { source, .. } => {
                io_remedy(source, "check the path, and whether it may be read and written")
            }
            CassetteError::Line { .. } => "delete that line: a recording run makes the call again",
            CassetteError::Contradiction { .. } => {
                "the two were recorded with calls of their own: a run can be replayed from either, \
                 not from both; share one cassette among runs, or ask at temperature 0"
            }
            CassetteError::Busy { .. } => {
                "wait for its end, or record to another file and merge the two with `sort -u`"
            }
        }
    }
}
