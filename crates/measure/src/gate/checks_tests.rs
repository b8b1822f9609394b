use std::fmt::Write;

use super::*;
use crate::testkit::entry_at;
use recap_core::model::{Absent, ComparedMeasure};

/// Every combination of the properties of a difference, with its finding.
#[test]
fn large_sure_change_fails_ruled_out_change_passes() {
    use CheckOutcome::{Failed, Passed, Undecided};
    let finding = |beyond, sure, reaches| Worse { beyond, sure, reaches }.finding();
    for (beyond, sure, reaches, expected) in [
        (true, true, true, Failed),
        (true, false, true, Undecided),
        (false, true, true, Undecided),
        (false, false, true, Undecided),
        (false, true, false, Passed),
        (false, false, false, Passed),
        // The mean is outside its own interval; a skewed bootstrap can give
        // this.
        (true, true, false, Failed),
        (true, false, false, Passed),
    ] {
        assert_eq!(finding(beyond, sure, reaches), expected, "{beyond} {sure} {reaches}");
    }
    // Without an interval the difference decides, unless a session is better.
    for (operator, sign) in [(Operator::Below, -1.0), (Operator::Above, 1.0)] {
        let without = |by: f64, better: u64| {
            let mut few = difference(sign * by, (0.0, 0.0));
            few.compared.interval = None;
            few.higher_lower = if sign < 0.0 { (better, 1) } else { (1, better) };
            Worse::of(operator, &few, 0.02).finding()
        };
        assert_eq!([(0.03, 0), (0.03, 1)].map(|(by, n)| without(by, n)), [Failed, Undecided]);
        assert_eq!([(0.01, 0), (0.01, 1)].map(|(by, n)| without(by, n)), [Passed; 2]);
    }
}

/// A difference from 0.82 in A with this interval, over six sessions of which one is lower.
fn difference(difference: f64, interval: (f64, f64)) -> Paired {
    let compared = ComparedMeasure {
        measure: "recall".into(),
        a: 0.82,
        b: 0.82 + difference,
        difference,
        interval: Some(interval),
        dots: Vec::new(),
        sessions: 6,
        clusters: 6,
        better: 0,
        worse: 1,
        alike: 5,
        p: None,
        p_holm: None,
        mde: None,
        outcome: None,
    };
    Paired { compared, only_a: 0, higher_lower: (0, 1), unchanged: false }
}

/// What is allowed is 0.02; `<` and `>` allow it itself, `<=` and `>=` do not.
#[test]
fn exact_allowance_is_beyond_for_inclusive_rules_only() {
    use Operator::{Above, AtLeast, AtMost, Below};
    let beyond = |operator, by| Worse::of(operator, &difference(by, (by, by)), 0.02).beyond;
    for (operator, sign) in [(Below, -1.0), (Above, 1.0)] {
        assert!(!beyond(operator, sign * 0.02));
        assert!(!beyond(operator, sign * (0.02 + 1e-12)), "a rounding error does not count");
        assert!(beyond(operator, sign * 0.021));
        assert!(!beyond(operator, -sign * 0.5), "a change for the better");
    }
    for (operator, sign) in [(AtMost, -1.0), (AtLeast, 1.0)] {
        assert!(beyond(operator, sign * 0.02));
        assert!(beyond(operator, sign * (0.02 - 1e-12)), "a rounding error does not count");
        assert!(!beyond(operator, sign * 0.019));
    }
}

/// Sure means worse than no change, not worse than what is allowed.
#[test]
fn change_is_sure_if_whole_interval_is_worse() {
    let worse = |interval| Worse::of(Operator::Below, &difference(-0.012, interval), 0.02);
    let of = |interval| (worse(interval).sure, worse(interval).reaches);
    assert_eq!(of((-0.019, -0.005)), (true, false));
    assert_eq!(of((-0.03, -0.005)), (true, true));
    assert_eq!(of((-0.03, 0.0)), (false, true));
    assert_eq!(of((-0.02, 0.001)), (false, false), "what is allowed is not beyond");
    let mirrored = Worse::of(Operator::Above, &difference(0.012, (0.005, 0.03)), 0.02);
    assert_eq!((mirrored.sure, mirrored.reaches), (true, true));
}

