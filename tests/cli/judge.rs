//! `recap judge calibrate`: a judge measured on labelled and planted answers.

use crate::desk::Desk;

/// Eight questions, each with a right answer of one model and a wrong one of
/// another.
fn cases() -> String {
    let case = |n: usize, answered_by: &str, answer: usize| {
        let (value, label) = (1_000 + n, answer == n);
        format!(
            r#"{{"id":"{n}-{answered_by}","question":"Which port does service {n} use?","expect":{{"any_of":["{value}"]}},"answer":"=It is {}.","label":{label},"answered_by":"{answered_by}"}}"#,
            1_000 + answer,
        ) + "\n"
    };
    (1..=8).map(|n| case(n, "good", n) + &case(n, "bad", n + 1)).collect()
}

#[test]
fn a_judge_that_agrees_is_said_to_be_so_by_group_and_kind() {
    let desk = Desk::new();
    desk.file("cases.jsonl", cases());
    let ran = desk.good(&["judge", "calibrate", "cases.jsonl", "--out", "out"]);
    for part in ["cases.jsonl · 8 questions", "good", "bad", "right-in-sentence", "injected"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert_eq!(ran.err, "");
    assert_eq!(desk.list("out"), ["calibration.csv", "verdicts.csv"]);
    let rows = desk.csv("out/calibration.csv");
    let row = |part: &str, name: &str| {
        rows.iter().find(|row| row["part"] == part && row["name"] == name).unwrap()
    };
    assert_eq!(row("labelled", "")["kappa"], "1");
    assert_eq!(row("labelled", "")["graded"], "16");
    assert_eq!((&*row("group", "bad")["graded"], &*row("group", "bad")["agreement"]), ("8", "1"));
    for kind in ["wrong", "vague", "negated", "refused", "abstained", "empty", "injected"] {
        assert_eq!(row("kind", kind)["false_accepts"], "0", "{kind}");
    }
    assert_eq!(row("kind", "right")["false_rejects"], "0");
}

#[test]
fn every_answer_stands_in_the_verdicts_and_formulas_are_defused() {
    let desk = Desk::new();
    desk.file("cases.jsonl", cases());
    desk.good(&["judge", "calibrate", "cases.jsonl", "--planted", "0", "--out", "out"]);
    let rows = desk.csv("out/verdicts.csv");
    assert_eq!(rows.len(), 16);
    let first = &rows[0];
    for (column, value) in [
        ("file", "cases.jsonl"),
        ("line", "1"),
        ("group", "good"),
        ("expected", "1001"),
        ("answer", "'=It is 1001."),
        ("label", "correct"),
        ("verdict", "correct"),
        ("outcome", "agrees"),
    ] {
        assert_eq!(first[column], value, "{column}");
    }
    assert!(!first["rationale"].is_empty());
}

#[test]
fn without_a_file_answers_are_planted_for_the_quickstart() {
    let ran = Desk::new().good(&["judge", "calibrate", "--planted", "400", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["file"] == "quickstart"));
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    for kind in ["wrong", "vague", "refused", "abstained", "empty", "injected"] {
        let row = row(kind);
        assert!(row["graded"].as_u64().unwrap() > 200, "{row}");
        assert!(row["false_accept_share"].as_f64().unwrap() < 0.02, "{row}");
    }
    for kind in ["right", "right-in-sentence"] {
        assert!(row(kind)["false_reject_share"].as_f64().unwrap() < 0.02, "{}", row(kind));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_another_sample() {
    let desk = Desk::new();
    desk.file("cases.jsonl", cases());
    let run = |seed: &str, out: &str, concurrency: &str| {
        let more = ["--seed", seed, "--out", out, "--concurrency", concurrency];
        let ran = desk
            .good(&[&["judge", "calibrate", "cases.jsonl", "--sample", "6"], &more[..]].concat());
        (ran.out, desk.read(&format!("{out}/verdicts.csv")))
    };
    let (table, verdicts) = run("1", "a", "64");
    assert_eq!((table, verdicts.clone()), run("1", "b", "1"));
    assert_ne!(verdicts, run("2", "c", "64").1);
    let rows = desk.csv("a/verdicts.csv");
    let labelled = |group: &str| rows.iter().filter(|row| row["group"] == group).count();
    assert_eq!((labelled("good"), labelled("bad")), (3, 3));
}

#[test]
fn every_violation_is_named_with_file_and_line() {
    let desk = Desk::new();
    desk.file("a.jsonl", cases() + "{\"id\":\"x\"}\n{\n" + cases().lines().next().unwrap());
    desk.file("b.json", "[{\"golden_answer\": 1}]");
    let error = desk.refused(&["judge", "calibrate", "a.jsonl", "b.json"]);
    for place in ["a.jsonl:17: ", "a.jsonl:18: ", "a.jsonl:19: ", "b.json:1: "] {
        assert!(error.contains(place), "{place}: {error}");
    }
}

#[test]
fn files_that_are_none_and_judges_that_are_none_are_refused() {
    let desk = Desk::new();
    desk.file("session.jsonl", "{\"type\":\"user\"}\n").file("empty.jsonl", "");
    desk.file("good.jsonl", cases());
    desk.file("human.tsv", "Question\tModel answer\tAcceptable?\tannotator1\nq\ta\tYes\t\n");
    for (arguments, said) in [
        (&["session.jsonl"][..], "no known format of labelled answers"),
        (&["empty.jsonl"], "empty"),
        (&["absent.jsonl"], "absent.jsonl"),
        (&["good.jsonl", "good.jsonl"], "`good.jsonl` is given twice"),
        (&["human.tsv"], "BEM.tsv"),
        (&["--judge", "no-such/model"], "`no-such/model`"),
    ] {
        let error = desk.refused(&[&["judge", "calibrate"], arguments].concat());
        assert!(error.contains(said), "{said}: {error}");
    }
    let nothing = desk.recap(&["judge", "calibrate", "--planted", "0"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (4, ""), "{}", nothing.err);
}

#[test]
fn an_out_that_cannot_be_written_is_refused() {
    let desk = Desk::new();
    desk.file("taken", "");
    let error = desk.refused(&["judge", "calibrate", "--planted", "1", "--out", "taken"]);
    assert!(error.contains("taken"), "{error}");
}
