//! The panel of a run that asks questions.

use super::*;
use crate::model::{Judgement, NoGrade, ProbeKind};
use crate::report::html::probed_tests::{probed, rows, seated};
use crate::report::html::tests::page;
use crate::report::testkit::panel;

fn found_problem(report: &mut Report, problem: Problem) {
    report.findings.push(Finding::Problem(problem));
}

/// The state and the findings of a line of the panel.
fn check(report: &Report, name: &str) -> (&'static str, Vec<String>) {
    let all = checks(report);
    let check = all.into_iter().find(|check| check.name == name).expect(name);
    (check.word(), check.found)
}

#[test]
fn the_panel_flags_a_reader_that_differs_from_itself() {
    let name = "right where all the evidence is there";
    let mut report = probed();
    let (state, found) = check(&report, name);
    assert_eq!(state, "✓ fine", "0.04 apart");
    assert_eq!(found[0], "prune 0.70 against 0.74, at window 25 %");
    let row = &mut report.rows[3];
    row.values.insert("recall_verbatim".to_owned(), Value::Known(0.8));
    let place = Place { strategy: row.strategy.clone(), window: row.window.clone() };
    found_problem(&mut report, Problem::SizeMatters { rows: vec![(place, 0.8, 0.74)] });
    let (state, found) = check(&report, name);
    assert_eq!(state, "! look");
    assert_eq!(found[0], "! sliding-window 0.80 against 0.74, at window 25 %");
    assert!(!found[1].starts_with('!'));
}

#[test]
fn the_panel_says_what_can_be_guessed_and_where_that_leaves_too_little() {
    let name = "what can be guessed";
    let mut report = probed();
    let (state, found) = check(&report, name);
    assert_eq!(state, "✓ fine");
    assert_eq!(found, ["recall 0.05 against 0.85 with the whole conversation, at window 25 %"]);
    report.rows[1].values.insert("recall".to_owned(), Value::Known(0.66));
    let window = "25%".to_owned();
    found_problem(&mut report, Problem::NarrowScale { window, floor: 0.66, ceiling: 0.85 });
    assert_eq!(check(&report, name).0, "! look");
}

#[test]
fn the_panel_counts_what_has_no_grade_with_its_reasons() {
    let name = "answers without a grade";
    let mut report = probed();
    assert_eq!(check(&report, name), ("✓ fine", vec!["0 %: 0 of 18 answers".to_owned()]));
    let cell = report.sessions.cells_mut().find(|c| c.key.strategy == "prune").unwrap();
    let judgement = &mut rows(cell).unwrap().probes[0].judgement;
    *judgement = Judgement {
        verdict: Verdict::Unscored(NoGrade::Kind(ProbeKind::Tone)),
        score: None,
        rationale: String::new(),
        votes: Vec::new(),
    };
    let (state, found) = check(&report, name);
    assert_eq!(state, "! look");
    assert_eq!(found, ["6 %: 1 of 18 answers", "1× a model has to judge the kind tone"]);
}

#[test]
fn leaks_are_absent_for_the_reason_that_holds() {
    let found = |report: &Report| check(report, "leaked questions").1.concat();
    assert_eq!(found(&probed()), "takes a model as answerer");
    assert!(found(&seated("openai/a", "offline")).contains("three answers to each question"));
}

#[test]
fn a_judge_that_is_a_model_is_to_be_looked_at() {
    let state = |judge| check(&seated("openai/a", judge), "who answers and who grades").0;
    assert_eq!(state("offline"), "= scale");
    assert_eq!(state("openai/j"), "! look");
}

#[test]
fn a_panel_is_checked_and_a_single_judge_is_not() {
    let name = "whether the judges agree";
    let mut report = seated("openai/a", "openai/a + offline + openai/c");
    assert!(checks(&report).iter().all(|check| check.name != name));
    report.panel = Some(panel());
    report.panel.as_mut().unwrap().kappa = Some(0.7);
    assert_eq!(check(&report, name).0, "✓ fine");
    report.panel = Some(panel());
    let judges = vec!["openai/a".to_owned(), "offline".to_owned()];
    found_problem(&mut report, Problem::JudgesDisagree { judges, kappa: 0.48, answers: 12 });
    let (state, found) = check(&report, name);
    assert_eq!((state, found[0].as_str()), ("! look", "kappa 0.48"));
    assert!(found[1].contains("agree on 9 of the 12 answers"), "{found:?}");
    assert!(found[2].contains("openai/c decided 2; 1 answer is left open"), "{found:?}");
}

#[test]
fn the_panel_doubts_an_exam_of_what_was_done_without() {
    let name = "needed, and done without";
    let mut report = probed();
    for row in &mut report.rows {
        row.values.insert("did_without".to_owned(), Value::Known(0.09));
    }
    assert_eq!(check(&report, name), ("✓ fine", vec!["9 %".to_owned()]));
    found_problem(&mut report, Problem::ExamInDoubt { share: 0.09 });
    assert_eq!(check(&report, name).0, "! look", "the finding decides");
}

#[test]
fn the_panel_names_who_keeps_no_more_than_a_list_of_names() {
    let name = "what a bare list of names keeps";
    let mut report = probed();
    assert_eq!(check(&report, name), ("– absent", vec!["id-list was not run".to_owned()]));
    let mut list = report.rows[1].clone();
    list.strategy = "id-list".to_owned();
    list.values.insert("reference_recall".to_owned(), Value::Known(0.3));
    report.rows.push(list);
    let found = "0.30 at window 25 %; no more is kept by sliding-window".to_owned();
    assert_eq!(check(&report, name), ("= scale", vec![found]));
}

#[test]
fn where_a_model_sat_nothing_is_said_to_be_offline() {
    for (answerer, judge, words) in [
        ("openai/a", "openai/j", "a model answers and a model grades"),
        ("openai/a", "offline", "words and dates are compared to grade it"),
        ("offline", "openai/j", "a reader without a model copies"),
    ] {
        let report = seated(answerer, judge);
        let page = page(&report, None);
        assert!(page.contains(words), "{words}");
        assert!(!page.contains("offline models"), "{answerer}, {judge}");
        assert!(!page.contains("The offline seats give the same answer"), "{answerer}, {judge}");
        let seats = format!("compactor offline, answerer {answerer}, judge {judge}");
        assert!(page.contains(&seats), "{seats}");
        assert_eq!(check(&report, "the same twice (A/A)").0, "– absent", "asked once");
    }
    assert!(page(&probed(), None).contains("offline models"));
    assert_eq!(check(&probed(), "the same twice (A/A)").0, "✓ fine");
}
