//! The measures that rules can name: every measure, and the numbers derived
//! from it.

use super::rule::{Amount, Mark};
use crate::{Basis, MEASURES, Pool, Spec};
use recap_core::model::{Measure, Nature, QuestionKind, Unit, catalogue, suggest};

/// Ids of the measures that also have a figure for each kind of question.
pub fn by_kind() -> impl Iterator<Item = &'static str> {
    // The ends of their intervals have none.
    let has_kinds =
        |id: &str| catalogue::find(&format!("{id}_{}", QuestionKind::Fact.as_str())).is_some();
    let those = catalogue::all()
        .filter(move |measure| measure.nature == Nature::ByKind && has_kinds(measure.id));
    those.map(|measure| measure.id)
}

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

/// Measures of earlier versions of the instrument, and what to use in their place.
const REMOVED: [(&str, &str); 4] = [
    ("break_even_requests", WHOLE_SESSIONS),
    ("cut_cost_usd", WHOLE_SESSIONS),
    ("never_even", WHOLE_SESSIONS),
    ("pays_after", WHOLE_SESSIONS),
];
const WHOLE_SESSIONS: &str = "a size says what compacting there would have cost: use `cost_usd@AGENT at 130k` with `--compact-at`";

/// The measure with this column name. The error is a message and a help text.
pub fn find(id: &str) -> Result<GateMeasure, (String, String)> {
    let known = catalogue::find(id).map(|measure| match spec_of(measure) {
        Some(spec) => Ok(GateMeasure::Measure(spec)),
        None if measure.unit.is_amount() => Ok(GateMeasure::OfRow(measure)),
        None => Err(measure),
    });
    match known {
        Some(Ok(known)) => return Ok(known),
        Some(Err(_)) => {
            let help = "a rule compares numbers: see the columns of summary.csv".to_owned();
            return Err((format!("`{id}` is a word, not a number"), help));
        }
        None => {}
    }
    if let Some((_, instead)) = REMOVED.iter().find(|(removed, _)| *removed == id) {
        return Err((format!("`{id}` is no measure any more"), (*instead).to_owned()));
    }
    let like = suggest(id, ids());
    let known_by_kind = by_kind().any(|of| id.starts_with(&format!("{of}_")));
    let help = match like.strip_prefix("known are") {
        None if known_by_kind => format!("{like} A kind of question is written `recall[fact]`"),
        None => like,
        Some(_) => "the measures are the columns of summary.csv".to_owned(),
    };
    Err((format!("`{id}` is no measure"), help))
}

/// Every measure name that a rule may begin with.
pub fn ids() -> impl Iterator<Item = &'static str> {
    catalogue::all().filter(|measure| measure.unit.is_amount()).map(|measure| measure.id)
}

/// How a measure is computed from cells; `None` if only a whole row has it.
fn spec_of(measure: &Measure) -> Option<&'static Spec> {
    MEASURES.iter().find(|spec| spec.measure == measure)
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

    /// Whether the measure is a median of waits. A session has that median only
    /// if at least half of its waits are known to have ended.
    pub(super) fn is_median_wait(self) -> bool {
        matches!(self, GateMeasure::Measure(spec) if spec.pool == Pool::WaitMedian)
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
