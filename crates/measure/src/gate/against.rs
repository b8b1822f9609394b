//! Checks a figure against the same figure of the baseline, paired by
//! session. The truth table is in the module `gate`.

use super::baseline::Baseline;
use super::measures::{self, GateMeasure};
use super::rule::{Limit, Mark, Operator, Rule};
use crate::{BySession, Difference, FEWEST_FOR_AN_INTERVAL, Side, Spread, Unpaired, paired};
use recap_core::model::{Check, CheckOutcome, Differs, Ground, RECORDED, StrategyRow, Value};

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

/// Checks one row against the baseline. A `doubt` means that the row's figure
/// cannot be gated.
pub fn check(row: &StrategyRow, rule: &Rule, both: &Both<'_>, doubt: Option<Ground>) -> Check {
    let pair = pair(row, rule, both);
    let (finding, ground) = match (doubt, &pair) {
        (Some(doubt), _) => (CheckOutcome::Missing, doubt),
        (None, Err(missing)) => (CheckOutcome::Missing, missing.clone()),
        (None, Ok((measure, difference))) => found(*measure, rule, difference),
    };
    let pair = pair.ok().map(|(_, difference)| difference);
    let bounds = |difference: &Difference| difference.spread.map(Spread::bounds);
    Check {
        dataset: row.dataset.clone(),
        strategy: row.strategy.clone(),
        window: row.window.clone(),
        agent_model: row.agent_model.clone(),
        measure: rule.measure.clone(),
        value: pair.as_ref().map_or_else(|| row.number_of(&rule.measure), |pair| Some(pair.b)),
        baseline: pair.as_ref().map(|pair| pair.a),
        interval: pair.as_ref().and_then(bounds).map(|bounds| (bounds.lo, bounds.hi)),
        sessions: pair.as_ref().map_or(0, |pair| pair.sessions as u64),
        finding,
        reason: ground.to_string(),
    }
}

/// The paired difference of the row's measure between the two runs, or the
/// reason why there is none.
fn pair(
    row: &StrategyRow,
    rule: &Rule,
    both: &Both<'_>,
) -> Result<(GateMeasure, Difference), Ground> {
    let id = rule.measure.as_str();
    let measure = measures::find(id).map_err(|(problem, _)| Ground::Unknown(problem))?;
    match row.values.get(id) {
        Some(Value::Known(_)) => {}
        Some(Value::Absent(why)) => return Err(Ground::NoFigure(why.clone())),
        Some(Value::Text(_)) => return Err(Ground::NotANumber),
        None => return Err(Ground::NothingAsked),
    }
    let billing_models = |run: &BySession| run.rows.iter().any(|r| r.billed_as == row.agent_model);
    let billing_model = if billing_models(both.own) { row.agent_model.as_str() } else { RECORDED };
    let billing_model = measure.is_billed().then_some(billing_model);
    let side = |run| Side::find(run, &row.dataset, &row.strategy, &row.window, billing_model);
    let theirs = side(&both.baseline.run).ok_or(Ground::NoRowInBaseline)?;
    let own = side(both.own).ok_or(Ground::NoRow)?;
    let cells: u64 = theirs.rows().iter().map(|row| row.failed).sum();
    if cells > 0 {
        return Err(Ground::BaselineFailed { cells });
    }
    let found = paired(id, &theirs, &own, both.seed).map_err(|why| match why {
        Unpaired::NoPair => Ground::NoPair,
        Unpaired::OtherFacts => Ground::OtherFacts,
    })?;
    match found.only_a as u64 {
        0 => Ok((measure, found)),
        sessions => Err(Ground::GoneFigures { sessions }),
    }
}

