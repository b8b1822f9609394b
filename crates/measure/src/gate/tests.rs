use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn text_is_parsed_or_refused_at_a_column(text in "\\PC{0,40}|[a-z@ <>=\"'0-9.%*+-]{0,40}") {
        if let Err(error) = parse(&text) {
            prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1, "{}", error);
            prop_assert!(!error.help.is_empty());
        }
    }
}

#[test]
fn the_example_rules_are_parsed_as_documented() {
    let figure = |number| Limit::Figure(Amount { number, mark: Mark::Plain });
    let any = |measure: &str, operator, limit| Rule {
        measure: measure.to_owned(),
        strategy: None,
        dataset: None,
        window: None,
        operator,
        limit,
    };
    let read = |text: &str| parse(text).unwrap().rule;
    let lis = any("continuity", Operator::Below, figure(80.0));
    assert_eq!(read("continuity@lis < 80"), Rule { strategy: Some("lis".into()), ..lis });
    let constraint = any("continuity_constraint", Operator::Below, figure(95.0));
    assert_eq!(read("continuity[constraint] < 95"), constraint);
    assert_eq!(read("continuity_constraint<95"), constraint);
    assert_eq!(read("overflows > 0"), any("overflows", Operator::Above, figure(0.0)));
    let full = read(" recall@fifo on my-data at 16k <= 50% ");
    assert_eq!((full.dataset.as_deref(), full.window.as_deref()), (Some("my-data"), Some("16k")));
    assert_eq!(full.limit, Limit::Figure(Amount { number: 50.0, mark: Mark::Percent }));
    let less = Amount { number: 0.02, mark: Mark::Plain };
    assert_eq!(read("recall < baseline - 0.02").limit, Limit::BaselineLess(less));
    assert_eq!(read("cost_usd>baseline*1.1").limit, Limit::BaselineTimes(1.1));
    let more = Amount { number: 5.0, mark: Mark::Percent };
    assert_eq!(read("tokens_sent > baseline + 5%").limit, Limit::BaselinePlus(more));
}

#[test]
fn amounts_are_in_the_unit_of_their_measure() {
    let amount =
        |id: &str, number, mark| find_measure(id).ok().unwrap().amount(Amount { number, mark });
    assert_eq!(amount("recall", 80.0, Mark::Percent), Ok(0.8));
    assert_eq!(amount("continuity", 80.0, Mark::Percent), Ok(80.0));
    assert_eq!(amount("tokens_sent", 20.0, Mark::Thousand), Ok(20_000.0));
    assert_eq!(amount("tokens_sent", 1.5, Mark::Million), Ok(1_500_000.0));
    assert_eq!(amount("blocking_ms_p95", 2.0, Mark::Seconds), Ok(2_000.0));
    assert_eq!(amount("blocking_ms_p95", 1_500.0, Mark::Milliseconds), Ok(1_500.0));
    for (id, mark) in [
        ("cost_usd", Mark::Percent),
        ("recall", Mark::Thousand),
        ("tokens_sent", Mark::Seconds),
        ("blocking_ms_p95", Mark::Thousand),
        ("n_clusters", Mark::Milliseconds),
    ] {
        assert!(amount(id, 1.0, mark).is_err(), "{id} {mark:?}");
    }
}

#[test]
fn baseline_rule_allows_only_changes_for_the_worse() {
    let names = ["fifo".to_owned()];
    let scope = Scope {
        strategies: &names,
        named: &names,
        windows: &[],
        datasets: &[],
        agent: None,
        compact_at: &[],
        baseline: true,
    };
    let actual = |text: &str| fits(&parse(text).unwrap(), &scope).err().map(|e| e.problem);
    for good in [
        "recall < baseline - 0.02",
        "recall < baseline",
        "recall < baseline * 0.98",
        "cost_usd > baseline * 1.1",
        "tokens_sent >= baseline + 5%",
        "blocking_ms_p95 > baseline + 2s",
    ] {
        assert_eq!(actual(good), None, "{good}");
    }
    for bad in ["recall < baseline + 0.02", "cost_usd > baseline - 1", "cost_usd > baseline * 0.9"]
    {
        assert!(actual(bad).unwrap().contains("as good as the baseline"), "{bad}");
    }
    assert!(actual("recall < baseline - 2%").unwrap().contains("points of a hundred"));
    assert!(actual("difference_to_full < baseline").unwrap().contains("in pairs"));
}

