//! A rule: as data, and how it is parsed. The grammar is in the module `gate`.

use crate::figures::spec::{Basis, Pool};
use crate::measures::spec_of;
use recap_core::model::{Measure, Nature, Unit, catalogue, suggest};
use recap_core::wording::number::plain;

pub use recap_core::model::Operator;

/// A condition that makes a gate fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The rule as typed.
    pub text: String,
    /// The measure, that of a kind of question included.
    pub measure: &'static Measure,
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
    Figure(f64),
    /// The baseline's figure, from which a change for the worse of this size is allowed.
    Baseline(f64),
    /// The same with a change of this part of the baseline's figure.
    BaselinePart(f64),
}

/// An error in a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule `{rule}`: {problem}")]
pub struct RuleError {
    /// The rule as typed.
    pub rule: String,
    /// What is wrong with the rule.
    pub problem: String,
    /// How to correct the rule.
    pub help: String,
}

/// What is wrong with a part of a rule, and how to correct it.
pub(super) type Wrong = (String, String);

pub(super) fn wrong<T>(problem: impl Into<String>, help: impl Into<String>) -> Result<T, Wrong> {
    Err((problem.into(), help.into()))
}

/// The keyword for the baseline's figure.
const BASELINE: &str = "baseline";
/// Example in the help text of a rule that cannot be parsed at all.
const EXAMPLE: &str = "write for example `continuity@lis < 80`, `continuity_constraint at 25% < 95` \
                       or `cost_usd > baseline * 1.1`";

/// Parses a rule. The measure and the limit are checked here; strategies, data sets and windows
/// are checked against the run later.
pub fn parse(text: &str) -> Result<Rule, RuleError> {
    read(text).map_err(|(problem, help)| RuleError { rule: text.to_owned(), problem, help })
}

fn read(text: &str) -> Result<Rule, Wrong> {
    let (subject, comparison) = text.split_at(text.find(['<', '>']).unwrap_or(text.len()));
    let (measure, rest) = measure(subject.trim_start())?;
    let (strategy, rest) = match rest.strip_prefix('@') {
        Some(rest) => {
            let (name, rest) = split(rest, |c| !c.is_whitespace());
            (Some(named(name, "a strategy")?), rest)
        }
        None => (None, rest),
    };
    let (mut dataset, mut window) = (None, None);
    let mut words = rest.split_whitespace();
    while let Some(word) = words.next() {
        let (place, what) = match word {
            "on" => (&mut dataset, "a data set"),
            "at" => (&mut window, "a window"),
            other => {
                let help = format!(
                    "`@STRATEGY` stands right behind the measure, then `on DATASET` and \
                     `at WINDOW`, then the sign; {EXAMPLE}"
                );
                return wrong(format!("`{other}` is not expected here"), help);
            }
        };
        if place.is_some() {
            return wrong(format!("`{word}` stands there twice"), "say it once");
        }
        *place = Some(named(words.next().unwrap_or_default(), what)?);
    }
    let sign = |operator: Operator| Some((operator, comparison.strip_prefix(operator.as_str())?));
    let Some((operator, compared)) = Operator::ALL.iter().copied().find_map(sign) else {
        return wrong("one of `<`, `<=`, `>` and `>=` is missing", EXAMPLE);
    };
    let limit = limit(measure, operator, compared.trim())?;
    Ok(Rule { text: text.to_owned(), measure, strategy, dataset, window, operator, limit })
}

/// The longest beginning of characters that `fits`, and the rest.
fn split(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !fits(c)).unwrap_or(text.len()))
}

fn named(word: &str, what: &str) -> Result<String, Wrong> {
    if word.is_empty() {
        return wrong(format!("the name of {what} is missing"), EXAMPLE);
    }
    Ok(word.to_owned())
}

/// The measure at the beginning of a rule, and the rest.
fn measure(subject: &str) -> Result<(&'static Measure, &str), Wrong> {
    let (id, rest) = split(subject, |c| c.is_alphanumeric() || "_-".contains(c));
    if id.is_empty() {
        return wrong("a rule begins with a measure", EXAMPLE);
    }
    if rest.starts_with('[') {
        let problem = "a kind of question stands in the name of its measure";
        return wrong(problem, "write for example `continuity_constraint < 95`");
    }
    Ok((find_measure(id)?, rest))
}

