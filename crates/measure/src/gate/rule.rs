//! A rule: as data, and how it is parsed. The grammar is in the module `gate`.

use std::fmt;

use crate::measures::spec_of;
use crate::spec::{Basis, Spec};
use recap_core::model::{Measure, Nature, QuestionKind, Unit, catalogue, suggest};

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
fn in_word(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '<' | '>')
}

/// An error in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The rule as typed.
    pub rule: String,
    /// Column of the error, in characters from 1.
    pub column: usize,
    /// What is wrong with the rule.
    pub problem: String,
    /// How to correct the rule.
    pub help: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}`, column {}: {}", self.rule, self.column, self.problem)
    }
}

impl std::error::Error for RuleError {}

/// A rule with the columns of its parts, which error messages point to.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The rule without its spelling.
    pub rule: Rule,
    /// The rule as typed.
    pub text: String,
    /// Columns of the rule's parts.
    pub columns: Columns,
}

/// Columns of the parts of a rule, from 1; 0 for a part that is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Column of the measure.
    pub measure: usize,
    /// Column of the strategy.
    pub strategy: usize,
    /// Column of the data set.
    pub dataset: usize,
    /// Column of the window.
    pub window: usize,
    /// Column of the limit.
    pub limit: usize,
}

impl Parsed {
    /// An error at this column of the rule.
    pub fn error(&self, column: usize, problem: String, help: String) -> RuleError {
        RuleError { rule: self.text.clone(), column: column.max(1), problem, help }
    }
}

/// Example in the help text of a rule that cannot be parsed at all.
const EXAMPLE: &str = "write for example `continuity@lis < 80`, `continuity[constraint] at 25% < 95` \
                       or `cost_usd > baseline * 1.1`";

/// Parses a rule. Names of measures and kinds are checked here; strategies, data
/// sets and windows are checked against the run later.
pub fn parse(text: &str) -> Result<Parsed, RuleError> {
    let mut cursor = Cursor { text, at: 0 };
    let mut columns = Columns::default();
    cursor.space();
    columns.measure = cursor.column();
    let measure = cursor.measure()?;
    let (mut strategy, mut dataset, mut window) = (None, None, None);
    if cursor.take("@") {
        columns.strategy = cursor.column();
        strategy = Some(cursor.name("a strategy")?);
    }
    loop {
        cursor.space();
        let start = cursor.column();
        let word = cursor.word();
        let (part, column) = match word {
            "" => break,
            ON => (&mut dataset, &mut columns.dataset),
            AT => (&mut window, &mut columns.window),
            other => {
                let problem = format!("`{other}` is not expected here");
                let help = format!(
                    "`@STRATEGY` stands right behind the measure, then `{ON} DATASET` and \
                     `{AT} WINDOW`, then the sign; {EXAMPLE}"
                );
                return Err(cursor.error_at(start, problem, help));
            }
        };
        cursor.space();
        if part.is_some() {
            let problem = format!("`{word}` stands there twice");
            return Err(cursor.error_at(start, problem, "say it once".to_owned()));
        }
        *column = cursor.column();
        *part = Some(cursor.name(if word == ON { "a data set" } else { "a window" })?);
    }
    let operator = cursor.operator()?;
    cursor.space();
    columns.limit = cursor.column();
    let limit = cursor.limit()?;
    cursor.space();
    if !cursor.rest().is_empty() {
        let problem = format!("`{}` is not expected here", cursor.rest().trim_end());
        return Err(cursor.error(problem, EXAMPLE));
    }
    let rule = Rule { measure, strategy, dataset, window, operator, limit };
    Ok(Parsed { rule, text: text.to_owned(), columns })
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn error(&self, problem: impl Into<String>, help: impl Into<String>) -> RuleError {
        self.error_at(self.column(), problem, help)
    }

    fn error_at(
        &self,
        column: usize,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> RuleError {
        let (problem, help) = (problem.into(), help.into());
        RuleError { rule: self.text.to_owned(), column, problem, help }
    }

    /// Takes the longest run of characters that `fits`.
    fn run(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn space(&mut self) {
        self.run(char::is_whitespace);
    }

    fn word(&mut self) -> &'a str {
        self.run(in_word)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    /// The column name of the measure with its kind of question.
    fn measure(&mut self) -> Result<String, RuleError> {
        let start = self.column();
        let id = self.run(|c| c.is_alphanumeric() || "_-".contains(c));
        if id.is_empty() {
            return Err(self.error("a rule begins with a measure", EXAMPLE));
        }
        if !self.take("[") {
            find_measure(id)
                .map_err(|(problem, help)| self.error_at(start, problem, help))
                .map(|_| id.to_owned())
        } else if id != BY_KIND {
            let problem = format!("`{id}` is not counted by kind of question");
            Err(self.error_at(start, problem, format!("only `{}` is", BY_KIND)))
        } else {
            self.kind(id)
        }
    }

    fn kind(&mut self, id: &str) -> Result<String, RuleError> {
        self.space();
        let start = self.column();
        let kind = self.run(|c| in_word(c) && c != ']');
        self.space();
        if !self.take("]") {
            return Err(self.error("the `]` behind the kind of question is missing", EXAMPLE));
        }
        let column = format!("{id}_{kind}");
        if QuestionKind::ALL.iter().any(|known| known.as_str() == kind)
            && find_measure(&column).is_ok()
        {
            return Ok(column);
        }
        let kinds = QuestionKind::ALL.iter().map(|kind| kind.as_str());
        let counted = kinds.filter(|kind| find_measure(&format!("{id}_{kind}")).is_ok());
        let problem = format!("`{id}` has no kind of question `{kind}`");
        Err(self.error_at(start, problem, suggest(kind, counted)))
    }

    fn name(&mut self, what: &str) -> Result<String, RuleError> {
        let word = self.word();
        if word.is_empty() {
            return Err(self.error(format!("the name of {what} is missing"), EXAMPLE));
        }
        Ok(word.to_owned())
    }

    fn operator(&mut self) -> Result<Operator, RuleError> {
        let found = Operator::ALL.into_iter().find(|operator| self.take(operator.as_str()));
        found.ok_or_else(|| self.error("one of `<`, `<=`, `>` and `>=` is missing", EXAMPLE))
    }

    fn limit(&mut self) -> Result<Limit, RuleError> {
        if !self.take(BASELINE) {
            return Ok(Limit::Figure(self.amount()?));
        }
        self.space();
        let sign = ["-", "+", "*"].into_iter().find(|sign| self.take(sign));
        let Some(sign) = sign else { return Ok(Limit::Baseline) };
        self.space();
        let start = self.column();
        let amount = self.amount()?;
        if amount.number.is_sign_negative() {
            let help = "write the sign once, as in `baseline - 0.02`";
            return Err(self.error_at(start, "a change is given without a sign of its own", help));
        }
        match sign {
            "-" => Ok(Limit::BaselineLess(amount)),
            "+" => Ok(Limit::BaselinePlus(amount)),
            _ if amount.mark == Mark::Plain => Ok(Limit::BaselineTimes(amount.number)),
            _ => Err(self.error_at(
                start,
                "a factor is a plain number",
                "write for example `baseline * 1.1`",
            )),
        }
    }

    fn amount(&mut self) -> Result<Amount, RuleError> {
        let start = self.column();
        let missing = "a number, or `baseline`, is missing";
        let negative = self.take("-");
        let digits = self.run(|c| c.is_ascii_digit() || c == '.');
        if digits.is_empty() {
            return Err(self.error_at(start, missing, EXAMPLE));
        }
        let number: Option<f64> = digits.parse().ok().filter(|number: &f64| number.is_finite());
        let Some(number) = number else {
            let problem = format!("`{digits}` is no number");
            return Err(self.error_at(start, problem, "write it like 0.95, 80 or 20k"));
        };
        let mark_column = self.column();
        let mark = self.run(|c| c.is_alphanumeric() || c == '%');
        let Some(mark) = Mark::ALL.into_iter().find(|known| known.as_str() == mark) else {
            let problem = format!("`{mark}` behind a number is not known");
            let help = "`%`, `k` (thousands), `M` (millions), `ms` and `s` are";
            return Err(self.error_at(mark_column, problem, help));
        };
        Ok(Amount { number: if negative { -number } else { number }, mark })
    }
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

/// The measure with this column name. The error is a message and a help text.
pub fn find_measure(id: &str) -> Result<GateMeasure, (String, String)> {
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
