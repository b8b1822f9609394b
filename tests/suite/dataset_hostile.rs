//! Recordings that a stranger wrote to use up time or memory. Each is a few
//! megabytes, in which something is looked up so often that a reader whose time
//! or memory grows with the square of it would not come to an end here.

use std::fmt::Write as _;

use recap_core::model::Role;
use recap_formats::{Dataset, DatasetError, LoadOptions, load, load_reader, write_native};
use serde_json::{Value as Json, json};

/// Reads a recording.
fn try_read(recording: &str, sidechains: bool) -> Result<Dataset, DatasetError> {
    let options = LoadOptions { sidechains, ..LoadOptions::default() };
    load_reader("hostile", recording.as_bytes(), &options)
}

fn read(recording: &str) -> Dataset {
    try_read(recording, false).unwrap_or_else(|error| panic!("{error}"))
}

/// That what its compactions keep together is refused.
#[track_caller]
fn keeps_too_much(recording: &str) {
    let error = try_read(recording, false).expect_err("it takes any amount of memory");
    assert!(error.to_string().contains("its compactions keep more than"), "{error}");
}

fn lines(records: impl Iterator<Item = Json>) -> String {
    records.fold(String::new(), |mut text, record| {
        writeln!(text, "{record}").expect("a string takes every text");
        text
    })
}

