//! Checks a figure: against a number, where the measured figure decides and its interval makes no
//! difference, or against the same figure of the baseline, paired by session. The truth table is in
//! the module `gate`.

use super::baseline::Baseline;
use super::rule::{Limit, Operator, Rule};
use crate::figures::by_session::BySession;
use crate::figures::paired::{Paired, Side, Unpaired, paired};
use crate::statistics::FEWEST_FOR_AN_INTERVAL;
use recap_core::model::{
    Check, CheckOutcome, Interval, RECORDED, RowKind, StrategyRow, Value, catalogue,
};
use recap_core::text::counted;
use recap_core::wording::number::{difference, few_digits};

/// The two runs that a rule compares.
#[derive(Clone, Copy)]
pub struct Both<'a> {
    /// The earlier run that this one must not fall behind.
    pub baseline: &'a Baseline,
    /// The run under test.
    pub own: &'a BySession,
    /// Seed of the bootstrap.
    pub seed: u64,
}

/// Whether the row passes, and why; the error says what is missing.
type Found = Result<(CheckOutcome, String), String>;

pub(super) const NO_ROW: &str = "the run has no such row";

/// Checks one row against a rule. A `doubt` means that the row's figure cannot be gated.
pub fn checked(
    row: &StrategyRow,
    rule: &Rule,
    both: Option<&Both<'_>>,
    doubt: Option<String>,
) -> Check {
    let id = rule.measure.id;
    let names = [&row.dataset, &row.strategy, &row.window].map(String::clone);
    let mut check = Check {
        agent_model: row.agent_model.clone(),
        value: row.number_of(id),
        ..unchecked(names, rule)
    };
    let found = match (rule.limit, both) {
        (Limit::Figure(limit), _) => {
            check.interval = row.intervals.get(id).and_then(Interval::bounds);
            check.sessions = row.number(catalogue::SESSIONS).unwrap_or(0.0) as u64;
            against_figure(row, rule, limit)
        }
        (_, None) => Err("there is no baseline".to_owned()),
        (_, Some(both)) => pair(row, rule, both).and_then(|pair| {
            let of = &pair.compared;
            (check.value, check.baseline) = (Some(of.b), Some(of.a));
            check.interval = of.interval.filter(|_| !rule.is_total());
            check.sessions = of.sessions;
            against_baseline(rule, &pair)
        }),
    };
    (check.finding, check.reason) = match doubt.map_or(found, Err) {
        Ok(found) => found,
        Err(missing) => (CheckOutcome::Missing, missing),
    };
    check
}

/// A check of a rule on a row of this data set, strategy and window, as long as nothing is known.
pub(super) fn unchecked([dataset, strategy, window]: [String; 3], rule: &Rule) -> Check {
    Check { dataset, strategy, window, measure: rule.measure.id.to_owned(), ..Check::default() }
}

/// The figure of a row, or why there is none.
fn figure_of(row: &StrategyRow, rule: &Rule) -> Result<f64, String> {
    match row.values.get(rule.measure.id) {
        Some(Value::Known(figure)) if figure.is_finite() => Ok(*figure),
        Some(Value::Absent(why)) => Err(format!("no figure: {why}")),
        Some(_) => Err("no figure: it is not a number".to_owned()),
        None => Err("no figure: nothing was asked".to_owned()),
    }
}

fn against_figure(row: &StrategyRow, rule: &Rule, limit: f64) -> Found {
    match row.row_kind {
        RowKind::OfflineSummary if rule.is_of_quality() => {
            return Err("offline summary: its quality is that of our summaries, so it is gated \
                        against a baseline only; `--compactor MODEL` measures the strategy"
                .to_owned());
        }
        RowKind::Unusable if rule.is_of_quality() => {
            return Err("more than 5 % of the compactor's replies were unusable: its quality is \
                        that of the strategy's fallback"
                .to_owned());
        }
        _ => {}
    }
    let figure = figure_of(row, rule)?;
    let holds = rule.operator.holds(figure, limit);
    let words = match rule.operator {
        Operator::Below => "below",
        Operator::AtMost => "at most",
        Operator::Above => "above",
        Operator::AtLeast => "at least",
    };
    let not = if holds { "" } else { "not " };
    let unit = rule.measure.unit;
    let (mut shown, mut against) = (few_digits(unit, figure), few_digits(unit, limit));
    if shown == against && figure != limit {
        // Rounded, the two numbers would be equal and contradict the finding.
        (shown, against) = (figure.to_string(), limit.to_string());
    }
    let outcome = if holds { CheckOutcome::Failed } else { CheckOutcome::Passed };
    Ok((outcome, format!("{shown} is {not}{words} {against}")))
}