/// A run of one strategy over two sessions, and the figures of both for a measure.
fn run_of(id: &str, figures: [Option<f64>; 2]) -> (StrategyRow, Baseline) {
    use crate::testkit::{cell, facts, run};
    let session = |id| facts(id).requests(&[1_000, 2_000]).build();
    let sent = |id, strategy| cell(id, strategy).sent(&[1_000, 500]);
    let cells = ["s", "t"].map(|id| [sent(id, "full").control().build(), sent(id, "x").build()]);
    let report = run(vec![session("s"), session("t")], cells.concat());
    let mut row = report.rows.iter().find(|row| row.strategy == "x").unwrap().clone();
    row.values.insert(id.to_owned(), Value::Known(1.0));
    let mut baseline = Baseline::of("before".to_owned(), &report);
    let figures = figures.map(|figure| figure.map(crate::figures::by_session::Figure::One));
    for row in &mut baseline.run.rows {
        row.figures.insert(id.to_owned(), figures.to_vec());
    }
    (row, baseline)
}

fn checked(id: &str, row: &StrategyRow, baseline: &Baseline, own: &BySession) -> Check {
    let rule = crate::gate::parse(&format!("{id}@x < baseline")).unwrap();
    super::checked(row, &rule, Some(&Both { baseline, own, seed: 1 }), None)
}

#[test]
fn baseline_with_one_failed_cell_is_not_compared() {
    let (row, mut baseline) = run_of("tokens_sent", [Some(10.0), Some(20.0)]);
    let own = baseline.run.clone();
    let unchanged = checked("tokens_sent", &row, &baseline, &own);
    assert_eq!(unchanged.finding, CheckOutcome::Passed, "{}", unchanged.reason);
    assert_eq!((unchanged.value, unchanged.baseline), (Some(30.0), Some(30.0)));
    baseline.run.rows.iter_mut().filter(|row| row.strategy == "x").for_each(|row| row.failed = 1);
    let failed = checked("tokens_sent", &row, &baseline, &own);
    assert_eq!(failed.finding, CheckOutcome::Missing);
    assert_eq!(failed.reason, "1 cell of the baseline's row failed");
}

#[test]
fn figure_missing_here_only_is_not_compared() {
    let of = |before, after| {
        let (row, baseline) = run_of("peak_tokens", before);
        let (_, own) = run_of("peak_tokens", after);
        let check = checked("peak_tokens", &row, &baseline, &own.run);
        (check.finding, check.reason)
    };
    let (finding, reason) = of([Some(2.0), Some(3.0)], [Some(2.0), None]);
    assert_eq!(finding, CheckOutcome::Missing);
    assert_eq!(reason, "1 session with a figure in the baseline and none here");
    assert_eq!(of([Some(2.0), None], [Some(2.0), None]).0, CheckOutcome::Passed);
}