/// A record of Claude Code.
fn claude(number: usize, parent: Option<usize>, kind: &str, more: &Json) -> Json {
    let parent = parent.map(|parent| format!("u{parent}"));
    let mut record =
        json!({"type": kind, "uuid": format!("u{number}"), "parentUuid": parent, "sessionId": "s"});
    for (key, value) in more.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

fn said() -> Json {
    json!({"message": {"role": "user", "content": "x"}})
}

/// That so many messages are read of a recording.
#[track_caller]
fn has(messages: usize, recording: &str) {
    assert_eq!(read(recording).sessions[0].messages.len(), messages);
}

#[test]
fn response_with_many_calls_reads_in_linear_time() {
    let call = |n| json!({"type": "tool_use", "id": format!("c{n}"), "name": "r", "input": {}});
    let calls: Vec<Json> = (0..36_000).map(call).collect();
    let response = json!({"message": {"role": "assistant", "id": "m", "content": calls}});
    let records = [claude(0, None, "user", &said()), claude(1, Some(0), "assistant", &response)];
    let dataset = read(&lines(records.into_iter()));
    assert_eq!(dataset.sessions[0].messages[1].blocks.len(), 36_000);
}

#[test]
fn sidechains_with_later_parents_read_in_linear_time() {
    let (n, half) = (100_000, 49_000);
    let side = json!({"isSidechain": true, "message": {"role": "user", "content": "x"}});
    // More stand behind their parents than before them: the file is not turned.
    let parent = |at| if at < half { Some(at + 1) } else { (at > half).then(|| at - 1) };
    let records = (0..n).map(|at| claude(at, parent(at), "user", &side));
    let records = records.chain([claude(n, None, "user", &said())]);
    let dataset = try_read(&lines(records), true).unwrap();
    assert_eq!(dataset.sessions.len(), 2);
}

#[test]
fn many_long_session_sidechains_read_in_linear_time() {
    let n = 30_000;
    let side = json!({"isSidechain": true, "message": {"role": "user", "content": "x"}});
    let main = (0..n).map(|at: usize| claude(at, at.checked_sub(1), "user", &said()));
    let sides = (n..2 * n).map(|at| claude(at, Some(n - 1), "user", &side));
    let dataset = try_read(&lines(main.chain(sides)), true).unwrap();
    assert_eq!(dataset.sessions.len(), n + 1);
}

#[test]
fn sidechains_in_a_circle_are_refused() {
    let side = json!({"isSidechain": true, "message": {"role": "user", "content": "x"}});
    let records = (0..3_usize).map(|at| claude(at, Some((at + 1) % 3), "user", &side));
    let error = try_read(&lines(records), true).unwrap_err().to_string();
    assert!(error.contains("circle"), "{error}");
}

#[test]
fn claude_code_compactions_keeping_too_much_are_refused() {
    let n = 3_000;
    let boundary = json!({"subtype": "compact_boundary",
        "compactMetadata": {"trigger": "auto", "preservedSegment": {"headUuid": "u0"}}});
    let messages = (0..n).map(|at: usize| claude(at, at.checked_sub(1), "user", &said()));
    let boundaries = (n..2 * n).map(|at| claude(at, Some(at - 1), "system", &boundary));
    let last = claude(2 * n, Some(2 * n - 1), "user", &said());
    keeps_too_much(&lines(messages.chain(boundaries).chain([last])));
}

fn codex(kind: &str, payload: &Json) -> Json {
    json!({"timestamp": "2026-01-05T09:00:00Z", "type": kind, "payload": payload})
}

fn codex_said(text: &str) -> Json {
    let content = json!([{"type": "input_text", "text": text}]);
    codex("response_item", &json!({"type": "message", "role": "user", "content": content}))
}

#[test]
fn many_codex_compactions_read_in_linear_time() {
    let n = 20_000;
    let compacted = (0..n).map(|at| {
        let mut record = codex("compacted", &json!({"message": "", "replacement_history": []}));
        let (hour, minute, second) = (at / 3_600, at / 60 % 60, at % 60);
        record["timestamp"] = json!(format!("2026-01-05T{hour:02}:{minute:02}:{second:02}Z"));
        record
    });
    let said = (0..n).map(|_| codex_said("x"));
    let dataset = read(&lines(said.chain(compacted)));
    assert_eq!(dataset.sessions[0].compactions.len(), n);
}

#[test]
fn codex_compactions_keeping_too_much_are_refused() {
    let prefix = "Another language model started to solve this problem";
    let compacted = codex("compacted", &json!({"message": prefix}));
    let short = (0..3_000).map(|_| codex_said("x"));
    keeps_too_much(&lines(short.chain((0..3_000).map(|_| compacted.clone()))));
    // Here each puts 80,000 bytes of what the user said into its text.
    let compacted = codex("compacted", &json!({"message": "short"}));
    let long = codex_said(&"x".repeat(100_000));
    keeps_too_much(&lines([long].into_iter().chain((0..4_000).map(|_| compacted.clone()))));
}

#[test]
fn pi_compactions_keeping_absent_entries_read_linearly() {
    let n = 40_000;
    let session = json!({"type": "session", "id": "s", "cwd": "/x"});
    // All but the last of these are on a branch that was left.
    let entry = |at: usize| json!({"type": "message", "id": format!("e{at}"), "message": {"role": "user", "content": "x"}});
    let compaction = |at: usize| {
        let parent = if at == n { format!("e{}", n - 1) } else { format!("e{}", at - 1) };
        json!({"type": "compaction", "id": format!("e{at}"), "parentId": parent, "summary": "s",
            "firstKeptEntryIndex": 1})
    };
    let entries = (0..n).map(entry).chain((n..2 * n).map(compaction));
    let dataset = read(&lines([session].into_iter().chain(entries)));
    assert_eq!(dataset.sessions[0].compactions.len(), n);
}

#[test]
fn opencode_summaries_without_counts_read_in_linear_time() {
    let n = 9_000;
    let message = |at: usize, summary: bool| {
        json!({"info": {"id": format!("m{at}"), "sessionID": "ses_1", "role": "assistant",
            "summary": summary, "finish": "stop"}, "parts": [{"type": "text", "text": "x"}]})
    };
    let messages: Vec<Json> = (0..2 * n).map(|at| message(at, at >= n)).collect();
    let export = json!({"info": {"id": "ses_1"}, "messages": messages});
    let dataset = read(&export.to_string());
    assert_eq!(dataset.sessions[0].compactions.len(), n);
}

#[test]
fn evidence_of_many_turns_found_in_linear_time() {
    let n = 54_000;
    let ids: Vec<String> = (0..n).map(|at| format!("D1:{at}")).collect();
    let turn = |id: &String| json!({"speaker": "A", "dia_id": id, "text": "x"});
    let turns: Vec<Json> = ids.iter().map(turn).collect();
    let question = json!({"question": "q", "answer": "x", "category": 4, "evidence": ids});
    let conversation = json!({"speaker_a": "A", "speaker_b": "B", "session_1": turns});
    let sample = json!([{"conversation": conversation, "qa": [question]}]);
    assert_eq!(read(&sample.to_string()).questions[0].evidence.len(), n);

    let turn = |at: usize| json!({"role": "user", "id": at, "content": "x"});
    let chat = json!([{"turns": [(0..n).map(turn).collect::<Vec<Json>>()]}]);
    let numbers: Vec<usize> = (0..n).collect();
    let question = json!({"question": "q", "answer": "x", "source_chat_ids": numbers});
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("chat.json"), chat.to_string()).unwrap();
    let asked = json!({"information_extraction": [question]}).to_string();
    std::fs::write(folder.path().join("probing_questions.json"), asked).unwrap();
    let dataset = load(folder.path(), &LoadOptions::default()).unwrap();
    assert_eq!(dataset.questions[0].evidence.len(), n);
}

