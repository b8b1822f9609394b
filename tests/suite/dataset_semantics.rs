//! The rules for sessions (how-it-works §1 to §8), on small logs written by hand.

use std::path::Path;

use recap_core::model::{Block, Message, RecordedTrigger, Role, Session, Usage};
use recap_formats::{Dataset, DatasetError, LoadOptions, load, load_reader};
use serde_json::{Value as Json, json};

/// A Claude Code record with everything that all of them carry.
fn record(kind: &str, uuid: &str, parent: Option<&str>, more: Json) -> Json {
    // The second grows with the id's number, so that later ids are newer.
    let number: u32 =
        uuid.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    let mut record = json!({
        "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false,
        "sessionId": "5e55", "cwd": "/home/ada/engine",
        "timestamp": format!("2026-01-05T09:{:02}:{:02}Z", number / 60, number % 60),
    });
    for (key, value) in more.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

fn user(uuid: &str, parent: Option<&str>, content: Json) -> Json {
    record("user", uuid, parent, json!({"message": {"role": "user", "content": content}}))
}

fn assistant(uuid: &str, parent: Option<&str>, response: &str, content: Json) -> Json {
    let message =
        json!({"role": "assistant", "id": response, "model": "claude-x", "content": [content]});
    record("assistant", uuid, parent, json!({"message": message}))
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Json {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {"path": id}})
}

fn result(call: &str) -> Json {
    json!({"type": "tool_result", "tool_use_id": call, "content": format!("result of {call}")})
}

fn try_read(records: &[Json]) -> Result<Dataset, DatasetError> {
    let lines: Vec<String> = records.iter().map(Json::to_string).collect();
    load_reader("log.jsonl", lines.join("\n").as_bytes(), &LoadOptions::default())
}

fn read(records: &[Json]) -> Session {
    let dataset = try_read(records).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.into_iter().next().unwrap()
}

fn fixture(name: &str) -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset").join(name);
    let dataset = load(&path, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    dataset.sessions.into_iter().next().unwrap()
}

/// One word for each message: its role, and the call that it answers.
fn outline(session: &Session) -> Vec<String> {
    let word = |m: &Message| match m.tool_result() {
        Some((call, _)) => format!("result:{call}"),
        None => m.role.as_str().to_owned(),
    };
    session.messages.iter().map(word).collect()
}

#[test]
fn rule_1_one_message_per_result_or_text() {
    let mixed = json!([result("A"), result("B"), text("go on"), text("quickly")]);
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", call("A")),
        assistant("a3", Some("a2"), "msg_1", call("B")),
        user("u4", Some("a3"), mixed),
    ]);
    assert_eq!(outline(&session), ["user", "assistant", "result:A", "result:B", "user"]);
    assert_eq!(session.messages[4].blocks.len(), 2);
    let ids: Vec<&str> = session.messages.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids, ["u1", "a2", "u4#1", "u4#2", "u4"]);
}

#[test]
fn rule_2_response_lines_merge_across_ordered_results() {
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", text("Both.")),
        assistant("a3", Some("a2"), "msg_1", call("A")),
        user("u4", Some("a3"), json!([result("A")])),
        assistant("a5", Some("u4"), "msg_1", call("B")),
        assistant("a6", Some("a5"), "msg_1", call("C")),
        user("u7", Some("a6"), json!([result("C")])),
        user("u8", Some("u7"), json!([result("B")])),
        assistant("a9", Some("u8"), "msg_2", text("Done.")),
    ]);
    let expected = ["user", "assistant", "result:A", "result:B", "result:C", "assistant"];
    assert_eq!(outline(&session), expected);
    assert_eq!(session.messages[1].blocks.len(), 4);
    assert_eq!(session.requests().count(), 2);
    assert!(session.left_out.is_empty(), "{:?}", session.left_out);
}

#[test]
fn rule_2_usage_counts_once_with_largest_output() {
    let session = fixture("claude-code.jsonl");
    let usage = session.messages[1].usage.unwrap();
    assert_eq!((usage.input, usage.cache_read), (5, 20));
    assert_eq!((usage.cache_write_5m, usage.cache_write_1h), (40, 60));
    assert_eq!((usage.output, usage.output_final), (90, true));
    assert_eq!(usage.prompt(), 125);
}