#[test]
fn cut_measures_are_quality_only_if_text_decides() {
    let known = |id: &str| find_measure(id).ok().unwrap();
    let amount = |id: &str, number, mark| known(id).amount(Amount { number, mark });
    assert_eq!(amount("facts_kept", 50.0, Mark::Percent), Ok(0.5));
    assert_eq!(amount("added_at_cut", 5.0, Mark::Percent), Ok(0.05));
    assert_eq!(amount("tokens_at_cut", 40.0, Mark::Percent), Ok(0.4));
    assert_eq!(amount("continuity_at_cut", 80.0, Mark::Percent), Ok(80.0));
    assert!(known("cost_usd").is_billed() && !known("facts_kept").is_billed());
    assert!(known("continuity_at_cut").rests_on_questions());
    assert!(!known("facts_kept").rests_on_questions());
    for id in ["facts_kept", "carried_share", "added_at_cut"] {
        assert!(known(id).is_quality(), "{id}");
    }
    for id in ["tokens_at_cut", "exposed_share", "cuts"] {
        assert!(!known(id).is_quality(), "{id}");
    }
}

#[test]
fn cut_measures_count_as_at_cuts() {
    use crate::spec::Basis;
    use crate::{MEASURES, is_at_cuts};
    for spec in MEASURES.iter() {
        assert!(!matches!(spec.basis, Basis::Cuts) || is_at_cuts(spec.id()), "{}", spec.id());
    }
    assert!(is_at_cuts("facts_kept"));
    assert!(!["reference_recall", "cost_usd"].into_iter().any(is_at_cuts));
}

#[test]
fn removed_measure_names_its_successor() {
    for (id, help) in [
        ("pays_after", "use `cost_savings_vs_recorded`"),
        ("mean_tokens", "use `tokens_sent`"),
        ("recall_constraint", "use `continuity_constraint`"),
        ("recall_abstain", "use `fabrication_rate`"),
        ("prefill_ms_saved", "nothing takes its place: leave the rule out"),
    ] {
        let error = parse(&format!("{id} > 1")).unwrap_err();
        assert_eq!(error.problem, format!("`{id}` is no measure any more"));
        assert_eq!(error.help, help, "{id}");
    }
}

#[test]
fn rule_forbids_its_limit_only_with_or_equal() {
    use recap_core::model::Operator::{Above, AtLeast, AtMost, Below};
    let held = |figure| [Below, AtMost, Above, AtLeast].map(|o| o.holds(figure, 0.5));
    assert_eq!(held(0.4), [true, true, false, false]);
    assert_eq!(held(0.5), [false, true, false, true]);
    assert_eq!(held(0.6), [false, false, true, true]);
}

/// How-it-works §41: a row with more than this share of ungraded questions has no
/// verdict; with exactly this share it has one.
#[test]
fn one_ungraded_question_of_twenty_is_the_maximum() {
    use crate::testkit::{cell, facts, manifest};
    use recap_core::model::{QuestionKind, RunResults};
    let doubted = |ungraded: usize| {
        let session = (0..20).fold(facts("s").requests(&[1_000, 2_000]), |session, _| {
            session.question(QuestionKind::Fact, 1, 3_000)
        });
        let outcomes = "R".repeat(20 - ungraded) + &"U".repeat(ungraded);
        let full = cell("s", "full").control().sent(&[1_000, 2_000]).snapshot(1, 0);
        let x = cell("s", "x").sent(&[1_000, 500]).snapshot(1, 1).answers(&outcomes);
        let cells = vec![full.answers(&"R".repeat(20)).build(), x.build()];
        let mut made = manifest(&["25%"]);
        made.judge = "openai/j".into();
        let sessions = RunResults::new(cells, []);
        let report = crate::measure(made, "d".into(), vec![session.build()], sessions);
        // Both strategies were asked twenty times.
        assert!((unscored(&report) - ungraded as f64 / 40.0).abs() < 1e-12);
        let row = report.rows.iter().find(|row| row.strategy == "x").unwrap();
        doubt(&report, row, &parse("recall < 0.5").unwrap().rule, MAX_UNSCORED)
    };
    assert_eq!(doubted(0), None);
    assert_eq!(doubted(1), None);
    assert_eq!(doubted(2), Some(Ground::Ungraded { share: 0.1, most: 0.05 }));
}

