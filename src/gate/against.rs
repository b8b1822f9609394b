//! A figure against the baseline's, in pairs. The truth table stands in the
//! module `gate`.

use super::baseline::Baseline;
use super::measures::{self, Known};
use super::rule::{Limit, Mark, Operator, Rule};
use super::words;
use crate::measure::{
    ByTranscript, Difference, FEWEST_FOR_AN_INTERVAL, Side, Spread, Unpaired, paired,
};
use crate::model::{Check, CheckOutcome, PresetRow, RECORDED, Value};
use crate::text::counted;

/// What both runs are compared by.
#[derive(Clone, Copy)]
pub struct Both<'a> {
    /// The baseline.
    pub baseline: &'a Baseline,
    /// This run.
    pub own: &'a ByTranscript,
    /// Seed of the resampling.
    pub seed: u64,
}

/// What became of one row.
pub fn check(row: &PresetRow, rule: &Rule, both: &Both<'_>, doubt: Option<String>) -> Check {
    let pair = pair(row, rule, both);
    let (finding, reason) = match (doubt, &pair) {
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
        transcripts: pair.as_ref().map_or(0, |pair| pair.transcripts as u64),
        finding,
        reason,
    }
}

/// The measure of the row in both runs, or what is missing.
fn pair(row: &PresetRow, rule: &Rule, both: &Both<'_>) -> Result<(Known, Difference), String> {
    let id = rule.measure.as_str();
    let measure = measures::find(id).map_err(|(problem, _)| problem)?;
    match row.values.get(id) {
        Some(Value::Known(_)) => {}
        Some(Value::Absent(reason)) => return Err(format!("no figure: {reason}")),
        Some(Value::Text(_)) => return Err("no figure: it is not a number".to_owned()),
        None => return Err("no figure: nothing was asked".to_owned()),
    }
    let payers = |run: &ByTranscript| run.rows.iter().any(|r| r.billed_as == row.agent_model);
    let payer = if payers(both.own) { row.agent_model.as_str() } else { RECORDED };
    let payer = measure.is_billed().then_some(payer);
    let side = |run| Side::find(run, &row.dataset, &row.strategy, &row.window, payer);
    let theirs = side(&both.baseline.run).ok_or("the baseline has no such row")?;
    let own = side(both.own).ok_or("the run has no such row")?;
    let failed: u64 = theirs.rows().iter().map(|row| row.failed).sum();
    if failed > 0 {
        let cells = counted(failed, "cell");
        return Err(format!("{cells} of the baseline's row failed"));
    }
    let found = paired(id, &theirs, &own, both.seed).map_err(|why| match why {
        Unpaired::NoPair => "no session has a figure both here and in the baseline",
        Unpaired::OtherFacts => {
            "some session's cuts put other facts at stake in the baseline: a cut failed in one of \
             the runs, or they were cut at other places"
        }
    })?;
    match found.only_a as u64 {
        // Without a median in the baseline the wait may have become shorter.
        0 if measure.is_median_wait() && found.only_b > 0 => Err(format!(
            "{} with a median here and none in the baseline",
            counted(found.only_b, "session")
        )),
        0 => Ok((measure, found)),
        n => Err(format!("{} with a figure in the baseline and none here", counted(n, "session"))),
    }
}

/// What a difference comes to.
fn found(measure: Known, rule: &Rule, difference: &Difference) -> (CheckOutcome, String) {
    if difference.unchanged {
        let n = counted(difference.transcripts, "session");
        let reason = format!("{}, unchanged in {n}", words::figure(measure, difference.b));
        return (CheckOutcome::Passed, reason);
    }
    let allowed = match allowed(measure, rule.limit, difference.a) {
        Ok(allowed) => allowed,
        Err(missing) => return (CheckOutcome::Missing, missing),
    };
    let worse = Worse::of(rule.operator, difference, allowed);
    let finding = worse.finding();
    (finding, told(measure, rule, difference, allowed, &worse))
}

