//! Compactions of Claude Code whose continuation hangs beside them, records that
//! the log has twice, and responses whose lines do not follow each other.

use recap_core::model::{RecordedTrigger, Session};
use serde_json::{Value as Json, json};

use crate::outline::{lines, outline, read};

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

/// Ids of the messages, and of each compaction the messages before it and the first kept.
fn ids(session: &Session) -> (Vec<&str>, Vec<(u32, u32)>) {
    let ids = session.messages.iter().map(|message| message.id.as_str()).collect();
    (ids, session.compactions.iter().map(|made| (made.after, made.kept_from)).collect())
}

#[track_caller]
fn is_read(records: &[Json], messages: &[&str], compactions: &[(u32, u32)]) -> Session {
    let session = read(&lines(records));
    let (ids, made) = ids(&session);
    assert_eq!((ids.as_slice(), made.as_slice()), (messages, compactions));
    let lost = session.left_out.get("record on an abandoned branch");
    assert_eq!(lost, None, "{:?}", session.left_out);
    session
}

#[test]
fn what_hangs_on_the_kept_tail_follows_the_compaction() {
    let messages = ["u1", "a1", "u2", "a2", "c1", "u3", "a3"];
    let session = is_read(&once([20_000, 3_000]), &messages, &[(4, 3)]);
    let [made] = &session.compactions[..] else { panic!() };
    assert_eq!((made.trigger, made.tokens_before), (RecordedTrigger::Manual, Some(40_050)));
    assert_eq!(made.summary.as_deref(), Some("What we did."));
    // Without any size; and where the tail is the message itself, or what a list names.
    let mut bare = once([0, 0]);
    for record in &mut bare {
        record.pointer_mut("/message").and_then(Json::as_object_mut).map(|m| m.remove("usage"));
    }
    is_read(&bare, &messages, &[(4, 3)]);
    let mut listed = once([20_000, 3_000]);
    let metadata = &mut listed[5]["compactMetadata"];
    metadata["preservedMessages"] = json!({"anchorUuid": "cut1-sum", "uuids": ["a2", "h1"]});
    metadata.as_object_mut().unwrap().remove("preservedSegment");
    listed[7]["parentUuid"] = json!("a2");
    is_read(&listed, &messages, &[(4, 3)]);
}

#[test]
fn a_return_behind_a_compaction_leaves_it() {
    // The whole prompt from before it was read from the cache again.
    let session = read(&lines(&once([40_000, 200])));
    assert_eq!(ids(&session), (vec!["u1", "a1", "u2", "a2", "c1", "u3", "a3"], vec![]));
    assert_eq!(session.left_out["record on an abandoned branch"], 2);
}

/// A second compaction in one process: everything before what the first one kept is
/// written again, and the hook of the last turn hangs on the end of that copy.
fn twice(copied: &[Json]) -> Vec<Json> {
    let further = [
        hook(15, "h3", "u2"),
        command(18, "c2", "h3"),
        user(19, "u5", "c2", "Go on."),
        says(20, "a5", "u5", [20_000, 4_000]),
    ];
    let turn = [user(12, "u4", "h2", "Change it."), says(13, "a4", "u4", [23_000, 500])];
    let cut = compacted(16, "cut2", "h3", "a4", 23_600);
    [&once([20_000, 3_000])[..], &turn, copied, &further[..1], &cut, &further[1..]].concat()
}

const TWICE: [&str; 12] = ["u1", "a1", "u2", "a2", "c1", "u3", "a3", "u4", "a4", "c2", "u5", "a5"];

#[test]
fn a_second_compaction_in_one_process_follows_the_first() {
    let copy = &begun()[..3];
    let session = is_read(&twice(copy), &TWICE, &[(4, 3), (9, 8)]);
    assert_eq!(session.left_out["record written twice"], 3);
    // A tool dropped the copy, so that nothing but the links tells of it.
    is_read(&twice(&[]), &TWICE, &[(4, 3), (9, 8)]);
    // The boundary hangs there itself, and its size tells.
    let mut direct = twice(&[]);
    for record in &mut direct {
        if record["logicalParentUuid"] == "h3" {
            record["logicalParentUuid"] = json!("u2");
        }
    }
    is_read(&direct, &TWICE, &[(4, 3), (9, 8)]);
    // The copies have ids of their own.
    let mut renamed = copy.to_vec();
    let name = |id: &Json| id.as_str().map(|id| format!("copy-{id}"));
    for record in &mut renamed {
        record["uuid"] = json!(name(&record["uuid"]));
        record["parentUuid"] = json!(name(&record["parentUuid"]));
    }
    let mut records = twice(&renamed);
    let hook = records.iter_mut().find(|record| record["uuid"] == "h3").unwrap();
    hook["parentUuid"] = json!("copy-u2");
    is_read(&records, &TWICE, &[(4, 3), (9, 8)]);
}

