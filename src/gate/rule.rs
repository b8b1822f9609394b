//! A rule as data, and as it is written.

use std::fmt;

pub use crate::model::Operator;

/// What a rule forbids.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Column name of the measure, the kind of probe included.
    pub measure: String,
    /// The one preset that it speaks of; `None`: those named with `--strategy`.
    pub preset: Option<String>,
    /// The data set; `None`: all of them together.
    pub dataset: Option<String>,
    /// The window as typed; `None`: every one.
    pub window: Option<String>,
    /// How the figure is compared.
    pub operator: Operator,
    /// What it is compared with.
    pub limit: Limit,
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A figure.
    Figure(Amount),
    /// The baseline's figure.
    Baseline,
    /// So much below it.
    BaselineLess(Amount),
    /// So much above it.
    BaselinePlus(Amount),
    /// So many times the baseline's figure.
    BaselineTimes(f64),
}

impl Limit {
    /// Whether it takes a baseline.
    pub fn needs_baseline(self) -> bool {
        !matches!(self, Limit::Figure(_))
    }
}

/// A number as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The digits.
    pub number: f64,
    /// What stands behind them.
    pub mark: Mark,
}

/// What stands behind a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing: the measure's own unit.
    Plain,
    /// `%`
    Percent,
    /// `k`: thousands.
    Thousand,
    /// `M`: millions.
    Million,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
}

impl Mark {
    /// Every one.
    pub const ALL: [Mark; 6] = [
        Mark::Plain,
        Mark::Percent,
        Mark::Thousand,
        Mark::Million,
        Mark::Milliseconds,
        Mark::Seconds,
    ];

    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Mark::Plain => "",
            Mark::Percent => "%",
            Mark::Thousand => "k",
            Mark::Million => "M",
            Mark::Milliseconds => "ms",
            Mark::Seconds => "s",
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, self.mark.as_str())
    }
}

/// The keyword before a data set.
pub const ON: &str = "on";
/// The keyword before a window.
pub const AT: &str = "at";
/// What stands for the baseline's figure.
pub const BASELINE: &str = "baseline";

/// A name, in quotes where it would not be read as one word.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && self.0.chars().all(in_word) {
            f.write_str(self.0)
        } else {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        }
    }
}

/// Whether a character may stand in a name without quotes.
pub fn in_word(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '<' | '>' | '"' | '\'')
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.measure)?;
        if let Some(preset) = &self.preset {
            write!(f, "@{}", Name(preset))?;
        }
        if let Some(dataset) = &self.dataset {
            write!(f, " {ON} {}", Name(dataset))?;
        }
        if let Some(window) = &self.window {
            write!(f, " {AT} {}", Name(window))?;
        }
        write!(f, " {} ", self.operator.as_str())?;
        match self.limit {
            Limit::Figure(amount) => write!(f, "{amount}"),
            Limit::Baseline => f.write_str(BASELINE),
            Limit::BaselineLess(amount) => write!(f, "{BASELINE} - {amount}"),
            Limit::BaselinePlus(amount) => write!(f, "{BASELINE} + {amount}"),
            Limit::BaselineTimes(factor) => write!(f, "{BASELINE} * {factor}"),
        }
    }
}
