//! Events of OpenHands: actions, observations and condensations.

use recap_core::model::{Block, Piece, RecordedTrigger, Role, Session};
use recap_formats::{Dataset, DatasetError, LoadOptions, load_reader};
use serde_json::{Value as Json, json};

use crate::outline::outline;

const FIXTURE: &str = include_str!("../fixtures/dataset/openhands.jsonl");

fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("output.jsonl", text.as_bytes(), &LoadOptions::default())
}

fn read_all(text: &str) -> Vec<Session> {
    try_read(text).unwrap_or_else(|error| panic!("{error}")).sessions
}

fn read(events: &[Json]) -> Session {
    read_all(&json!(events).to_string()).remove(0)
}

/// A message of the user.
fn said(id: i64, text: &str) -> Json {
    json!({"id": id, "source": "user", "action": "message", "args": {"content": text}})
}

/// A call and its result, of a model that gives no ids.
fn ran(id: i64, output: &str) -> [Json; 2] {
    let args = json!({"command": "ls", "thought": "I look."});
    [
        json!({"id": id, "source": "agent", "action": "run", "args": args}),
        json!({"id": id + 1, "source": "agent", "observation": "run", "content": output,
               "cause": id, "extras": {}}),
    ]
}

#[test]
fn usage_is_per_response_in_disjoint_buckets() {
    let sessions = read_all(FIXTURE);
    let usage = |session: &Session| -> Vec<[u64; 4]> {
        let usages = session.messages.iter().filter_map(|message| message.usage);
        usages.map(|u| [u.input, u.cache_read, u.cache_write_5m, u.output]).collect()
    };
    // The first is listed with what was written to a cache.
    let expected = [[500, 200, 300, 40], [200, 1_000, 0, 10], [600, 0, 0, 12]];
    assert_eq!(usage(&sessions[0]), expected);
    // A message without a call: what was added to the session's tokens.
    assert_eq!(usage(&sessions[1]), [[300, 0, 0, 9]]);
    let messages = &sessions[1].messages;
    assert_eq!(messages[0].images(), 1);
    let error = "Agent got stuck\n[Error occurred in processing last action]";
    assert_eq!((messages[2].role, messages[2].first_text()), (Role::User, error));
}