#[test]
fn words_and_unknown_measures_are_refused_with_help() {
    let actual = |id: &str| find_measure(id).err().unwrap();
    let (problem, help) = actual("verdict_vs_full");
    assert_eq!(problem, "`verdict_vs_full` is a word, not a number");
    assert_eq!(help, "a rule compares numbers: see the columns of summary.csv");
    let (problem, help) = actual("xq");
    assert_eq!(problem, "`xq` is no measure");
    assert_eq!(help, "the measures are the columns of summary.csv");
    let (_, help) = actual("cost_usdd");
    assert!(help.contains("`cost_usd`") && !help.contains("A kind of question"), "{help}");
    let (_, help) = actual("continuity_constrain");
    assert!(help.contains("`continuity_constraint`"), "{help}");
    assert!(help.ends_with(" A kind of question is written `continuity[fact]`"), "{help}");
}

#[test]
fn marks_of_another_unit_are_refused() {
    for (id, mark) in [
        ("recall", Mark::Million),
        ("recall", Mark::Seconds),
        ("recall", Mark::Milliseconds),
        ("blocking_ms_p95", Mark::Million),
        ("blocking_ms_p95", Mark::Percent),
        ("tokens_sent", Mark::Milliseconds),
    ] {
        let amount = find_measure(id).ok().unwrap().amount(Amount { number: 1.0, mark });
        assert!(amount.is_err(), "{id} {mark:?}");
    }
}

#[test]
fn rule_error_points_to_its_column() {
    for (rule, column, problem) in [
        ("", 1, "a rule begins with a measure"),
        ("  zzzz < 1", 3, "`zzzz` is no measure"),
        ("recall@ < 1", 8, "the name of a strategy is missing"),
        ("recall on < 1", 11, "the name of a data set is missing"),
        ("recall at < 1", 11, "the name of a window is missing"),
        ("recall on d on e < 1", 13, "`on` stands there twice"),
        ("recall at ü at e < 1", 13, "`at` stands there twice"),
        ("recall fact < 1", 8, "`fact` is not expected here"),
        ("recall", 7, "one of `<`, `<=`, `>` and `>=` is missing"),
        ("recall < ", 10, "a number, or `baseline`, is missing"),
        ("recall < 1.2.3", 10, "`1.2.3` is no number"),
        ("recall < 5q", 11, "`q` behind a number is not known"),
        ("recall < 1 2 ", 12, "`2` is not expected here"),
        ("recall < baseline - -1", 21, "a change is given without a sign of its own"),
        ("recall < baseline * 5%", 21, "a factor is a plain number"),
        ("continuity[fact < 1", 17, "the `]` behind the kind of question is missing"),
        ("continuity[ facts] < 1", 13, "`continuity` has no kind of question `facts`"),
        ("continuity[at_cut] < 80", 12, "`continuity` has no kind of question `at_cut`"),
        ("recall[fact] < 1", 1, "`recall` is not counted by kind of question"),
        ("cost_usd[fact] < 1", 1, "`cost_usd` is not counted by kind of question"),
    ] {
        let error = parse(rule).unwrap_err();
        assert_eq!((error.column, &*error.problem), (column, problem), "{rule}");
        assert_eq!(error.to_string(), format!("rule `{rule}`, column {column}: {problem}"));
    }
    let endless = format!("recall < {}", "9".repeat(400));
    assert!(parse(&endless).unwrap_err().problem.ends_with("is no number"));
    assert_eq!(parse("recall < 5").unwrap().error(0, String::new(), String::new()).column, 1);
}

#[test]
fn columns_of_rule_parts_are_known() {
    let parsed = parse("  recall@fifo on my-data at 16k <= 50% ").unwrap();
    let columns = parsed.columns;
    assert_eq!((columns.measure, columns.strategy, columns.dataset), (3, 10, 18));
    assert_eq!((columns.window, columns.limit), (29, 36));
    let parsed = parse("continuity[fact]<-1").unwrap();
    assert_eq!((parsed.columns.strategy, parsed.columns.limit), (0, 18));
    assert_eq!(parsed.rule.limit, Limit::Figure(Amount { number: -1.0, mark: Mark::Plain }));
}

