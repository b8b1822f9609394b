use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use recap_core::model::{Expectation, Label, QuestionKind};

/// A folder with one file.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[track_caller]
fn good(bytes: impl AsRef<[u8]>) -> Labels {
    let (_folder, path) = file("cases", bytes);
    load_labels(&path).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Line and text of every error.
#[track_caller]
fn bad(bytes: impl AsRef<[u8]>) -> Vec<(Option<u64>, String)> {
    let (_folder, path) = file("cases", bytes);
    let errors = load_labels(&path).unwrap_err();
    errors.iter().map(|e| (e.line, e.problem.to_string())).collect()
}

fn any_of(values: &[&str]) -> Expectation {
    Expectation::AnyOf(values.iter().map(|v| (*v).to_owned()).collect())
}

const CASE: &str =
    r#"{"id":"1","question":"Which port?","expect":{"any_of":["80"]},"answer":"80","label":true}"#;

#[test]
fn native_case_keeps_everything_its_line_states() {
    let line = r#"{"id":"a","question":"Which port now?","kind":"update","expect":{"any_of":["81"]},"stale":["80"],"answer":"80","label":"stale","answered_by":"m"}"#;
    let labels = good(format!("\u{feff}{line}\n\n{CASE}\n"));
    let [first, second] = &labels.cases[..] else { panic!("{labels:?}") };
    assert_eq!((first.id.as_str(), first.line), ("a", 1));
    assert_eq!((first.asked.kind, &first.asked.expect), (QuestionKind::Update, &any_of(&["81"])));
    assert_eq!((first.asked.stale.as_slice(), first.label), (&["80".to_owned()][..], Label::Stale));
    assert_eq!(first.group.as_deref(), Some("m"));
    assert_eq!((second.line, second.label), (3, Label::Correct));
    assert_eq!((second.asked.kind, &second.group), (QuestionKind::Fact, &None));
}

#[test]
fn labels_are_flags_words_or_rubric_scores() {
    let case = |expect: &str, label: &str| {
        format!(r#"{{"id":"1","question":"q","expect":{expect},"answer":"a","label":{label}}}"#)
    };
    let value = r#"{"any_of":["v"]}"#;
    for (expect, label, expected) in [
        (value, "false", Label::Incorrect),
        (value, "\"correct\"", Label::Correct),
        (r#"{"unanswerable":true}"#, "\"abstained\"", Label::Abstained),
        (r#"{"rubric":["n"]}"#, "0.25", Label::Score(0.25)),
    ] {
        assert_eq!(good(case(expect, label)).cases[0].label, expected);
    }
    for (expect, label) in [
        (value, "0.5"),
        (value, "\"right\""),
        (value, "null"),
        (r#"{"rubric":["n"]}"#, "1.5"),
        (r#"{"rubric":["n"]}"#, "-1"),
    ] {
        let errors = bad(case(expect, label));
        assert!(errors.len() == 1 && errors[0].1.contains("`label`"), "{label}: {errors:?}");
    }
}

#[test]
fn every_violation_is_found_with_its_line() {
    let lines = [
        CASE,
        CASE,
        "{\"id\":",
        r#"{"id":"2","question":" ","expect":{"any_of":[]},"answer":"","label":true}"#,
        r#"{"id":"3","question":"q","expect":{"any_of":["v"]},"answer":"","label":true,"more":1}"#,
        r#"{"id":"4","question":"q","kind":"abstain","expect":{"any_of":["v"]},"stale":["V"],"answer":"","label":true}"#,
        r#"{"id":"5","question":"q","expect":{"unanswerable":false},"answer":"","label":true}"#,
    ];
    let found: Vec<Option<u64>> = bad(lines.join("\n")).into_iter().map(|(line, _)| line).collect();
    assert_eq!(found, [2, 3, 4, 4, 5, 6, 6, 7].map(Some));
}

#[test]
fn answers_to_one_question_share_it() {
    let labels = good([CASE, &CASE.replace("\"1\"", "\"2\"")].join("\n"));
    assert!(Arc::ptr_eq(&labels.cases[0].asked, &labels.cases[1].asked));
}

#[test]
fn evouna_yields_case_per_verdict_and_counts_rest() {
    let labels = good(
        r#"[
 {"question": "q1", "golden_answer": "a / b/", "answer_x": "a", "judge_x": true,
  "answer_new-model": "c", "judge_new-model": false, "answer_y": "d", "judge_y": NaN,
  "answer_z": "d", "judge_z": "nan", "improper": false},
 {"question": "q2", "golden_answer": "", "answer_x": "a", "judge_x": true, "improper": true},
 {"question": "q3", "golden_answer": "NaN", "answer_x": null, "judge_x": false}
]"#,
    );
    let ids: Vec<&str> = labels.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, ["1/x", "1/new-model", "3/x"]);
    assert_eq!(labels.cases[0].asked.expect, any_of(&["a", "b"]));
    assert_eq!(labels.cases[1].group.as_deref(), Some("new-model"));
    assert_eq!((labels.cases[2].line, labels.cases[2].answer.as_str()), (6, ""));
    assert_eq!(labels.cases[2].asked.expect, any_of(&["NaN"]));
    let left: Vec<(&str, u64)> = labels.left_out.iter().map(|(k, v)| (k.as_str(), *v)).collect();
    assert_eq!(left, [("answer to an improper question", 1), ("answer without a verdict", 2)]);
}

#[test]
fn every_evouna_violation_is_reported_with_its_line() {
    let errors = bad(
        "[{\"golden_answer\": 1},\n{\"question\": \"q\", \"golden_answer\": \"/\"},\n{broken},\n\
         {\"question\": \"q\", \"golden_answer\": \"a\", \"judge_x\": 2, \"judge_y\": true}\n] x",
    );
    let lines: Vec<Option<u64>> = errors.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 1, 2, 3, 4, 4, 5].map(Some), "{errors:?}");
}

const HUMAN: &str = "id\tQuestion\tModel answer\tAcceptable?\tannotator1\n\
    1\twho\tx\tYes\tYes\n2\twho\t\"a\ty\"\tNo\t\n3\twho\tz\t\t\n4\twhy\tz\tno\tno\n";

#[test]
fn openqa_takes_gold_answers_from_adjacent_table() {
    let (folder, path) = file("set_human.tsv", HUMAN);
    let gold =
        "Question\tGold answers\tModel answer\nwho\t\"\"\"x\"\" | w\"\tx\nwho\tw\t\"a\ty\"\n";
    std::fs::write(folder.path().join("set_BEM.tsv"), gold).unwrap();
    let labels = load_labels(&path).unwrap();
    let [first, second] = &labels.cases[..] else { panic!("{labels:?}") };
    assert_eq!((first.label, first.line), (Label::Correct, 2));
    assert_eq!(first.asked.expect, any_of(&["x", "w"]));
    assert_eq!((second.answer.as_str(), second.label), ("a\ty", Label::Incorrect));
    let left: Vec<u64> = labels.left_out.values().copied().collect();
    assert_eq!(left, [1, 1], "{:?}", labels.left_out);
}

#[test]
fn missing_gold_answers_name_the_needed_file() {
    let (_folder, path) = file("set_human.tsv", HUMAN);
    let errors = load_labels(&path).unwrap_err();
    assert!(errors[0].to_string().contains("set_BEM.tsv"), "{}", errors[0]);
    assert!(errors[0].help().contains("Gold answers"));
}

#[test]
fn table_of_program_verdicts_is_refused_as_labels() {
    let errors = bad("id\tQuestion\tModel answer\tAcceptable?\tgpt-4\n1\tq\ta\tYes\tYes\n");
    assert!(errors[0].1.contains("a program's, not people's"), "{errors:?}");
}

#[test]
fn malformed_rows_and_verdicts_are_named_by_line() {
    let (folder, path) = file("set_human.tsv", format!("{HUMAN}5\twho\n6\twho\tx\tmaybe\t\n"));
    let gold = "Question\tGold answers\tModel answer\nwho\tw\tx\n";
    std::fs::write(folder.path().join("set_BEM.tsv"), gold).unwrap();
    let errors = load_labels(&path).unwrap_err();
    let lines: Vec<Option<u64>> = errors.iter().map(|e| e.line).collect();
    assert_eq!(lines, [Some(6), Some(7)], "{errors:?}");
}

#[test]
fn unknown_label_file_is_refused_naming_known_formats() {
    for bytes in ["x", "42", "{}", "[]", "[1]", "null", "{\"id\":\"s\",\"messages\":[]}", "a\tb\n"]
    {
        let errors = bad(bytes);
        assert!(errors[0].1.contains("native, EVOUNA, OpenQA-eval"), "{bytes}: {errors:?}");
    }
    for bytes in ["", " \n\n", "\u{feff}"] {
        assert!(bad(bytes)[0].1.contains("empty"), "{bytes}");
    }
    let missing = load_labels(Path::new("absent.jsonl")).unwrap_err();
    assert!(missing[0].to_string().contains("absent.jsonl"));
}

#[test]
fn binary_and_truncated_files_fail_without_panic() {
    let samples = [CASE.to_owned(), "[{\"golden_answer\":\"a\",\"question\":\"é\"}]".to_owned()];
    for sample in samples.iter().map(String::as_bytes).chain([HUMAN.as_bytes()]) {
        for end in 0..sample.len() {
            let (_folder, path) = file("cases", &sample[..end]);
            assert!(load_labels(&path).is_err(), "{}", String::from_utf8_lossy(&sample[..end]));
            let mut changed = sample.to_vec();
            changed[end] = 0xff;
            std::fs::write(&path, changed).unwrap();
            assert!(load_labels(&path).is_err());
        }
    }
}