/// The measure with this column name.
pub(super) fn find_measure(id: &str) -> Result<&'static Measure, Wrong> {
    if let Some(measure) = catalogue::find(id) {
        if measure.unit.is_amount() {
            return Ok(measure);
        }
        let help = "a rule compares numbers: see the columns of summary.csv";
        return wrong(format!("`{id}` is a word, not a number"), help);
    }
    if let Some(successor) = catalogue::removed(id) {
        let help = match successor {
            Some(measure) => format!("use `{}`", measure.id),
            None => "nothing takes its place: leave the rule out".to_owned(),
        };
        return wrong(format!("`{id}` is no measure any more"), help);
    }
    let amounts = catalogue::all().filter(|measure| measure.unit.is_amount());
    let like = suggest(id, amounts.map(|measure| measure.id));
    let help = if like.starts_with("known are") {
        "the measures are the columns of summary.csv".to_owned()
    } else {
        like
    };
    wrong(format!("`{id}` is no measure"), help)
}

/// What stands behind the sign.
fn limit(measure: &Measure, operator: Operator, text: &str) -> Result<Limit, Wrong> {
    let Some(change) = text.strip_prefix(BASELINE) else {
        let amount = amount(text)?;
        let figure = amount.of(measure.unit)?;
        amount.is_plausible(measure.unit, figure)?;
        return Ok(Limit::Figure(figure));
    };
    if spec_of(measure.id).is_none() {
        let problem = format!("`{}` cannot be set against a baseline in pairs", measure.id);
        return wrong(problem, "compare it with a number");
    }
    let change = change.trim_start();
    let Some(sign) = change.chars().next() else { return Ok(Limit::Baseline(0.0)) };
    if !"-+*".contains(sign) {
        return wrong(format!("`{change}` is not expected here"), EXAMPLE);
    }
    let amount = amount(change[1..].trim_start())?;
    if amount.number.is_sign_negative() {
        let help = "write the sign once, as in `baseline - 0.02`";
        return wrong("a change is given without a sign of its own", help);
    }
    let signed = |size: f64| if sign == '-' { -size } else { size };
    let (limit, change): (fn(f64) -> Limit, f64) = match (sign, amount.mark) {
        ('*', "") => (Limit::BaselinePart, amount.number - 1.0),
        ('*', _) => {
            return wrong("a factor is a plain number", "write for example `baseline * 1.1`");
        }
        (_, "%") => {
            return wrong(
                format!("`{}` of the baseline is written as a factor", amount.typed),
                "write for example `baseline * 1.05`, or `baseline - 0.02` for points of a hundred",
            );
        }
        _ => (Limit::Baseline, signed(amount.of(measure.unit)?)),
    };
    let low = operator.forbids_low();
    if if low { change > 0.0 } else { change < 0.0 } {
        let example = if low { "baseline - 0.02" } else { "baseline * 1.1" };
        let sign = operator.as_str();
        return wrong(
            "it would forbid to stay as good as the baseline",
            format!("a change for the worse is allowed by `{sign} {example}`"),
        );
    }
    Ok(limit(change.abs()))
}

/// A number as typed.
struct Amount<'a> {
    typed: &'a str,
    /// The number without its unit.
    number: f64,
    /// What stands behind the number.
    mark: &'a str,
}

fn amount(typed: &str) -> Result<Amount<'_>, Wrong> {
    let unsigned = typed.strip_prefix('-').unwrap_or(typed);
    let (digits, mark) = split(unsigned, |c| c.is_ascii_digit() || c == '.');
    if digits.is_empty() {
        return wrong("a number, or `baseline`, is missing", EXAMPLE);
    }
    let number: Option<f64> = digits.parse().ok().filter(|number: &f64| number.is_finite());
    let Some(number) = number else {
        return wrong(format!("`{digits}` is no number"), "write it like 0.95, 80 or 20k");
    };
    let mark = mark.trim_start();
    if !["", "%", "k", "M", "ms", "s"].contains(&mark) {
        let help = "`%`, `k` (thousands), `M` (millions), `ms` and `s` are";
        return wrong(format!("`{mark}` behind a number is not known"), help);
    }
    let number = if typed.starts_with('-') { -number } else { number };
    Ok(Amount { typed, number, mark })
}