#[test]
fn rule_2_only_stop_reason_makes_output_final() {
    let of = |stops: [Json; 2]| {
        let line = |uuid, parent, output: u64, stop: &Json| {
            let mut line = assistant(uuid, Some(parent), "msg_1", text("Hi."));
            line["message"]["usage"] = json!({"input_tokens": 9, "output_tokens": output});
            line["message"]["stop_reason"] = stop.clone();
            line
        };
        // The largest figure counts, wherever it stands.
        let lines = [line("a2", "u1", 80, &stops[0]), line("a3", "a2", 2, &stops[1])];
        let [first, second] = lines;
        let usage = read(&[user("u1", None, json!("hello")), first, second]).messages[1].usage;
        usage.map(|u| (u.prompt(), u.output, u.output_final)).unwrap()
    };
    assert_eq!(of([json!(null), json!(null)]), (9, 80, false));
    assert_eq!(of([json!(null), json!("end_turn")]), (9, 80, true));
    assert_eq!(of([json!("tool_use"), json!(null)]), (9, 80, true));
}

#[test]
fn rule_3_conversation_is_path_to_newest_leaf() {
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", text("Hi.")),
        user("u3", Some("a2"), json!("first try")),
        assistant("a4", Some("u3"), "msg_2", text("No.")),
        user("u5", Some("a2"), json!("second try")),
        record("progress", "p6", Some("u5"), json!({"data": {}})),
        assistant("a7", Some("p6"), "msg_3", text("Yes.")),
        // A straggler of the branch that was left is newer, but no message.
        record("progress", "p8", Some("a4"), json!({"data": {}})),
    ]);
    let ids: Vec<&str> = session.messages.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids, ["u1", "a2", "u5", "a7"]);
    assert_eq!(session.left_out["record on an abandoned branch"], 2);
    assert_eq!(session.left_out["progress record"], 2);
}

#[test]
fn rule_3_parallel_results_count_on_any_branch() {
    // Each call is the parent of its own result; the path holds only B's.
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", call("A")),
        assistant("a3", Some("a2"), "msg_1", call("B")),
        user("u4", Some("a2"), json!([result("A"), text("note")])),
        user("u5", Some("a3"), json!([result("B")])),
        assistant("a6", Some("u5"), "msg_2", text("Done.")),
    ]);
    let expected = ["user", "assistant", "result:A", "result:B", "user", "assistant"];
    assert_eq!(outline(&session), expected);
    assert!(session.left_out.is_empty(), "{:?}", session.left_out);
}

#[test]
fn rule_3_skill_text_follows_call_across_branches() {
    let mut skill = user("u5", Some("u4"), json!("How to read files."));
    skill["isMeta"] = json!(true);
    skill["sourceToolUseID"] = json!("A");
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", call("A")),
        assistant("a3", Some("a2"), "msg_1", call("B")),
        user("u4", Some("a2"), json!([result("A")])),
        skill,
        user("u6", Some("a3"), json!([result("B")])),
        assistant("a7", Some("u6"), "msg_2", text("Done.")),
    ]);
    let ids: Vec<&str> = session.messages.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids, ["u1", "a2", "u4", "u6", "u5", "a7"]);
    assert!(session.left_out.is_empty(), "{:?}", session.left_out);
}

#[test]
fn rule_3_boundary_without_parent_follows_previous_message() {
    let boundary = json!({
        "subtype": "compact_boundary", "logicalParentUuid": "not-here",
        "compactMetadata": {"trigger": "auto", "preTokens": 170_000},
    });
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", text("Hi.")),
        record("progress", "p3", Some("a2"), json!({"data": {}})),
        record("system", "b4", None, boundary),
        user("u5", Some("b4"), json!("go on")),
    ]);
    assert_eq!(outline(&session), ["user", "assistant", "user"]);
    assert_eq!(session.compactions[0].after, 2);
}

