//! A rule as data.

use std::fmt;

pub use recap_core::model::Operator;

/// A condition that makes a gate fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Column name of the measure, the kind of question included.
    pub measure: String,
    /// The strategy that the rule applies to; `None`: those named with
    /// `--strategy`.
    pub strategy: Option<String>,
    /// The data set that the rule applies to; `None`: all of them together.
    pub dataset: Option<String>,
    /// The window that the rule applies to, as typed; `None`: every window.
    pub window: Option<String>,
    /// How the figure is compared.
    pub operator: Operator,
    /// What the figure is compared with.
    pub limit: Limit,
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A fixed number, in the measure's unit.
    Figure(Amount),
    /// The unchanged figure of the baseline.
    Baseline,
    /// The baseline's figure minus this amount.
    BaselineLess(Amount),
    /// The baseline's figure plus this amount.
    BaselinePlus(Amount),
    /// This multiple of the baseline's figure.
    BaselineTimes(f64),
}

impl Limit {
    /// Whether the limit depends on a baseline.
    pub fn needs_baseline(self) -> bool {
        !matches!(self, Limit::Figure(_))
    }
}

/// A number as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The number without its unit.
    pub number: f64,
    /// The unit or factor behind the number.
    pub mark: Mark,
}

/// The unit or factor behind a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing: the number is in the measure's own unit.
    Plain,
    /// `%`: a share, points of a hundred, or a part of the baseline's figure.
    Percent,
    /// `k`: the number counts thousands.
    Thousand,
    /// `M`: the number counts millions.
    Million,
    /// `ms`: the number is in milliseconds.
    Milliseconds,
    /// `s`: the number is in seconds.
    Seconds,
}

impl Mark {
    /// All marks, in the order in which messages list them.
    pub const ALL: [Mark; 6] = [
        Mark::Plain,
        Mark::Percent,
        Mark::Thousand,
        Mark::Million,
        Mark::Milliseconds,
        Mark::Seconds,
    ];

    /// The mark as typed in a rule.
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
/// The keyword for the baseline's figure.
pub const BASELINE: &str = "baseline";

/// Whether a character may stand in a name.
pub(super) fn in_word(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '<' | '>')
}
