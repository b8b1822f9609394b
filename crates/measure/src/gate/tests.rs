use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::figures::spec::Basis;
use crate::testkit::{answered, asking, cell, cut, examined, facts, manifest, run};
use crate::{MEASURES, is_at_cuts};
use recap_core::model::{CutExam, Manifest, Missing, Provenance, RunResults, SessionFacts};

proptest! {
    #[test]
    fn text_is_parsed_or_refused_with_help(text in "\\PC{0,40}|[a-z@ <>=\"'0-9.%*+-]{0,40}") {
        if let Err(error) = parse(&text) {
            prop_assert!(!error.problem.is_empty() && !error.help.is_empty());
        }
    }
}

/// What a run of `fifo` and `prune`, of which the first was named, makes of a rule.
fn read(text: &str, named: bool, baseline: bool) -> String {
    let strategies =
        ["fifo", "prune"].map(|name| Provenance { name: name.into(), hash: "".into() });
    let manifest = Manifest {
        strategies: strategies.into(),
        named: if named { vec!["fifo".into()] } else { Vec::new() },
        agent: Some("claude-code".into()),
        compact_at: vec![130_000],
        ..manifest(&["16k"])
    };
    let fitting = parse(text).and_then(|rule| {
        fits(&rule, &manifest, &["mine".to_owned()], baseline)?;
        Ok(rule)
    });
    match fitting {
        Ok(Rule { measure, strategy, dataset, window, operator, limit, .. }) => {
            let place = [strategy, dataset, window].map(|part| part.unwrap_or("*".to_owned()));
            format!("{} {} {} {limit:?}", measure.id, place.join(" "), operator.as_str())
        }
        Err(error) => {
            assert_eq!(error.to_string(), format!("rule `{text}`: {}", error.problem));
            format!("{}\n    {}", error.problem, error.help)
        }
    }
}

/// `rules.txt` has rules of a run with a named strategy, without one, and with a baseline.
#[test]
fn rules() {
    let sections = include_str!("rules.txt").split("\n\n");
    let mut found = String::new();
    for (section, (named, baseline)) in sections.zip([(true, false), (false, false), (true, true)])
    {
        for text in section.lines().map(|line| line.trim_matches('|')) {
            writeln!(found, "`{text}`\n    {}", read(text, named, baseline)).unwrap();
        }
    }
    let endless = parse(&format!("recall < {}", "9".repeat(400))).unwrap_err();
    assert!(endless.problem.ends_with("is no number"));
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("rules", found);
    });
}

/// Whether the measure of a rule rests on the bill, on cuts, on answers, and on the summaries.
#[test]
fn a_measure_tells_what_it_rests_on() {
    for (id, expected) in [
        ("recall", "answers quality"),
        ("reference_recall", "quality"),
        ("cost_usd_refetch", "bill quality"),
        ("cost_usd", "bill"),
        ("tokens_sent", ""),
        ("sessions", ""),
        ("continuity_at_cut", "cuts answers quality"),
        ("facts_kept", "cuts quality"),
        ("carried_share", "cuts quality"),
        ("added_at_cut", "cuts quality"),
        ("tokens_at_cut", "cuts"),
        ("exposed_share", "cuts"),
        ("cuts", "cuts"),
    ] {
        let rule = parse(&format!("{id} > 0")).unwrap();
        let of = [
            (rule.is_billed(), "bill"),
            (rule.is_at_cuts(), "cuts"),
            (rule.rests_on_questions(), "answers"),
            (rule.is_of_quality(), "quality"),
        ];
        let words: Vec<&str> = of.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        assert_eq!(words.join(" "), expected, "{id}");
    }
    for spec in MEASURES.iter() {
        assert_eq!(matches!(spec.basis, Basis::Cuts), is_at_cuts(spec.id()), "{}", spec.id());
    }
}

/// How-it-works §41: a row with more than this share of ungraded questions has no
/// verdict; with exactly this share it has one.
#[test]
fn one_ungraded_question_of_twenty_is_the_maximum() {
    let doubted = |ungraded: usize| {
        let outcomes = "R".repeat(20 - ungraded) + &"U".repeat(ungraded);
        let full = cell("s", "full").control().sent(&[1_000, 2_000]).snapshot(1, 0);
        let x = cell("s", "x").sent(&[1_000, 500]).snapshot(1, 1).answers(&outcomes);
        let cells = vec![full.answers(&"R".repeat(20)).build(), x.build()];
        let mut made = manifest(&["25%"]);
        made.judge = "openai/j".into();
        let sessions = RunResults::new(cells, []);
        let report = crate::measure(made, "d".into(), vec![asking("s", 20)], sessions);
        // Both strategies were asked twenty times.
        assert!((unscored(&report) - ungraded as f64 / 40.0).abs() < 1e-12);
        let row = report.rows.iter().find(|row| row.strategy == "x").unwrap();
        doubt(&report, row, &parse("recall < 0.5").unwrap(), MAX_UNSCORED)
    };
    assert_eq!(doubted(0), None);
    assert_eq!(doubted(1), None);
    let ungraded = "10 % of its questions were not answered or not graded, more than 5 %";
    assert_eq!(doubted(2).as_deref(), Some(ungraded));
}