#[test]
fn a_copy_without_a_compaction_is_no_rewind() {
    // A subagent compacted; the next message of the user hangs on the copy's end.
    let copy = begun()[..3].to_vec();
    let next = [user(30, "u4", "u2", "Change it."), says(31, "a4", "u4", [23_000, 500])];
    let records = [&once([20_000, 3_000])[..], &copy, &next].concat();
    is_read(&records, &TWICE[..9], &[(4, 3)]);
    // A prompt as short as it was there: the user returned to it.
    let back = [user(30, "u4", "u2", "Change it."), says(31, "a4", "u4", [30_000, 500])];
    let records = [&once([41_000, 20_000])[..], &copy, &back].concat();
    let session = read(&lines(&records));
    assert_eq!(ids(&session).0, ["u1", "a1", "u2", "u4", "a4"]);
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

/// A response in parts, with what is given between them. The parts call, say, and call.
fn parts(between: &[Json], request: bool) -> Session {
    let part = |second: u32, id: &str, parent: &str, block: Json| {
        let mut record = says(second, id, parent, [20_000, 6_000]);
        record["message"]["id"] = json!("m-one");
        record["message"]["content"] = json!([block]);
        record["requestId"] = if request { json!("r-one") } else { Json::Null };
        record
    };
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Skill", "input": {}});
    let mut first = user(1, "u1", "", "Fix it.");
    first["parentUuid"] = Json::Null;
    let last = between.last().unwrap()["uuid"].as_str().unwrap().to_owned();
    let mut records = vec![first, part(2, "p1", "u1", call("t1"))];
    records.extend(between.iter().cloned());
    records.push(part(8, "p2", &last, call("t2")));
    let result = json!([{"type": "tool_result", "tool_use_id": "t2", "content": "clean"}]);
    records.push(at(
        9,
        "r2",
        Some("p2"),
        "user",
        json!({"message": {"role": "user", "content": result}}),
    ));
    records.push(says(10, "a2", "r2", [26_000, 500]));
    read(&lines(&records))
}

#[test]
fn a_response_is_open_until_its_id_no_longer_comes() {
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "Launching."}]);
    let result =
        at(3, "r1", Some("p1"), "user", json!({"message": {"role": "user", "content": result}}));
    let mut skill = user(4, "k1", "r1", "The skill's text.");
    skill["isMeta"] = json!(true);
    skill["sourceToolUseID"] = json!("t1");
    let note = json!({"attachment": {"type": "hook_additional_context", "content": ["Be brief."]}});
    let note = at(5, "n1", Some("k1"), "attachment", note);
    let words = user(6, "w1", "n1", "Hurry.");
    for request in [true, false] {
        let session = parts(&[result.clone(), skill.clone(), note.clone()], request);
        assert_eq!(session.requests().count(), 2, "{request}");
        let shown = outline(&session);
        assert_eq!(shown[2..4], ["t1: Launching.", "t2: clean"]);
        assert!(shown.contains(&"user: The skill's text.".to_owned()), "{shown:?}");
    }
    // Words of the user end a response, unless its request is known to be the same.
    let between = [result, skill, note, words];
    assert_eq!(parts(&between, true).requests().count(), 2);
    assert_eq!(parts(&between, false).requests().count(), 3);
}

#[test]
fn lines_of_two_responses_may_alternate() {
    let mut first = user(1, "u1", "", "Look twice.");
    first["parentUuid"] = Json::Null;
    let mut records = vec![first];
    let mut before = "u1".to_owned();
    for n in 0..4 {
        let id = format!("p{n}");
        let mut line = says(2 + n, &id, &before, [u64::from(n % 2) * 100, 5_000]);
        line["message"]["id"] = json!(format!("m{}", n % 2));
        line["requestId"] = json!(format!("r{}", n % 2));
        records.push(line);
        before = id;
    }
    let session = read(&lines(&records));
    let texts = |at: usize| session.messages[at].blocks.len();
    assert_eq!((session.requests().count(), texts(1), texts(2)), (2, 2, 2));
}