#[test]
fn rule_3_dropped_parent_is_bridged_with_warning() {
    let records = [
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", text("Hi.")),
        user("u3", Some("dropped"), json!("go on")),
    ];
    let dataset = try_read(&records).unwrap();
    assert_eq!(dataset.sessions[0].messages.len(), 3);
    assert_eq!(dataset.warnings.len(), 1);
    assert!(
        dataset.warnings[0].contains("parents that are not in the file: 1"),
        "{:?}",
        dataset.warnings
    );
}

/// A line of a subagent's response that reports `usage`.
fn billed(uuid: &str, response: Option<&str>, model: &str, usage: Json) -> Json {
    let message = json!({
        "role": "assistant", "id": response, "model": model, "content": [text("done")],
        "usage": usage,
    });
    record("assistant", uuid, Some("u1"), json!({"isSidechain": true, "message": message}))
}

#[test]
fn subagent_usage_is_billed_once_per_response() {
    let records = [
        user("u1", None, json!("hello")),
        billed("s2", Some("msg_1"), "small", json!({"input_tokens": 9, "output_tokens": 1})),
        billed("s3", Some("msg_2"), "large", json!({"cache_read_input_tokens": 4})),
        billed("s4", Some("msg_1"), "small", json!({"input_tokens": 9, "output_tokens": 6})),
        // Neither an error of the harness nor a refused request is billed.
        billed("s5", Some("msg_3"), "<synthetic>", json!({"input_tokens": 8})),
        billed("s6", Some("msg_4"), "small", json!({"input_tokens": 0, "output_tokens": 0})),
        billed("s7", Some("msg_5"), "small", json!(null)),
        // Without an id, each line is a response.
        billed("s8", None, "small", json!({"input_tokens": 1})),
        billed("s9", None, "small", json!({"input_tokens": 2})),
        assistant("a10", Some("u1"), "msg_9", text("hi")),
    ];
    let session = read(&records);
    let found = session.sidechains.iter();
    let found: Vec<_> = found.map(|r| (r.model.as_deref().unwrap(), r.usage)).collect();
    // Without the field that says why they stopped, figures are final.
    let output_final = true;
    let usage = |input, cache_read, output| Usage {
        input,
        cache_read,
        output,
        output_final,
        ..Usage::default()
    };
    let expected = [
        ("small", usage(9, 0, 6)),
        ("large", usage(0, 4, 0)),
        ("small", usage(1, 0, 0)),
        ("small", usage(2, 0, 0)),
    ];
    assert_eq!(found, expected);
    let first = session.sidechains[0].at.expect("the record has a time");
    assert_eq!(first.to_string(), "2026-01-05T09:00:02Z");
    assert_eq!(session.messages.len(), 2);
}

#[test]
fn rule_3_sidechains_are_omitted_or_own_sessions() {
    let side = |mut record: Json| {
        record["isSidechain"] = json!(true);
        record
    };
    let records = [
        user("u1", None, json!("hello")),
        side(user("s2", None, json!("search"))),
        side(assistant("s3", Some("s2"), "msg_9", text("Found."))),
        assistant("a4", Some("u1"), "msg_1", text("Hi.")),
        side(user("s5", Some("a4"), json!("again"))),
    ];
    assert_eq!(read(&records).left_out["sidechain record"], 3);
    let lines: Vec<String> = records.iter().map(Json::to_string).collect();
    let options = LoadOptions { sidechains: true, ..LoadOptions::default() };
    let dataset = load_reader("log.jsonl", lines.join("\n").as_bytes(), &options).unwrap();
    let found: Vec<(&str, usize)> =
        dataset.sessions.iter().map(|t| (t.id.as_str(), t.messages.len())).collect();
    assert_eq!(found, [("log", 2), ("log#sidechain-1", 2), ("log#sidechain-2", 1)]);
}

