//! Checks a figure against a number. The measured figure decides; its interval
//! makes no difference.

use super::measures::{self, GateMeasure};
use super::rule::{Amount, Operator};
use recap_core::model::{
    Check, CheckOutcome, Ground, Interval, RowKind, StrategyRow, Value, catalogue,
};

/// Checks one row against a rule that compares with a number.
pub fn check(
    row: &StrategyRow,
    id: &str,
    operator: Operator,
    amount: Amount,
    doubt: Option<Ground>,
) -> Check {
    let measure = measures::find(id).ok();
    let (finding, ground) = match doubt {
        Some(doubt) => (CheckOutcome::Missing, doubt),
        None => found(row, id, operator, amount, measure),
    };
    Check {
        dataset: row.dataset.clone(),
        strategy: row.strategy.clone(),
        window: row.window.clone(),
        agent_model: row.agent_model.clone(),
        measure: id.to_owned(),
        value: row.number_of(id),
        baseline: None,
        interval: row.intervals.get(id).and_then(Interval::bounds),
        sessions: row.number(catalogue::SESSIONS).unwrap_or(0.0) as u64,
        finding,
        reason: ground.to_string(),
    }
}

fn found(
    row: &StrategyRow,
    id: &str,
    operator: Operator,
    amount: Amount,
    measure: Option<GateMeasure>,
) -> (CheckOutcome, Ground) {
    let missing = |ground| (CheckOutcome::Missing, ground);
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
mod tests {
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
            check(row, id, operator, amount, None).finding
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
        check(row, id, Operator::Below, Amount { number: amount, mark: Mark::Plain }, None)
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
