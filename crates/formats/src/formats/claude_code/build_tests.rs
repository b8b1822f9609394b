use serde_json::json;

use crate::{LoadOptions, load_reader};

/// Ids, roles and texts of a session in which the user's record holds these parts
/// behind a call `c`.
fn read(parts: serde_json::Value) -> Vec<(String, &'static str, String)> {
    let record = |id: &str, parent: Option<&str>, role: &str, content: serde_json::Value| {
        json!({
            "type": role, "uuid": id, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
            "cwd": "/w", "version": "2.1.0", "timestamp": "2026-01-05T09:00:01.000Z",
            "message": {"role": role, "content": content, "id": format!("msg-{id}"), "model": "m"},
        })
    };
    let call = json!([{"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "a"}}]);
    let records = [
        record("u1", None, "user", json!("Go.")),
        record("a1", Some("u1"), "assistant", call),
        record("u2", Some("a1"), "user", parts),
    ];
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    let options = LoadOptions::default();
    let mut dataset = load_reader("s.jsonl", text.as_bytes(), &options).unwrap();
    let messages = dataset.sessions.remove(0).messages.into_iter().skip(2);
    let shown = messages.map(|message| {
        let text = message.tool_result().map_or(message.first_text(), |(_, text)| text).to_owned();
        (message.id.clone(), message.role.as_str(), text)
    });
    shown.collect()
}

/// What the user says beside a result is a message of its own behind it.
#[test]
fn text_beside_result_belongs_to_the_user() {
    let result = json!({"type": "tool_result", "tool_use_id": "c", "content": "4210"});
    let words = json!({"type": "text", "text": "Look at b as well."});
    let of = |id: &str, role, text: &str| (id.to_owned(), role, text.to_owned());
    assert_eq!(read(json!([result])), [of("u2", "tool", "4210")]);
    let both = [of("u2#1", "tool", "4210"), of("u2", "user", "Look at b as well.")];
    assert_eq!(read(json!([result, words])), both);
    assert_eq!(read(json!([words, result])), both);
}