#[test]
fn rule_4_messages_by_harness_are_no_requests() {
    let mut synthetic = assistant("a2", Some("u1"), "x1", text("No response requested."));
    synthetic["message"]["model"] = json!("<synthetic>");
    let mut failed = assistant("a4", Some("u3"), "x2", text("API Error: 529"));
    failed["isApiErrorMessage"] = json!(true);
    let session = read(&[
        user("u1", None, json!("hello")),
        synthetic,
        user("u3", Some("a2"), json!("hello?")),
        failed,
        user("u5", Some("a4"), json!("again")),
        assistant("a6", Some("u5"), "msg_1", text("Hi.")),
        user("u7", Some("a6"), json!("bye")),
    ]);
    assert_eq!(session.requests().collect::<Vec<_>>(), [5]);
    assert_eq!(session.messages.len(), 7);
    assert_eq!(session.model.as_deref(), Some("claude-x"));
}

#[test]
fn rule_4_aborted_pi_requests_count_unlike_failed() {
    let session = fixture("pi.jsonl");
    assert_eq!(
        outline(&session),
        ["user", "assistant", "result:c1", "user", "assistant", "assistant"]
    );
    assert_eq!(session.requests().collect::<Vec<_>>(), [1, 4]);
    let aborted = session.messages[4].usage.unwrap();
    assert!(!aborted.output_final);
    assert_eq!(session.messages[5].usage, None);
}

#[test]
fn each_response_has_the_model_of_its_record() {
    let by = |uuid, parent, response, model: &str| {
        let mut record = assistant(uuid, Some(parent), response, text("Hi."));
        record["message"]["model"] = json!(model);
        record
    };
    // An error of the harness names no model.
    let session = read(&[
        user("u1", None, json!("one")),
        by("a2", "u1", "m1", "large"),
        user("u3", Some("a2"), json!("two")),
        by("a4", "u3", "m2", "small"),
        user("u5", Some("a4"), json!("three")),
        by("a6", "u5", "m3", "<synthetic>"),
        user("u7", Some("a6"), json!("four")),
        by("a8", "u7", "m4", "large"),
    ]);
    assert_eq!(session.model.as_deref(), Some("large"));
    assert_eq!(session.other_models, [(3, "small".to_owned())].into());
}

#[test]
fn rule_5_only_leading_system_messages_are_preamble() {
    let session = fixture("openai-chat.json");
    assert_eq!(session.preamble.system, ["Be brief."]);
    assert_eq!(session.preamble.tools[0].name, "find");
    assert_eq!(session.messages[0].role, Role::User);
    assert_eq!(session.messages.last().unwrap().role, Role::System);
}

#[test]
fn rule_6_summary_belongs_to_compaction_not_messages() {
    let boundary = json!({
        "subtype": "compact_boundary", "logicalParentUuid": "a2",
        "compactMetadata": {"trigger": "manual", "preTokens": 149_025},
    });
    let mut summary = user("u4", Some("b3"), json!("What happened so far."));
    summary["isCompactSummary"] = json!(true);
    summary["isVisibleInTranscriptOnly"] = json!(true);
    let mut caveat = user("u5", Some("u4"), json!("Caveat: local commands."));
    caveat["isMeta"] = json!(true);
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", text("Hi.")),
        record("system", "b3", None, boundary),
        summary,
        caveat,
    ]);
    assert_eq!(outline(&session), ["user", "assistant", "user"]);
    let compaction = &session.compactions[0];
    assert_eq!((compaction.after, compaction.kept_from), (2, 2));
    assert_eq!(compaction.trigger, RecordedTrigger::Manual);
    assert_eq!(compaction.tokens_before, Some(149_025));
    assert_eq!(compaction.summary.as_deref(), Some("What happened so far."));
}

#[test]
fn rule_6_micro_compaction_clears_results_cuts_nothing() {
    let boundary = json!({
        "subtype": "microcompact_boundary",
        "microcompactMetadata": {"trigger": "auto", "preTokens": 58_573, "compactedToolIds": ["A"]},
    });
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", call("A")),
        user("u3", Some("a2"), json!([result("A")])),
        record("system", "b4", Some("u3"), boundary),
        assistant("a5", Some("b4"), "msg_2", text("Done.")),
    ]);
    let compaction = &session.compactions[0];
    assert_eq!((compaction.after, compaction.kept_from), (3, 0));
    assert_eq!(
        (compaction.summary.as_ref(), &compaction.cleared[..]),
        (None, &["A".to_owned()][..])
    );
}

