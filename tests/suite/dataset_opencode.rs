//! OpenCode exports: how one becomes a session, and what is wrong with others.

use std::path::Path;

use recap_core::model::{Piece, RecordedTrigger, Role, Session};
use recap_formats::{Dataset, DatasetError, LoadOptions, Problem, load};
use serde_json::{Value as Json, json};

fn fixture() -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset/opencode.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn try_read(export: &Json) -> Result<Dataset, DatasetError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.json");
    std::fs::write(&path, serde_json::to_string_pretty(export).unwrap()).unwrap();
    load(&path, &LoadOptions::default())
}

#[track_caller]
fn read(export: &Json) -> Session {
    let mut dataset = try_read(export).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

#[track_caller]
fn refused(export: &Json) -> String {
    try_read(export).expect_err("it is refused").to_string()
}

/// One word a message.
fn outline(session: &Session) -> Vec<String> {
    let word = |m: &recap_core::model::Message| match m.tool_result() {
        Some((call, _)) => format!("result:{call}"),
        None => m.role.as_str().to_owned(),
    };
    session.messages.iter().map(word).collect()
}

/// An export of these messages: `(id, role, parts)`.
fn export(messages: &[(&str, &str, Json)]) -> Json {
    let message = |(id, role, parts): &(&str, &str, Json)| {
        json!({"info": {"id": id, "sessionID": "ses_1", "role": role, "time": {"created": 1}},
               "parts": parts})
    };
    let messages: Vec<Json> = messages.iter().map(message).collect();
    json!({"info": {"id": "ses_1"}, "messages": messages})
}

fn said(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn tool(call: &str, state: Json) -> Json {
    json!({"type": "tool", "id": format!("prt-{call}"), "callID": call, "tool": "read", "state": state})
}

#[test]
fn failed_or_cut_summary_is_no_compaction() {
    let mut failed = fixture();
    failed["messages"][5]["info"]["error"] = json!({"name": "APIError"});
    let session = read(&failed);
    assert_eq!(session.compactions.len(), 1);
    assert_eq!(session.left_out["response that failed"], 2);
    let mut cut = fixture();
    cut["messages"][5]["info"].as_object_mut().unwrap().remove("finish");
    let session = read(&cut);
    assert_eq!(session.compactions.len(), 1);
    // Both were sent as they are.
    assert_eq!(session.messages[8].sent(), "What did we do so far?");
    assert_eq!(session.messages[9].sent(), "The limit in src/valve.rs is 4210.");
}

#[test]
fn a_summary_that_nobody_asked_for_stands_alone() {
    let mut old = fixture();
    old["messages"].as_array_mut().unwrap().remove(4);
    let compaction = &read(&old).compactions[1];
    assert_eq!((compaction.after, compaction.kept_from), (8, 8));
    assert_eq!(compaction.trigger, RecordedTrigger::Unknown);
    assert!(matches!(&compaction.pieces[..], [Piece::Text { role: Role::Assistant, .. }]));
}

#[test]
fn unfinished_call_has_no_result_or_interrupted_one() {
    let running = json!([tool("a", json!({"status": "running", "input": {}}))]);
    let last = export(&[("m1", "user", json!([said("go")])), ("m2", "assistant", running.clone())]);
    assert_eq!(outline(&read(&last)), ["user", "assistant"]);
    let more = export(&[
        ("m1", "user", json!([said("go")])),
        ("m2", "assistant", running),
        ("m3", "user", json!([said("on")])),
    ]);
    let session = read(&more);
    assert_eq!(outline(&session), ["user", "assistant", "result:a", "user"]);
    assert_eq!(session.messages[2].sent(), "[Tool execution was interrupted]");
    let kept = json!({"status": "error", "input": {}, "error": "aborted",
                      "metadata": {"interrupted": true, "output": "half"}});
    let partial = export(&[
        ("m1", "user", json!([said("go")])),
        ("m2", "assistant", json!([tool("a", kept)])),
    ]);
    assert_eq!(read(&partial).messages[2].sent(), "half");
}

#[test]
fn reused_provider_call_ids_are_distinguished() {
    let done = || tool("call_0", json!({"status": "completed", "input": {}, "output": "x"}));
    let mut again = done();
    again["id"] = json!("prt-other");
    let twice = export(&[
        ("m1", "user", json!([said("go")])),
        ("m2", "assistant", json!([done()])),
        ("m3", "assistant", json!([again])),
    ]);
    let expected = ["user", "assistant", "result:call_0", "assistant", "result:prt-other"];
    assert_eq!(outline(&read(&twice)), expected);
}

#[test]
fn output_includes_reasoning_whether_or_not_already_counted() {
    let of = |tokens: Json| {
        let parts = json!([said("x"), {"type": "step-finish", "tokens": tokens}]);
        read(&export(&[("m1", "assistant", parts)])).messages[0].usage.map(|u| u.output)
    };
    let cache = json!({"read": 5, "write": 1});
    let held = json!({"total": 46, "input": 10, "output": 30, "reasoning": 20, "cache": cache});
    assert_eq!(of(held), Some(30));
    let apart = json!({"total": 66, "input": 10, "output": 30, "reasoning": 20, "cache": cache});
    assert_eq!(of(apart), Some(50));
    assert_eq!(of(json!({"input": 10, "output": 30, "reasoning": 20})), Some(30));
    for odd in [json!(-1), json!(1e300), json!(0.5)] {
        let tokens = json!({"input": odd, "output": 3});
        let parts = json!([said("x"), {"type": "step-finish", "tokens": tokens}]);
        let session = read(&export(&[("m1", "assistant", parts)]));
        assert_eq!(session.messages[0].usage, None);
        assert_eq!(session.left_out["token counts that are none"], 1);
    }
}

#[test]
fn system_prompt_in_old_exports_is_the_preamble() {
    let mut old = export(&[
        ("m1", "user", json!([said("go")])),
        ("m2", "assistant", json!([said("a")])),
        ("m3", "assistant", json!([said("b")])),
        ("m4", "assistant", json!([said("c")])),
    ]);
    old["messages"][1]["info"]["system"] = json!(["Be brief.", ""]);
    old["messages"][2]["info"]["system"] = json!(["Be brief."]);
    old["messages"][3]["info"]["system"] = json!(["Be long."]);
    let session = read(&old);
    assert_eq!(session.preamble.system, ["Be brief."]);
    assert_eq!(session.preamble_changes.len(), 1);
    assert_eq!(session.preamble_changes[0].before, 3);
}

#[test]
fn ids_made_equal_by_scrubber_differ_by_order() {
    let mut all = fixture();
    for message in all["messages"].as_array_mut().unwrap() {
        message["info"]["id"] = json!("[REDACTED]");
        for part in message["parts"].as_array_mut().unwrap() {
            part["id"] = json!("[REDACTED]");
            if part.get("callID").is_some() {
                part["callID"] = json!("[REDACTED]");
            }
        }
    }
    let (known, equal) = (read(&fixture()), read(&all));
    let texts = |session: &Session| -> Vec<(Role, String)> {
        let said = |m: &recap_core::model::Message| match m.tool_result() {
            Some((_, text)) => (m.role, text.to_owned()),
            None => (m.role, m.sent()),
        };
        session.messages.iter().map(said).collect()
    };
    assert_eq!(texts(&equal), texts(&known));
    let answered = |session: &Session| -> Vec<Option<u32>> {
        session.calls().iter().map(|call| call.result).collect()
    };
    assert_eq!(answered(&equal), answered(&known));
}

#[test]
fn hostile_exports_are_refused_with_their_place() {
    let go = || ("m1", "user", json!([said("go")]));
    let with = |parts: Json| export(&[go(), ("m2", "assistant", parts)]);
    let cases: Vec<(Json, &str)> = vec![
        (export(&[("m1", "robot", json!([]))]), "unknown role `robot`"),
        (
            with(json!([{"type": "tool", "callID": "a", "state": {"status": "completed"}}])),
            "tool`: it is missing",
        ),
        (with(json!([tool("a", json!({"status": "completed"}))])), "output`: it is missing"),
        (with(json!([tool("a", json!({"status": "odd"}))])), "unknown status `odd`"),
        (with(json!([{"type": "text"}])), "text`: it is missing"),
        (with(json!([{"type": "tool", "tool": "x", "state": {"status": "running"}}])), "callID"),
        (with(json!([7])), "wrong shape at `m2`"),
        (with(json!([{"type": 7}])), "`m2.type`"),
        (
            json!({"info": {"id": "ses_1"}, "messages": [{"info": {"id": 1, "role": "user"}}]}),
            "info.id",
        ),
    ];
    for (export, says) in cases {
        let error = refused(&export);
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
    let mut late = export(&[go()]);
    late["messages"][0]["info"]["time"]["created"] = json!(i64::MAX);
    assert!(refused(&late).contains("out of range"));
    let dataset = try_read(&json!({"info": {"id": "ses_1"}, "messages": []}));
    assert!(matches!(
        dataset.unwrap_err().problem,
        Problem::NoConversation { .. } | Problem::NoSessions { .. }
    ));
}

#[test]
fn circular_parents_and_unknown_tails_are_ignored() {
    let mut odd = fixture();
    for message in odd["messages"].as_array_mut().unwrap() {
        let id = message["info"]["id"].clone();
        message["info"]["parentID"] = id;
    }
    // No summary finds its question.
    let compaction = &read(&odd).compactions[1];
    assert_eq!((compaction.after, compaction.kept_from), (8, 8));
    let mut lost = fixture();
    lost["messages"][4]["parts"][0]["tail_start_id"] = json!("msg_99");
    let compaction = &read(&lost).compactions[1];
    assert_eq!((compaction.after, compaction.kept_from), (8, 8));
}

#[test]
fn outputs_pruned_before_they_exist_are_cleared_afterwards() {
    let mut early = fixture();
    early["messages"][1]["parts"][2]["state"]["time"]["compacted"] = json!(5);
    let compaction = &read(&early).compactions[0];
    assert_eq!((compaction.after, &compaction.cleared[..]), (3, &["call_a".to_owned()][..]));
}

#[test]
fn export_with_replaced_ids_is_recognised() {
    let whole = fixture();
    let mut scrubbed = whole.clone();
    scrubbed["info"]["id"] = json!("REDACTED");
    for message in scrubbed["messages"].as_array_mut().unwrap() {
        message["info"]["sessionID"] = json!("REDACTED");
    }
    let (own, other) = (read(&whole), read(&scrubbed));
    assert_eq!((own.messages, own.compactions), (other.messages, other.compactions));
    let empty = json!({"info": {"id": "REDACTED", "projectID": "p"}, "messages": []});
    assert!(refused(&empty).contains("no conversation"));
    for odd in
        [json!({"info": {"id": "x"}, "messages": []}), json!({"info": {"id": 7}, "messages": [{}]})]
    {
        assert!(refused(&odd).contains("no known session format"));
    }
}
