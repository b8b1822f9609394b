//! The strategy `recorded` on logs by hand: after each vendor's own compaction
//! it sends what that vendor's agent had, to the letter.

use std::path::Path;

use crate::common::talk::real;
use crate::common::{block_on, offline, prepared};
use crate::outline::{dataset, folder, lines};
use recap_core::model::{CellOutcome, LatencySource, Session};
use recap_replay::{ReplaySession, replay};
use serde_json::{Value as Json, json};

#[track_caller]
fn read(path: &Path) -> Session {
    let mut dataset = dataset(path);
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

fn fixture(name: &str) -> Session {
    read(&crate::outline::fixture(name))
}

#[track_caller]
fn log(records: &[Json]) -> Session {
    let folder = folder(&[("log.jsonl", lines(records))]);
    read(&folder.path().join("log.jsonl"))
}

/// Role and text of all that a request sends.
fn sent(session: &Session, request: u32) -> Vec<(String, String)> {
    let (prepared, plan) = (prepared(session.clone()), real("recorded", 200_000, &[]));
    let compactor = offline();
    let mut replay = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
    assert!(block_on(replay.run_to_request(request)).unwrap());
    let context = replay.context();
    let entries = context.visible().filter_map(|id| context.entry(id));
    entries.map(|e| (e.role.as_str().to_owned(), e.text.to_owned())).collect()
}

#[track_caller]
fn assert_sent(session: &Session, request: u32, expected: &[(&str, &str)]) {
    let found = sent(session, request);
    let found: Vec<(&str, &str)> = found.iter().map(|(r, t)| (r.as_str(), t.as_str())).collect();
    assert_eq!(found, expected);
}

/// A record of Claude Code behind its parent.
fn claude(id: &str, parent: Option<&str>, kind: &str, more: Json) -> Json {
    let mut record = json!({
        "uuid": id, "parentUuid": parent, "type": kind, "sessionId": "s",
        "timestamp": "2026-01-05T09:00:00Z",
    });
    let fields = record.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    record
}

fn claude_user(id: &str, parent: Option<&str>, text: &str) -> Json {
    claude(id, parent, "user", json!({"message": {"role": "user", "content": text}}))
}

fn claude_says(id: &str, parent: &str, text: &str) -> Json {
    let content = json!([{"type": "text", "text": text}]);
    let message = json!({"role": "assistant", "id": format!("msg-{id}"), "content": content});
    claude(id, Some(parent), "assistant", json!({ "message": message }))
}

/// Two exchanges, a boundary with this metadata, its summary, and a third.
fn claude_log(metadata: Json) -> Session {
    let boundary = json!({"subtype": "compact_boundary", "content": "Conversation compacted",
                          "logicalParentUuid": "a2", "compactMetadata": metadata});
    let mut summary = claude_user("sum", Some("cut"), "This session is being continued.");
    summary["isCompactSummary"] = json!(true);
    log(&[
        claude_user("u1", None, "one"),
        claude_says("a1", "u1", "first"),
        claude_user("u2", Some("a1"), "two"),
        claude_says("a2", "u2", "second"),
        claude("cut", None, "system", boundary),
        summary,
        claude_user("u3", Some("sum"), "three"),
        claude_says("a3", "u3", "third"),
    ])
}

const SUMMARY: (&str, &str) = ("user", "This session is being continued.");

#[test]
fn claude_code_begins_again_with_its_summary() {
    let plain = claude_log(json!({"trigger": "auto", "preTokens": 9}));
    assert_sent(&plain, 2, &[SUMMARY, ("user", "three")]);
}

#[test]
fn claude_code_keeps_a_segment_behind_its_summary() {
    let segment = json!({"headUuid": "u2", "anchorUuid": "sum", "tailUuid": "a2"});
    let tail = claude_log(json!({"trigger": "manual", "preservedSegment": segment}));
    let expected = [SUMMARY, ("user", "two"), ("assistant", "second"), ("user", "three")];
    assert_sent(&tail, 2, &expected);
    // Record by record, and not up to the end.
    let listed = json!({"anchorUuid": "sum", "uuids": ["a1", "u2"], "allUuids": ["a1", "u2", "x"]});
    let apart = claude_log(json!({"trigger": "manual", "preservedMessages": listed}));
    let expected = [SUMMARY, ("assistant", "first"), ("user", "two"), ("user", "three")];
    assert_sent(&apart, 2, &expected);
}

#[test]
fn claude_code_keeps_messages_before_partial_summary() {
    let segment = json!({"headUuid": "u1", "anchorUuid": "cut", "tailUuid": "a1"});
    let head = claude_log(json!({"trigger": "manual", "preservedSegment": segment}));
    let expected = [("user", "one"), ("assistant", "first"), SUMMARY, ("user", "three")];
    assert_sent(&head, 2, &expected);
}

#[test]
fn claude_code_clears_results_named_by_micro_compaction() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Read", "input": {}});
    let made = json!({"role": "assistant", "id": "m", "content": [call("x"), call("y")]});
    let result = |id: &str| {
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": "long"}]);
        json!({"message": {"role": "user", "content": content}})
    };
    let boundary = json!({"subtype": "microcompact_boundary",
                          "microcompactMetadata": {"trigger": "auto", "compactedToolIds": ["x"]}});
    let session = log(&[
        claude_user("u1", None, "one"),
        claude("a1", Some("u1"), "assistant", json!({ "message": made })),
        claude("r1", Some("a1"), "user", result("x")),
        claude("r2", Some("r1"), "user", result("y")),
        claude("cut", Some("r2"), "system", boundary),
        claude_says("a2", "cut", "done"),
    ]);
    let found = sent(&session, 1);
    assert_eq!(found[2].1, "[Old tool result content cleared]");
    assert_eq!(found[3].1, "long");
}

