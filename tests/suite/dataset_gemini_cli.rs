//! Sessions of Gemini CLI: both forms of its files, and what is sent after a
//! compression.

use recap_core::model::{Block, Piece, Role, Session};
use recap_formats::{Dataset, DatasetError, LoadOptions, load_reader};
use serde_json::{Value as Json, json};

use crate::outline::outline;

fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("session.jsonl", text.as_bytes(), &LoadOptions::default())
}

fn read(text: &str) -> Session {
    let mut dataset = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

fn refused(text: &str) -> String {
    try_read(text).expect_err("must be refused").to_string()
}

/// The event-sourced form.
fn log(events: &[Json]) -> String {
    let header = json!({"sessionId": "s", "projectHash": "p", "kind": "main"});
    let lines = [&header].into_iter().chain(events).map(Json::to_string);
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn user(id: &str, text: &str) -> Json {
    json!({"id": id, "type": "user", "content": [{"text": text}]})
}

fn gemini(id: &str, text: &str) -> Json {
    json!({"id": id, "type": "gemini", "content": text, "model": "gemini-3-pro",
           "tokens": {"input": 100, "output": 5, "cached": 0}})
}

fn call(id: &str, output: &str) -> Json {
    json!({"id": id, "name": "read_file", "args": {"file_path": id}, "status": "success",
           "result": [{"functionResponse": {"id": id, "response": {"output": output}}}]})
}

fn calling(id: &str, calls: &[Json]) -> Json {
    let mut message = gemini(id, "");
    message["toolCalls"] = json!(calls);
    message
}

fn sends(messages: &[Json]) -> Json {
    json!({"$set": {"messages": messages, "lastUpdated": "2026-05-04T10:00:00Z"}})
}

fn text(role: Role, text: &str) -> Piece {
    Piece::Text { role, text: text.to_owned() }
}

#[test]
fn the_older_form_is_one_document() {
    let messages = [user("u", "go"), calling("g", &[call("c", "4210")]), gemini("h", "done")];
    let wire = json!({"sessionId": "s", "projectHash": "p", "messages": messages});
    let expected = ["user: go", "assistant: ", "c: 4210", "assistant: done"];
    for text in [wire.to_string(), serde_json::to_string_pretty(&wire).unwrap()] {
        let session = read(&text);
        assert_eq!(outline(&session), expected);
        assert_eq!((session.id.as_str(), session.compactions.len()), ("session", 0));
    }
}

#[test]
fn a_long_document_is_told_by_its_keys() {
    let long = "valve ".repeat(1 << 20);
    let messages = [user("u", &long), gemini("g", "done")];
    let session = json!({"sessionId": "s", "projectHash": "p", "messages": messages});
    assert_eq!(read(&session.to_string()).messages.len(), 2);
    assert_eq!(read(&serde_json::to_string_pretty(&session).unwrap()).messages.len(), 2);
}

#[test]
fn results_come_from_call_or_following_message() {
    let mut open = call("c", "");
    open["result"] = Json::Null;
    let response =
        |id: &str| json!({"functionResponse": {"id": id, "response": {"output": "4210"}}});
    let behind = json!({"id": "r", "type": "user", "content": [response("c")]});
    let expected = ["user: go", "assistant: ", "c: 4210"];
    let events = [user("u", "go"), calling("g", &[open]), behind.clone()];
    assert_eq!(outline(&read(&log(&events))), expected);
    // A patch takes the result away once the message behind it has it.
    let patch = json!({"$patch": {"id": "g", "toolCalls": [{"id": "c", "result": null}]}});
    let events = [user("u", "go"), calling("g", &[call("c", "4210")]), behind.clone(), patch];
    assert_eq!(outline(&read(&log(&events))), expected);
    // Calls may stand among the parts of a message alone.
    let parts = json!([{"functionCall": {"id": "c", "name": "read_file", "args": {}}}]);
    let message = json!({"id": "g", "type": "gemini", "model": "m", "content": parts});
    assert_eq!(outline(&read(&log(&[user("u", "go"), message, behind]))), expected);
    let lost = json!({"id": "r", "type": "user", "content": [response("x")]});
    let session = read(&log(&[user("u", "go"), lost]));
    assert_eq!(session.left_out["result without a call"], 1);
}

#[test]
fn tool_result_is_text_of_its_response() {
    let result = |result: Json| {
        let mut made = call("c", "");
        made["result"] = result;
        read(&log(&[user("u", "go"), calling("g", &[made])])).messages[2].blocks[0].clone()
    };
    let expect = |value: Json, text: &str, images: u32, is_error: bool| {
        let (call, text) = ("c".to_owned(), text.to_owned());
        assert_eq!(result(value), Block::ToolResult { call, text, images, is_error });
    };
    let response = |value: Json| json!([{"functionResponse": {"id": "c", "response": value}}]);
    expect(response(json!({"error": "no such file"})), "no such file", 0, true);
    expect(response(json!({"lines": [1]})), "{\"lines\":[1]}", 0, false);
    expect(json!("plain"), "plain", 0, false);
    expect(json!({"text": "one part"}), "one part", 0, false);
    let picture = json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}});
    let mut both = response(json!({"output": "a"}));
    both.as_array_mut().unwrap().extend([picture, json!("b")]);
    expect(both, "a\nb", 1, false);
}

