//! What a published schema takes its reader takes too, and nothing else: a schema, `+` or `-`, and
//! a sample stand in each line of `tests/fixtures/schemas.txt`.

use std::path::Path;

use recap_core::model::QuestionKind;
use recap_formats::{LoadOptions, load, load_labels};
use serde_json::{Value as Json, json};

/// What the questions are about.
const TALK: &str = r#"{"id": "t", "messages": [
    {"id": "m0", "role": "user", "blocks": [{"type": "text", "text": "The port is 8,080."}]},
    {"id": "m1", "role": "assistant", "blocks": [{"type": "text", "text": "Noted."}]},
    {"id": "m2", "role": "user", "blocks": [{"type": "text", "text": "No: the port is 9 now."}]},
    {"id": "m3", "role": "assistant", "blocks": [{"type": "text", "text": "Changed."}]},
    {"id": "m4", "role": "user", "blocks": [{"type": "text", "text": "Thanks."}]}]}"#;

fn schema(name: &str) -> Json {
    let path = format!("{}/datasets/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Whether the reader takes it; what it refuses it refuses with the line and a remedy.
fn reads(schema: &str, sample: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    if schema == "labelled" {
        put("cases.jsonl", sample);
        return load_labels(&folder.path().join("cases.jsonl")).is_ok();
    }
    put("dataset.toml", "name = 'x'\n");
    let line = |text: &str| format!("{}\n", text.replace('\n', ""));
    put("sessions.jsonl", &line(if schema == "session" { sample } else { TALK }));
    if schema == "question" {
        put("questions.jsonl", &line(sample));
    }
    let Err(error) = load(folder.path(), &LoadOptions::default()) else { return true };
    assert_eq!(error.line, Some(1), "{sample}: {error}");
    assert!(
        error.file.ends_with(&format!("{schema}s.jsonl")) && error.help().len() > 10,
        "{error}"
    );
    false
}

#[test]
fn schemas_and_readers_agree() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/schemas.txt");
    let schemas = ["labelled", "question", "session"];
    let compiled = schemas.map(|name| jsonschema::draft202012::new(&schema(name)).unwrap());
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let [name, sign, sample] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!() };
        let at = schemas.iter().position(|schema| *schema == name).unwrap();
        let value: Json = serde_json::from_str(sample).unwrap();
        assert_eq!(compiled[at].is_valid(&value), sign == "+", "schema: {line}");
        assert_eq!(reads(name, sample), sign == "+", "reader: {line}");
    }
}

#[test]
fn every_kind_of_question_is_in_the_schemas() {
    let kinds: Vec<&str> = QuestionKind::ALL.iter().map(|kind| kind.as_str()).collect();
    for name in ["labelled", "question"] {
        assert_eq!(schema(name)["properties"]["kind"]["enum"], json!(kinds), "{name}");
    }
}
