//! A format is told however many records that are no messages stand first.

use std::path::Path;

use recap::dataset::{Dataset, DatasetError, LoadOptions, MAX_HEAD, Problem, load, load_reader};

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn read(log: &str) -> Result<Dataset, DatasetError> {
    load_reader("log.jsonl", log.as_bytes(), &LoadOptions::default())
}

/// Lines that are no messages, at least so many bytes of them.
fn summaries(bytes: usize) -> String {
    let line = r#"{"type":"summary","summary":"Mend the nightly import of stock","leafUuid":"7"}"#;
    format!("{line}\n").repeat(bytes / (line.len() + 1) + 1)
}

fn messages(log: &str) -> usize {
    let dataset = read(log).unwrap_or_else(|e| panic!("{e}"));
    dataset.transcripts.iter().map(|transcript| transcript.messages.len()).sum()
}

#[test]
fn records_that_are_no_messages_may_stand_first_in_a_log() {
    // Fifty lines; more than is looked at first.
    for lead in [summaries(50 * 80), summaries(3 << 20)] {
        for name in ["claude-code.jsonl", "native/transcripts.jsonl"] {
            let log = fixture(name);
            if name == "claude-code.jsonl" {
                assert_eq!(messages(&format!("{lead}{log}")), messages(&log), "{name}");
            } else {
                // A native data set has one shape of line: the format is
                // told, and the first line that has another is named.
                let error = read(&format!("{lead}{log}")).unwrap_err();
                assert_eq!(error.line, Some(1), "{error}");
                assert!(matches!(error.problem, Problem::Shape { .. }), "{error}");
            }
        }
    }
    let unknown = "{\"type\":\"shell_snapshot\",\"payload\":{}}\n".repeat(60);
    let codex = fixture("codex.jsonl");
    assert_eq!(messages(&format!("{unknown}{codex}")), messages(&codex));
    let custom = "{\"type\":\"custom\",\"id\":\"x\"}\n".repeat(60);
    let pi = format!("{custom}{}", fixture("pi.jsonl"));
    assert!(!matches!(read(&pi), Err(e) if matches!(e.problem, Problem::UnknownFormat { .. })));
}

#[test]
fn a_message_of_a_mebibyte_behind_a_summary_is_looked_at() {
    let long = "stock ".repeat((1 << 20) / 6);
    let log = fixture("claude-code.jsonl").replacen(
        "\"content\":\"",
        &format!("\"content\":\"{long}"),
        1,
    );
    assert_eq!(messages(&format!("{}{log}", summaries(1))), messages(&log));
}

#[test]
fn no_more_than_the_bound_is_looked_at() {
    let log = fixture("claude-code.jsonl");
    let error = read(&format!("{}{log}", summaries(MAX_HEAD))).unwrap_err();
    assert!(matches!(error.problem, Problem::UnknownFormat { .. }), "{error}");
    for nothing in ["\u{0}".repeat(MAX_HEAD + 1), "{\n".repeat(1 << 20), "[".repeat(1 << 20)] {
        let error = read(&nothing).unwrap_err();
        assert!(matches!(error.problem, Problem::UnknownFormat { .. }), "{error}");
    }
    let error = read(&"\n".repeat(MAX_HEAD + 1)).unwrap_err();
    assert!(matches!(error.problem, Problem::UnknownFormat { .. } | Problem::Empty), "{error}");
}

#[test]
fn what_was_looked_at_is_read_and_hashed_once() {
    let log = format!("{}{}", summaries(2 << 20), fixture("claude-code.jsonl"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), &log).unwrap();
    let dataset = load(folder.path(), &LoadOptions::default()).unwrap();
    let hash = blake3::hash(log.as_bytes()).to_hex().to_string();
    assert_eq!(dataset.files, [("a.jsonl".to_owned(), hash)]);
    assert_eq!(dataset.transcripts[0].messages.len(), messages(&log));
}