#[test]
fn pi_wraps_summary_and_continues_with_first_kept() {
    let entry = |id: &str, parent: Option<&str>, kind: &str, more: Json| {
        let mut record = json!({"type": kind, "id": id, "parentId": parent,
                                "timestamp": "2026-01-05T09:00:00Z"});
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record
    };
    let says = |role: &str, text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        json!({"message": {"role": role, "content": content}})
    };
    let usage = json!({"input": 900, "output": 30, "cacheRead": 0, "cacheWrite": 0});
    let compaction = json!({"summary": "They spoke.", "firstKeptEntryId": "2",
                            "tokensBefore": 950, "usage": usage});
    let session = log(&[
        json!({"type": "session", "id": "s", "cwd": "/home/ada/x"}),
        entry("0", None, "message", says("user", "one")),
        entry("1", Some("0"), "message", says("assistant", "first")),
        entry("2", Some("1"), "message", says("user", "two")),
        entry("3", Some("2"), "compaction", compaction),
        entry("4", Some("3"), "message", says("assistant", "second")),
    ]);
    let summary = "The conversation history before this point was compacted into the following \
                   summary:\n\n<summary>\nThey spoke.\n</summary>";
    assert_sent(&session, 1, &[("user", summary), ("user", "two")]);
    let call = session.compactions[0].call.as_ref().unwrap();
    assert_eq!((call.usage.prompt(), call.usage.output), (900, 30));
}

#[test]
fn opencode_sends_its_question_summary_and_tail() {
    let session = fixture("opencode.json");
    // The fourth request is the first behind the compaction.
    let expected = [
        ("user", "What did we do so far?"),
        ("assistant", "The limit in src/valve.rs is 4210."),
        ("user", "Raise it."),
        ("assistant", "It is 4210 now."),
        ("user", "Continue if you have next steps."),
    ];
    assert_sent(&session, 3, &expected);
    // The third is behind the pruning.
    let found = sent(&session, 2);
    assert_eq!(found[2].1, "[Old tool result content cleared]");
    assert_eq!(found[3].1, "rate = 7");
}

#[test]
fn compaction_row_has_vendor_call_if_recorded() {
    let prepared = prepared(fixture("opencode.json"));
    let ran = block_on(replay(&prepared, &real("recorded", 200_000, &[]), &offline()));
    let CellOutcome::Done(rows) = ran.cell.outcome else { panic!("it failed") };
    let [pruned, folded] = &rows.compactions[..] else { panic!("{:?}", rows.compactions) };
    assert_eq!((pruned.model_calls, pruned.messages_edited), (0, 1));
    let call = (folded.model_calls, folded.input_tokens, folded.output_tokens);
    assert_eq!(call, (1, 800, 40));
    assert_eq!(
        (folded.latency_ms, folded.latency_source),
        (Some(5_000.0), Some(LatencySource::Recorded))
    );
}

#[test]
fn codex_keeps_user_words_before_its_summary() {
    let expected = [
        ("user", "Why does the valve test fail?"),
        ("assistant", "LIMIT_KPA was 4120; the data sheet says 4210."),
        ("user", "Good. Commit it."),
        ("user", "Another model said:\nThe limit in src/valve.rs is 4210 now."),
    ];
    let session = fixture("codex.jsonl");
    let behind = session.requests().position(|at| at >= 8).unwrap();
    assert_sent(&session, behind as u32, &expected);
}

#[test]
fn vendor_encrypted_summary_fails_cell_with_its_reason() {
    let item = |kind: &str, payload: Json| json!({"timestamp": "2026-01-05T09:00:00Z", "type": kind, "payload": payload});
    let says = |role: &str, text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        item("response_item", json!({"type": "message", "role": role, "content": content}))
    };
    let history = json!([{"type": "compaction", "encrypted_content": "gAAAA"}]);
    let session = log(&[
        says("user", "one"),
        says("assistant", "first"),
        item("compacted", json!({"message": "", "replacement_history": history})),
        says("user", "two"),
        says("assistant", "second"),
    ]);
    let prepared = prepared(session);
    let ran = |name: &str| {
        block_on(replay(&prepared, &real(name, 200_000, &[]), &offline())).cell.outcome
    };
    let CellOutcome::Failed { error } = ran("recorded") else { panic!("it ran through") };
    let says = "recorded: the recording cannot be repeated: the vendor encrypted its summary";
    assert_eq!(error, says);
    assert!(matches!(ran("fifo"), CellOutcome::Done(_)), "others go on");
}
