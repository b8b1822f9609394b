//! The events that a run reports to an observer. The run itself never prints.

use recap_core::model::{CallRow, CellKey, Cut};

/// A step of a run that was reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// The amount of work is known.
    Planned {
        /// Number of sessions to count and mine.
        sessions: usize,
        /// Number of cells to replay.
        cells: usize,
        /// Number of cuts to examine.
        cuts: usize,
    },
    /// A session was counted and mined.
    Prepared {
        /// Id of the session.
        session: &'a str,
        /// Number of references in its exam.
        references: usize,
    },
    /// A cell finished or failed.
    Cell {
        /// Key of the cell.
        key: &'a CellKey,
        /// Why the cell failed, if it failed.
        error: Option<&'a str>,
    },
    /// Every strategy was examined at a cut.
    Cut {
        /// The cut with its results.
        cut: &'a Cut,
    },
    /// The calls of models since the last such event.
    Calls(&'a [CallRow]),
}

/// Receives the events of a run.
pub trait Observer: Send + Sync {
    /// Called for each event, in the order of the events.
    fn event(&self, event: &Event<'_>);
}

/// An observer that ignores every event.
impl Observer for () {
    fn event(&self, _event: &Event<'_>) {}
}
