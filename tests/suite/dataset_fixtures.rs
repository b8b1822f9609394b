//! One fixture of each format as it is read: its native sessions, reviewed.
//! `RECAP_UPDATE_DOCS=1 cargo test --test suite -- dataset_fixtures` writes those of new fixtures;
//! then they have to be read.

use std::path::Path;

use recap_formats::{Dataset, LoadOptions, load, write_native};
use serde_json::Value as Json;

/// The warnings, sessions and questions of a data set, a field and a message a line.
pub fn shown(dataset: &Dataset) -> String {
    let desk = tempfile::tempdir().unwrap();
    let out = desk.path().join("out");
    write_native(dataset, &out).unwrap();
    let sessions = std::fs::read_to_string(out.join("sessions.jsonl")).unwrap();
    let mut lines: Vec<String> =
        dataset.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
    for session in sessions.lines() {
        let fields: serde_json::Map<String, Json> = serde_json::from_str(session).unwrap();
        for (name, value) in fields {
            match value {
                Json::Array(items) => {
                    lines.extend(items.iter().map(|item| format!("{name}: {item}")));
                }
                other => lines.push(format!("{name}: {other}")),
            }
        }
        lines.push(String::new());
    }
    let questions = std::fs::read_to_string(out.join("questions.jsonl")).unwrap_or_default();
    lines.extend(questions.lines().map(|question| format!("question: {question}")));
    lines.join("\n")
}

/// How files that hold what is read are written.
pub const UPDATE: &str = "RECAP_UPDATE_DOCS=1 cargo test --test suite -- dataset_fixtures \
    dataset_cases writes what is read now: compare it";

#[test]
fn each_fixture_is_read_as_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset");
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for name in names {
        let shown = shown(&load(&folder.join(&name), &LoadOptions::default()).unwrap());
        let reviewed = folder.with_file_name("sessions").join(format!("{name}.txt"));
        if std::env::var_os("RECAP_UPDATE_DOCS").is_some() {
            std::fs::write(&reviewed, &shown).unwrap();
        }
        let known = std::fs::read_to_string(&reviewed).unwrap_or_default();
        let differs = shown.lines().zip(known.lines()).find(|(shown, known)| shown != known);
        let reviewed = reviewed.display();
        assert!(!known.is_empty(), "{reviewed} is not there: {UPDATE}");
        assert!(shown == known, "{reviewed}: see {differs:?}; {UPDATE}");
    }
}
