//! Compactions of Claude Code with records that the log has again and again, and with
//! odd boundaries.

use serde_json::{Value as Json, json};

use crate::outline::{lines, read};

/// A record at a second of the session.
fn at(second: u32, id: &str, parent: Option<&str>, kind: &str, more: Json) -> Json {
    let mut record = json!({
        "type": kind, "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": "s",
        "timestamp": format!("2026-09-05T09:{:02}:{:02}Z", second / 60, second % 60),
    });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

fn user(second: u32, id: &str, parent: &str, text: &str) -> Json {
    at(second, id, Some(parent), "user", json!({"message": {"role": "user", "content": text}}))
}

/// A response of a prompt: read from the cache, written to it.
fn says(second: u32, id: &str, parent: &str, [read, written]: [u64; 2]) -> Json {
    let usage = json!({"input_tokens": 2, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written, "output_tokens": 30});
    let message = json!({"role": "assistant", "id": format!("m-{id}"), "model": "claude-opus-5",
        "content": [{"type": "text", "text": format!("said in {id}")}], "usage": usage,
        "stop_reason": "end_turn"});
    let more = json!({"message": message, "requestId": format!("r-{id}")});
    at(second, id, Some(parent), "assistant", more)
}

fn hook(second: u32, id: &str, parent: &str) -> Json {
    at(second, id, Some(parent), "system", json!({"subtype": "stop_hook_summary"}))
}

/// A boundary behind `tail` that kept the records from `head` on, and its summary.
fn compacted(second: u32, id: &str, tail: &str, head: &str, size: u64) -> [Json; 2] {
    let summary = format!("{id}-sum");
    let metadata = json!({"trigger": "manual", "preTokens": size, "postTokens": 2_000,
        "preservedSegment": {"headUuid": head, "anchorUuid": &summary, "tailUuid": tail}});
    let boundary = json!({"subtype": "compact_boundary", "logicalParentUuid": tail,
        "compactMetadata": metadata});
    let mut text = user(second + 1, &summary, id, "What we did.");
    text["isCompactSummary"] = json!(true);
    [at(second, id, None, "system", boundary), text]
}

fn command(second: u32, id: &str, parent: &str) -> Json {
    user(second, id, parent, "<command-name>/compact</command-name>")
}

/// Two turns, of 30,000 and 40,000 tokens.
fn begun() -> Vec<Json> {
    let mut first = user(1, "u1", "", "Find the port.");
    first["parentUuid"] = Json::Null;
    vec![
        first,
        says(2, "a1", "u1", [20_000, 10_000]),
        user(3, "u2", "a1", "And the host."),
        says(4, "a2", "u2", [30_000, 10_000]),
        hook(5, "h1", "a2"),
    ]
}

/// The same, a compaction, and what hangs on the tail that it kept.
fn once(prompt: [u64; 2]) -> Vec<Json> {
    let further = [
        command(8, "c1", "h1"),
        user(9, "u3", "c1", "Use them."),
        says(10, "a3", "u3", prompt),
        hook(11, "h2", "a3"),
    ];
    [&begun()[..], &compacted(6, "cut1", "h1", "a2", 40_050), &further].concat()
}

#[test]
fn many_copies_are_read_in_linear_time() {
    let mut records = once([20_000, 3_000]);
    for n in 0..300u32 {
        records.extend(begun().drain(..3));
        let [said, told] = [format!("v{n}"), format!("b{n}")];
        records.push(user(60 + n, &said, "u2", "Go on."));
        records.push(says(60 + n, &told, &said, [23_000 + u64::from(n), 1]));
    }
    let session = read(&lines(&records));
    assert_eq!((session.messages.len(), session.compactions.len()), (607, 1));
    assert_eq!(session.left_out["record written twice"], 900);
}

#[test]
fn hostile_boundaries_are_read() {
    let odd = [
        json!(null),
        json!({}),
        json!({"preservedSegment": null, "preservedMessages": null}),
        json!({"preservedMessages": {"uuids": []}}),
        json!({"preservedMessages": {"uuids": ["cut1", "cut1", "nowhere", "a3"]}}),
        json!({"preservedSegment": {"headUuid": "a3", "tailUuid": "u1"}}),
        json!({"preservedSegment": {"headUuid": "cut1-sum"}, "preTokens": u64::MAX}),
    ];
    for metadata in odd {
        for parent in ["h1", "cut1", "cut1-sum", "a3", "nowhere"] {
            let mut records = once([20_000, 3_000]);
            records[5]["compactMetadata"] = metadata.clone();
            records[7]["parentUuid"] = json!(parent);
            let session = read(&lines(&records));
            assert!(session.requests().count() >= 1, "{metadata} {parent}");
        }
    }
}
