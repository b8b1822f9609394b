use super::*;

/// Every combination of the properties of a difference, with its finding.
#[test]
fn large_sure_change_fails_ruled_out_change_passes() {
    use CheckOutcome::{Failed, Passed, Undecided};
    let finding = |beyond, sure, reaches| {
        Worse { beyond, sure: Some(sure), reaches, somewhere: true }.finding()
    };
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
    let without =
        |beyond, somewhere| Worse { beyond, sure: None, reaches: true, somewhere }.finding();
    assert_eq!(without(false, false), Passed);
    assert_eq!(without(false, true), Undecided);
    assert_eq!(without(true, true), Undecided);
    assert_eq!(without(true, false), Undecided);
}

/// A difference from 0.82 in A with this interval.
fn difference(difference: f64, interval: (f64, f64)) -> Difference {
    let bounds = crate::statistics::Bounds { lo: interval.0, hi: interval.1 };
    Difference {
        a: 0.82,
        b: 0.82 + difference,
        difference,
        sessions: 6,
        clusters: 6,
        only_a: 0,
        higher_lower_alike: (0, 1, 5),
        unchanged: false,
        dots: Vec::new(),
        spread: Some(Spread::OverClusters(bounds)),
        p: None,
        mde: None,
    }
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
    assert_eq!(of((-0.019, -0.005)), (Some(true), false));
    assert_eq!(of((-0.03, -0.005)), (Some(true), true));
    assert_eq!(of((-0.03, 0.0)), (Some(false), true));
    assert_eq!(of((-0.02, 0.001)), (Some(false), false), "what is allowed is not beyond");
    assert!(worse((-0.03, 0.0)).somewhere, "one of six sessions is lower");
    let mirrored = Worse::of(Operator::Above, &difference(0.012, (0.005, 0.03)), 0.02);
    assert_eq!((mirrored.sure, mirrored.reaches), (Some(true), true));
    assert!(!mirrored.somewhere, "no session is higher");
}

/// The allowed change is a part of the baseline's figure, or an amount.
#[test]
fn limit_allowance_is_computed_from_the_baseline() {
    let cost = find_measure("cost_usd").unwrap();
    let amount = |number, mark| crate::gate::Amount { number, mark };
    let of = |limit, baseline| allowed(cost, limit, baseline).ok();
    let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
    assert!(near(of(Limit::Baseline, 5.0), 0.0));
    assert!(near(of(Limit::BaselineTimes(1.1), 5.0), 0.5));
    assert!(near(of(Limit::BaselineTimes(0.9), 5.0), 0.5));
    assert!(near(of(Limit::BaselinePlus(amount(10.0, Mark::Percent)), 5.0), 0.5));
    assert!(near(of(Limit::BaselinePlus(amount(2.0, Mark::Plain)), 5.0), 2.0));
    assert!(near(of(Limit::BaselineTimes(1.1), 0.0), 0.0));
    assert_eq!(of(Limit::BaselineTimes(1.1), -1.0), None, "a part of a negative figure");
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
    let figures = figures.map(|figure| figure.map(crate::by_session::Figure::One));
    for row in &mut baseline.run.rows {
        row.figures.insert(id.to_owned(), figures.to_vec());
    }
    (row, baseline)
}

fn checked(id: &str, row: &StrategyRow, baseline: &Baseline, own: &BySession) -> Check {
    let rule = crate::gate::parse(&format!("{id}@x < baseline")).unwrap().rule;
    against_baseline(row, &rule, &Both { baseline, own, seed: 1 }, None)
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
    assert_eq!(failed.reason, Ground::BaselineFailed { cells: 1 }.to_string());
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
    assert_eq!(reason, Ground::GoneFigures { sessions: 1 }.to_string());
    assert_eq!(of([Some(2.0), None], [Some(2.0), None]).0, CheckOutcome::Passed);
}

