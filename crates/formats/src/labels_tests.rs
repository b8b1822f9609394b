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
fn good(bytes: impl AsRef<[u8]>) -> Vec<LabelledCase> {
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
    let [first, second] = &labels[..] else { panic!("{labels:?}") };
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
        assert_eq!(good(case(expect, label))[0].label, expected);
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
    assert!(Arc::ptr_eq(&labels[0].asked, &labels[1].asked));
}

#[test]
fn file_without_labels_is_refused() {
    for bytes in ["", " \n\n"] {
        assert!(bad(bytes)[0].1.contains("empty"), "{bytes}");
    }
    for bytes in [
        "\u{feff}",
        "x",
        "42",
        "{}",
        "[]",
        "[1]",
        "null",
        "{\"id\":\"s\",\"messages\":[]}",
        "a\tb\n",
    ] {
        assert_eq!(bad(bytes).len(), 1, "{bytes}");
    }
    let missing = load_labels(Path::new("absent.jsonl")).unwrap_err();
    assert!(missing[0].to_string().contains("absent.jsonl"));
}

#[test]
fn binary_and_truncated_files_fail_without_panic() {
    let sample = CASE.as_bytes();
    for end in 0..sample.len() {
        let (_folder, path) = file("cases", &sample[..end]);
        assert!(load_labels(&path).is_err(), "{}", String::from_utf8_lossy(&sample[..end]));
        let mut changed = sample.to_vec();
        changed[end] = 0xff;
        std::fs::write(&path, changed).unwrap();
        assert!(load_labels(&path).is_err());
    }
}
