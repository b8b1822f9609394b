//! A format is told however many records that are no messages stand first, and
//! however long its values are.

use std::path::Path;

use recap_formats::{
    Dataset, DatasetError, LoadOptions, MAX_HEAD, Problem, bundled, load, load_reader,
};
use serde_json::{Value as Json, json};

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
    dataset.sessions.iter().map(|session| session.messages.len()).sum()
}

#[test]
fn log_may_begin_with_non_message_records() {
    // Fifty lines; more than is looked at first.
    for lead in [summaries(50 * 80), summaries(3 << 20)] {
        for name in ["claude-code.jsonl", "native/sessions.jsonl"] {
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
fn mebibyte_message_behind_summary_is_examined() {
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
    assert!(error.to_string().starts_with("the file is empty"), "{error}");
}

#[test]
fn examined_bytes_are_read_and_hashed_once() {
    let log = format!("{}{}", summaries(2 << 20), fixture("claude-code.jsonl"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), &log).unwrap();
    let dataset = load(folder.path(), &LoadOptions::default()).unwrap();
    let hash = blake3::hash(log.as_bytes()).to_hex().to_string();
    assert_eq!(dataset.files, [("a.jsonl".to_owned(), hash)]);
    assert_eq!(dataset.sessions[0].messages.len(), messages(&log));
}

/// Lengthens the first sentence of a value beyond what is looked at first.
fn lengthen(value: &mut Json) -> bool {
    match value {
        Json::String(text) => {
            let is_said = text.starts_with(char::is_alphabetic) && text.contains(' ');
            if is_said {
                text.push_str(&" The quick brown fox reads port 8443.".repeat(30_000));
            }
            is_said
        }
        Json::Array(items) => items.iter_mut().any(lengthen),
        Json::Object(fields) => fields.values_mut().any(lengthen),
        _ => false,
    }
}

/// Who said something, and which results belong to which calls.
fn turns(dataset: &Dataset) -> Vec<(String, &'static str, Vec<String>)> {
    let messages = dataset.sessions.iter().flat_map(|session| &session.messages);
    let turn = |message: &recap_core::model::Message| {
        let calls = message.calls().map(str::to_owned).collect();
        (message.id.clone(), message.role.as_str(), calls)
    };
    messages.map(turn).collect()
}

#[test]
fn value_longer_than_examined_head_keeps_format() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let names: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    let mut tried = 0;
    for name in names.iter().filter(|name| name.ends_with(".json") || name.ends_with(".jsonl")) {
        // What Inspect writes has numbers that JSON has not.
        let small = fixture(name).replace("NaN", "null");
        let mut forms = Vec::new();
        if let Ok(mut document) = serde_json::from_str::<Json>(&small) {
            assert!(lengthen(&mut document), "{name}");
            forms.push(document.to_string());
            forms.push(serde_json::to_string_pretty(&document).unwrap());
        } else {
            let mut lines: Vec<Json> =
                small.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            if !lines.iter_mut().any(lengthen) {
                // Its messages are JSON in strings.
                assert_eq!(name, "otel.jsonl");
                continue;
            }
            forms.push(lines.iter().map(|line| format!("{line}\n")).collect());
        }
        let expected = read(&small).unwrap_or_else(|error| panic!("{name}: {error}"));
        for big in forms {
            assert!(big.len() > 1 << 20, "{name}");
            let found = read(&big).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(turns(&found), turns(&expected), "{name}");
            tried += 1;
        }
    }
    assert!(tried >= 20, "{tried}");
}

#[test]
fn names_within_arguments_and_schemas_tell_no_format() {
    let names = ["$schema", "uuid", "blocks", "turns", "payload", "parts", "sessionId", "eval"];
    let odd: serde_json::Map<String, Json> =
        names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let long = "The quick brown fox reads port 8443. ".repeat(40_000);
    let chat = |text: &str| {
        let function = json!({"name": "read", "parameters": {"type": "object", "properties": odd}});
        let arguments = Json::Object(odd.clone()).to_string();
        let call = json!({"id": "c", "type": "function", "function": {"name": "read", "arguments": arguments}});
        json!({"tools": [{"type": "function", "function": function}], "messages": [
            {"role": "user", "content": text},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "8443"},
        ]})
    };
    let messages = |text: &str| {
        let call = json!({"type": "tool_use", "id": "t", "name": "read", "input": odd});
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "8443"});
        json!([
            {"role": "user", "content": text},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ])
    };
    for (small, big) in [
        (chat("Which port?"), chat(&long)),
        (messages("Which port?"), messages(&long)),
        // What tells the format stands behind the long text.
        (
            json!([{"role": "user", "parts": [{"text": "Which port?"}]}]),
            json!([{"role": "user", "parts": [{"text": long}]}]),
        ),
        (
            json!({"messages": [{"role": "user", "messageId": 0, "content": [{"type": "text", "text": "go"}]}], "v": 3, "id": "T-1"}),
            json!({"messages": [{"role": "user", "messageId": 0, "content": [{"type": "text", "text": long}]}], "v": 3, "id": "T-1"}),
        ),
    ] {
        let (small, big) = (read(&small.to_string()).unwrap(), read(&big.to_string()).unwrap());
        assert_eq!(turns(&big), turns(&small));
    }
}