/// A run of `x` at two windows over a session of `d` and one of `e`, whose
/// `ungraded` of twenty questions were not graded at 25 %.
fn two_sets(ungraded: usize) -> recap_core::model::Report {
    use crate::testkit::{cell, facts, manifest};
    use recap_core::model::{QuestionKind, RunResults};
    let session = |set, id| {
        let session = facts(id).dataset(set).requests(&[1_000, 2_000]);
        (0..20).fold(session, |session, _| session.question(QuestionKind::Fact, 1, 3_000)).build()
    };
    let sent = |set, id, strategy, window| {
        cell(id, strategy).dataset(set).window(window, 1_000).sent(&[1_000, 500]).snapshot(1, 1)
    };
    let all = "R".repeat(20);
    let some = "R".repeat(20 - ungraded) + &"U".repeat(ungraded);
    let mut cells = Vec::new();
    for (set, id, outcomes) in [("d", "s", &all), ("e", "t", &some)] {
        for window in ["25%", "50%"] {
            cells.push(sent(set, id, "full", window).control().answers(&all).build());
            let outcomes = if window == "25%" { outcomes } else { &all };
            let (x, paid) = (sent(set, id, "x", window).answers(outcomes), [(1, 0, 0); 2]);
            cells.push(x.bill("cheap", "cheap", &paid).bill("dear", "dear", &paid).build());
        }
    }
    let mut made = manifest(&["25%", "50%"]);
    made.judge = "openai/j".into();
    made.agent_models = vec!["cheap".into(), "dear".into()];
    let sessions = RunResults::new(cells, []);
    crate::measure(made, "d".into(), vec![session("d", "s"), session("e", "t")], sessions)
}

#[test]
fn rule_covers_named_rows_and_money_per_model() {
    let report = two_sets(0);
    let rows = |rule: &str, named: &[String]| {
        let rows = rows_of(&report, &parse(rule).unwrap().rule, named);
        let mut rows: Vec<String> = rows
            .into_iter()
            .map(|row| format!("{} {} {}", row.dataset, row.strategy, row.window))
            .collect();
        rows.sort();
        rows
    };
    let all = |window: &str| format!("{ALL} x {window}");
    let x = ["x".to_owned()];
    assert_eq!(rows("tokens_sent@x < 1", &[]), [all("25%"), all("50%")]);
    assert_eq!(rows("tokens_sent < 1", &x), [all("25%"), all("50%")]);
    assert_eq!(rows("tokens_sent < 1", &[]), [""; 0]);
    assert_eq!(rows("tokens_sent at 50% < 1", &x), [all("50%")]);
    assert_eq!(rows("tokens_sent@x on e < 1", &[]), ["e x 25%", "e x 50%"]);
    assert_eq!(rows("cost_usd@x on e at 50% < 1", &[]), ["e x 50%"; 2]);
}

#[test]
fn ungraded_questions_count_per_data_set_strategy_window() {
    let report = two_sets(6);
    let share = |dataset: &str, strategy: &str, window: &str, rule: &str| {
        let named = |row: &&StrategyRow| {
            (&*row.dataset, &*row.strategy, &*row.window) == (dataset, strategy, window)
        };
        let row = report.rows.iter().find(named).unwrap();
        match doubt(&report, row, &parse(rule).unwrap().rule, 0.01) {
            Some(Ground::Ungraded { share, .. }) => share,
            _ => 0.0,
        }
    };
    assert_eq!(share("d", "x", "25%", "recall < 1"), 0.0);
    assert_eq!(share("e", "x", "25%", "recall < 1"), 0.3);
    assert_eq!(share(ALL, "x", "25%", "recall < 1"), 0.15);
    assert_eq!(share("e", "x", "50%", "recall < 1"), 0.0);
    assert_eq!(share("e", "full", "25%", "recall < 1"), 0.0);
    assert_eq!(share("e", "x", "25%", "tokens_sent < 1"), 0.0, "no question decides it");
    // Six of 160 questions: two strategies, windows and sessions, of twenty each.
    assert_eq!(unscored(&report), 0.0375);
}

