//! What can go wrong on the way from data sets to a report.

use super::SelectionError;
use recap_core::text::counted;
use recap_replay::run::{FolderError, RunError};

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