/// The row's measure in both runs, or the reason why it cannot be paired.
fn pair(row: &StrategyRow, rule: &Rule, both: &Both<'_>) -> Result<Paired, String> {
    figure_of(row, rule)?;
    let billing_models = |run: &BySession| run.rows.iter().any(|r| r.billed_as == row.agent_model);
    let billing_model = if billing_models(both.own) { row.agent_model.as_str() } else { RECORDED };
    let billing_model = rule.is_billed().then_some(billing_model);
    let side = |run| Side::find(run, &row.dataset, &row.strategy, &row.window, billing_model);
    let theirs = side(&both.baseline.run).ok_or("the baseline has no such row")?;
    let own = side(both.own).ok_or(NO_ROW)?;
    let failed: u64 = theirs.rows().iter().map(|row| row.failed).sum();
    if failed > 0 {
        return Err(format!("{} of the baseline's row failed", counted(failed, "cell")));
    }
    let found = paired(rule.measure.id, &theirs, &own, both.seed).map_err(|why| match why {
        Unpaired::NoPair => "no session has a figure both here and in the baseline",
        Unpaired::OtherFacts => {
            "some session's cuts have other facts in the baseline: a cut failed in one of the \
             runs, or they were cut at other places"
        }
    })?;
    if found.only_a > 0 {
        let gone = counted(found.only_a, "session");
        return Err(format!("{gone} with a figure in the baseline and none here"));
    }
    Ok(found)
}

fn against_baseline(rule: &Rule, pair: &Paired) -> Found {
    let (unit, of) = (rule.measure.unit, &pair.compared);
    if pair.unchanged {
        let (figure, sessions) = (few_digits(unit, of.b), counted(of.sessions, "session"));
        return Ok((CheckOutcome::Passed, format!("{figure}, unchanged in {sessions}")));
    }
    // The change for the worse that is allowed; never negative.
    let allowed = match rule.limit {
        Limit::Figure(_) => 0.0,
        Limit::Baseline(change) => change,
        Limit::BaselinePart(_) if of.a < 0.0 => {
            return Err("the baseline's figure is negative: a part of it says nothing".to_owned());
        }
        Limit::BaselinePart(part) => part * of.a,
    };
    let worse = Worse::of(rule.operator, pair, allowed);
    // What the same sessions took together is no sample of anything.
    let outcome = match worse.beyond {
        true if rule.is_total() => CheckOutcome::Failed,
        false if rule.is_total() => CheckOutcome::Passed,
        _ => worse.finding(),
    };
    let allowed = if rule.operator.forbids_low() { -allowed } else { allowed };
    Ok((outcome, difference_in_words(rule, pair, allowed, outcome)))
}

/// For example `0.71 against 0.8: -0.09, 95 % interval -0.15 to -0.03 over 10
/// sessions; -0.02 is allowed`.
fn difference_in_words(rule: &Rule, pair: &Paired, allowed: f64, outcome: CheckOutcome) -> String {
    let (unit, of) = (rule.measure.unit, &pair.compared);
    let figure = |x| few_digits(unit, x);
    let change = |x| difference(unit, x);
    let sessions = counted(of.sessions, "session");
    let mut text = format!("{} against {}: {}", figure(of.b), figure(of.a), change(of.difference));
    let over = if rule.is_total() || of.clusters == of.sessions {
        format!(" over {sessions}")
    } else {
        format!(" over {sessions} in {}", counted(of.clusters, "project or session"))
    };
    text += &match of.interval {
        _ if rule.is_total() => over,
        Some((lo, hi)) => format!(", 95 % interval {} to {}{over}", change(lo), change(hi)),
        None => format!("{over}, too few for an interval (from {FEWEST_FOR_AN_INTERVAL} on)"),
    };
    text += &if allowed == 0.0 {
        "; no change for the worse is allowed".to_owned()
    } else {
        format!("; {} is allowed", change(allowed))
    };
    if let (CheckOutcome::Undecided, Some(least)) = (outcome, of.mde) {
        text += &format!("; differences from {} on would be found (power 0.8)", figure(least));
    }
    text
}

/// How a difference compares with the change that the rule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Worse {
    /// Whether the difference is larger than the allowed change.
    beyond: bool,
    /// Whether the interval of the difference lies wholly on the worse side of
    /// zero; without one, whether no session is better than in the baseline.
    sure: bool,
    /// Whether the interval of the difference, or without one the difference, includes changes
    /// larger than the allowed one.
    reaches: bool,
}

impl Worse {
    fn of(operator: Operator, pair: &Paired, allowed: f64) -> Self {
        let of = &pair.compared;
        let low = operator.forbids_low();
        let inclusive = matches!(operator, Operator::AtMost | Operator::AtLeast);
        // Rounding errors do not count: 0.80 is not below 0.82 − 0.02.
        let digits = 1e-9 * of.a.abs().max(of.b.abs()).max(allowed);
        let past = |x: f64| if inclusive { x >= allowed - digits } else { x > allowed + digits };
        let ends = of.interval.map(|(lo, hi)| if low { (-hi, -lo) } else { (lo, hi) });
        let (higher, lower) = pair.higher_lower;
        let beyond = past(if low { -of.difference } else { of.difference });
        match ends {
            Some((least, most)) => Worse { beyond, sure: least > digits, reaches: past(most) },
            None => {
                Worse { beyond, sure: (if low { higher } else { lower }) == 0, reaches: beyond }
            }
        }
    }

    /// The finding by the truth table in the module `gate`.
    fn finding(self) -> CheckOutcome {
        match self {
            Worse { beyond: true, sure: true, .. } => CheckOutcome::Failed,
            Worse { reaches: false, .. } => CheckOutcome::Passed,
            _ => CheckOutcome::Undecided,
        }
    }
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
