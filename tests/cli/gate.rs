//! The gate end to end: what is found, and what the program ends with.

use crate::desk::{Desk, Ran, session};

/// A small run with rules.
fn bench(desk: &Desk, more: &[&str]) -> Ran {
    let session = session();
    let common = ["bench", &session, "--quiet", "--out", "run", "--strategy", "fifo"];
    desk.recap(&[&common[..], more].concat())
}

#[test]
fn a_rule_that_holds_nowhere_passes_with_0_and_one_that_holds_fails_with_1() {
    let desk = Desk::new();
    let ran =
        bench(&desk, &["--fail-on", "overflows > 0", "--fail-on", "reference_recall@full < 1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("gate: passed; 2 of 2 checks passed"), "{}", ran.out);
    assert!(ran.last().starts_with("report: "), "{}", ran.out);
    let ran = bench(&desk, &["--fail-on", "overflows > 0", "--fail-on", "reference_recall < 95%"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("gate: failed; 1 of 2 checks passed"), "{}", ran.out);
    let line = ran.out.lines().find(|line| line.starts_with("  failed")).unwrap();
    assert!(line.contains("reference_recall < 95% · fifo · 25% · invoice-export: 0."), "{line}");
    assert!(line.ends_with(" is below 0.95"), "{line}");
}

#[test]
fn what_was_found_is_in_the_run_folder_and_is_shown_again() {
    let desk = Desk::new();
    let ran = bench(&desk, &["--fail-on", "reference_recall < 95%"]);
    let gate = desk.json("run/gate.json");
    assert_eq!(gate["rules"][0]["checks"][0]["finding"], "failed");
    assert_eq!(desk.json("run/summary.json")["gate"], gate);
    let page = desk.read("run/report.html");
    let again = desk.recap(&["report", "run"]);
    assert_eq!((again.code, &again.out), (0, &ran.out), "rendering again is done when rendered");
    assert_eq!(desk.read("run/report.html"), page);
    // Another gate replaces it; a run without one leaves none.
    let other = desk.recap(&["report", "run", "--fail-on", "reference_recall < 0.01"]);
    assert_eq!(other.code, 0, "{other:?}");
    assert_eq!(desk.json("run/gate.json")["rules"][0]["checks"][0]["finding"], "passed");
    assert_eq!(bench(&desk, &[]).code, 0);
    assert!(!desk.path("run/gate.json").exists());
}

#[test]
fn a_figure_that_is_missing_never_passes() {
    let desk = Desk::new();
    // The session has no questions.
    for undecided in [&[][..], &["--undecided", "pass"], &["--undecided", "fail"]] {
        let ran = bench(&desk, &[&["--fail-on", "recall < 0.5"], undecided].concat());
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.out.contains("missing   recall < 0.5"), "{}", ran.out);
    }
    // A failure on a complete row stands beside it.
    let ran = bench(&desk, &["--fail-on", "recall < 0.5", "--fail-on", "overflows < 1"]);
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn a_stand_in_is_gated_by_its_size_and_not_by_its_quality() {
    let desk = Desk::new();
    let rules = ["--strategy", "lis", "--fail-on", "reference_recall@lis < 0.1"];
    let ran = bench(&desk, &rules);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("offline stand-in"), "{}", ran.out);
    let ran = bench(&desk, &["--strategy", "lis", "--fail-on", "tokens_sent@lis > 1000M"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn rules_that_cannot_be_read_or_do_not_fit_the_run_are_refused_before_anything_runs() {
    for (rule, told) in [
        ("", "column 1: a rule begins with a measure"),
        ("recal@fifo < 0.5", "column 1: `recal` is no measure"),
        ("recall[rule] < 0.5", "column 8: `recall` has no kind of probe `rule`"),
        ("overflows[fact] > 0", "column 1: `overflows` is not counted by kind"),
        ("recall@fife < 0.5", "column 8: the run has no preset `fife`"),
        ("recall at 16k < 0.5", "column 11: the run has no window `16k`"),
        ("recall on lis < 0.5", "column 11: the run has no data set `lis`"),
        ("recall = 0.5", "column 8: `=` is not expected here"),
        ("recall < half", "column 10: a number, or `baseline`, is missing"),
        ("recall < 0.5 or so", "column 14: `or so` is not expected here"),
        ("recall < 80", "column 10: `80` is more than the whole"),
        ("continuity < 0.8", "column 14: `0.8` is less than one point"),
        ("cost_usd > 5%", "column 12: `5%`: a percentage of what?"),
        ("recall < baseline - 0.02", "column 10: there is no baseline"),
        ("latency_source < 1", "column 1: `latency_source` is a word"),
    ] {
        let desk = Desk::new();
        let error = desk.refused(&["bench", &session(), "--strategy", "fifo", "--fail-on", rule]);
        assert!(error.contains(told), "{rule}: {error}");
    }
    let error = Desk::new().refused(&["bench", &session(), "--fail-on", "recall < 0.5"]);
    assert!(error.contains("names no preset") && error.contains("`recall@PRESET`"), "{error}");
    let suggested = Desk::new().refused(&["bench", "--fail-on", "reference_recal@fifo < 1"]);
    assert!(suggested.contains("did you mean `reference_recall`"), "{suggested}");
}

#[test]
fn all_names_every_preset_but_the_controls() {
    let desk = Desk::new();
    let ran = desk.recap(&[
        "bench",
        &session(),
        "--quiet",
        "--out",
        "run",
        "--strategy",
        "all",
        "--fail-on",
        "requests < 0",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let gate = desk.json("run/gate.json");
    let checks = gate["rules"][0]["checks"].as_array().unwrap();
    let rows = desk.csv("run/summary.csv");
    let controls = ["full", "empty", "id-list", "recorded", "evidence"];
    let rest = rows.iter().filter(|row| !controls.contains(&row["strategy"].as_str()));
    assert_eq!(checks.len(), rest.filter(|row| row["dataset"] != "ALL").count());
}

#[test]
fn every_number_of_the_summary_can_be_gated() {
    let desk = Desk::new();
    desk.good(&["bench", "--quiet", "--out", "run", "--strategy", "prune"]);
    let summary = desk.json("run/summary.json");
    let row = summary["rows"].as_array().unwrap().iter().find(|row| row["strategy"] == "prune");
    let values = row.unwrap()["values"].as_object().unwrap();
    let rules: Vec<String> = (values.iter())
        .filter(|(_, value)| value.is_number())
        .map(|(id, _)| format!("{id} < -1000000"))
        .collect();
    assert!(rules.len() > 60, "{rules:?}");
    let mut arguments = vec!["report", "run"];
    for rule in rules.iter().filter(|rule| !rule.starts_with("continuity")) {
        arguments.extend(["--fail-on", rule]);
    }
    let ran = desk.recap(&arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn the_comparator_must_run_and_is_never_the_ceiling() {
    let desk = Desk::new();
    let refuse = |more: &[&str]| {
        desk.refused(&[&["bench", &session(), "--strategy", "fifo"], more].concat())
    };
    assert!(refuse(&["--comparator", "full"]).contains("`full` is the ceiling"));
    assert!(refuse(&["--comparator", "prune"]).contains("`prune` does not run"));
    for margin in ["0", "0.5", "x", "-1"] {
        let margin = format!("--margin={margin}");
        let ran = desk.recap(&["bench", &margin]);
        assert_eq!(ran.code, 2, "{ran:?}");
    }
    let ran = bench(&desk, &["--comparator", "fifo", "--margin", "0.1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let manifest = desk.json("run/manifest.json");
    assert_eq!((&manifest["comparator"], &manifest["margin"]), (&"fifo".into(), &0.1.into()));
    desk.good(&["report", "run", "--margin", "0.2"]);
    assert_eq!(desk.json("run/manifest.json")["margin"], 0.2);
}