#[test]
fn rule_6_partial_compaction_record_names_kept_messages() {
    let boundary = json!({
        "subtype": "compact_boundary", "logicalParentUuid": "a4",
        "compactMetadata": {"trigger": "auto", "preservedSegment": {"headUuid": "u3", "tailUuid": "a4"}},
    });
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", text("Hi.")),
        user("u3", Some("a2"), json!("more")),
        assistant("a4", Some("u3"), "msg_2", text("Here.")),
        record("system", "b5", None, boundary),
        user("u6", Some("b5"), json!("thanks")),
    ]);
    let compaction = &session.compactions[0];
    assert_eq!((compaction.after, compaction.kept_from), (4, 2));
}

#[test]
fn rule_6_pi_entry_index_0_is_session() {
    let compaction = &fixture("pi.jsonl").compactions[0];
    // Entry 5 is the user's command: message 3, behind the level change.
    assert_eq!((compaction.after, compaction.kept_from), (4, 3));
    assert_eq!(compaction.summary.as_deref(), Some("One file: Cargo.toml."));
    assert_eq!(compaction.trigger, RecordedTrigger::Unknown);
    assert_eq!(compaction.tokens_before, Some(59));
}

#[test]
fn rule_7_reasoning_is_kept_in_the_session() {
    let session = fixture("claude-code.jsonl");
    let reasoning =
        |b: &Block| matches!(b, Block::Reasoning { text } if text == "Look at both files.");
    assert!(reasoning(&session.messages[1].blocks[0]));
}

#[test]
fn rule_8_torn_last_line_warns_and_counts() {
    let whole = [user("u1", None, json!("hello")), assistant("a2", Some("u1"), "m", text("Hi."))];
    let log = format!("{}\n{}\n{{\"type\":\"user\",\"mess", whole[0], whole[1]);
    let dataset = load_reader("log.jsonl", log.as_bytes(), &LoadOptions::default()).unwrap();
    assert_eq!(dataset.sessions[0].messages.len(), 2);
    assert_eq!(dataset.sessions[0].left_out["torn last line"], 1);
    assert_eq!(dataset.warnings, ["log.jsonl: line 3 is torn and was left out"]);
}

#[test]
fn rule_8_line_torn_within_character_is_torn() {
    let log = format!("{}\n{{\"type\":\"user\",\"x\":\"é", user("u1", None, json!("hello")));
    let bytes = &log.as_bytes()[..log.len() - 1];
    let dataset = load_reader("log.jsonl", bytes, &LoadOptions::default()).unwrap();
    assert_eq!(dataset.sessions[0].left_out["torn last line"], 1);
}

#[test]
fn record_copied_by_resumed_session_is_read_once() {
    let session = read(&[
        user("u1", None, json!("hello")),
        assistant("a2", Some("u1"), "msg_1", call("A")),
        user("u3", Some("a2"), json!([result("A")])),
        user("u3", Some("a2"), json!([result("A")])),
        assistant("a4", Some("u3"), "msg_2", text("Done.")),
    ]);
    assert_eq!(outline(&session), ["user", "assistant", "result:A", "assistant"]);
    assert_eq!(session.left_out["record written twice"], 1);
}

#[test]
fn result_without_its_call_is_omitted_and_counted() {
    let session = read(&[
        user("u1", None, json!("hello")),
        user("u3", Some("dropped"), json!([result("A")])),
        assistant("a4", Some("u3"), "msg_2", text("Done.")),
    ]);
    assert_eq!(outline(&session), ["user", "assistant"]);
    assert_eq!(session.left_out["tool result whose call is not in the file"], 1);
}

#[test]
fn result_images_and_failures_stay_but_duplicates_go() {
    let session = fixture("claude-code.jsonl");
    let expected = Block::ToolResult {
        call: "toolu_B".to_owned(),
        text: "fn lex() {}".to_owned(),
        images: 1,
        is_error: true,
    };
    assert_eq!(session.messages[3].blocks, [expected]);
    assert_eq!(session.messages[2].tool_result(), Some(("toolu_A", "fn parse() {}")));
}