#[test]
fn rule_without_its_baseline_or_row_is_missing() {
    use crate::testkit::{cell, facts, run};
    let session = facts("s").requests(&[1_000, 2_000]).build();
    let full = cell("s", "full").control().sent(&[1_000, 2_000]).build();
    let report = run(vec![session], vec![full, cell("s", "x").sent(&[1_000, 500]).build()]);
    let rules = ["tokens_sent@x < baseline", "tokens_sent@gone on d > 1", "tokens_sent@x > 1"];
    let rules = rules.map(|rule| parse(rule).unwrap());
    let settings = GateSettings {
        named: &[],
        max_unscored: MAX_UNSCORED,
        undecided: UndecidedPolicy::default(),
        baseline: None,
    };
    let gate = check(&report, &rules, &settings).unwrap();
    let actual = |at: usize| {
        let [check] = gate.rules[at].checks.as_slice() else { panic!("one row") };
        (check.finding, check.reason.clone())
    };
    assert_eq!(actual(0), (CheckOutcome::Missing, Ground::NoBaseline.to_string()));
    assert_eq!(actual(1), (CheckOutcome::Missing, Ground::NoRow.to_string()));
    assert_eq!(actual(2).0, CheckOutcome::Failed);
    let gone = &gate.rules[1].checks[0];
    assert_eq!((&*gone.dataset, &*gone.strategy, &*gone.window), ("d", "gone", "any"));
    assert_eq!(
        (&*gone.measure, &*gate.rules[1].rule),
        ("tokens_sent", "tokens_sent@gone on d > 1")
    );
}

#[test]
fn cut_rules_count_exam_questions_of_same_strategy() {
    use crate::testkit::{answered, cell, facts, manifest};
    use recap_core::model::{Cut, CutExam, CutOutcome, RowKind, RunResults};
    let examined = |strategy: &str, outcomes: &str| {
        let mut exam = CutExam::of_states(8_000, 4_000, Vec::new());
        exam.questions = (0..).zip(outcomes.chars()).map(|(n, c)| answered(n, c)).collect();
        // The answerer refused the first.
        exam.questions[0].answered.as_mut().unwrap().answer =
            Answer::Nothing("the model refused".to_owned());
        let (outcome, row_kind) = (CutOutcome::Done(Box::new(exam)), RowKind::Ranked);
        CutRow { strategy: strategy.into(), replicate: 0, row_kind, outcome }
    };
    let cut = Cut {
        dataset: "d".into(),
        session: "s".into(),
        request: 1,
        recorded: false,
        requests: 1,
        left: None,
        messages: 2,
        tokens_before: 10_000,
        preamble_tokens: 0,
        facts: Vec::new(),
        rows: vec![examined("x", "RRRU"), examined("y", "UURR")],
    };
    let cells = || ["x", "y"].map(|name| cell("s", name).sent(&[1_000, 500]).build()).to_vec();
    let session = facts("s").requests(&[1_000, 2_000]).build();
    let sessions = RunResults::new(cells(), []);
    let mut report = crate::measure(manifest(&["25%"]), "d".into(), vec![session], sessions);
    report.results = RunResults::new(cells(), [cut]);
    let mut actual = |judge: &str, rule: &str| {
        report.manifest.judge = judge.to_owned();
        let row = report.rows.iter().find(|row| row.strategy == "x").unwrap();
        doubt(&report, row, &parse(rule).unwrap().rule, 0.2)
    };
    let ungraded = |share| Some(Ground::Ungraded { share, most: 0.2 });
    assert_eq!(actual("openai/j", "continuity_at_cut < 80"), ungraded(0.5));
    assert_eq!(actual("openai/j", "continuity < 80"), None, "no question was asked without a cut");
    // The offline judge cannot grade every kind, but an answer has to be there.
    assert_eq!(actual(OFFLINE, "continuity_at_cut < 80"), ungraded(0.25));
}