/// A run of `x` at two windows over a session of `d` and one of `e`, whose
/// `ungraded` of twenty questions were not graded at 25 %.
fn two_sets(ungraded: usize) -> recap_core::model::Report {
    let session = |set: &str, id| SessionFacts { dataset: set.into(), ..asking(id, 20) };
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
    let mut report = two_sets(0);
    let mut rows = |rule: &str, named: &[String]| {
        report.manifest.named = named.to_vec();
        let rows = rows_of(&report, &parse(rule).unwrap());
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
        let doubt = doubt(&report, row, &parse(rule).unwrap(), 0.01);
        doubt.map_or(0, |doubt| doubt.split_once(' ').unwrap().0.parse().unwrap())
    };
    assert_eq!(share("d", "x", "25%", "recall < 1"), 0);
    assert_eq!(share("e", "x", "25%", "recall < 1"), 30);
    assert_eq!(share(ALL, "x", "25%", "recall < 1"), 15);
    assert_eq!(share("e", "x", "50%", "recall < 1"), 0);
    assert_eq!(share("e", "full", "25%", "recall < 1"), 0);
    assert_eq!(share("e", "x", "25%", "tokens_sent < 1"), 0, "no question decides it");
    // Six of 160 questions: two strategies, windows and sessions, of twenty each.
    assert_eq!(unscored(&report), 0.0375);
}

#[test]
fn rule_without_its_baseline_or_row_is_missing() {
    let session = facts("s").requests(&[1_000, 2_000]).build();
    let full = cell("s", "full").control().sent(&[1_000, 2_000]).build();
    let report = run(vec![session], vec![full, cell("s", "x").sent(&[1_000, 500]).build()]);
    let rules = ["tokens_sent@x < baseline", "tokens_sent@gone on d > 1", "tokens_sent@x > 1"];
    let rules = rules.map(|rule| parse(rule).unwrap());
    let settings = GateSettings {
        max_unscored: MAX_UNSCORED,
        undecided: UndecidedPolicy::default(),
        baseline: None,
    };
    let gate = check(&report, &rules, &settings).unwrap();
    let actual = |at: usize| {
        let [check] = gate.rules[at].checks.as_slice() else { panic!("one row") };
        (check.finding, check.reason.clone())
    };
    assert_eq!(actual(0), (CheckOutcome::Missing, "there is no baseline".to_owned()));
    assert_eq!(actual(1), (CheckOutcome::Missing, "the run has no such row".to_owned()));
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
    let with = |strategy: &str, outcomes: &str| {
        let mut exam = CutExam::of_states(8_000, 4_000, Vec::new());
        exam.questions = (0..).zip(outcomes.chars()).map(|(n, c)| answered(n, c)).collect();
        // The answerer refused the first.
        exam.questions[0].answered.as_mut().unwrap().answer =
            Answer::Nothing("the model refused".to_owned());
        examined(strategy, exam)
    };
    let cut = cut("s", Vec::new(), vec![with("x", "RRRU"), with("y", "UURR")]);
    let cells = || ["x", "y"].map(|name| cell("s", name).sent(&[1_000, 500]).build()).to_vec();
    let session = facts("s").requests(&[1_000, 2_000]).build();
    let sessions = RunResults::new(cells(), []);
    let mut report = crate::measure(manifest(&["25%"]), "d".into(), vec![session], sessions);
    report.results = RunResults::new(cells(), [cut]);
    // Four of eight at cuts have no answer or grade; no question was asked without a cut.
    report.manifest.judge = "openai/j".to_owned();
    assert_eq!(unscored(&report), 0.5);
    let mut actual = |judge: &str, rule: &str| {
        report.manifest.judge = judge.to_owned();
        let row = report.rows.iter().find(|row| row.strategy == "x").unwrap();
        doubt(&report, row, &parse(rule).unwrap(), 0.2)
    };
    let ungraded = |share: u32| {
        let of = "% of its questions were not answered or not graded, more than 20 %";
        Some(format!("{share} {of}"))
    };
    assert_eq!(actual("openai/j", "continuity_at_cut < 80"), ungraded(50));
    assert_eq!(actual("openai/j", "continuity < 80"), None, "no question was asked without a cut");
    // The offline judge cannot grade every kind, but an answer has to be there.
    assert_eq!(actual(OFFLINE, "continuity_at_cut < 80"), ungraded(25));
}

#[test]
fn interrupted_run_passes_or_fails_no_rule() {
    let full = cell("s", "full").control().sent(&[1_000, 2_000]).build();
    let x = cell("s", "x").sent(&[1_000, 500]).build();
    let mut report = run(vec![facts("s").requests(&[1_000, 2_000]).build()], vec![full, x]);
    let missing =
        Missing { cells: 1, planned_cells: 3, cuts: 0, planned_cuts: 0, named: Vec::new() };
    report.missing = Some(missing.clone());
    let settings = GateSettings {
        max_unscored: MAX_UNSCORED,
        undecided: UndecidedPolicy::Pass,
        baseline: None,
    };
    let rules = ["tokens_sent@x > 1", "tokens_sent@x < 1"].map(|rule| parse(rule).unwrap());
    let gate = check(&report, &rules, &settings).unwrap();
    assert_eq!((gate.rules.len(), gate.undecided), (2, UndecidedPolicy::Pass));
    for check in gate.rules.iter().flat_map(|rule| &rule.checks) {
        assert_eq!(check.finding, CheckOutcome::Missing);
        assert_eq!(check.reason, missing.to_string());
    }
}

#[test]
fn failed_cell_leaves_its_row_without_verdict() {
    let full = cell("s", "full").control().sent(&[1_000, 2_000]).build();
    let report = run(
        vec![facts("s").requests(&[1_000, 2_000]).build()],
        vec![full, cell("s", "x").failed("out of memory")],
    );
    let row = report.rows.iter().find(|row| row.strategy == "x").unwrap();
    let ground = doubt(&report, row, &parse("tokens_sent < 5").unwrap(), MAX_UNSCORED);
    assert_eq!(ground.unwrap(), "1 cell of the row failed: s (replicate 0): out of memory");
}
