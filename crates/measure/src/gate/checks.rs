//! Checks a figure: against a number, where the measured figure decides and its interval makes no
//! difference, or against the same figure of the baseline, paired by session. The truth table is in
//! the module `gate`.

use super::baseline::Baseline;
use super::rule::{Amount, GateMeasure, Limit, Mark, Operator, Rule, find_measure};
use crate::by_session::BySession;
use crate::paired::{Difference, Side, Spread, Unpaired, paired};
use crate::statistics::FEWEST_FOR_AN_INTERVAL;
use recap_core::model::{
    Check, CheckOutcome, Differs, Ground, Interval, RECORDED, RowKind, StrategyRow, Value,
    catalogue,
};

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
pub fn against_baseline(
    row: &StrategyRow,
    rule: &Rule,
    both: &Both<'_>,
    doubt: Option<Ground>,
) -> Check {
    let pair = pair(row, rule, both);
    let (finding, ground) = match (doubt, &pair) {
        (Some(doubt), _) => (CheckOutcome::Missing, doubt),
        (None, Err(missing)) => (CheckOutcome::Missing, missing.clone()),
        (None, Ok((measure, difference))) => difference_finding(*measure, rule, difference),
    };
    let pair = pair.ok().map(|(_, difference)| difference);
    let bounds = |difference: &Difference| difference.spread.map(Spread::bounds);
    let check = of_row(row, &rule.measure, finding, &ground);
    let Some(pair) = pair else { return check };
    Check {
        value: Some(pair.b),
        baseline: Some(pair.a),
        interval: bounds(&pair).map(|bounds| (bounds.lo, bounds.hi)),
        sessions: pair.sessions as u64,
        ..check
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
    let measure = find_measure(id).map_err(|(problem, _)| Ground::Unknown(problem))?;
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
fn difference_finding(
    measure: GateMeasure,
    rule: &Rule,
    difference: &Difference,
) -> (CheckOutcome, Ground) {
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
    let part = |share: f64| {
        if baseline < 0.0 {
            return Err(Ground::NegativeBaseline);
        }
        Ok(share.abs() * baseline)
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

/// Checks one row against a rule that compares with a number.
pub fn against_figure(
    row: &StrategyRow,
    id: &str,
    operator: Operator,
    amount: Amount,
    doubt: Option<Ground>,
) -> Check {
    let (finding, ground) = match doubt {
        Some(doubt) => (CheckOutcome::Missing, doubt),
        None => figure_finding(row, id, operator, amount),
    };
    Check {
        interval: row.intervals.get(id).and_then(Interval::bounds),
        sessions: row.number(catalogue::SESSIONS).unwrap_or(0.0) as u64,
        ..of_row(row, id, finding, &ground)
    }
}

/// A check of a row with its own figure alone.
fn of_row(row: &StrategyRow, id: &str, finding: CheckOutcome, ground: &Ground) -> Check {
    Check {
        dataset: row.dataset.clone(),
        strategy: row.strategy.clone(),
        window: row.window.clone(),
        agent_model: row.agent_model.clone(),
        measure: id.to_owned(),
        value: row.number_of(id),
        baseline: None,
        interval: None,
        sessions: 0,
        finding,
        reason: ground.to_string(),
    }
}

fn figure_finding(
    row: &StrategyRow,
    id: &str,
    operator: Operator,
    amount: Amount,
) -> (CheckOutcome, Ground) {
    let missing = |ground| (CheckOutcome::Missing, ground);
    let measure = find_measure(id).ok();
    let limit = measure.and_then(|measure| Some((measure, measure.amount(amount).ok()?)));
    let Some((measure, limit)) = limit else {
        let (measure, amount) = (id.to_owned(), amount.to_string());
        return missing(Ground::Incomparable { measure, amount });
    };
    match row.row_kind {
        RowKind::OfflineSummary if measure.is_quality() => return missing(Ground::OfflineSummary),
        RowKind::Unusable if measure.is_quality() => return missing(Ground::UnusableReplies),
        _ => {}
    }
    let figure = match row.values.get(id) {
        Some(Value::Known(figure)) if figure.is_finite() => *figure,
        Some(Value::Absent(why)) => return missing(Ground::NoFigure(why.clone())),
        Some(_) => return missing(Ground::NotANumber),
        None => return missing(Ground::NothingAsked),
    };
    let holds = operator.holds(figure, limit);
    let ground = Ground::Compared { unit: measure.unit(), figure, operator, limit, holds };
    (if holds { CheckOutcome::Failed } else { CheckOutcome::Passed }, ground)
}

#[cfg(test)]
#[path = "against_tests.rs"]
mod tests;

#[cfg(test)]
mod figure_tests {
    use super::*;
    use crate::gate::rule::Mark;

    #[test]
    fn unusable_row_is_gated_by_all_except_quality() {
        let values = [("reference_recall", 0.9), ("unusable_replies", 3.0)];
        let mut row = StrategyRow {
            dataset: "d".into(),
            strategy: "x".into(),
            window: "25%".into(),
            agent_model: "recorded".into(),
            row_kind: RowKind::Unusable,
            rank: None,
            values: values.map(|(id, figure)| (id.to_owned(), Value::Known(figure))).into(),
            intervals: Default::default(),
            verdict: None,
            failed: Vec::new(),
        };
        let found = |row: &StrategyRow, id, operator, number| {
            let amount = Amount { number, mark: Mark::Plain };
            against_figure(row, id, operator, amount, None).finding
        };
        let recall = |row: &StrategyRow| found(row, "reference_recall", Operator::Below, 0.8);
        assert_eq!(recall(&row), CheckOutcome::Missing);
        assert_eq!(found(&row, "unusable_replies", Operator::Above, 2.0), CheckOutcome::Failed);
        row.row_kind = RowKind::Ranked;
        assert_eq!(recall(&row), CheckOutcome::Passed);
    }

    fn row() -> StrategyRow {
        let mut values: std::collections::BTreeMap<String, Value> = Default::default();
        for (id, figure) in [("recall", 0.75), ("tokens_sent", f64::INFINITY), ("sessions", 3.0)] {
            values.insert(id.to_owned(), Value::Known(figure));
        }
        StrategyRow {
            dataset: "d".into(),
            strategy: "x".into(),
            window: "25%".into(),
            agent_model: "recorded".into(),
            row_kind: RowKind::Ranked,
            rank: None,
            values,
            intervals: [("recall".to_owned(), Interval::Student { lo: 0.5, hi: 0.9 })].into(),
            verdict: None,
            failed: Vec::new(),
        }
    }

    fn checked(row: &StrategyRow, id: &str, amount: f64) -> Check {
        against_figure(row, id, Operator::Below, Amount { number: amount, mark: Mark::Plain }, None)
    }

    #[test]
    fn check_repeats_the_row_figure_and_interval() {
        let found = checked(&row(), "recall", 0.8);
        assert_eq!((found.finding, found.value), (CheckOutcome::Failed, Some(0.75)));
        assert_eq!((found.interval, found.baseline), (Some((0.5, 0.9)), None));
        assert_eq!((found.sessions, &*found.measure, &*found.strategy), (3, "recall", "x"));
        // The limit itself is not below it.
        assert_eq!(checked(&row(), "recall", 0.75).finding, CheckOutcome::Passed);
    }

    #[test]
    fn incomparable_measure_is_missing_with_reason() {
        let actual = |row: &StrategyRow, id: &str| {
            let check = checked(row, id, 0.5);
            assert_eq!(check.finding, CheckOutcome::Missing, "{id}");
            check.reason
        };
        assert_eq!(actual(&row(), "tokens_sent"), Ground::NotANumber.to_string(), "it is infinite");
        assert_eq!(actual(&row(), "cost_usd"), Ground::NothingAsked.to_string());
        let unknown = Ground::Incomparable { measure: "nothing".into(), amount: "0.5".into() };
        assert_eq!(actual(&row(), "nothing"), unknown.to_string());
        for (row_kind, ground) in [
            (RowKind::OfflineSummary, Ground::OfflineSummary),
            (RowKind::Unusable, Ground::UnusableReplies),
        ] {
            assert_eq!(actual(&StrategyRow { row_kind, ..row() }, "recall"), ground.to_string());
        }
        let offline_summary = StrategyRow { row_kind: RowKind::OfflineSummary, ..row() };
        assert_eq!(checked(&offline_summary, "sessions", 3.0).finding, CheckOutcome::Passed);
    }
}