#[test]
fn cancelled_turn_is_undone_unknown_target_undoes_all() {
    let talk = [user("u1", "go"), gemini("g1", "done"), user("u2", "cancel me")];
    let back = sends(&[talk[0].clone(), talk[1].clone()]);
    let session = read(&log(&[&talk[..], &[back, user("u3", "on")]].concat()));
    assert_eq!(outline(&session), ["user: go", "assistant: done", "user: on"]);
    assert_eq!((session.compactions.len(), session.left_out.len()), (0, 1));
    let rewound = json!({"$rewindTo": "nobody"});
    let session = read(&log(&[&talk[..], &[rewound, user("u3", "on")]].concat()));
    assert_eq!(outline(&session), ["user: on"]);
    // A note is no message, but a place.
    let note = json!({"id": "i", "type": "info", "content": "x"});
    let events =
        [talk[0].clone(), talk[1].clone(), note, talk[2].clone(), json!({"$rewindTo": "i"})];
    assert_eq!(outline(&read(&log(&events))), ["user: go", "assistant: done"]);
}

#[test]
fn repeated_list_changes_nothing_longer_list_adds() {
    let talk = [user("u1", "go"), gemini("g1", "done")];
    let longer = [&talk[..], &[user("u2", "on")]].concat();
    let session = read(&log(&[sends(&talk), sends(&talk), sends(&longer)]));
    assert_eq!(outline(&session), ["user: go", "assistant: done", "user: on"]);
    // What stands in front of the first question belongs to the conversation.
    let first = [user("x", "folder"), talk[0].clone()];
    let session = read(&log(&[talk[0].clone(), sends(&first), talk[1].clone()]));
    assert_eq!(outline(&session), ["user: folder", "user: go", "assistant: done"]);
    assert_eq!(session.compactions, []);
}

#[test]
fn second_compression_replaces_first_and_rewind_undoes_it() {
    let talk = [user("u1", "go"), gemini("g1", "done")];
    let second = [user("s1", "SUMMARY ONE"), user("u2", "on"), gemini("g2", "well")];
    let mut events = talk.to_vec();
    events.extend([sends(&second[..1]), second[1].clone(), second[2].clone()]);
    events.push(sends(&[user("s2", "SUMMARY TWO"), second[2].clone()]));
    let session = read(&log(&events));
    let [one, two] = &session.compactions[..] else { panic!("{:?}", session.compactions) };
    assert_eq!((one.after, one.kept_from, one.summary.as_deref()), (2, 2, Some("SUMMARY ONE")));
    assert_eq!((two.after, two.kept_from, two.summary.as_deref()), (4, 3, Some("SUMMARY TWO")));
    events.extend([json!({"$rewindTo": "g2"}), gemini("g3", "other")]);
    let session = read(&log(&events));
    assert_eq!(outline(&session), ["user: go", "assistant: done", "user: on", "assistant: other"]);
    assert_eq!(session.compactions.len(), 1);
    // To the summary itself: what was said before it stays.
    events.extend([json!({"$rewindTo": "s1"}), user("u3", "again")]);
    assert_eq!(outline(&read(&log(&events))), ["user: go", "assistant: done", "user: again"]);
}

