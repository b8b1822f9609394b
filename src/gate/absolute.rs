//! A figure against a number: it is what was measured, and no interval makes
//! it pass or fail.

use super::measures::{self, Known};
use super::rule::{Amount, Operator};
use super::words;
use crate::model::{Check, CheckOutcome, Interval, PresetRow, Standing, Value, catalogue};

/// What became of one row.
pub fn check(
    row: &PresetRow,
    id: &str,
    operator: Operator,
    amount: Amount,
    doubt: Option<String>,
) -> Check {
    let measure = measures::find(id).ok();
    let (finding, reason) = match doubt {
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
        transcripts: row.number(catalogue::TRANSCRIPTS).unwrap_or(0.0) as u64,
        finding,
        reason,
    }
}

fn found(
    row: &PresetRow,
    id: &str,
    operator: Operator,
    amount: Amount,
    measure: Option<Known>,
) -> (CheckOutcome, String) {
    let limit = measure.and_then(|measure| Some((measure, measure.amount(amount).ok()?)));
    let Some((measure, limit)) = limit else {
        return (CheckOutcome::Missing, format!("`{id}` cannot be compared with `{amount}`"));
    };
    if row.standing == Standing::StandIn && measure.is_quality() {
        return (CheckOutcome::Missing, STAND_IN.to_owned());
    }
    if row.standing == Standing::Void && measure.is_quality() {
        return (CheckOutcome::Missing, VOID.to_owned());
    }
    let figure = match row.values.get(id) {
        Some(Value::Known(figure)) if figure.is_finite() => *figure,
        Some(Value::Absent(reason)) => {
            return (CheckOutcome::Missing, format!("no figure: {reason}"));
        }
        Some(_) => return (CheckOutcome::Missing, "no figure: it is not a number".to_owned()),
        None => return (CheckOutcome::Missing, "no figure: nothing was asked".to_owned()),
    };
    let holds = operator.holds(figure, limit);
    let reason = told(measure, figure, operator, limit, holds);
    (if holds { CheckOutcome::Failed } else { CheckOutcome::Passed }, reason)
}

/// Why a stand-in's quality says nothing of the strategy (measures §6).
const STAND_IN: &str = "offline stand-in: its quality is that of our summaries, so it is gated \
                        against a baseline only; `--compactor MODEL` measures the strategy";

/// Why the quality of a row with void replies says nothing of the strategy.
const VOID: &str = "more than 5 % of the compactor's replies were void: its quality is that of \
                    the strategy's fallback";

/// `0.51 is below 0.8`; `0.91 is not below 0.8`.
fn told(measure: Known, figure: f64, operator: Operator, limit: f64, holds: bool) -> String {
    let words = match operator {
        Operator::Below => "below",
        Operator::AtMost => "at most",
        Operator::Above => "above",
        Operator::AtLeast => "at least",
    };
    let not = if holds { "" } else { "not " };
    let (mut told, mut against) = (words::figure(measure, figure), words::figure(measure, limit));
    if told == against && figure != limit {
        // A hair apart: rounded they would contradict the finding.
        (told, against) = (figure.to_string(), limit.to_string());
    }
    format!("{told} is {not}{words} {against}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::rule::Mark;

    #[test]
    fn of_a_row_with_void_replies_only_what_is_no_quality_can_be_gated() {
        let values = [("reference_recall", 0.9), ("void_share", 0.3)];
        let mut row = PresetRow {
            dataset: "d".into(),
            strategy: "x".into(),
            window: "25%".into(),
            agent_model: "recorded".into(),
            standing: Standing::Void,
            rank: None,
            values: values.map(|(id, figure)| (id.to_owned(), Value::Known(figure))).into(),
            intervals: Default::default(),
            verdict: None,
            failed: Vec::new(),
        };
        let found = |row: &PresetRow, id, operator, number| {
            let amount = Amount { number, mark: Mark::Plain };
            check(row, id, operator, amount, None).finding
        };
        let recall = |row: &PresetRow| found(row, "reference_recall", Operator::Below, 0.8);
        assert_eq!(recall(&row), CheckOutcome::Missing);
        assert_eq!(found(&row, "void_share", Operator::Above, 0.05), CheckOutcome::Failed);
        row.standing = Standing::Ranked;
        assert_eq!(recall(&row), CheckOutcome::Passed);
    }
}