/// An action of a response with these calls.
fn acted(id: i64, response: &str, calls: &[&str], own: &str, prompt: u64) -> Json {
    let made: Vec<Json> = calls
        .iter()
        .map(|id| json!({"id": id, "function": {"name": "ls", "arguments": "{}"}}))
        .collect();
    let answer = json!({"id": response, "choices": [{"message": {"tool_calls": made}}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": 1}});
    json!({"id": id, "source": "agent", "action": "run", "args": {}, "tool_call_metadata":
        {"tool_call_id": own, "function_name": "ls", "model_response": answer}})
}

#[test]
fn equal_response_ids_merge_only_for_own_calls() {
    let result = |id: i64, call: &str| {
        json!({"id": id, "source": "agent", "observation": "run", "content": call, "extras": {},
            "tool_call_metadata": {"tool_call_id": call}})
    };
    let session = read(&[
        said(1, "go"),
        acted(2, "gen", &["a", "b"], "a", 100),
        result(3, "a"),
        acted(4, "gen", &["a", "b"], "b", 100),
        result(5, "b"),
        acted(6, "gen", &["c"], "c", 200),
        result(7, "c"),
        acted(8, "gen", &["d"], "d", 300),
        result(9, "d"),
    ]);
    let expected =
        ["user: go", "assistant: ", "a: a", "b: b", "assistant: ", "c: c", "assistant: ", "d: d"];
    assert_eq!(outline(&session), expected);
    let prompts = session.messages.iter().filter_map(|message| message.usage);
    assert_eq!(prompts.map(|usage| usage.prompt()).collect::<Vec<_>>(), [100, 200, 300]);
}

/// An event of V1.
fn event(kind: &str, id: &str, more: &Json) -> Json {
    let mut event = json!({"kind": kind, "id": id, "source": "agent",
        "timestamp": "2026-05-04T10:00:00"});
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

#[test]
fn v1_usage_is_read_from_state_updates() {
    let says = |id: &str, role: &str, response: Option<&str>| {
        let message = json!({"role": role, "content": [{"type": "text", "text": id}]});
        event("MessageEvent", id, &json!({"llm_message": message, "llm_response_id": response}))
    };
    let tokens = |prompt: u64, read: u64, out: u64, id: &str| {
        json!({"prompt_tokens": prompt, "cache_read_tokens": read, "completion_tokens": out,
            "response_id": id, "model": "gpt-5"})
    };
    let stats = |id: &str, metrics: Json| {
        let value = json!({"usage_to_metrics": {"agent": metrics}});
        event("ConversationStateUpdateEvent", id, &json!({"key": "stats", "value": value}))
    };
    let listed = json!({"token_usages": [tokens(100, 40, 7, "r1"), tokens(150, 100, 5, "r2")]});
    let by_id = [
        says("u", "user", None),
        says("a", "assistant", Some("r1")),
        says("b", "assistant", Some("r2")),
        stats("s", listed),
    ];
    let usage = |session: &Session| -> Vec<[u64; 3]> {
        let usages = session.messages.iter().filter_map(|message| message.usage);
        usages.map(|u| [u.input, u.cache_read, u.output]).collect()
    };
    let session = read(&by_id);
    assert_eq!(usage(&session), [[60, 40, 7], [50, 100, 5]]);
    assert_eq!(session.model.as_deref(), Some("gpt-5"));
    let sum =
        |prompt: u64, out: u64| json!({"accumulated_token_usage": tokens(prompt, 0, out, "")});
    let by_sum = [
        says("u", "user", None),
        says("a", "assistant", None),
        stats("s1", sum(100, 7)),
        stats("s2", sum(100, 7)),
        says("v", "user", None),
        says("b", "assistant", None),
        stats("s3", sum(250, 12)),
        event("ConversationStateUpdateEvent", "s4", &json!({"key": "x", "value": 7})),
    ];
    let session = read(&by_sum);
    assert_eq!(usage(&session), [[100, 0, 7], [150, 0, 5]]);
    assert_eq!(session.left_out["ConversationStateUpdateEvent"], 1);
}

#[test]
fn condensations_forget_what_those_before_them_kept() {
    let mut events = vec![said(1, "go")];
    (0..4).for_each(|n| events.extend(ran(10 * n + 10, &format!("output {n}"))));
    let condense =
        |args: Json| json!({"id": 90, "source": "agent", "action": "condensation", "args": args});
    events.push(condense(json!({"forgotten_event_ids": [10, 11], "summary": "ONE"})));
    events.push(json!({"id": 91, "source": "user", "action": "condensation_request", "args": {}}));
    events.push(condense(json!({"forgotten_event_ids": [20, 21, 7], "summary": "TWO"})));
    // Without a summary: the events are gone.
    events.push(condense(json!({"forgotten_events_start_id": 40, "forgotten_events_end_id": 41})));
    events.push(condense(json!({"forgotten_event_ids": []})));
    let session = read(&events);
    let of = |at: usize| {
        let compaction = &session.compactions[at];
        (compaction.kept_from, compaction.summary.as_deref(), compaction.trigger)
    };
    assert_eq!(of(0), (3, Some("ONE"), RecordedTrigger::Auto));
    assert_eq!(of(1), (5, Some("TWO"), RecordedTrigger::Manual));
    assert_eq!(of(2), (9, None, RecordedTrigger::Auto));
    let kept = [0, 5, 6].map(Piece::Message);
    assert_eq!(session.compactions[2].pieces, kept);
    assert_eq!(session.compactions.len(), 3);
    assert_eq!(session.left_out["condensation that removed no message"], 1);
}

#[test]
fn results_without_call_ids_are_paired_by_cause() {
    let [first, result] = ran(10, "a");
    let [second, other] = ran(20, "b");
    let lost =
        json!({"id": 40, "source": "agent", "observation": "run", "content": "c", "cause": 5});
    let session = read(&[said(1, "go"), first, second, other, result, lost]);
    let expected =
        ["user: go", "assistant: I look.", "assistant: I look.", "action-20: b", "action-10: a"];
    assert_eq!(outline(&session), expected);
    assert_eq!(session.left_out["run observation without a call"], 1);
    let call = &session.messages[1].blocks[1];
    let arguments = json!({"command": "ls"});
    assert!(
        matches!(call, Block::ToolCall { name, arguments: a, .. } if name == "run" && *a == arguments)
    );
}

#[test]
fn the_events_of_one_session_are_a_list() {
    let events = [said(1, "go"), said(2, "on")];
    for text in [json!(events).to_string(), serde_json::to_string_pretty(&events).unwrap()] {
        let all = read_all(&text);
        assert_eq!((all.len(), all[0].id.as_str(), all[0].messages.len()), (1, "output", 2));
    }
    let long = "valve ".repeat(2 << 20);
    let event = json!({"id": 1, "timestamp": "2026-05-04T10:00:00", "source": "user",
                       "action": "message", "args": {"content": long}});
    let run = json!({"instance_id": "a", "history": [event]});
    let line = run.to_string();
    assert_eq!(read_all(&format!("{line}\n{}\n", line.replacen("\"a\"", "\"b\"", 1))).len(), 2);
}

#[test]
fn runs_with_hostile_events_are_skipped_with_line() {
    let run = |event: Json| json!({"instance_id": "a", "history": [said(1, "go"), event]});
    for (event, says) in [
        (json!({"id": "x"}), "history[1].id"),
        (json!({"id": 2, "action": 7}), "history[1].action"),
        (json!({"id": 2, "timestamp": "soon"}), "`history[1]`: timestamp: "),
        (json!({"id": 2, "action": "message", "args": {"content": 7}}), "history[1].args"),
        (json!({"id": 2, "tool_call_metadata": {}}), "tool_call_metadata"),
        (
            json!({"id": 2, "llm_metrics": {"accumulated_token_usage": {"prompt_tokens": -1}}}),
            "prompt_tokens",
        ),
    ] {
        let first = json!({"instance_id": "z", "history": [said(1, "go")]});
        let actual = crate::outline::actual(try_read(&format!("{first}\n{}\n", run(event))));
        assert!(actual.contains(says), "`{says}` is missing in {actual}");
        assert!(actual.contains("first line 2: "), "{actual}");
    }
    let [call, result] = ran(10, "a");
    let twice = read(&[said(1, "x"), call, result.clone(), result]);
    assert_eq!(outline(&twice)[2..], ["action-10: a", "system: a"]);
    let odd = json!({"id": 2, "source": "agent"});
    assert_eq!(read(&[said(1, "x"), odd]).left_out["unknown event"], 1);
}

#[test]
fn very_many_condensations_are_read_in_linear_time() {
    let n = 15_000;
    let talk = (0..n).map(|id| said(id, "x"));
    let forget = |id: i64| {
        let args = json!({"forgotten_event_ids": [id], "summary": "S"});
        json!({"id": n + id, "source": "agent", "action": "condensation", "args": args})
    };
    let events: Vec<Json> = talk.chain((0..n).map(forget)).collect();
    assert_eq!(read(&events).compactions.len(), n as usize);
    // What they keep together is bounded.
    let talk = (0..6_000).map(|id| said(id, "x"));
    let events: Vec<Json> = talk.chain((0..6_000).rev().map(forget)).collect();
    let error = try_read(&json!(events).to_string()).unwrap_err();
    assert!(error.to_string().contains("its compactions keep more than"), "{error}");
}

/// Structure of OpenHands/software-agent-sdk, `openhands/sdk/event`; what is said
/// in it is invented.
const V1: &str = include_str!("../fixtures/dataset/openhands-v1.jsonl");

/// An event of V1 with these fields.
fn newer(kind: &str, n: usize, fields: Json) -> Json {
    let mut event = json!({"kind": kind, "id": format!("e{n}"), "source": "user",
        "timestamp": "2026-05-04T10:00:00"});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event
}

fn actual(n: usize, text: &str) -> Json {
    let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
    newer("MessageEvent", n, json!({"llm_message": message}))
}

#[test]
fn v1_events_are_a_list_or_lines() {
    let events: Vec<Json> = V1.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (list, lines) = (read_all(&json!(events).to_string()), read_all(V1));
    assert_eq!(list[0].messages, lines[0].messages);
    assert_eq!(list[0].compactions, lines[0].compactions);
}

#[test]
fn summaries_of_v1_stand_where_their_offset_says() {
    let mut events: Vec<Json> = (0..6).map(|n| actual(n, &n.to_string())).collect();
    let condense = |n, gone: Json, at: Json| {
        let fields = json!({"forgotten_event_ids": gone, "summary": "s", "summary_offset": at});
        newer("Condensation", n, fields)
    };
    events.push(condense(6, json!(["e1", "e2"]), json!(2)));
    events.push(actual(7, "7"));
    events.push(condense(8, json!(["e6-summary", "e0", "e9"]), json!(null)));
    events.push(condense(10, json!(["e0"]), json!(0)));
    let session = read(&events);
    let summary = || Piece::Text { role: Role::User, text: "s".to_owned() };
    let [first, second] = session.compactions.as_slice() else { panic!("two condensations") };
    assert_eq!((first.after, first.kept_from), (6, 4));
    assert_eq!(first.pieces, [Piece::Message(0), Piece::Message(3), summary()]);
    // A summary that was forgotten is gone; without a place there is no new one.
    assert_eq!((second.after, second.kept_from, &second.summary), (7, 3, &None));
    assert_eq!(second.pieces, []);
    assert_eq!(session.left_out["condensation that removed no message"], 1);
}

#[test]
fn v1_reads_only_branch_of_last_event() {
    let mut events = vec![actual(0, "a"), actual(1, "b"), actual(2, "c")];
    events[2]["parent_id"] = json!("e0");
    let session = read(&events);
    assert_eq!(outline(&session), ["user: a", "user: c"]);
    assert_eq!(session.left_out["event on an abandoned branch"], 1);
    events[2]["parent_id"] = json!("__root__");
    assert_eq!(outline(&read(&events)), ["user: c"]);
    events[0]["parent_id"] = json!("e2");
    events[2]["parent_id"] = json!("e0");
    assert!(try_read(&json!(events).to_string()).is_err());
}

#[test]
fn hostile_events_of_v1_are_refused_or_counted() {
    let good = actual(0, "go");
    let lines = |event: Json| format!("{good}\n{event}\n");
    let robot = json!({"llm_message": {"role": "robot", "content": []}});
    let odd = read_all(&lines(newer("MessageEvent", 1, robot))).remove(0);
    assert_eq!(odd.left_out["event that cannot be read"], 1);
    let odd = try_read(&lines(newer("MessageEvent", 1, json!({"llm_message": 7}))));
    assert!(crate::outline::actual(odd).contains("first line 2: wrong shape at `llm_message`"));
    for (kind, reason) in [
        ("MessageEvent", "message without content"),
        ("ActionEvent", "action without a call"),
        ("ObservationEvent", "tool result whose call is not in the recording"),
        ("RobotEvent", "RobotEvent"),
    ] {
        let session = read_all(&lines(newer(kind, 1, json!({})))).remove(0);
        assert_eq!(session.left_out[reason], 1, "{kind}");
    }
    let far = json!({"forgotten_event_ids": ["e0"], "summary": "s", "summary_offset": usize::MAX});
    let session = read_all(&lines(newer("Condensation", 1, far))).remove(0);
    assert_eq!(session.compactions.len(), 1);
    let many: String = (0..20_000).map(|n| format!("{}\n", actual(n, "x"))).collect();
    assert_eq!(read_all(&many)[0].messages.len(), 20_000);
}
