//! Tasks of Roo and Kilo: what they condensed of the messages that they keep,
//! in the structure of RooCodeInc/Roo-Code, `src/core/condense/index.ts`.

use recap_core::model::{Piece, RecordedCompaction, Role, Session};
use recap_formats::{Dataset, LoadOptions, load, load_reader};
use serde_json::{Value as Json, json};

use crate::outline::outline;

const FILE: &str = "api_conversation_history.json";

fn dataset(messages: &[Json]) -> Dataset {
    let text = Json::from(messages).to_string();
    load_reader(FILE, text.as_bytes(), &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn read(messages: &[Json]) -> Session {
    dataset(messages).sessions.remove(0)
}

fn said(role: &str, text: &str, more: Json) -> Json {
    let mut message = json!({"role": role, "content": [{"type": "text", "text": text}], "ts": 1});
    for (key, value) in more.as_object().unwrap() {
        message[key] = value.clone();
    }
    message
}

fn place(compaction: &RecordedCompaction) -> (u32, u32) {
    (compaction.kept_from, compaction.after)
}

fn front(compaction: &RecordedCompaction) -> Vec<String> {
    let pieces = compaction.pieces.iter().map(|piece| match piece {
        Piece::Message(index) => index.to_string(),
        Piece::Text { role, text } => format!("{}: {text}", role.as_str()),
    });
    pieces.collect()
}

#[test]
fn user_summary_replaces_all_messages_naming_it() {
    let by = |parent: &str| json!({"condenseParent": parent});
    let summary = |id: &str, parent: Option<&str>| {
        let mut summary = said(
            "user",
            "## Summary\nThe limit is 4210.",
            json!({"isSummary": true, "condenseId": id, "condenseParent": parent}),
        );
        summary["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": "Files."}));
        summary
    };
    let call = json!({"type": "tool_use", "id": "c", "name": "read", "input": {"path": "a"}});
    let result = json!({"type": "tool_result", "tool_use_id": "c", "content": "4210"});
    let session = read(&[
        said("user", "Find the limit.", by("x")),
        json!({"role": "assistant", "content": [call], "condenseParent": "x"}),
        json!({"role": "user", "content": [result], "condenseParent": "x"}),
        summary("x", Some("y")),
        said("assistant", "It is 4210.", by("y")),
        summary("y", None),
        said("user", "Thanks.", json!({})),
    ]);
    let expected = [
        "user: Find the limit.",
        "assistant: ",
        "c: 4210",
        "assistant: It is 4210.",
        "user: Thanks.",
    ];
    assert_eq!(outline(&session), expected);
    let [first, second] = session.compactions.as_slice() else { panic!() };
    assert_eq!((place(first), place(second)), ((3, 3), (4, 4)));
    assert_eq!(front(first), ["user: ## Summary\nThe limit is 4210.\nFiles."]);
    assert_eq!(front(second), front(first));
    assert!(session.left_out.is_empty(), "{:?}", session.left_out);
}

#[test]
fn older_assistant_summary_keeps_first_and_three_more() {
    let text = |n: usize, more: Json| {
        said(if n.is_multiple_of(2) { "user" } else { "assistant" }, &format!("m{n}"), more)
    };
    let by = json!({"condenseParent": "x"});
    let mut summary = said("assistant", "Sum.", json!({"isSummary": true, "condenseId": "x"}));
    let copy = json!({"type": "tool_use", "id": "c", "name": "read", "input": {}});
    summary["content"].as_array_mut().unwrap().push(copy);
    let mut messages = vec![text(0, json!({})), text(1, by.clone()), text(2, by), summary];
    messages.extend((3..8).map(|n| text(n, json!({}))));
    let session = read(&messages);
    assert_eq!(session.messages.len(), 8);
    assert_eq!(session.compactions.len(), 1);
    assert_eq!(place(&session.compactions[0]), (3, 6));
    assert_eq!(front(&session.compactions[0]), ["0", "assistant: Sum."]);
    assert_eq!(session.left_out["part of a summary that is no text"], 1);
    // The list may end before three came.
    assert_eq!(place(&read(&messages[..5]).compactions[0]), (3, 4));
    // The oldest versions removed what they replaced, and gave it no name.
    let bare = said("assistant", "Sum.", json!({"isSummary": true}));
    let rest = (1..5).map(|n| text(n, json!({})));
    let session = read(&[text(0, json!({})), bare].into_iter().chain(rest).collect::<Vec<_>>());
    assert_eq!(place(&session.compactions[0]), (1, 4));
}

