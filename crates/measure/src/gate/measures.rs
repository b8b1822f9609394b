//! The measures that rules can name: every measure, and the numbers derived
//! from it.

use super::rule::{Amount, Mark};
use crate::{Basis, Spec, spec_of};
use recap_core::model::{Measure, Nature, Unit, catalogue, suggest};

/// Why a measure cannot have this amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongUnit {
    /// The amount is a percentage, and the measure is not a share.
    #[error("a percentage of what? it is no share")]
    Percentage,
    /// The amount has a unit that the measure does not have.
    #[error("it does not count in `{}`", .0.as_str())]
    Mark(Mark),
}

/// A measure that a rule can name.
#[derive(Clone, Copy)]
pub enum GateMeasure {
    /// A measure that each session has.
    Measure(&'static Spec),
    /// A number that only the whole row has, and no single session.
    OfRow(&'static Measure),
}

/// The measure with this column name. The error is a message and a help text.
pub fn find(id: &str) -> Result<GateMeasure, (String, String)> {
    if let Some(measure) = catalogue::find(id) {
        return match spec_of(id) {
            Some(spec) => Ok(GateMeasure::Measure(spec)),
            None if measure.unit.is_amount() => Ok(GateMeasure::OfRow(measure)),
            None => {
                let help = "a rule compares numbers: see the columns of summary.csv".to_owned();
                Err((format!("`{id}` is a word, not a number"), help))
            }
        };
    }
    if let Some(successor) = catalogue::removed(id) {
        let help = match successor {
            Some(measure) => format!("use `{}`", measure.id),
            None => "nothing takes its place: leave the rule out".to_owned(),
        };
        return Err((format!("`{id}` is no measure any more"), help));
    }
    let like = suggest(id, ids());
    let help = if id.starts_with(BY_KIND) {
        format!("{like} A kind of question is written `{BY_KIND}[fact]`")
    } else if like.starts_with("known are") {
        "the measures are the columns of summary.csv".to_owned()
    } else {
        like
    };
    Err((format!("`{id}` is no measure"), help))
}

/// Id of the only measure that also has a figure for each kind of question.
pub const BY_KIND: &str = catalogue::CONTINUITY.id;

/// Every measure name that a rule may begin with.
pub fn ids() -> impl Iterator<Item = &'static str> {
    catalogue::all().filter(|measure| measure.unit.is_amount()).map(|measure| measure.id)
}

impl GateMeasure {
    /// The unit of the measure.
    pub fn unit(self) -> Unit {
        match self {
            GateMeasure::Measure(spec) => spec.measure.unit,
            GateMeasure::OfRow(measure) => measure.unit,
        }
    }

    /// Whether the measure depends on prices, so that it differs between agent
    /// models.
    pub(super) fn is_billed(self) -> bool {
        matches!(self, GateMeasure::Measure(spec) if matches!(spec.basis, Basis::Bill))
    }

    /// Whether the measure is computed from graded answers.
    pub(super) fn rests_on_questions(self) -> bool {
        match self {
            GateMeasure::Measure(spec) => {
                matches!(spec.basis, Basis::Questions) || spec.measure.nature == Nature::Answers
            }
            GateMeasure::OfRow(measure) => measure.unit != Unit::Count,
        }
    }

    /// Whether the text of the summaries decides the measure, and not only the
    /// length of the contexts: quality, and the costs of losses. If an offline summary
    /// wrote the summaries, such a figure describes the offline summary (reference §6).
    pub(super) fn is_quality(self) -> bool {
        match self {
            GateMeasure::Measure(spec) => match spec.basis {
                Basis::Cuts => spec.measure.nature != Nature::Sizes,
                Basis::Questions | Basis::References(_) => true,
                Basis::Requests | Basis::Bill => spec.measure.nature == Nature::Loss,
            },
            GateMeasure::OfRow(measure) => measure.unit != Unit::Count,
        }
    }

    /// Whether the measure is computed at cuts.
    pub fn is_at_cuts(self) -> bool {
        matches!(self, GateMeasure::Measure(spec) if spec.is_at_cuts())
    }

    /// Whether each session contributes to the measure, so that two runs can
    /// be compared in pairs.
    pub fn pairs(self) -> bool {
        matches!(self, GateMeasure::Measure(_))
    }

    /// Converts an amount to the measure's own unit.
    pub fn amount(self, amount: Amount) -> Result<f64, WrongUnit> {
        let Amount { number, mark } = amount;
        let unit = self.unit();
        let timed = unit == Unit::Milliseconds;
        let counted =
            matches!(unit, Unit::Tokens | Unit::Count | Unit::Dollars | Unit::Milliseconds);
        match mark {
            Mark::Plain => Ok(number),
            Mark::Percent => match unit {
                Unit::Points => Ok(number),
                Unit::Share | Unit::Difference | Unit::Ratio => Ok(number / 100.0),
                _ => Err(WrongUnit::Percentage),
            },
            Mark::Thousand if counted && !timed => Ok(number * 1e3),
            Mark::Million if counted && !timed => Ok(number * 1e6),
            Mark::Milliseconds if timed => Ok(number),
            Mark::Seconds if timed => Ok(number * 1e3),
            _ => Err(WrongUnit::Mark(mark)),
        }
    }
}