/// The reason of a failed rule has every figure of the difference, and what is
/// allowed with the sign of the worse direction.
#[test]
fn finding_reason_contains_the_difference_figures() {
    let actual = |rule: &str, difference: &Difference| {
        let rule = crate::gate::parse(rule).unwrap().rule;
        let (outcome, ground) =
            difference_finding(find_measure(&rule.measure).unwrap(), &rule, difference);
        let Ground::Differs(differs) = ground else { panic!("no difference") };
        assert_eq!(outcome, differs.outcome);
        differs
    };
    let lower = Difference { sessions: 8, clusters: 7, ..difference(-0.05, (-0.07, -0.03)) };
    let expected = Differs {
        unit: recap_core::model::Unit::Share,
        figure: lower.b,
        baseline: 0.82,
        difference: -0.05,
        interval: Some((-0.07, -0.03)),
        these_only: false,
        sessions: 8,
        clusters: 7,
        fewest: 6,
        allowed: -0.02,
        outcome: CheckOutcome::Failed,
        detectable: None,
    };
    assert_eq!(actual("recall@x < baseline - 0.02", &lower), expected);
    let Some(Spread::OverClusters(bounds)) = lower.spread else { panic!("no interval") };
    let few = Difference { spread: Some(Spread::TheseSessions(bounds)), mde: Some(0.1), ..lower };
    let differs = actual("recall@x > baseline + 0.02", &few);
    assert_eq!((differs.allowed, differs.these_only), (0.02, true));
    assert_eq!((differs.outcome, differs.detectable), (CheckOutcome::Passed, Some(0.1)));
}

#[test]
fn session_is_worse_only_in_the_forbidden_direction() {
    let somewhere = |operator, higher, lower| {
        let changed =
            Difference { higher_lower_alike: (higher, lower, 4), ..difference(0.0, (0.0, 0.0)) };
        Worse::of(operator, &changed, 0.0).somewhere
    };
    assert_eq!(
        [(2, 0), (0, 2), (0, 0)].map(|(h, l)| somewhere(Operator::Below, h, l)),
        [false, true, false]
    );
    assert_eq!(
        [(2, 0), (0, 2), (0, 0)].map(|(h, l)| somewhere(Operator::Above, h, l)),
        [true, false, false]
    );
}

#[test]
fn rounding_error_is_relative_to_figure_size() {
    let worse = |by: f64| {
        let tokens = Difference { a: 1e6, b: 1e6 + by, ..difference(by, (by, by)) };
        let worse = Worse::of(Operator::Above, &tokens, 0.0);
        (worse.beyond, worse.sure, worse.reaches)
    };
    assert_eq!(worse(1e-4), (false, Some(false), false), "1e-9 of a million is 1e-3");
    assert_eq!(worse(1e-2), (true, Some(true), true));
    for operator in [Operator::Above, Operator::Below] {
        let nothing = Difference { a: 0.0, b: 0.0, ..difference(0.0, (0.0, 0.0)) };
        let worse = Worse::of(operator, &nothing, 0.0);
        assert_eq!((worse.beyond, worse.sure, worse.reaches), (false, Some(false), false));
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
    let rule = crate::gate::parse("tokens_sent@x < baseline").unwrap().rule;
    let both = Both { baseline: &baseline, own: &baseline.run.clone(), seed: 1 };
    let doubted = against_baseline(&row, &rule, &both, Some(Ground::OfflineSummary));
    assert_eq!(
        (doubted.finding, doubted.reason),
        (CheckOutcome::Missing, Ground::OfflineSummary.to_string())
    );
    assert_eq!((doubted.value, doubted.baseline, doubted.sessions), (Some(5.0), Some(5.0), 2));
    let elsewhere = StrategyRow { window: "50%".into(), ..row.clone() };
    let missing = against_baseline(&elsewhere, &rule, &both, None);
    assert_eq!(missing.reason, Ground::NoRowInBaseline.to_string());
    assert_eq!((missing.value, missing.baseline, missing.sessions), (Some(1.0), None, 0));
    assert_eq!(
        (&*missing.window, &*missing.strategy, &*missing.measure),
        ("50%", "x", "tokens_sent")
    );
    let mut unasked = row;
    unasked.values.clear();
    assert_eq!(
        against_baseline(&unasked, &rule, &both, None).reason,
        Ground::NothingAsked.to_string()
    );
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
    assert_eq!(reason(RECORDED, "dear").1, Ground::NoRowInBaseline.to_string());
    assert_eq!(reason("dear", "cheap").1, Ground::NoRowInBaseline.to_string());
}