#[test]
fn json_line_in_chat_history_changes_nothing() {
    let history = fixture("aider.chat.history.md");
    for line in [
        r#"{"role": "user", "content": "go"}"#,
        r#"[1, 2]"#,
        r#"{"type": "user", "sessionId": "s", "uuid": "u"}"#,
        r#"{"type": "session_meta", "payload": {}}"#,
    ] {
        let with = format!("{history}\n{line}\n");
        let found = read(&with).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(found.sessions.len(), read(&history).unwrap().sessions.len(), "{line}");
    }
}

#[test]
fn a_format_that_is_named_is_believed() {
    let named = |name: &'static str, text: &str| {
        let options = LoadOptions { only: Some(name), ..LoadOptions::default() };
        load_reader("log.jsonl", text.as_bytes(), &options).unwrap_err()
    };
    // No format would be told by these.
    let error = named("codex", "{\"type\":\"session_meta\"\n{}\n");
    assert!(matches!(error.problem, Problem::Syntax { .. }), "{error}");
    assert_eq!(error.line, Some(1), "{error}");
    let error = named("aider", "no history\n");
    assert!(error.to_string().starts_with("no conversation in this file"), "{error}");
    let error = named("aider", " \n\n");
    assert!(error.to_string().starts_with("the file is empty"), "{error}");
}

#[test]
fn single_recording_format_tells_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let agent = || load(folder.path(), &LoadOptions::default()).unwrap().agent;
    let put = |name: &str| std::fs::write(folder.path().join(name), fixture(name)).unwrap();
    put("codex.jsonl");
    assert_eq!(agent().as_deref(), Some("codex"));
    put("pi.jsonl");
    assert_eq!(agent(), None, "two agents");
    let native = bundled("quickstart").unwrap().unwrap();
    assert_eq!(native.agent, None, "the program's own format tells none");
}

/// A message of a task of Roo or Kilo.
fn task(role: &str, text: &str, more: &[(&str, Json)]) -> Json {
    let mut message = json!({"role": role, "content": [{"type": "text", "text": text}], "ts": 1});
    more.iter().for_each(|(key, value)| message[key] = value.clone());
    message
}

#[test]
fn long_list_of_texts_is_recognised_by_marks() {
    let by = [("condenseParent", json!("x"))];
    // What is looked at first ends within the second message.
    let messages = json!([
        task("assistant", "a", &by),
        task("user", &"valve ".repeat(1 << 18), &by),
        task("assistant", "Hm.", &by),
        task("user", "Sum.", &[("isSummary", json!(true)), ("condenseId", json!("x"))]),
    ]);
    assert_eq!(read(&messages.to_string()).unwrap().sessions[0].compactions.len(), 1);
}

#[test]
fn other_files_of_a_task_are_no_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks/7");
    std::fs::create_dir_all(&path).unwrap();
    let said = json!([
        {"ts": 1, "type": "say", "say": "text", "text": "Find the limit.", "images": []},
        {"ts": 2, "type": "ask", "ask": "followup", "text": "{\"question\":\"Which?\"}"},
        {"ts": 3, "type": "say", "say": "condense_context", "contextCondense":
            {"cost": 0.1, "prevContextTokens": 9, "newContextTokens": 3, "summary": "Sum."}},
    ]);
    let files = json!({"files_in_context": [{"path": "a", "record_state": "active"}]});
    let item = json!({"id": "7", "number": 1, "ts": 1, "task": "Find.", "totalCost": 0});
    for (name, value) in
        [("ui_messages.json", said), ("task_metadata.json", files), ("history_item.json", item)]
    {
        std::fs::write(path.join(name), value.to_string()).unwrap();
        assert!(load(&path.join(name), &LoadOptions::default()).is_err(), "{name}");
    }
    let history = json!([task("user", "Find the limit.", &[])]).to_string();
    std::fs::write(path.join("api_conversation_history.json"), history).unwrap();
    let dataset = load(folder.path(), &LoadOptions::default()).unwrap();
    assert_eq!(dataset.sessions.len(), 1);
    let warns = |warning: &String| warning.contains("3 files are no sessions");
    assert!(dataset.warnings.iter().any(warns), "{:?}", dataset.warnings);
}
