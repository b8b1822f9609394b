//! Formats that were written from documentation: requests to Anthropic's
//! Messages API, and lists of turns.

use recap_core::model::{Role, Session};
use recap_formats::{LoadOptions, load_reader};
use serde_json::{Value as Json, json};

use crate::outline::{outline, refused, try_read};

fn read(text: &str) -> Vec<Session> {
    try_read(text).unwrap_or_else(|error| panic!("{error}")).sessions
}

#[test]
fn bare_body_or_message_list_is_read() {
    let call = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let result =
        json!({"type": "tool_result", "tool_use_id": "t", "content": "4210", "is_error": true});
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png"}});
    let said = json!({"type": "text", "text": "Go on."});
    let messages = json!([
        {"role": "user", "content": "go", "ts": 1_770_000_000_000_i64},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, picture, said]},
    ]);
    let expected = ["user: go", "assistant: ", "t: 4210", "user: Go on."];
    let body = json!({"model": "claude-sonnet-5", "messages": messages});
    for document in [&messages, &body, &json!([body])] {
        for text in [document.to_string(), serde_json::to_string_pretty(document).unwrap()] {
            let session = &read(&text)[0];
            assert_eq!(outline(session), expected);
            assert_eq!(session.messages[0].at.unwrap().as_second(), 1_770_000_000);
            assert_eq!(session.messages[3].images(), 1);
        }
    }
}

#[test]
fn hostile_requests_are_refused() {
    let with = |message: Json| json!({"system": "x", "messages": [{"role": "user", "content": "go"}, message]});
    let part = |part: Json| json!({"role": "assistant", "content": [part]});
    for (message, says) in [
        (json!({"role": "robot", "content": "x"}), "unknown role `robot`"),
        (json!({"content": "x"}), "messages[1]"),
        (part(json!({"type": "tool_use", "name": "x"})), "lacks `id`"),
        (part(json!({"type": "text"})), "lacks `text`"),
        (part(json!({"type": 7})), "messages[1]"),
    ] {
        let error = refused(&with(message).to_string());
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
    // An agent that dropped the oldest messages may keep a result without its call.
    let orphan = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]});
    let left = &read(&with(orphan).to_string())[0].left_out;
    assert_eq!(left["tool result whose call is not in the recording"], 1);
    let bad = json!({"request": with(json!({"role": "user", "content": "x"})), "response": {"usage": {"input_tokens": -1}}});
    assert!(refused(&format!("{bad}\n{bad}\n")).contains("input_tokens"));
}

#[test]
fn very_many_requests_are_read_in_linear_time() {
    let one =
        |n: usize| json!({"system": "x", "messages": [{"role": "user", "content": n.to_string()}]});
    let log: String = (0..40_000).map(|n| format!("{}\n", one(n % 7))).collect();
    assert_eq!(read(&log)[0].messages.len(), 1);
}

#[test]
fn turns_are_read_under_their_usual_names() {
    let keyed = json!({"7": {"messages": [{"role": "usr", "content": "a"}, {"role": "sys", "content": "b"}]}});
    let talk = &read(&keyed.to_string())[0];
    assert_eq!((talk.id.as_str(), talk.messages[1].role), ("7", Role::Assistant));
    let program = json!({"utterances": [{"interlocutor": "user", "text": "a"}, {"interlocutor": "system", "text": "b"}]});
    assert_eq!(outline(&read(&program.to_string())[0]), ["user: a", "assistant: b"]);
    // MemoryBank: for each person the pairs of each day.
    let pair = json!({"query": "What is the limit?", "response": "It is 4210."});
    let days = json!({"Ann": {"name": "Ann", "history": {"2023-04-27": [pair], "no day": [pair]}}});
    let talk = &read(&days.to_string())[0];
    let turns = ["user: What is the limit?", "assistant: It is 4210."];
    assert_eq!(outline(talk), [turns, turns].concat());
    assert_eq!(talk.id, "Ann");
    assert_eq!(talk.messages[1].at.unwrap().to_string(), "2023-04-27T00:00:00Z");
    assert_eq!(talk.messages[2].at, None);
    for (turn, says) in [
        (json!({"from": "robot", "value": "x"}), "unknown role `robot`"),
        (json!({"from": "gpt", "value": 7}), "lacks a text"),
        (json!({"value": "x"}), "lacks who speaks"),
    ] {
        let talk = json!({"conversations": [{"from": "human", "value": "go"}, turn]});
        let error = refused(&talk.to_string());
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
}

#[test]
fn openai_chat_is_still_told_as_such() {
    for text in [
        r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]}]"#,
        r#"{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]}"#,
    ] {
        let options = LoadOptions { only: Some("openai-chat"), ..LoadOptions::default() };
        let only = load_reader("file.jsonl", text.as_bytes(), &options).unwrap();
        assert_eq!(read(text), only.sessions);
    }
}