/// The reason has every figure of the difference, and what is allowed with the sign of the worse
/// direction: an amount, or a part of the baseline's figure.
#[test]
fn finding_reason_contains_the_difference_figures() {
    let mut lower = difference(-0.05, (-0.07, -0.03));
    (lower.compared.sessions, lower.compared.clusters) = (8, 7);
    let [mut open, mut few, mut same, mut negative] = [(); 4].map(|()| lower.clone());
    (open.compared.interval, open.compared.mde) = (Some((-0.07, 0.03)), Some(0.1));
    few.compared.interval = None;
    same.unchanged = true;
    negative.compared.a = -1.0;
    let mut dearer = difference(0.03, (-0.4, 0.5));
    (dearer.compared.a, dearer.compared.b) = (1.0, 1.03);
    let mut text = String::new();
    for (rule, pair) in [
        ("recall@x < baseline - 0.02", &lower),
        ("recall@x < baseline", &lower),
        // A tenth of 0.82.
        ("recall@x < baseline * 0.9", &lower),
        ("recall@x < baseline - 0.02", &open),
        ("recall@x < baseline - 0.02", &few),
        ("recall@x < baseline", &same),
        ("recall@x < baseline * 0.9", &negative),
        // Dollars, tokens and counts of the same sessions are totals: no interval leaves them open.
        ("cost_usd > baseline", &dearer),
        ("cost_usd > baseline * 1.02", &dearer),
        ("cost_usd >= baseline + 0.03", &dearer),
        ("cost_usd < baseline", &dearer),
        ("tokens_sent > baseline", &dearer),
        ("overflows > baseline + 1", &dearer),
        // What is no sum keeps its interval.
        ("peak_tokens > baseline", &dearer),
    ] {
        let found = match against_baseline(&crate::gate::parse(rule).unwrap(), pair) {
            Ok((outcome, reason)) => format!("{}: {reason}", outcome.as_str()),
            Err(missing) => missing,
        };
        writeln!(text, "{rule}\n  {found}").unwrap();
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("differences", text);
    });
}

#[test]
fn rounding_error_is_relative_to_figure_size() {
    let worse = |by: f64| {
        let mut tokens = difference(by, (by, by));
        (tokens.compared.a, tokens.compared.b) = (1e6, 1e6 + by);
        let worse = Worse::of(Operator::Above, &tokens, 0.0);
        (worse.beyond, worse.sure, worse.reaches)
    };
    assert_eq!(worse(1e-4), (false, false, false), "1e-9 of a million is 1e-3");
    assert_eq!(worse(1e-2), (true, true, true));
    for operator in [Operator::Above, Operator::Below] {
        let mut nothing = difference(0.0, (0.0, 0.0));
        (nothing.compared.a, nothing.compared.b) = (0.0, 0.0);
        let worse = Worse::of(operator, &nothing, 0.0);
        assert_eq!((worse.beyond, worse.sure, worse.reaches), (false, false, false));
    }
}

#[test]
fn new_session_figure_matters_only_for_wait_medians() {
    let (row, baseline) = run_of("tokens_sent", [Some(2.0), None]);
    let (_, own) = run_of("tokens_sent", [Some(2.0), Some(3.0)]);
    let check = checked("tokens_sent", &row, &baseline, &own.run);
    assert_eq!((check.finding, check.sessions), (CheckOutcome::Passed, 1), "{}", check.reason);
}

#[test]
fn unpaired_check_still_has_its_row_figure() {
    let (row, baseline) = run_of("tokens_sent", [Some(2.0), Some(3.0)]);
    let rule = crate::gate::parse("tokens_sent@x < baseline").unwrap();
    let both = Both { baseline: &baseline, own: &baseline.run.clone(), seed: 1 };
    let doubted = super::checked(&row, &rule, Some(&both), Some("a doubt".to_owned()));
    assert_eq!((doubted.finding, &*doubted.reason), (CheckOutcome::Missing, "a doubt"));
    assert_eq!((doubted.value, doubted.baseline, doubted.sessions), (Some(5.0), Some(5.0), 2));
    let elsewhere = StrategyRow { window: "50%".into(), ..row.clone() };
    let missing = super::checked(&elsewhere, &rule, Some(&both), None);
    assert_eq!(missing.reason, "the baseline has no such row");
    assert_eq!((missing.value, missing.baseline, missing.sessions), (Some(1.0), None, 0));
    assert_eq!(
        (&*missing.window, &*missing.strategy, &*missing.measure),
        ("50%", "x", "tokens_sent")
    );
    let mut unasked = row;
    unasked.values.clear();
    let reason = super::checked(&unasked, &rule, Some(&both), None).reason;
    assert_eq!(reason, "no figure: nothing was asked");
}