#[test]
fn record_facts_are_metadata_and_folder_names_project() {
    let session = fixture("claude-code.jsonl");
    assert_eq!(session.project.as_deref(), Some("engine"));
    let expected = ["/home/ada", "/home/ada/work/engine", "2.1.0", "5e55", "claude-x", "main"];
    assert_eq!(session.metadata, expected);
}

#[test]
fn pi_user_command_reaches_the_model_as_text() {
    let session = fixture("pi.jsonl");
    let expected = "Ran `make`\n```\nno rule\n```\n\nCommand exited with code 2";
    let text = Block::Text { text: expected.to_owned() };
    assert_eq!(session.messages[3].blocks, [text]);
    let usage = session.messages[1].usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.cache_write_5m, usage.output), (3, 40, 7, 9));
}

#[test]
fn pi_tree_reads_along_path_to_last_entry() {
    let entry = |id: &str, parent: Option<&str>, text: &str| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-05T09:00:00Z",
            "message": {"role": "user", "content": text}})
    };
    let log = [
        json!({"type": "session", "version": 3, "id": "9a", "timestamp": "2026-01-05T09:00:00Z", "cwd": "/w"}),
        entry("e1", None, "one"),
        entry("e2", Some("e1"), "left"),
        entry("e3", Some("e1"), "two"),
        json!({"type": "compaction", "id": "e4", "parentId": "e3", "timestamp": "2026-01-05T09:00:00Z",
            "summary": "s", "firstKeptEntryId": "e3", "tokensBefore": 9}),
        entry("e5", Some("e4"), "three"),
    ];
    let session = read(&log);
    let ids: Vec<&str> = session.messages.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids, ["e1", "e3", "e5"]);
    assert_eq!((session.compactions[0].after, session.compactions[0].kept_from), (2, 1));
    assert_eq!(session.left_out["entry on an abandoned branch"], 1);
}

#[test]
fn openai_arguments_are_decoded_or_stay_text() {
    let session = fixture("openai-chat.json");
    let arguments: Vec<&Json> = session
        .messages
        .iter()
        .flat_map(|m| &m.blocks)
        .filter_map(|b| match b {
            Block::ToolCall { arguments, .. } => Some(arguments),
            _ => None,
        })
        .collect();
    assert_eq!(arguments, [&json!({"order": 17}), &json!("{broken"), &json!({})]);
    assert_eq!(session.left_out["structure of undecodable arguments"], 1);
}

#[test]
fn repeated_openai_call_ids_are_distinguished_keeping_results() {
    let calls = fixture("openai-chat.json").calls();
    let found: Vec<(&str, Option<u32>)> = calls.iter().map(|c| (c.id.as_str(), c.result)).collect();
    assert_eq!(found, [("call_1", Some(2)), ("call_2", Some(3)), ("call_1#2", Some(5))]);
}

#[test]
fn openai_cached_tokens_are_subtracted_from_the_prompt() {
    let usage = fixture("openai-chat.json").messages[1].usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (36, 64, 12));
}

#[test]
fn chat_reads_from_list_object_lines_and_runs() {
    let messages =
        json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]);
    let object = json!({"messages": messages});
    let run = |trial: u32| json!({"task_id": 4, "trial": trial, "reward": 1.0, "traj": messages});
    let ids = |log: String| -> Vec<String> {
        let dataset = load_reader("chat.json", log.as_bytes(), &LoadOptions::default());
        let dataset = dataset.unwrap_or_else(|e| panic!("{log}: {e}"));
        assert!(dataset.sessions.iter().all(|t| t.messages.len() == 2));
        dataset.sessions.into_iter().map(|t| t.id).collect()
    };
    assert_eq!(ids(messages.to_string()), ["chat"]);
    assert_eq!(ids(serde_json::to_string_pretty(&messages).unwrap()), ["chat"]);
    assert_eq!(ids(serde_json::to_string_pretty(&object).unwrap()), ["chat"]);
    assert_eq!(ids(format!("{object}\n{object}\n")), ["chat-1", "chat-2"]);
    let runs = json!([run(0), run(1)]).to_string();
    assert_eq!(ids(runs), ["task-4-trial-0", "task-4-trial-1"]);
}