/// The finding for a difference, and its reason.
fn found(measure: GateMeasure, rule: &Rule, difference: &Difference) -> (CheckOutcome, Ground) {
    let unit = measure.unit();
    if difference.unchanged {
        let (figure, sessions) = (difference.b, difference.sessions as u64);
        return (CheckOutcome::Passed, Ground::Unchanged { unit, figure, sessions });
    }
    let allowed = match allowed(measure, rule.limit, difference.a) {
        Ok(allowed) => allowed,
        Err(ground) => return (CheckOutcome::Missing, ground),
    };
    let outcome = Worse::of(rule.operator, difference, allowed).finding();
    let bounds = difference.spread.map(Spread::bounds);
    let differs = Differs {
        unit,
        figure: difference.b,
        baseline: difference.a,
        difference: difference.difference,
        interval: bounds.map(|bounds| (bounds.lo, bounds.hi)),
        these_only: matches!(difference.spread, Some(Spread::TheseSessions(_))),
        sessions: difference.sessions as u64,
        clusters: difference.clusters as u64,
        fewest: FEWEST_FOR_AN_INTERVAL as u64,
        allowed: if rule.operator.forbids_low() { -allowed } else { allowed },
        outcome,
        detectable: difference.mde,
    };
    (outcome, Ground::Differs(differs))
}

/// The change for the worse that a limit allows; never negative.
fn allowed(measure: GateMeasure, limit: Limit, baseline: f64) -> Result<f64, Ground> {
    let part = |share: f64| match baseline < 0.0 {
        true => Err(Ground::NegativeBaseline),
        false => Ok(share.abs() * baseline),
    };
    match limit {
        Limit::Figure(_) | Limit::Baseline => Ok(0.0),
        Limit::BaselineTimes(factor) => part(factor - 1.0),
        Limit::BaselineLess(amount) | Limit::BaselinePlus(amount) => match amount.mark {
            Mark::Percent => part(amount.number / 100.0),
            _ => measure
                .amount(amount)
                .map(f64::abs)
                .map_err(|wrong| Ground::Unknown(wrong.to_string())),
        },
    }
}

/// How a difference compares with the change that the rule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worse {
    /// Whether the difference is larger than the allowed change.
    pub beyond: bool,
    /// Whether the interval of the difference lies wholly on the worse side of
    /// zero; `None`: there is no interval.
    pub sure: Option<bool>,
    /// Whether the interval of the difference includes changes larger than the
    /// allowed one.
    pub reaches: bool,
    /// Whether at least one session is worse than in the baseline.
    pub somewhere: bool,
}

impl Worse {
    fn of(operator: Operator, difference: &Difference, allowed: f64) -> Self {
        let low = operator.forbids_low();
        let bad = |x: f64| if low { -x } else { x };
        let inclusive = matches!(operator, Operator::AtMost | Operator::AtLeast);
        // Rounding errors do not count: 0.80 is not below 0.82 − 0.02.
        let digits = 1e-9 * difference.a.abs().max(difference.b.abs()).max(allowed);
        let past = |x: f64| if inclusive { x >= allowed - digits } else { x > allowed + digits };
        let bounds = difference.spread.map(Spread::bounds);
        let ends = bounds.map(|b| if low { (-b.hi, -b.lo) } else { (b.lo, b.hi) });
        let (higher, lower, _) = difference.higher_lower_alike;
        Worse {
            beyond: past(bad(difference.difference)),
            sure: ends.map(|(least, _)| least > digits),
            reaches: ends.is_none_or(|(_, most)| past(most)),
            somewhere: if low { lower > 0 } else { higher > 0 },
        }
    }

    /// The finding by the truth table in the module `gate`.
    pub fn finding(self) -> CheckOutcome {
        match self.sure {
            Some(true) if self.beyond => CheckOutcome::Failed,
            Some(_) if !self.reaches => CheckOutcome::Passed,
            None if !self.somewhere && !self.beyond => CheckOutcome::Passed,
            Some(_) | None => CheckOutcome::Undecided,
        }
    }
}

#[cfg(test)]
#[path = "against_tests.rs"]
mod tests;