impl Amount<'_> {
    /// The amount in the unit of a measure.
    fn of(&self, unit: Unit) -> Result<f64, Wrong> {
        let help = "write the plain number, in the unit of its column in summary.csv";
        match (self.mark, unit) {
            ("", _) | ("%", Unit::Points) | ("ms", Unit::Milliseconds) => Ok(self.number),
            ("%", Unit::Share | Unit::Difference | Unit::Ratio) => Ok(self.number / 100.0),
            ("k", Unit::Tokens | Unit::Count | Unit::Dollars) | ("s", Unit::Milliseconds) => {
                Ok(self.number * 1e3)
            }
            ("M", Unit::Tokens | Unit::Count | Unit::Dollars) => Ok(self.number * 1e6),
            ("%", _) => {
                wrong(format!("`{}`: a percentage of what? it is no share", self.typed), help)
            }
            (mark, _) => wrong(format!("`{}`: it does not count in `{mark}`", self.typed), help),
        }
    }

    /// Refuses a limit that the measure cannot reach: such a gate would always fail or always
    /// pass.
    fn is_plausible(&self, unit: Unit, figure: f64) -> Result<(), Wrong> {
        let Amount { typed, number, mark } = *self;
        match unit {
            Unit::Share if figure > 1.0 => wrong(
                format!("`{typed}` is more than the whole: it is a share from 0 to 1"),
                match plain(number / 100.0).filter(|_| number <= 100.0) {
                    Some(share) => format!("write `{share}` or `{number}%`"),
                    None => "write for example `0.95` or `95%`".to_owned(),
                },
            ),
            Unit::Points if !(0.0..=100.0).contains(&figure) => wrong(
                format!("`{typed}` is out of reach: it counts in points from 0 to 100"),
                "write for example `80`",
            ),
            Unit::Points if mark.is_empty() && figure > 0.0 && figure < 1.0 => wrong(
                format!("`{typed}` is less than one point: it counts in points from 0 to 100"),
                format!("write `{}`, or `{typed}%` if that is meant", number * 100.0),
            ),
            _ => Ok(()),
        }
    }
}

impl Rule {
    /// Whether the limit depends on a baseline.
    pub fn needs_baseline(&self) -> bool {
        !matches!(self.limit, Limit::Figure(_))
    }

    /// From what the figures of sessions are computed; `None` for a number that only the whole
    /// row has.
    fn basis(&self) -> Option<Basis> {
        spec_of(self.measure.id).map(|spec| spec.basis)
    }

    /// Whether the measure depends on prices, so that it differs between agent
    /// models.
    pub(super) fn is_billed(&self) -> bool {
        matches!(self.basis(), Some(Basis::Bill))
    }

    /// Whether a row's figure is a sum over its sessions, of dollars, tokens or things.
    pub(super) fn is_total(&self) -> bool {
        spec_of(self.measure.id).is_some_and(|spec| spec.pool == Pool::Sum)
    }

    /// Whether the measure is computed at cuts.
    pub(super) fn is_at_cuts(&self) -> bool {
        matches!(self.basis(), Some(Basis::Cuts))
    }

    /// Whether the measure is computed from graded answers.
    pub(super) fn rests_on_questions(&self) -> bool {
        match self.basis() {
            Some(Basis::Questions) => true,
            Some(_) => self.measure.nature == Nature::Answers,
            None => self.measure.unit != Unit::Count,
        }
    }

    /// Whether the text of the summaries decides the measure, and not only the
    /// length of the contexts: quality, and the costs of losses. If an offline summary
    /// wrote the summaries, such a figure describes the offline summary (reference §6).
    pub(super) fn is_of_quality(&self) -> bool {
        match self.basis() {
            Some(Basis::Cuts) => self.measure.nature != Nature::Sizes,
            Some(Basis::Questions | Basis::References) => true,
            Some(Basis::Requests | Basis::Bill) => self.measure.nature == Nature::Loss,
            None => self.measure.unit != Unit::Count,
        }
    }
}
