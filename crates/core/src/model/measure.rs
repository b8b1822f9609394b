//! What a measure is: an id, what it counts in, which way is better, and what it
//! stands for. All of them are in the [catalogue](super::catalogue).
use serde::{Deserialize, Serialize};

use super::{Absent, QuestionKind, catalogue};

/// What a measure counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Unit {
    /// Tokens of the run's counter.
    Tokens,
    /// A part of a whole, `0.0..=1.0` unless its meaning says otherwise.
    Share,
    /// A difference of shares, `-1.0..=1.0`.
    #[strum(serialize = "difference of shares")]
    Difference,
    /// Points of a hundred, `0.0..=100.0`.
    #[strum(serialize = "points of 100")]
    Points,
    /// One figure over another.
    Ratio,
    /// A number of things.
    Count,
    /// Milliseconds.
    Milliseconds,
    /// US dollars at list prices.
    #[strum(serialize = "US dollars")]
    Dollars,
    /// The unit of the measure that ranks the rows.
    #[strum(serialize = "as the measure that ranks")]
    Ranking,
    /// A place among rows, from 1.
    #[strum(serialize = "place, from 1")]
    Place,
    /// A word instead of a number.
    Word,
    /// Yes or no.
    #[strum(serialize = "true or false")]
    Flag,
}

impl Unit {
    /// Whether it is a number that can be compared with an amount.
    pub fn is_amount(self) -> bool {
        !matches!(self, Unit::Place | Unit::Word | Unit::Flag)
    }

    /// Smallest and largest possible value of what is counted in it.
    pub fn range(self) -> (f64, f64) {
        match self {
            Unit::Share => (0.0, 1.0),
            Unit::Difference => (-1.0, 1.0),
            Unit::Points => (0.0, 100.0),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it describes.
    #[strum(serialize = "–")]
    Neutral,
}

/// Whether `summary.csv` has a column for a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// In every run, filled or not.
    Csv,
    /// None: the gate, `summary.json` and the page know the measure.
    JsonOnly,
}

/// What the gate has to know of a measure beyond what it is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Nothing.
    Plain,
    /// Of cuts, and rests on when and how much a strategy compacts, or on the
    /// sessions alone.
    Sizes,
    /// Of cuts, and rests on graded answers.
    Answers,
    /// Of size or money, and rests on what was lost.
    Loss,
}

/// A measure of a row of the comparison: a column of `summary.csv`.
#[derive(Debug, PartialEq, Eq)]
pub struct Measure {
    /// Name of the column, and what gates and comparisons call it.
    pub id: &'static str,
    /// Short name for people; empty where the id will do.
    pub(super) label: &'static str,
    /// What it counts in.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// Whether it always has a column.
    pub column: Column,
    /// Where it is defined: a section of `docs/reference.md` or `docs/how-it-works.md`.
    pub section: &'static str,
    /// What it stands for, in a line.
    pub meaning: &'static str,
    /// The kind of questions that it is restricted to.
    pub kind: Option<QuestionKind>,
    /// What the gate has to know of it.
    pub nature: Nature,
}

impl Measure {
    /// The short name for people.
    pub fn label(&self) -> &'static str {
        if self.label.is_empty() { self.id } else { self.label }
    }
}

/// A number, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// A measured or modelled number; `*_source` columns say which.
    Known(f64),
    /// No number, with the reason.
    Absent(Absent),
    /// A word instead of a number, such as a source or a verdict.
    Text(String),
}

impl Value {
    /// The number, if there is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Known(x) => Some(*x),
            _ => None,
        }
    }
}

/// The measure that ranks the rows of a run (reference §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Primary {
    /// Where there are questions.
    Continuity,
    /// Without questions, where a fact was needed after a cut.
    FactsKept,
    /// Where there is neither.
    ReferenceRecall,
}

impl Primary {
    /// The measure itself.
    pub fn measure(self) -> &'static Measure {
        match self {
            Primary::Continuity => catalogue::CONTINUITY,
            Primary::FactsKept => catalogue::FACTS_KEPT,
            Primary::ReferenceRecall => catalogue::REFERENCE_RECALL,
        }
    }

    /// The id of the measure.
    pub fn id(self) -> &'static str {
        self.measure().id
    }

    /// The largest value of the measure.
    pub fn most(self) -> f64 {
        self.measure().unit.range().1
    }
}
