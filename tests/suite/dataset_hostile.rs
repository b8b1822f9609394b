//! Recordings that a stranger wrote to use up time or memory. Each is a few
//! megabytes, in which something is looked up so often that a reader whose time
//! or memory grows with the square of it would not come to an end here.

use std::fmt::Write as _;

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
    let n = 10_000;
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