#[test]
fn summary_recorded_as_message_is_not_a_message() {
    let talk = [user("u1", "go"), gemini("g1", "one"), user("u2", "on"), gemini("g2", "two")];
    let summary = user("s", "SUMMARY");
    let list = [summary.clone(), talk[3].clone()];
    let session = read(&log(&[&talk[..], &[summary, sends(&list), user("u3", "go")]].concat()));
    assert_eq!(session.messages.len(), 5);
    let [compaction] = &session.compactions[..] else { panic!("{:?}", session.compactions) };
    assert_eq!((compaction.after, compaction.kept_from), (4, 3));
    assert_eq!(compaction.pieces, [text(Role::User, "SUMMARY")]);
}

#[test]
fn results_that_are_shortened_later_are_cleared_there() {
    let made = calling("g1", &[call("c1", "long")]);
    let short = calling("g1", &[call("c1", "[masked]")]);
    let talk = [user("u1", "go"), made, gemini("g2", "done")];
    let list = [talk[0].clone(), short, talk[2].clone()];
    let patch = json!({"$patch": {"id": "g1", "toolCalls": [call("c1", "[masked]")]}});
    for event in [sends(&list), patch] {
        // Lists repeat what was shortened before.
        let events = [&talk[..], &[event.clone(), event, user("u2", "on")]].concat();
        let session = read(&log(&events));
        assert_eq!(outline(&session)[2], "c1: long");
        let [cleared] = &session.compactions[..] else { panic!("{:?}", session.compactions) };
        assert_eq!((cleared.after, cleared.kept_from, &cleared.summary), (4, 0, &None));
        assert_eq!(cleared.cleared, ["c1"]);
    }
}

#[test]
fn calls_sharing_an_id_are_told_apart() {
    let events =
        [user("u", "go"), calling("g", &[call("c", "1")]), calling("h", &[call("c", "2")])];
    let expected = ["user: go", "assistant: ", "c: 1", "assistant: ", "c#2: 2"];
    assert_eq!(outline(&read(&log(&events))), expected);
}

#[test]
fn hostile_records_are_told_with_their_line() {
    for (event, says) in [
        (json!({"id": "m", "content": "x"}), "missing field `type`"),
        (json!({"id": 7, "type": "user"}), "id"),
        (json!({"id": "m", "type": "user", "content": [{"text": 7}]}), "content"),
        (json!({"id": "m", "type": "user", "timestamp": "soon"}), "timestamp"),
        (json!({"id": "m", "type": "gemini", "tokens": {"input": -1}}), "tokens.input"),
        (json!({"id": "m", "type": "gemini", "toolCalls": [{"name": "x"}]}), "toolCalls[0]"),
        (json!({"$set": {"messages": 7}}), "$set.messages"),
        (json!({"$rewindTo": 7}), "$rewindTo"),
    ] {
        let actual = crate::outline::actual(try_read(&log(&[event, user("u", "go")])));
        let line = ["first line 2: ", ":2"].iter().any(|line| actual.contains(line));
        assert!(actual.contains(says) && line, "`{says}` is missing in {actual}");
    }
    let most =
        json!({"input": u64::MAX, "output": u64::MAX, "cached": 9, "thoughts": 9, "tool": 9});
    let mut absurd = gemini("g", "x");
    absurd["tokens"] = most;
    assert_eq!(read(&log(&[absurd])).messages[0].usage, None);
    let error = refused(&log(&[json!({"unknown": true})]));
    assert!(error.contains("no conversation"), "{error}");
}

#[test]
fn very_many_events_are_read_in_linear_time() {
    let n = 40_000;
    let talk: Vec<Json> = (0..n).map(|at| gemini(&format!("g{at}"), "x")).collect();
    // One id again and again; summaries of everything, each undone at once.
    let again = (0..n).map(|_| calling("g0", &[call("c", "x")]));
    let patches = (0..n).map(|_| json!({"$patch": {"id": "g0", "toolCalls": [call("c", "y")]}}));
    let back = (0..n / 2).flat_map(|at| {
        let place = json!({"$rewindTo": format!("g{}", n - 1 - at)});
        [sends(&[user("s", "SUMMARY")]), place]
    });
    let events: Vec<Json> = talk.into_iter().chain(again).chain(patches).chain(back).collect();
    assert_eq!(read(&log(&events)).messages.len(), n / 2 + 1);
}
