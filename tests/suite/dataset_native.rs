//! The native data set: what is written validates and reads back equal.

use jsonschema::Validator;
use recap_core::model::{
    Block, Message, Piece, Preamble, PreambleChange, RecordedCall, RecordedCompaction, Role,
    Session, SessionTotal, SidechainRequest, ToolDefinition, Usage,
};
use recap_formats::{Dataset, LoadOptions, Problem, load, write_native};
use serde_json::{Value as Json, json};

use crate::outline::{dataset, files, root};

fn schema(name: &str) -> Validator {
    let text = std::fs::read_to_string(root("datasets").join(name)).unwrap();
    let schema: Json = serde_json::from_str(&text).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn fixture(name: &str) -> Dataset {
    dataset(crate::outline::fixture(name))
}

/// Seed 003: swarm broadcasts, in a data set
#[test]
fn a_broadcast_is_read_and_written_as_one() {
    let native = fixture("native");
    let broadcasts = |dataset: &Dataset| {
        let messages = dataset.sessions[0].messages.iter();
        messages.map(|message| message.broadcast).collect::<Vec<_>>()
    };
    assert_eq!(broadcasts(&native), [true, false, false, false, false]);
    let folder = tempfile::tempdir().unwrap();
    write_native(&native, folder.path()).unwrap();
    assert_eq!(broadcasts(&dataset(folder.path())), broadcasts(&native));
    let lines = std::fs::read_to_string(folder.path().join("sessions.jsonl")).unwrap();
    assert_eq!(lines.matches("\"broadcast\"").count(), 1, "false is left out");
}

#[test]
fn what_is_written_reads_back_and_validates_against_the_published_schemas() {
    let (session, card) = (schema("session.schema.json"), schema("dataset.schema.json"));
    let samples = std::fs::read_dir(root("tests/fixtures/dataset")).unwrap();
    let names = samples.map(|sample| sample.unwrap().file_name().into_string().unwrap());
    for name in names {
        let folder = tempfile::tempdir().unwrap();
        let own = Dataset { licence: Some("MIT".to_owned()), ..fixture(&name) };
        write_native(&own, folder.path()).unwrap();
        let back = dataset(folder.path());
        assert!(back.sessions == own.sessions && back.questions == own.questions, "{name}");
        assert_eq!((&back.name, back.licence.as_deref()), (&own.name, Some("MIT")));
        assert_eq!(back.warnings, Vec::<String>::new(), "{name}");
        let lines = std::fs::read_to_string(folder.path().join("sessions.jsonl")).unwrap();
        assert!(!lines.is_empty(), "{name}");
        for line in lines.lines() {
            let value: Json = serde_json::from_str(line).unwrap();
            if let Err(e) = session.validate(&value) {
                panic!("{name}: {e} at {}", e.instance_path());
            }
        }
        let text = std::fs::read_to_string(folder.path().join("dataset.toml")).unwrap();
        let table: Json = toml::from_str(&text).unwrap();
        assert!(card.is_valid(&table), "{name}");
    }
}

/// No sample has everything that a session may have.
#[test]
fn every_written_field_is_in_the_schema() {
    let usage = Usage { input: 9, output: 1, output_final: true, ..Usage::default() };
    let text = |text: &str| Block::Text { text: text.to_owned() };
    let call = json!({"path": null});
    let call = Block::ToolCall { id: "c".into(), name: "read".into(), arguments: call };
    let (call_of, found) = ("c".to_owned(), "x".to_owned());
    let result = Block::ToolResult { call: call_of, text: found, images: 1, is_error: true };
    let image = Block::Image { media_type: Some("image/png".into()) };
    let thought = Block::Reasoning { text: String::new() };
    let at = Some(jiff::Timestamp::UNIX_EPOCH);
    let answer = Message { usage: Some(usage), ..message(1, Role::Assistant, vec![thought, call]) };
    let messages = vec![
        Message { broadcast: true, at, ..message(0, Role::User, vec![text("go"), image]) },
        answer,
        message(2, Role::Tool, vec![result]),
        Message { synthetic: true, ..message(3, Role::Assistant, vec![text("stopped")]) },
    ];
    let compaction = RecordedCompaction {
        after: 2,
        kept_from: 1,
        summary: Some("s".into()),
        pieces: vec![Piece::Message(0), Piece::Text { role: Role::User, text: "s".into() }],
        unreadable: Some("encrypted".into()),
        cleared: vec!["c".into()],
        tokens_before: Some(9),
        call: Some(RecordedCall { model: Some("m".into()), usage, latency_ms: Some(1.5) }),
        at,
        copied: true,
        ..RecordedCompaction::default()
    };
    let (name, description) = ("read".to_owned(), "reads".to_owned());
    let tool = ToolDefinition { name, description, parameters: json!({"type": "object"}) };
    let (system, pinned) = (vec!["s".into()], vec!["p".into()]);
    let session = Session {
        id: "t".into(),
        preamble: Preamble { system, tools: vec![tool], pinned },
        messages,
        preamble_changes: vec![PreambleChange { before: 1, system: vec!["s".into()] }],
        compactions: vec![compaction],
        model: Some("m".into()),
        other_models: [(1, "n".to_owned())].into(),
        project: Some("p".into()),
        window: Some(200_000),
        metadata: vec!["/w".into()],
        sidechains: vec![SidechainRequest { at, model: Some("m".into()), usage }],
        totals: vec![SessionTotal { model: Some("m".into()), requests: 3, usage, usd: Some(0.5) }],
        left_out: [("torn last line".to_owned(), 1)].into(),
        copied: [1].into(),
        family: Some("f".into()),
    };
    let folder = tempfile::tempdir().unwrap();
    let name = "all".to_owned();
    let sessions = vec![session];
    write_native(&Dataset { name, sessions, ..Dataset::default() }, folder.path()).unwrap();
    let line = std::fs::read_to_string(folder.path().join("sessions.jsonl")).unwrap();
    let value: Json = serde_json::from_str(&line).unwrap();
    if let Err(e) = schema("session.schema.json").validate(&value) {
        panic!("{e} at {}", e.instance_path());
    }
}

fn message(number: u32, role: Role, blocks: Vec<Block>) -> Message {
    Message::new(number.to_string(), role, None, blocks)
}

#[test]
fn native_folder_counts_questions_and_hashes_files() {
    let dataset = fixture("native");
    assert_eq!((dataset.name.as_str(), dataset.version.as_deref()), ("small", Some("1")));
    assert_eq!(dataset.questions.len(), 3);
    assert_eq!(files(&dataset), ["dataset.toml", "questions.jsonl", "sessions.jsonl"]);
    let bytes = std::fs::read(root("tests/fixtures/dataset/native/dataset.toml")).unwrap();
    assert_eq!(dataset.files[0].1, blake3::hash(&bytes).to_hex().as_str());
}

#[test]
fn misspelt_card_key_is_error_at_its_line() {
    let folder = tempfile::tempdir().unwrap();
    write_native(&fixture("pi.jsonl"), folder.path()).unwrap();
    let card = folder.path().join("dataset.toml");
    std::fs::write(&card, "name = \"x\"\nlicense = \"MIT\"\n").unwrap();
    let error = load(folder.path(), &LoadOptions::default()).unwrap_err();
    assert_eq!(error.line, Some(2), "{error}");
    assert!(error.to_string().contains("license"), "{error}");
}

#[test]
fn half_a_native_line_at_end_is_error() {
    let folder = tempfile::tempdir().unwrap();
    write_native(&fixture("native"), folder.path()).unwrap();
    let path = folder.path().join("sessions.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 40]).unwrap();
    let error = load(folder.path(), &LoadOptions::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::Syntax { .. }), "{error}");
    assert_eq!(error.line, Some(1));
}
