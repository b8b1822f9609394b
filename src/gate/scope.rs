//! Checks whether a rule fits a run. This happens before anything runs, so that
//! no money is spent for a gate that cannot be evaluated.

use super::error::RuleError;
use super::measures::{self, Known};
use super::parse::Parsed;
use super::rule::{Amount, Limit, Mark};
use crate::measure::ALL;
use crate::model::{Unit, suggest};

/// The presets, windows and data sets of a run.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// All presets of the run.
    pub presets: &'a [String],
    /// The presets that the user named with `--strategy`.
    pub named: &'a [String],
    /// Labels of the windows, as typed.
    pub windows: &'a [String],
    /// Names of the data sets.
    pub datasets: &'a [String],
    /// Whether a baseline is given.
    pub baseline: bool,
}

/// Checks that a rule names parts of this run and that its limit fits its
/// measure.
pub fn fits(parsed: &Parsed, scope: &Scope<'_>) -> Result<(), RuleError> {
    let (rule, columns) = (&parsed.rule, parsed.columns);
    match &rule.preset {
        Some(preset) => known(parsed, columns.preset, "preset", preset, scope.presets)?,
        None if scope.named.is_empty() => {
            let problem = "it names no preset, and neither does `--strategy`".to_owned();
            let help = format!(
                "write `{}@PRESET`, or run with `--strategy PRESET`: rules without a preset \
                 speak of those",
                rule.measure
            );
            return Err(parsed.error(columns.measure, problem, help));
        }
        None => {}
    }
    if let Some(dataset) = rule.dataset.as_ref().filter(|name| *name != ALL) {
        known(parsed, columns.dataset, "data set", dataset, scope.datasets)?;
    }
    if let Some(window) = &rule.window {
        known(parsed, columns.window, "window", window, scope.windows)?;
    }
    limit(parsed, scope.baseline)
        .map_err(|(problem, help)| parsed.error(columns.limit, problem, help))
}

fn known(
    parsed: &Parsed,
    column: usize,
    what: &str,
    name: &str,
    all: &[String],
) -> Result<(), RuleError> {
    if all.iter().any(|other| other == name) {
        return Ok(());
    }
    let problem = format!("the run has no {what} `{name}`");
    Err(parsed.error(column, problem, suggest(name, all.iter().map(String::as_str))))
}

type Wrong = (String, String);

/// Checks that the limit fits the measure.
fn limit(parsed: &Parsed, baseline: bool) -> Result<(), Wrong> {
    let rule = &parsed.rule;
    let measure = measures::find(&rule.measure)?;
    if !rule.limit.needs_baseline() {
        let Limit::Figure(amount) = rule.limit else { return Ok(()) };
        let figure = in_unit(measure, amount)?;
        return plausible(measure, amount, figure);
    }
    if !baseline {
        let help = "give a run folder or a baseline.json with `--baseline`".to_owned();
        return Err(("there is no baseline".to_owned(), help));
    }
    if !measure.pairs() {
        let help = "compare it with a number".to_owned();
        let problem = format!("`{}` cannot be set against a baseline in pairs", rule.measure);
        return Err((problem, help));
    }
    let low = rule.operator.forbids_low();
    let tolerates = match rule.limit {
        Limit::Figure(_) | Limit::Baseline => true,
        Limit::BaselineLess(amount) => change(measure, amount)? == 0.0 || low,
        Limit::BaselinePlus(amount) => change(measure, amount)? == 0.0 || !low,
        Limit::BaselineTimes(factor) => factor == 1.0 || (factor < 1.0) == low,
    };
    if tolerates {
        return Ok(());
    }
    let sign = rule.operator.as_str();
    let example = if low { "baseline - 0.02" } else { "baseline * 1.1" };
    let problem = "it would forbid to stay as good as the baseline".to_owned();
    Err((problem, format!("a change for the worse is allowed by `{sign} {example}`")))
}

fn in_unit(measure: Known, amount: Amount) -> Result<f64, Wrong> {
    let help = || "write the plain number, in the unit of its column in summary.csv".to_owned();
    measure.amount(amount).map_err(|problem| (format!("`{amount}`: {problem}"), help()))
}

/// The size of a change against the baseline, in the measure's unit. A
/// percentage is a part of the baseline's figure; it is refused for measures
/// where it could also mean points of a hundred.
fn change(measure: Known, amount: Amount) -> Result<f64, Wrong> {
    if amount.mark != Mark::Percent {
        return in_unit(measure, amount);
    }
    match measure.unit() {
        Unit::Tokens | Unit::Count | Unit::Dollars | Unit::Milliseconds => Ok(amount.number),
        _ => Err((
            format!("`{amount}` may be points of a hundred or a part of the baseline"),
            "write `baseline - 0.02` for the one, `baseline * 0.98` for the other".to_owned(),
        )),
    }
}

/// Refuses a limit that the measure cannot reach: such a gate would always fail
/// or always pass.
fn plausible(measure: Known, amount: Amount, figure: f64) -> Result<(), Wrong> {
    let number = amount.number;
    match measure.unit() {
        Unit::Share if figure > 1.0 => Err((
            format!("`{amount}` is more than the whole: it is a share from 0 to 1"),
            format!("write `{}` or `{number}%`", number / 100.0),
        )),
        Unit::Points if !(0.0..=100.0).contains(&figure) => Err((
            format!("`{amount}` is out of reach: it counts in points from 0 to 100"),
            "write for example `80`".to_owned(),
        )),
        Unit::Points if amount.mark == Mark::Plain && figure > 0.0 && figure < 1.0 => Err((
            format!("`{amount}` is less than one point: it counts in points from 0 to 100"),
            format!("write `{}`, or `{amount}%` if that is meant", number * 100.0),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gate with a limit out of reach would always fail or always pass.
    #[test]
    fn a_limit_that_the_measure_cannot_reach_is_refused() {
        let is_plausible = |rule| limit(&crate::gate::parse(rule).unwrap(), false).is_ok();
        for rule in [
            "continuity < 80",
            "continuity < 1",
            "continuity > 0",
            "continuity > 100",
            "recall < 1",
            "recall > 0",
        ] {
            assert!(is_plausible(rule), "{rule}");
        }
        // Points count to a hundred: 0.8 is a share.
        for rule in ["continuity < 0.8", "continuity < 101", "continuity > -1", "recall < 1.1"] {
            assert!(!is_plausible(rule), "{rule}");
        }
    }
}
