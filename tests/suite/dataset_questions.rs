//! Questions of a native data set: read, written, refused and checked.

use recap_core::model::{Expectation, Question, QuestionKind};
use recap_formats::{
    Dataset, DatasetError, LoadOptions, Problem, QuestionAudit, audit_questions, load, write_native,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::outline::{dataset, fixture, lines, root};

/// Five messages about a server, and these questions.
fn folder(questions: &[Json]) -> TempDir {
    let said = [
        ("m0", "user", "The port is 8,080."),
        ("m1", "assistant", "Noted."),
        ("m2", "user", "No: the port is nine now."),
        ("m3", "assistant", "Changed."),
        ("m4", "user", "Thanks."),
    ];
    let messages = said.map(|(id, role, text)| {
        json!({"id": id, "role": role, "blocks": [{"type": "text", "text": text}]})
    });
    crate::outline::folder(&[
        ("dataset.toml", "name = 'x'\n".to_owned()),
        ("sessions.jsonl", lines(&[json!({"id": "t", "messages": messages})])),
        ("questions.jsonl", lines(questions)),
    ])
}

/// A question that is right, under an id and a question of its own.
fn question(n: usize) -> Json {
    json!({
        "id": format!("p{n}"), "session": "t", "asked_at": 4, "kind": "update",
        "question": format!("Which port is it, question {n}00?"), "expect": {"any_of": ["9"]},
        "evidence": ["m0", "m2"], "stale": ["8080"],
    })
}

fn changed(n: usize, keys: &Json) -> Json {
    let mut question = question(n);
    question.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    question
}

fn read(folder: &TempDir) -> Result<Dataset, DatasetError> {
    load(folder.path(), &LoadOptions::default())
}

fn audit(folder: &TempDir) -> QuestionAudit {
    audit_questions(folder.path(), &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Line and flaw of every violation.
fn flaws(audit: &QuestionAudit) -> Vec<(u64, String)> {
    let flaw = |violation: &DatasetError| {
        let told = violation.problem.to_string();
        let (_, flaw) = told.strip_prefix("question `").unwrap().split_once("` ").unwrap();
        (violation.line.unwrap(), flaw.to_owned())
    };
    audit.violations.iter().map(flaw).collect()
}

#[test]
fn every_field_of_a_question_is_read() {
    let dataset = read(&folder(&[question(1)])).unwrap();
    let expected = Question {
        id: "p1".to_owned(),
        session: "t".to_owned(),
        asked_at: 4,
        kind: QuestionKind::Update,
        question: "Which port is it, question 100?".to_owned(),
        expect: Expectation::AnyOf(vec!["9".to_owned()]),
        evidence: vec!["m0".to_owned(), "m2".to_owned()],
        stale: vec!["8080".to_owned()],
    };
    assert_eq!(dataset.questions, [expected]);
}

#[test]
fn written_questions_read_back_equal_and_validate() {
    let text = std::fs::read_to_string(root("datasets/question.schema.json")).unwrap();
    let schema: Json = serde_json::from_str(&text).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let native = dataset(fixture("native"));
    assert_eq!(native.questions.len(), 3);
    for dataset in [native, read(&folder(&[question(1)])).unwrap()] {
        let out = tempfile::tempdir().unwrap();
        write_native(&dataset, out.path()).unwrap();
        let back = read(&out).unwrap();
        assert_eq!(back.questions, dataset.questions);
        let lines = std::fs::read_to_string(out.path().join("questions.jsonl")).unwrap();
        assert_eq!(lines.lines().count(), dataset.questions.len());
        for line in lines.lines() {
            let value: Json = serde_json::from_str(line).unwrap();
            if let Err(e) = schema.validate(&value) {
                panic!("{e} at {}", e.instance_path());
            }
        }
    }
}

#[test]
fn data_set_without_questions_writes_no_question_file() {
    let mut dataset = read(&folder(&[question(1)])).unwrap();
    dataset.questions.clear();
    let out = tempfile::tempdir().unwrap();
    write_native(&dataset, out.path()).unwrap();
    assert!(!out.path().join("questions.jsonl").exists());
}

#[test]
fn questions_are_never_written_over_others() {
    let folder = folder(&[question(1)]);
    let dataset = read(&folder).unwrap();
    for name in ["dataset.toml", "sessions.jsonl"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let error = write_native(&dataset, folder.path()).unwrap_err();
    assert!(error.to_string().starts_with("there is a data set already"), "{error}");
}

#[test]
fn loading_stops_at_the_first_broken_question() {
    let folder = folder(&[
        question(1),
        changed(2, &json!({"session": "u"})),
        json!("no question"),
        changed(4, &json!({"asked_at": 5})),
    ]);
    let error = read(&folder).unwrap_err();
    assert_eq!(error.line, Some(2));
    assert!(error.to_string().contains("question `p2` asks session `u`"), "{error}");
    assert_eq!(audit(&folder).violations.len(), 3, "the check goes on");
}

/// What is changed of questions about the five messages, and what the check says of each, if it
/// says something.
#[test]
fn every_flaw_is_found_with_its_line() {
    let same = "which port is it question 100";
    let unnamed = json!({"any_of": ["a port that nobody named"]});
    let only = "is of kind abstain; only questions of kind abstain, and all of them, are";
    let only = format!("{only} unanswerable");
    let cases = [
        (json!({}), ""),
        (json!({"question": same}), "asks what question `p1` asks at the same point"),
        (json!({"question": same, "asked_at": 3}), ""),
        (json!({"id": "p1"}), "has the same id as an earlier question"),
        (json!({"kind": "abstain", "expect": {"any_of": ["9"]}}), &only),
        (json!({"session": "u"}), "asks session `u`, which the data set does not have"),
        (json!({"asked_at": 5}), "is asked after message 5, but the session has 5 (from 0)"),
        (json!({"asked_at": 2}), ""),
        (json!({"asked_at": 1}), "names evidence `m2` (position 2) but is asked after message 1"),
        (
            json!({"evidence": ["m2", "m9"]}),
            "names evidence `m9`, which is not a message of its session",
        ),
        (json!({"evidence": ["m2", "m2"]}), "names evidence `m2` twice"),
        (json!({"expect": {"any_of": ["twelve", "Nine!"]}}), ""),
        (
            json!({"expect": {"any_of": ["80"]}}),
            "expects `80`, but its evidence contains none of it",
        ),
        (json!({"evidence": ["m1"]}), "expects `9`, but its evidence contains none of it"),
        (json!({"evidence": []}), ""),
        (json!({"kind": "temporal", "expect": unnamed}), ""),
        (json!({"kind": "multi-hop", "expect": unnamed}), ""),
        (json!({"kind": "constraint", "expect": unnamed}), ""),
        (json!({"kind": "open-domain", "expect": unnamed}), ""),
        (json!({"expect": {"any_of": ["Yes."]}}), ""),
        (json!({"question": "  "}), "has an empty question"),
        (json!({"expect": {"rubric": ["x", ""]}}), "expects nothing, or a blank value"),
        (json!({"stale": ["8080", "NINE"]}), "lists `NINE` as right and as stale"),
        (json!({"question": "Is the port nine?"}), "gives its answer `9` away in the question"),
    ];
    let questions: Vec<Json> = (1..).zip(&cases).map(|(n, (keys, _))| changed(n, keys)).collect();
    let expected = (1..).zip(cases).filter(|(_, (_, flaw))| !flaw.is_empty());
    let expected: Vec<_> = expected.map(|(line, (_, flaw))| (line, flaw.to_owned())).collect();
    assert_eq!(flaws(&audit(&folder(&questions))), expected);
}

#[test]
fn coverage_counts_kinds_thirds_and_evidence_content() {
    let temporal = changed(2, &json!({"kind": "temporal", "evidence": ["m4"]}));
    let audit = audit(&folder(&[question(1), temporal, changed(3, &json!({"evidence": []}))]));
    // Of five messages m0 and m1 are the first third, m2 and m3 the middle, m4 the last.
    let rows = audit.coverage.iter();
    let rows =
        rows.map(|r| (r.kind, r.questions, r.thirds, r.without_evidence, r.said, r.searched));
    let rows: Vec<_> = rows.collect();
    let expected = [
        (QuestionKind::Update, 2, [1, 1, 0], 1, 1, 1),
        (QuestionKind::Temporal, 1, [0, 0, 1], 0, 0, 1),
    ];
    assert_eq!(rows, expected);
    assert_eq!(audit.questions(), 3);
    assert_eq!(audit.uncovered().len(), QuestionKind::ALL.len() - 2);
    assert!(!audit.uncovered().contains(&QuestionKind::Update));
}

#[test]
fn half_a_question_at_end_is_error() {
    let folder = folder(&[question(1), question(2)]);
    let path = folder.path().join("questions.jsonl");
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 20]).unwrap();
    let error = read(&folder).unwrap_err();
    assert!(matches!(error.problem, Problem::Syntax { .. }), "{error}");
    assert_eq!(error.line, Some(2));
    let mut torn = text[..text.len() - 20].to_vec();
    torn.push(0xe2);
    std::fs::write(&path, torn).unwrap();
    assert!(matches!(read(&folder).unwrap_err().problem, Problem::Syntax { .. }));
}
