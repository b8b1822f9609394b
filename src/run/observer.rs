//! What a run tells whoever watches. The run itself never prints.

use crate::model::{CallRow, CellKey, Cut};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// The work is known.
    Planned {
        /// Transcripts to count and mine.
        transcripts: usize,
        /// Cells to replay.
        cells: usize,
        /// Cuts to examine.
        cuts: usize,
    },
    /// A transcript was counted and mined.
    Prepared {
        /// Its id.
        transcript: &'a str,
        /// References in its exam.
        references: usize,
    },
    /// A cell ended.
    Cell {
        /// Which one.
        key: &'a CellKey,
        /// Why it stopped, if it failed.
        error: Option<&'a str>,
    },
    /// Every preset was examined at a cut.
    Cut {
        /// Which one.
        cut: &'a Cut,
    },
    /// Models were called since the last time.
    Calls(&'a [CallRow]),
}

/// Watches a run.
pub trait Observer: Send + Sync {
    /// Called in the order in which things happen.
    fn event(&self, event: &Event<'_>);
}

/// Watches and says nothing.
impl Observer for () {
    fn event(&self, _event: &Event<'_>) {}
}