#[test]
fn unfitting_baseline_is_refused_before_and_after_run() {
    use crate::testkit::{cell, facts, run};
    let of = |id: &str| {
        let full = cell(id, "full").control().sent(&[1_000, 2_000]).build();
        let x = cell(id, "x").sent(&[1_000, 500]).build();
        run(vec![facts(id).requests(&[1_000, 2_000]).build()], vec![full, x])
    };
    let (report, other) = (of("s"), Baseline::of("other".into(), &of("t")));
    let same = Baseline::of("same".into(), &report);
    let checked = |rule: &str, baseline: &Baseline| {
        let settings = GateSettings {
            named: &[],
            max_unscored: MAX_UNSCORED,
            undecided: UndecidedPolicy::default(),
            baseline: Some(baseline),
        };
        check(&report, &[parse(rule).unwrap()], &settings)
    };
    let before = |rule: &str, baseline: &Baseline| {
        let mut manifest = report.manifest.clone();
        manifest.named = vec!["y".into()];
        comparable(baseline, &manifest, &[("d", "s")], &[parse(rule).unwrap()])
    };
    let rule = "tokens_sent@x > baseline";
    let sessions = [
        "only the baseline has the session `t` of `d`",
        "only this run has the session `s` of `d`",
    ];
    assert_eq!(checked(rule, &other).unwrap_err(), sessions);
    assert_eq!(before(rule, &other).unwrap_err(), sessions);
    let gate = checked(rule, &same).unwrap();
    assert_eq!(gate.baseline.as_deref(), Some("same"));
    assert_eq!(gate.rules[0].checks[0].finding, CheckOutcome::Passed);
    assert_eq!(before(rule, &same), Ok(()));
    assert_eq!(before("tokens_sent@gone > 1", &same), Ok(()), "it needs no baseline");
    for (rule, row) in [
        ("tokens_sent > baseline", "`y` at `25%`"),
        ("tokens_sent@x at 50% > baseline", "`x` at `50%`"),
        ("tokens_sent@y on d > baseline", "`y` at `25%` on `d`"),
    ] {
        assert_eq!(before(rule, &same).unwrap_err(), [format!("it has no row of {row}")]);
    }
}

#[test]
fn interrupted_run_passes_or_fails_no_rule() {
    use crate::testkit::{cell, facts, run};
    let full = cell("s", "full").control().sent(&[1_000, 2_000]).build();
    let x = cell("s", "x").sent(&[1_000, 500]).build();
    let mut report = run(vec![facts("s").requests(&[1_000, 2_000]).build()], vec![full, x]);
    let missing =
        Missing { cells: 1, planned_cells: 3, cuts: 0, planned_cuts: 0, named: Vec::new() };
    report.missing = Some(missing.clone());
    let settings = GateSettings {
        named: &[],
        max_unscored: MAX_UNSCORED,
        undecided: UndecidedPolicy::Pass,
        baseline: None,
    };
    let rules = ["tokens_sent@x > 1", "tokens_sent@x < 1"].map(|rule| parse(rule).unwrap());
    let gate = check(&report, &rules, &settings).unwrap();
    assert_eq!((gate.rules.len(), gate.undecided), (2, UndecidedPolicy::Pass));
    for check in gate.rules.iter().flat_map(|rule| &rule.checks) {
        assert_eq!(check.finding, CheckOutcome::Missing);
        assert_eq!(check.reason, Ground::Interrupted(missing.clone()).to_string());
    }
}

#[test]
fn failed_cell_leaves_its_row_without_verdict() {
    use crate::testkit::{cell, facts, run};
    let full = cell("s", "full").control().sent(&[1_000, 2_000]).build();
    let report = run(
        vec![facts("s").requests(&[1_000, 2_000]).build()],
        vec![full, cell("s", "x").failed("out of memory")],
    );
    let row = report.rows.iter().find(|row| row.strategy == "x").unwrap();
    let ground = doubt(&report, row, &parse("tokens_sent < 5").unwrap().rule, MAX_UNSCORED);
    let Some(Ground::Failed { cells: 1, first }) = ground else { panic!("one cell failed") };
    assert!(first.contains("out of memory"), "{first}");
}

#[test]
fn losses_and_answers_are_quality_but_sizes_not() {
    let known = |id: &str| find_measure(id).ok().unwrap();
    for (id, quality, of_answers) in [
        ("recall", true, true),
        ("reference_recall", true, false),
        ("cost_usd_refetch", true, false),
        ("cost_usd", false, false),
        ("tokens_sent", false, false),
        ("sessions", false, false),
    ] {
        assert_eq!(known(id).is_quality(), quality, "{id}");
        assert_eq!(known(id).rests_on_questions(), of_answers, "{id}");
    }
    let help = parse("cost_usd[fact] < 1").unwrap_err().help;
    assert_eq!(help, "only `continuity` is");
}
