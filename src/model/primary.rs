//! The measure that ranks.

use serde::{Deserialize, Serialize};

use super::{Measure, catalogue};

/// The measure that ranks the rows of a run (measures §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Primary {
    /// Where there are questions.
    Continuity,
    /// Without questions, where something was at stake at a cut.
    KeptAtCut,
    /// Where there is neither.
    ReferenceRecall,
}

impl Primary {
    /// The measure itself.
    pub fn measure(self) -> &'static Measure {
        match self {
            Primary::Continuity => catalogue::CONTINUITY,
            Primary::KeptAtCut => catalogue::KEPT_AT_CUT,
            Primary::ReferenceRecall => catalogue::REFERENCE_RECALL,
        }
    }

    /// The id of the measure.
    pub fn id(self) -> &'static str {
        self.measure().id
    }

    /// The largest value of the measure.
    pub fn most(self) -> f64 {
        match self {
            Primary::Continuity => 100.0,
            Primary::KeptAtCut | Primary::ReferenceRecall => 1.0,
        }
    }
}