#[test]
fn truncation_is_counted_and_hidden_messages_stay_unsent() {
    let hidden = json!({"truncationParent": "t"});
    let mark = said("user", "[2 hidden]", json!({"isTruncationMarker": true, "truncationId": "t"}));
    let sum = said("assistant", "Sum.", json!({"isSummary": true, "condenseId": "x"}));
    let messages = [
        said("user", "a", json!({})),
        said("assistant", "b", hidden.clone()),
        said("user", "c", hidden),
        mark,
        said("assistant", "d", json!({"condenseParent": "gone"})),
        sum,
        said("user", "e", json!({})),
    ];
    let session = read(&messages);
    assert_eq!(outline(&session).len(), 5);
    // The summary that `d` names was removed, so that it is sent again.
    assert_eq!(front(&session.compactions[0]), ["0", "3", "assistant: Sum."]);
    assert_eq!(session.compactions[0].pieces.len(), 3);
    assert_eq!(session.left_out["truncation whose time is not recorded"], 1);
    assert!(session.messages.iter().all(|message| message.role != Role::Tool));
}

#[test]
fn other_files_of_a_task_are_no_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let task = folder.path().join("tasks/7");
    std::fs::create_dir_all(&task).unwrap();
    let usage =
        json!({"apiProtocol": "anthropic", "tokensIn": 900, "tokensOut": 12, "cacheReads": 800});
    let ui = json!([
        {"ts": 1, "type": "say", "say": "text", "text": "Find the limit.", "images": []},
        {"ts": 2, "type": "say", "say": "api_req_started", "text": usage.to_string()},
        {"ts": 3, "type": "ask", "ask": "followup", "text": "{\"question\":\"Which?\"}"},
        {"ts": 4, "type": "say", "say": "condense_context", "contextCondense":
            {"cost": 0.1, "prevContextTokens": 9, "newContextTokens": 3, "summary": "Sum."}},
    ]);
    let metadata = json!({"files_in_context": [{"path": "a", "record_state": "active"}]});
    let item =
        json!({"id": "7", "number": 1, "ts": 1, "task": "Find.", "tokensIn": 900, "totalCost": 0});
    let files =
        [("ui_messages.json", ui), ("task_metadata.json", metadata), ("history_item.json", item)];
    for (name, value) in &files {
        std::fs::write(task.join(name), value.to_string()).unwrap();
        assert!(load(&task.join(name), &LoadOptions::default()).is_err(), "{name}");
    }
    let messages = json!([
        said("user", "Find the limit.", json!({"condenseParent": "x"})),
        said("user", "Sum.", json!({"isSummary": true, "condenseId": "x"})),
    ]);
    std::fs::write(task.join(FILE), messages.to_string()).unwrap();
    let dataset = load(folder.path(), &LoadOptions::default()).unwrap();
    assert_eq!(dataset.sessions.len(), 1);
    assert_eq!(dataset.sessions[0].compactions.len(), 1);
    let warns = |text: &str| dataset.warnings.iter().any(|warning| warning.contains(text));
    assert!(warns("3 files are no sessions"), "{:?}", dataset.warnings);
}

#[test]
fn long_list_of_texts_is_recognised_by_marks() {
    let by = json!({"condenseParent": "x"});
    let mut messages = vec![said("user", &"valve ".repeat(1 << 18), by.clone())];
    messages.push(said("assistant", "Hm.", by));
    messages.push(said("user", "Sum.", json!({"isSummary": true, "condenseId": "x"})));
    // What is looked at first ends within the first message.
    messages.insert(0, said("assistant", "a", json!({"condenseParent": "x"})));
    assert_eq!(read(&messages).compactions.len(), 1);
}

#[test]
fn hostile_marks_are_refused_or_read_linearly() {
    let bad = json!([said("user", "a", json!({"isSummary": true, "condenseId": 7}))]).to_string();
    let error = load_reader(FILE, bad.as_bytes(), &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("condenseId"), "{error}");
    let start = std::time::Instant::now();
    let sum = |role: &str| said(role, "", json!({"isSummary": true, "condenseId": "x"}));
    let mut many: Vec<Json> = (0..2_000).map(|_| said("user", "a", json!({}))).collect();
    many.extend((0..6_000).map(|n| sum(if n % 2 == 0 { "user" } else { "assistant" })));
    let text = Json::from(many).to_string();
    let error = load_reader(FILE, text.as_bytes(), &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("keep more than"), "{error}");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