#[test]
fn deeply_nested_arguments_survive_writing_and_reading() {
    for levels in [100, 101, 121, 122, 123, 124, 126, 127] {
        let nested = "[".repeat(levels) + &"]".repeat(levels);
        let call =
            json!({"id": "c", "type": "function", "function": {"name": "r", "arguments": nested}});
        let chat = json!([{"role": "user", "content": "x"},
            {"role": "assistant", "content": "y", "tool_calls": [call]}]);
        let message = json!({"role": "assistant", "id": "m", "content": [
            {"type": "tool_use", "id": "c", "name": "r", "input": "NESTED"}]});
        let response = json!({"message": message});
        let records =
            [claude(0, None, "user", &said()), claude(1, Some(0), "assistant", &response)];
        let log = lines(records.into_iter()).replace("\"NESTED\"", &nested);
        let item =
            json!({"type": "function_call", "name": "r", "arguments": nested, "call_id": "c"});
        let rollout = lines([codex_said("x"), codex("response_item", &item)].into_iter());
        for recording in [chat.to_string(), log, rollout] {
            // The log itself is nested four levels deeper.
            let Ok(dataset) = try_read(&recording, false) else { continue };
            if dataset.warnings.iter().any(|warning| warning.contains("set aside: 1 record")) {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            write_native(&dataset, &folder.path().join("set")).unwrap();
            let again = load(&folder.path().join("set"), &LoadOptions::default());
            let again = again.unwrap_or_else(|error| panic!("{levels} levels: {error}"));
            assert_eq!(again.sessions, dataset.sessions);
            let reason = "structure of arguments that are nested too deeply";
            let left = dataset.sessions[0].left_out.get(reason);
            assert_eq!(left.is_some(), levels > 100, "{levels}");
        }
    }
}

#[test]
fn many_stale_values_checked_in_linear_time() {
    let n = 5_000;
    let values = |word: &str| (0..n).map(|at| format!("{word} {at}")).collect::<Vec<String>>();
    let asked = json!({"id": "1", "question": "q", "expect": {"any_of": values("right")},
        "stale": values("wrong"), "answer": "right 1", "label": true});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("labels.jsonl");
    std::fs::write(&file, asked.to_string()).unwrap();
    let labels = recap_formats::load_labels(&file).unwrap();
    assert_eq!(labels[0].asked.stale.len(), n);
}

#[test]
fn many_requests_read_in_linear_time() {
    let asked = |n: usize| json!([{"role": "user", "content": (n % 7).to_string()}]);
    has(1, &lines((0..40_000).map(|n| json!({"system": "x", "messages": asked(n)}))));
    let call = |n: usize| json!([{"type": "function_call", "call_id": (n % 7).to_string(), "name": "r", "arguments": "{}"}]);
    has(1, &lines((0..8_000).map(|n| json!({"model": "x", "input": call(n)}))));
    let entry = |n: usize, before: Option<usize>, output: &Json| {
        let before = before.map(|n| format!("r{n}"));
        let user = json!([{"role": "user", "content": "x"}]);
        let request = json!({"model": "m", "previous_response_id": before, "input": user});
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        let id = format!("r{n}");
        json!({"request": request, "response":
            {"id": id, "object": "response", "output": output, "usage": usage}})
    };
    let said = json!([{"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "y"}]}]);
    has(10_000, &lines((0..5_000).map(|n: usize| entry(n, n.checked_sub(1), &said))));
    // Every request goes back to the first response.
    let back = read(&lines((0..5_000).map(|n| entry(n, (n > 0).then_some(0), &json!([])))));
    let asked = back.sessions[0].messages.iter().filter(|message| message.role == Role::User);
    assert_eq!(asked.count(), 2);
}

#[test]
fn many_spans_with_odd_attributes_read_in_linear_time() {
    let span = |n: usize, attributes: &[(&str, String)]| {
        let mut all =
            vec![json!({"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}})];
        let of = |(key, text): &(&str, String)| json!({"key": key, "value": {"stringValue": text}});
        all.extend(attributes.iter().map(of));
        let span = json!({"traceId": "t", "startTimeUnixNano": n.to_string(), "attributes": all});
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    };
    let input = |role: &str, n: usize| {
        let messages = json!([{"role": role, "content": (n % 7).to_string()}]).to_string();
        ("gen_ai.input.messages", messages)
    };
    has(1, &lines((0..5_000).map(|n| span(n, &[input("user", n)]))));
    let deep = format!("gen_ai.prompt.0.{}", "a.".repeat(100_000));
    let far = [(&*deep, "x".to_owned()), ("gen_ai.prompt.4294967295.content", "go".to_owned())];
    has(1, &span(1, &far).to_string());
    let error = try_read(&span(1, &[input("robot", 1)]).to_string(), false).unwrap_err();
    assert!(error.to_string().contains("unknown role `robot`"), "{error}");
    assert!(try_read("{\"resourceSpans\":[{\"scopeSpans\":7}]}", false).is_err());
}

#[test]
fn many_turns_of_aider_read_in_linear_time() {
    let begun = "# aider chat started at x\n";
    has(80_000, &format!("{begun}{}", "#### a\nb\n".repeat(40_000)));
    has(1, &format!("{}#### Go.\n", format!("{begun}\n").repeat(100_000)));
    let error = try_read(&begun.repeat(100_000), false).unwrap_err().to_string();
    assert!(error.contains("no conversation"), "{error}");
}

#[test]
fn many_undone_turns_of_kimi_code_read_in_linear_time() {
    let n = 10_000;
    let content = json!([{"type": "text", "text": "x"}]);
    let message = json!({"role": "user", "content": content, "origin": {"kind": "user"}});
    let asked = json!({"type": "context.append_message", "message": message, "time": 1});
    let call = |id: usize| {
        json!({"type": "context.append_loop_event",
        "event": {"type": "tool.call", "toolCallId": id.to_string(), "name": "f"}})
    };
    let undo = json!({"type": "context.undo", "count": 4 * n});
    let calls = (0..n).flat_map(|id| [asked.clone(), call(id), undo.clone()]);
    has(3 * n, &lines(calls));
}

#[test]
fn many_compactions_of_copilot_cli_read_in_linear_time() {
    let n = 40_000;
    let event =
        |kind: &str, data: Json| json!({"type": kind, "id": kind, "parentId": null, "data": data});
    let said = event("user.message", json!({"content": "x"}));
    let done = json!({"success": true, "summaryContent": "s"});
    let done = event("session.compaction_complete", done);
    let dataset = read(&lines(vec![said; n].into_iter().chain(vec![done; n])));
    assert_eq!(dataset.sessions[0].compactions.len(), n);
    let message = json!({"role": "user", "content": "x"});
    has(n, &json!({"v": 1, "id": "T-1", "messages": vec![message; n]}).to_string());
}

#[test]
fn many_events_of_gemini_cli_read_in_linear_time() {
    let n = 40_000;
    let said = |at: usize| json!({"id": format!("g{at}"), "type": "gemini", "content": "x"});
    // One id again and again; summaries of everything, each undone at once.
    let call = json!([{"id": "c", "name": "read_file", "args": {}, "status": "success"}]);
    let again = json!({"id": "g0", "type": "gemini", "content": "", "toolCalls": call});
    let patch = json!({"$patch": {"id": "g0", "toolCalls": call}});
    let summary = json!([{"id": "s", "type": "user", "content": [{"text": "SUMMARY"}]}]);
    let summary = json!({"$set": {"messages": summary, "lastUpdated": "2026-05-04T10:00:00Z"}});
    let back = |at| json!({"$rewindTo": format!("g{}", n - 1 - at)});
    let header = json!({"sessionId": "s", "projectHash": "p", "kind": "main"});
    let events = [header].into_iter().chain((0..n).map(said)).chain(vec![again; n]);
    let events = events.chain(vec![patch; n]);
    let undone = (0..n / 2).flat_map(|at| [summary.clone(), back(at)]);
    has(n / 2, &lines(events.chain(undone)));
}

#[test]
fn many_condensations_of_openhands_are_bounded() {
    let said = |id: i64| json!({"id": id, "source": "user", "action": "message", "args": {"content": "x"}});
    let forget = |n: i64, id: i64| {
        let args = json!({"forgotten_event_ids": [id], "summary": "S"});
        json!({"id": n + id, "source": "agent", "action": "condensation", "args": args})
    };
    let n = 15_000;
    let events: Vec<Json> = (0..n).map(said).chain((0..n).map(|id| forget(n, id))).collect();
    assert_eq!(read(&json!(events).to_string()).sessions[0].compactions.len(), n as usize);
    let n = 6_000;
    let events: Vec<Json> = (0..n).map(said).chain((0..n).rev().map(|id| forget(n, id))).collect();
    keeps_too_much(&json!(events).to_string());
}

#[test]
fn unknown_events_of_openhands_are_counted_and_not_held() {
    let event = |kind: Json, id: String| json!({"kind": kind, "id": id, "source": "agent", "timestamp": "2026-01-05T09:00:00Z", "payload": [1, 2, 3]});
    let mut said = event(json!("MessageEvent"), "m".to_owned());
    said["llm_message"] = json!({"role": "user", "content": [{"type": "text", "text": "x"}]});
    let n = 128_000;
    let unknown = (0..n).map(|at| event(json!("HookEvent"), format!("e{at}")));
    let broken = (0..n / 2).map(|_| json!({"kind": 7}));
    let dataset = read(&lines([said].into_iter().chain(unknown).chain(broken)));
    let session = &dataset.sessions[0];
    let left_out = ["HookEvent", "event that cannot be read"].map(|kind| session.left_out[kind]);
    assert_eq!((session.messages.len(), left_out), (1, [n, n / 2]));
}

#[test]
fn many_summaries_of_roo_are_refused() {
    let said = |role: &str, more: Json| {
        let mut message =
            json!({"role": role, "content": [{"type": "text", "text": "a"}], "ts": 1});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let odd = json!([said("user", json!({"isSummary": true, "condenseId": 7}))]);
    let error = try_read(&odd.to_string(), false).unwrap_err();
    assert!(error.to_string().contains("condenseId"), "{error}");
    let summary = |n: usize| {
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        said(role, json!({"isSummary": true, "condenseId": "x"}))
    };
    let many = (0..2_000).map(|_| said("user", json!({}))).chain((0..6_000).map(summary));
    keeps_too_much(&many.collect::<Json>().to_string());
}

#[test]
fn trajectories_with_one_id_or_odd_values_read_in_linear_time() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "b", "arguments": "{}"}});
    let pair = [
        json!({"role": "assistant", "content": "I look.", "action": "ls", "tool_calls": [call]}),
        json!({"role": "tool", "content": "x", "tool_call_ids": ["c"]}),
    ];
    let n = 11_000;
    let history: Vec<Json> = (0..n).flat_map(|_| pair.clone()).collect();
    has(2 * n, &json!({"trajectory": [], "history": history, "info": {}}).to_string());
    let mini = |messages: Vec<Json>| {
        let stats = json!({"instance_cost": f64::MAX, "api_calls": 7});
        json!({"info": {"model_stats": stats, "mini_version": "2.3.0", "config": {}},
            "messages": messages, "trajectory_format": "mini-swe-agent-1.1"})
        .to_string()
    };
    let asked = json!({"role": "user", "content": "go"});
    for odd in [
        json!(null),
        json!(7),
        json!({"response": "repr", "cost": "x", "timestamp": 1e300, "actions": 7}),
        json!({"cost": -1.0, "response": {"usage": [], "model": 7}}),
    ] {
        let answer = json!({"role": "assistant", "content": "Done.", "extra": odd});
        has(2, &mini(vec![asked.clone(), answer]));
    }
    let answer = json!({"role": "assistant", "content": "done"});
    has(20_000, &mini([asked, answer].into_iter().cycle().take(20_000).collect()));
    let robot = json!({"role": "robot", "content": "x"});
    let error = try_read(&mini(vec![robot]), false).unwrap_err();
    assert!(error.to_string().contains("unknown role `robot`"), "{error}");
}