/// The change that a limit allows, never negative.
fn allowed(measure: Known, limit: Limit, baseline: f64) -> Result<f64, String> {
    let part = |share: f64| match baseline < 0.0 {
        true => Err("the baseline's figure is negative: a part of it says nothing".to_owned()),
        false => Ok(share.abs() * baseline),
    };
    match limit {
        Limit::Figure(_) | Limit::Baseline => Ok(0.0),
        Limit::BaselineTimes(factor) => part(factor - 1.0),
        Limit::BaselineLess(amount) | Limit::BaselinePlus(amount) => match amount.mark {
            Mark::Percent => part(amount.number / 100.0),
            _ => measure.amount(amount).map(f64::abs).map_err(|wrong| wrong.to_string()),
        },
    }
}

/// How a difference stands to what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worse {
    /// Whether the difference reaches beyond what is allowed.
    pub beyond: bool,
    /// Whether its interval lies wholly on the worse side of no difference;
    /// `None`: there is no interval.
    pub sure: Option<bool>,
    /// Whether its interval reaches beyond what is allowed.
    pub reaches: bool,
    /// Whether some session is worse.
    pub somewhere: bool,
}

impl Worse {
    fn of(operator: Operator, difference: &Difference, allowed: f64) -> Self {
        let low = operator.forbids_low();
        let bad = |x: f64| if low { -x } else { x };
        let inclusive = matches!(operator, Operator::AtMost | Operator::AtLeast);
        // 0.80 is not below 0.82 − 0.02, whatever the last digits say.
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

    /// The finding; see the module `gate`.
    pub fn finding(self) -> CheckOutcome {
        match self.sure {
            Some(true) if self.beyond => CheckOutcome::Failed,
            Some(_) if !self.reaches => CheckOutcome::Passed,
            None if !self.somewhere && !self.beyond => CheckOutcome::Passed,
            Some(_) | None => CheckOutcome::Undecided,
        }
    }
}

/// `0.71 against 0.8: -0.09, 95 % interval -0.15 to -0.03 over 10 sessions;
/// -0.02 is allowed`.
fn told(
    measure: Known,
    rule: &Rule,
    difference: &Difference,
    allowed: f64,
    worse: &Worse,
) -> String {
    let figure = |x| words::figure(measure, x);
    let change = |x| words::difference(measure, x);
    let sessions = counted(difference.transcripts, "session");
    let mut text = format!(
        "{} against {}: {}",
        figure(difference.b),
        figure(difference.a),
        change(difference.difference)
    );
    match difference.spread {
        Some(Spread::OverClusters(bounds)) => {
            let of = match difference.clusters == difference.transcripts {
                true => sessions,
                false => {
                    format!("{sessions} in {}", counted(difference.clusters, "project or session"))
                }
            };
            text += &format!(
                ", 95 % interval {} to {} over {of}",
                change(bounds.lo),
                change(bounds.hi)
            );
        }
        Some(Spread::TheseSessions(bounds)) => {
            text += &format!(
                ", 95 % interval {} to {}, on these sessions only ({sessions})",
                change(bounds.lo),
                change(bounds.hi)
            );
        }
        None if worse.finding() == CheckOutcome::Passed => {
            text += &format!("; no session of {sessions} is worse");
        }
        None => {
            text += &format!(
                "; {sessions}, too few for an interval (from {FEWEST_FOR_AN_INTERVAL} on), and \
                 there is none over the requests of a session"
            );
        }
    }
    let sign = if rule.operator.forbids_low() { -allowed } else { allowed };
    text += &match allowed == 0.0 {
        true => "; no change for the worse is allowed".to_owned(),
        false => format!("; {} is allowed", change(sign)),
    };
    if worse.finding() == CheckOutcome::Undecided
        && let Some(mde) = difference.mde
    {
        text += &format!("; differences from {} on would be found (power 0.8)", figure(mde));
    }
    text
}

#[cfg(test)]
#[path = "against_tests.rs"]
mod tests;