#[test]
fn bills_compare_under_same_billing_model_if_present() {
    let (row, mut baseline) = run_of("cost_usd", [Some(2.0), Some(3.0)]);
    let mut own = baseline.run.clone();
    let row = StrategyRow { agent_model: "dear".into(), ..row };
    let mut reason = |theirs: &str, ours: &str| {
        baseline.run.rows.iter_mut().for_each(|row| row.billed_as = theirs.into());
        own.rows.iter_mut().for_each(|row| row.billed_as = ours.into());
        let check = checked("cost_usd", &row, &baseline, &own);
        (check.finding, check.reason)
    };
    assert_eq!(reason(RECORDED, RECORDED).0, CheckOutcome::Passed);
    assert_eq!(reason("dear", "dear").0, CheckOutcome::Passed);
    assert_eq!(reason(RECORDED, "dear").1, "the baseline has no such row");
    assert_eq!(reason("dear", "cheap").1, "the baseline has no such row");
}

/// A row of three sessions.
fn row(row_kind: RowKind) -> StrategyRow {
    let figures =
        [("recall", 0.75), ("tokens_sent", f64::INFINITY), ("sessions", 3.0), ("overflows", 3.0)];
    let mut row = entry_at(("25%", 9.0), "x", None, &figures).row;
    row.values.insert("peak_tokens".to_owned(), Value::Absent(Absent::NoRequest));
    row.intervals.insert("recall".to_owned(), Interval::Bounds { lo: 0.5, hi: 0.9 });
    StrategyRow { row_kind, ..row }
}

#[test]
fn a_figure_is_checked_against_a_number() {
    let check = |row_kind, rule: &str| {
        super::checked(&row(row_kind), &crate::gate::parse(rule).unwrap(), None, None)
    };
    let found = check(RowKind::Ranked, "recall@x < 0.8");
    assert_eq!((found.finding, found.value), (CheckOutcome::Failed, Some(0.75)));
    assert_eq!((found.interval, found.baseline), (Some((0.5, 0.9)), None));
    assert_eq!((found.sessions, &*found.measure, &*found.strategy), (3, "recall", "x"));
    let ours = "missing: offline summary: its quality is that of our summaries, so it is gated \
                against a baseline only; `--compactor MODEL` measures the strategy";
    let fallback = "missing: more than 5 % of the compactor's replies were unusable: its quality is \
                    that of the strategy's fallback";
    for (row_kind, rule, expected) in [
        (RowKind::Ranked, "recall@x < 0.8", "failed: 0.75 is below 0.8"),
        // The limit itself is not below it.
        (RowKind::Ranked, "recall@x < 0.75", "passed: 0.75 is not below 0.75"),
        (RowKind::Ranked, "recall@x <= 0.75", "failed: 0.75 is at most 0.75"),
        (RowKind::Ranked, "recall@x > 0.750000001", "passed: 0.75 is not above 0.750000001"),
        (RowKind::Ranked, "recall@x >= 0.5", "failed: 0.75 is at least 0.5"),
        (RowKind::Ranked, "tokens_sent@x < 1", "missing: no figure: it is not a number"),
        (RowKind::Ranked, "cost_usd@x < 1", "missing: no figure: nothing was asked"),
        (RowKind::Ranked, "peak_tokens@x < 1", "missing: no figure: no request"),
        (RowKind::OfflineSummary, "recall@x < 0.8", ours),
        (RowKind::OfflineSummary, "sessions@x < 3", "passed: 3 is not below 3"),
        (RowKind::Unusable, "recall@x < 0.8", fallback),
        (RowKind::Unusable, "overflows@x > 2", "failed: 3 is above 2"),
    ] {
        let found = check(row_kind, rule);
        assert_eq!(format!("{}: {}", found.finding.as_str(), found.reason), expected, "{rule}");
    }
}
