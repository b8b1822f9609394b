//! Codex CLI rollouts, on small logs written by hand.

use std::path::Path;

use recap_core::model::{Block, Piece, Role, Session, Usage};
use recap_formats::{Dataset, DatasetError, LoadOptions, Problem, load, load_reader};
use serde_json::{Value as Json, json};

/// A record; the n-th line of a log stands at its n-th second.
fn record(kind: &str, payload: Json) -> Json {
    json!({"type": kind, "payload": payload})
}

fn message(role: &str, text: &str) -> Json {
    let part = json!({"type": if role == "assistant" { "output_text" } else { "input_text" }, "text": text});
    record("response_item", json!({"type": "message", "role": role, "content": [part]}))
}

fn call(id: &str) -> Json {
    let item = json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": id});
    record("response_item", item)
}

fn output(call: &str, output: Json) -> Json {
    record(
        "response_item",
        json!({"type": "function_call_output", "call_id": call, "output": output}),
    )
}

/// A count of `input` tokens, a tenth of them written, at a running total.
fn tokens(total: u64, input: u64) -> Json {
    let counts = |input: u64| json!({"input_tokens": input, "cached_input_tokens": input / 2, "output_tokens": input / 10});
    let info = json!({"total_token_usage": counts(total), "last_token_usage": counts(input)});
    record("event_msg", json!({"type": "token_count", "info": info}))
}

fn turn(model: &str) -> Json {
    record("turn_context", json!({"cwd": "/home/ada/engine", "model": model}))
}

fn log(records: &[Json]) -> String {
    let line = |(n, record): (usize, &Json)| {
        let mut record = record.clone();
        record["timestamp"] = json!(format!("2026-01-05T09:00:{n:02}Z"));
        format!("{record}\n")
    };
    records.iter().enumerate().map(line).collect()
}

fn try_read(log: &str) -> Result<Dataset, DatasetError> {
    load_reader("rollout.jsonl", log.as_bytes(), &LoadOptions::default())
}

fn read(records: &[Json]) -> Session {
    let dataset = try_read(&log(records)).unwrap_or_else(|e| panic!("{e}"));
    dataset.sessions.into_iter().next().expect("one session")
}

fn refused(log: &str) -> DatasetError {
    let error = try_read(log).expect_err("must be refused");
    assert!(error.to_string().contains("rollout.jsonl"), "{error}");
    error
}

/// One word for each message, with the prompt of the responses that have one.
fn outline(session: &Session) -> Vec<String> {
    let word = |m: &recap_core::model::Message| match (m.tool_result(), m.usage) {
        (Some((call, _)), _) => format!("result:{call}"),
        (None, Some(usage)) => format!("{}:{}", m.role.as_str(), usage.prompt()),
        (None, None) => m.role.as_str().to_owned(),
    };
    session.messages.iter().map(word).collect()
}

fn fixture() -> Dataset {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset/codex.jsonl");
    load(&path, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn cached_tokens_are_taken_out_of_the_input() {
    let usage = fixture().sessions[0].messages[1].usage;
    let expected = Usage {
        input: 2_000,
        cache_read: 1_000,
        output: 80,
        output_final: true,
        ..Usage::default()
    };
    assert_eq!(usage, Some(expected));
    let more_cached = json!({"input_tokens": 5, "cached_input_tokens": 9, "output_tokens": 1});
    let info = json!({"total_token_usage": more_cached, "last_token_usage": more_cached});
    let count = record("event_msg", json!({"type": "token_count", "info": info}));
    let usage = read(&[message("user", "hi"), message("assistant", "ho"), count]).messages[1].usage;
    let usage = usage.expect("it was counted");
    assert_eq!((usage.input, usage.cache_read), (0, 5));
}

#[test]
fn shell_result_is_unpacked_with_its_exit_code() {
    let session = &fixture().sessions[0];
    let result = |at: usize| match &session.messages[at].blocks[0] {
        Block::ToolResult { text, is_error, .. } => (text.as_str(), *is_error),
        other => panic!("{other:?}"),
    };
    assert_eq!(result(2), ("pub const LIMIT_KPA: u32 = 4120;\n", false));
    assert_eq!(result(3), ("cat: tests/valve.rs: No such file\n", true));
    assert!(result(5).0.starts_with("Exit code: 0\n"));
    let parts = json!([{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"}]);
    let judged = json!({"content": "no", "success": false});
    let failed = json!("Exit code: 127\nOutput:\nnot found");
    let asked = [call("A"), call("B"), call("C")];
    let answers = [output("A", parts), output("B", judged), output("C", failed)];
    let read = read(&[asked, answers].concat());
    let found: Vec<_> = read.messages[1..].iter().map(|m| m.blocks[0].clone()).collect();
    let result = |call: &str, text: &str, images, is_error| Block::ToolResult {
        call: call.to_owned(),
        text: text.to_owned(),
        images,
        is_error,
    };
    let last = result("C", "Exit code: 127\nOutput:\nnot found", 0, true);
    assert_eq!(found, [result("A", "a", 1, false), result("B", "no", 0, true), last]);
}

#[test]
fn tokens_counted_before_or_after_belong_to_response() {
    // Files of 2025 count a response before its items, later ones behind them.
    let before = [
        message("user", "go"),
        tokens(100, 100),
        call("A"),
        output("A", json!("a")),
        call("B"),
        output("B", json!("b")),
        tokens(300, 200),
        message("assistant", "done"),
    ];
    let expected = ["user", "assistant:100", "result:A", "result:B", "assistant:200"];
    assert_eq!(outline(&read(&before)), expected);
    let after = [
        message("user", "go"),
        call("A"),
        call("B"),
        tokens(100, 100),
        output("B", json!("b")),
        output("A", json!("a")),
        turn("m"),
        // Repeated for the sake of rate limits.
        tokens(100, 100),
        message("assistant", "done"),
        message("user", "and on"),
        tokens(300, 200),
        message("assistant", "still here"),
    ];
    let expected = [&expected[..], &["user", "assistant"]].concat();
    assert_eq!(outline(&read(&after)), expected);
}

#[test]
fn without_counts_a_result_ends_a_response() {
    let records = [
        call("A"),
        output("A", json!("a")),
        call("B"),
        output("B", json!("b")),
        record("event_msg", json!({"type": "token_count", "info": null})),
        message("assistant", "done"),
    ];
    let expected = ["assistant", "result:A", "assistant", "result:B", "assistant"];
    assert_eq!(outline(&read(&records)), expected);
}

#[test]
fn an_interrupted_response_leaves_at_most_its_count() {
    let aborted = || record("event_msg", json!({"type": "turn_aborted", "reason": "interrupted"}));
    let records = [
        message("user", "go"),
        tokens(100, 100),
        aborted(),
        call("A"),
        output("A", json!("rejected by the user")),
        turn("m"),
        tokens(300, 200),
        aborted(),
        message("user", "stop"),
        tokens(600, 300),
        message("assistant", "stopped"),
        // The estimate after a compaction counts nothing.
        tokens(601, 0),
    ];
    let session = read(&records);
    let expected = ["user", "assistant:100", "result:A", "user", "assistant:300"];
    assert_eq!(outline(&session), expected);
    assert_eq!(session.left_out["token count without a response"], 1);
}

#[test]
fn instructions_in_mid_session_are_system_messages() {
    let records = [
        message("developer", "Be brief."),
        message("user", "go"),
        call("A"),
        message("developer", "The sandbox is open now."),
        output("A", json!("a")),
        message("assistant", "done"),
    ];
    let session = read(&records);
    assert_eq!(session.preamble.system, ["Be brief."]);
    assert_eq!(outline(&session), ["user", "assistant", "system", "result:A", "assistant"]);
    assert_eq!(session.messages[2].role, Role::System);
}

#[test]
fn an_encrypted_summary_is_absent_and_said_so() {
    let kept = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "compaction", "encrypted_content": "gAAAA"},
    ]);
    let compacted = json!({"message": "", "replacement_history": kept, "window_number": 2});
    let records =
        [message("user", "go"), record("compacted", compacted), message("assistant", "gone")];
    let dataset = try_read(&log(&records)).unwrap();
    let session = &dataset.sessions[0];
    let compaction = &session.compactions[0];
    assert_eq!((compaction.after, compaction.kept_from), (1, 0));
    assert_eq!((&compaction.summary, compaction.tokens_before), (&None, None));
    assert_eq!(compaction.unreadable.as_deref(), Some("the vendor encrypted its summary"));
    assert_eq!(session.left_out["encrypted summary"], 1);
    let warned =
        ["rollout.jsonl: the vendor encrypted the summaries of its compactions: 1".to_owned()];
    assert_eq!(dataset.warnings, warned);
}

/// The times of a log's records, by their number.
fn timed(records: &[Json], times: &[(usize, Json)]) -> String {
    let mut lines: Vec<Json> =
        log(records).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (at, time) in times {
        lines[*at]["timestamp"] = time.clone();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn compaction_written_again_within_a_second_is_one() {
    let kept = |text: &str| {
        let item = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
        let own = json!({"type": "compaction", "encrypted_content": "gAAAA"});
        record("compacted", json!({"message": "", "replacement_history": [item, own]}))
    };
    let made = |times: [Json; 3]| {
        let mut records = vec![turn("m"), message("user", "Start."), message("assistant", "ok")];
        records.extend([tokens(500, 500), kept("Start."), kept("Start."), kept("Begin.")]);
        records.extend([message("user", "Go on."), message("assistant", "Done.")]);
        let times: Vec<(usize, Json)> = (4..).zip(times).collect();
        let dataset = try_read(&timed(&records, &times)).unwrap();
        (dataset.sessions.into_iter().next().unwrap(), dataset.warnings)
    };
    let second = |n: &str| json!(format!("2026-01-05T09:00:{n}Z"));
    let (session, warnings) = made([second("03.007"), second("03.014"), second("04.013")]);
    let [compaction] = &session.compactions[..] else { panic!("{:?}", session.compactions) };
    // The newest record is what was sent.
    let text = Piece::Text { role: Role::User, text: "Begin.".to_owned() };
    assert_eq!((compaction.after, compaction.pieces.clone()), (2, vec![text]));
    assert_eq!(compaction.tokens_before, Some(500));
    assert_eq!(session.left_out["compaction written again"], 2);
    assert_eq!(session.left_out["encrypted summary"], 1);
    assert!(warnings[0].ends_with(": 1"), "{warnings:?}");
    // A second apart, or at no time, they are as many.
    let (apart, _) = made([second("03"), second("04"), second("05")]);
    assert_eq!(apart.compactions.len(), 3);
    let (untimed, _) = made([Json::Null, Json::Null, Json::Null]);
    assert_eq!(untimed.compactions.len(), 3);
}

#[test]
fn tokens_written_to_the_cache_are_a_bucket_of_their_own() {
    let usage = |counts: Json| {
        let info = json!({"total_token_usage": counts, "last_token_usage": counts});
        let count = record("event_msg", json!({"type": "token_count", "info": info}));
        let session = read(&[turn("m"), message("user", "a"), message("assistant", "b"), count]);
        let usage = session.messages[1].usage.unwrap();
        [usage.input, usage.cache_read, usage.cache_write_5m]
    };
    let counts = |read: u64, written: Json| {
        usage(json!({"input_tokens": 1_000, "cached_input_tokens": read,
            "cache_write_input_tokens": written, "output_tokens": 1}))
    };
    assert_eq!(counts(600, json!(300)), [100, 600, 300]);
    assert_eq!(counts(600, Json::Null), [400, 600, 0]);
    // More than the prompt has cannot have been written.
    assert_eq!(counts(600, json!(u64::MAX)), [0, 600, 400]);
    assert_eq!(counts(u64::MAX, json!(7)), [0, 1_000, 0]);
}

#[test]
fn older_compactions_keep_summary_without_tail() {
    let records = [
        message("user", "go"),
        message("assistant", "went"),
        record("compacted", json!({"message": "They went."})),
        message("assistant", "on"),
    ];
    let compaction = &read(&records).compactions[0];
    assert_eq!((compaction.after, compaction.kept_from), (2, 2));
    assert_eq!(compaction.summary.as_deref(), Some("They went."));
    // As Codex put it until 2025-10: one message in the user's name.
    let [Piece::Text { role: Role::User, text }] = &compaction.pieces[..] else { panic!() };
    assert!(text.starts_with("You were originally given instructions"), "{text}");
    assert!(text.contains("Here were the user messages:\n\ngo\n\nAnother language model"));
    assert!(text.ends_with("with your own analysis:\n\nThey went."), "{text}");
}

#[test]
fn prefaced_summary_follows_newest_20_000_user_tokens() {
    let summary = "Another language model started to solve this problem and so on:\nThey went.";
    let long = "x".repeat(80_000 - 8);
    let records = [
        message("user", "<environment_context>\n</environment_context>"),
        message("user", "first of all, much is to be done"),
        message("assistant", "went"),
        message("user", &long),
        message("assistant", "on"),
        message("user", "more"),
        record("compacted", json!({"message": summary})),
        message("assistant", "done"),
    ];
    let compaction = &read(&records).compactions[0];
    let text = |text: &str| Piece::Text { role: Role::User, text: text.to_owned() };
    // "more" is 1 token, the long one 19,998: 1 is left, which is 4 bytes.
    let expected =
        [text("fi…7 tokens truncated…ne"), Piece::Message(2), Piece::Message(4), text(summary)];
    assert_eq!(compaction.pieces, expected);
    assert_eq!((compaction.after, compaction.kept_from), (5, 5));
}

#[test]
fn newest_of_identical_messages_is_kept() {
    let item = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let history = json!([item("go on"), item("go on"), item("was cut"), item("sum")]);
    let records = [
        message("user", "go on"),
        message("assistant", "a"),
        message("user", "go on"),
        message("assistant", "b"),
        message("user", "go on"),
        record("compacted", json!({"message": "sum", "replacement_history": history})),
        message("assistant", "c"),
    ];
    let text = |text: &str| Piece::Text { role: Role::User, text: text.to_owned() };
    let expected = [Piece::Message(2), Piece::Message(4), text("was cut"), text("sum")];
    assert_eq!(read(&records).compactions[0].pieces, expected);
}

#[test]
fn a_torn_last_line_is_left_out() {
    let text = log(&[message("user", "go"), message("assistant", "went"), call("A")]);
    let dataset = try_read(&text[..text.len() - 30]).unwrap();
    assert_eq!(dataset.sessions[0].messages.len(), 2);
    assert_eq!(dataset.sessions[0].left_out["torn last line"], 1);
    let text = log(&[message("user", "go"), json!({"type": "response_item"})]);
    let dataset = try_read(&text).unwrap();
    assert_eq!(dataset.sessions[0].left_out.len(), 0, "a record without a payload is no torn one");
    assert!(dataset.warnings[0].contains("set aside: 1 record that"), "{:?}", dataset.warnings);
}

#[test]
fn kinds_that_nobody_knows_are_counted() {
    let records = [
        record("response_item", json!({"type": "ghost_snapshot", "content": 7})),
        record("event_msg", json!({"type": "mcp_startup", "payload": [1]})),
        record("world_state", json!([])),
        message("user", "go"),
        record(
            "response_item",
            json!({"type": "message", "role": "user",
                   "content": [{"type": "input_audio"}, {"type": "input_text"}]}),
        ),
    ];
    let left_out = read(&records).left_out;
    let left_out: Vec<_> = left_out.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    let expected = [
        ("empty message", 1),
        ("event record", 1),
        ("ghost_snapshot item", 1),
        ("input_audio part", 1),
        ("input_text part", 1),
        ("world_state record", 1),
    ];
    assert_eq!(left_out, expected);
}

#[test]
fn misshapen_records_are_set_aside_naming_line() {
    let item = |payload: Json| record("response_item", payload);
    let count = |input: Json| {
        let counts = json!({"input_tokens": input, "output_tokens": 1});
        let info = json!({"total_token_usage": counts, "last_token_usage": counts});
        record("event_msg", json!({"type": "token_count", "info": info}))
    };
    for bad in [
        item(json!({"type": "message", "role": "user", "content": 7})),
        item(json!({"type": "message", "content": []})),
        item(json!({"type": "function_call", "name": "shell"})),
        item(json!({"type": "function_call_output", "call_id": "A", "output": 7})),
        item(json!([])),
        count(json!(-1)),
        count(json!(1e30)),
        count(json!("many")),
        record("compacted", json!({"replacement_history": 1})),
        record("session_meta", json!({"cwd": 1})),
        json!({"type": 7, "payload": {}}),
    ] {
        let dataset = try_read(&log(&[message("user", "go"), bad.clone(), message("user", "on")]));
        let dataset = dataset.unwrap_or_else(|e| panic!("{bad}: {e}"));
        assert_eq!(dataset.sessions[0].messages.len(), 2, "{bad}");
        let [warning] = &dataset.warnings[..] else { panic!("{bad}: {:?}", dataset.warnings) };
        assert!(
            warning.contains("set aside: 1 record that cannot be read, first line 2: "),
            "{warning}"
        );
        // Where nothing else is left, that is the error.
        let error = refused(&log(&[record("event_msg", json!({"type": "x"})), bad.clone()]));
        assert_eq!(error.line, Some(2), "{bad}: {error}");
        assert!(matches!(error.problem, Problem::Shape { .. }), "{bad}: {error}");
    }
    let error = refused(&log(&[turn("m"), message("robot", "hi")]));
    assert!(matches!(error.problem, Problem::UnknownRole { .. }), "{error}");
    let broken = log(&[message("user", "go"), message("user", "on")]).replacen('{', "", 1);
    assert_eq!(try_read(&broken).unwrap().sessions[0].messages.len(), 1);
}

#[test]
fn mismatched_results_and_calls_are_set_aside() {
    let early = [output("A", json!("a")), call("A")];
    let twice = [call("A"), call("A")];
    let again = [call("A"), output("A", json!("a")), output("A", json!("b"))];
    let cases: [(&[Json], &[&str], &str); 3] = [
        (&early, &["assistant"], "line 1: tool result for `A`, but no call before it"),
        (&twice, &["assistant"], "line 2: second tool call with id `A`"),
        (&again, &["assistant", "result:A"], "line 3: second tool result for call `A`"),
    ];
    for (records, expected, why) in cases {
        let dataset = try_read(&log(records)).unwrap();
        assert_eq!(outline(&dataset.sessions[0]), expected);
        assert!(dataset.warnings[0].contains(why), "{:?}", dataset.warnings);
    }
}

/// A session whose second turn is taken back and said anew.
fn rolled_back(turns: u32) -> Session {
    read(&[
        turn("m"),
        message("user", "first"),
        message("assistant", "a"),
        tokens(100, 100),
        message("developer", "The sandbox is open now."),
        message("user", "Move the port to 7001."),
        call("A"),
        output("A", json!("moved to 7001")),
        tokens(300, 200),
        record("compacted", json!({"message": "7001."})),
        message("assistant", "b"),
        tokens(400, 50),
        record("event_msg", json!({"type": "turn_aborted", "reason": "interrupted"})),
        record("event_msg", json!({"type": "thread_rolled_back", "num_turns": turns})),
        message("user", "Move the port to 9443."),
        message("assistant", "c"),
        tokens(600, 210),
    ])
}

#[test]
fn rolled_back_turns_vanish_but_costs_stay() {
    let session = rolled_back(1);
    let expected = ["user", "assistant:100", "user", "assistant:210"];
    assert_eq!(outline(&session), expected);
    assert_eq!(session.messages[2].first_text(), "Move the port to 9443.");
    // The summary was of what is gone; so is the note before the turn.
    assert_eq!(session.compactions, []);
    assert_eq!(session.left_out["message of a turn that was rolled back"], 5);
    let asides = session.sidechains.iter();
    let asides: Vec<_> = asides.map(|one| (one.model.as_deref(), one.usage.prompt())).collect();
    assert_eq!(asides, [(Some("m"), 200), (Some("m"), 50)]);
    // More turns than there are: all of them.
    for turns in [2, 9, u32::MAX] {
        assert_eq!(outline(&rolled_back(turns)), ["user", "assistant:210"]);
    }
    assert_eq!(rolled_back(0).left_out.get("message of a turn that was rolled back"), None);
}

#[test]
fn compaction_after_rollback_keeps_no_rolled_back_messages() {
    let item = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let history = json!([
        item("one"),
        item("two"),
        item("Another language model started to solve this problem: sum")
    ]);
    let session = read(&[
        message("user", "one"),
        message("assistant", "a"),
        message("user", "two"),
        message("assistant", "b"),
        record("compacted", json!({"message": "early"})),
        record("event_msg", json!({"type": "thread_rolled_back", "num_turns": 1})),
        message("user", "three"),
        message("assistant", "c"),
        record("compacted", json!({"message": "", "replacement_history": history})),
        message("assistant", "d"),
    ]);
    let [compaction] = &session.compactions[..] else { panic!("{:?}", session.compactions) };
    assert_eq!(compaction.after, 4);
    let text = |text: &str| Piece::Text { role: Role::User, text: text.to_owned() };
    let summary = "Another language model started to solve this problem: sum";
    assert_eq!(compaction.pieces, [Piece::Message(0), text("two"), text(summary)]);
    assert_eq!(compaction.summary.as_deref(), Some(summary));
    assert_eq!(compaction.unreadable, None);
}

#[test]
fn summary_removed_from_recording_is_reported_unreadable() {
    let item = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let history =
        json!([item("user", "go"), item("developer", "Be brief."), item("user", "cut off")]);
    let records = [
        message("developer", "Be brief."),
        message("user", "go"),
        message("assistant", "went"),
        record("compacted", json!({"message": "", "replacement_history": history})),
        record("compacted", json!({"message": ""})),
        message("assistant", "on"),
    ];
    let dataset = try_read(&log(&records)).unwrap();
    let session = &dataset.sessions[0];
    for compaction in &session.compactions {
        let why = Some("its summary was taken out of the recording");
        assert_eq!((compaction.unreadable.as_deref(), &compaction.summary), (why, &None));
    }
    let warned =
        "rollout.jsonl: the summaries of its compactions were taken out of the recording: 2";
    assert_eq!(dataset.warnings, [warned]);
}

#[test]
fn harness_text_about_project_is_preamble() {
    let parts = |texts: &[&str]| {
        let parts: Vec<Json> =
            texts.iter().map(|text| json!({"type": "input_text", "text": text})).collect();
        json!({"type": "message", "role": "user", "content": parts})
    };
    let guide = "# AGENTS.md instructions for /home/ada/engine\n\n<INSTRUCTIONS>\nUse tabs.";
    let place = "<environment_context>\n  <cwd>/home/ada/engine</cwd>";
    let moved = "<environment_context>\n  <cwd>/home/ada/pump</cwd>";
    let elsewhere = "<environment_context>\n  <cwd>/home/ada/tank</cwd>";
    let skill = "<skill>\n<name>valve</name>";
    let records = [
        message("developer", "Be brief."),
        record("response_item", parts(&[guide, place])),
        message("developer", "A hook says so."),
        record("response_item", parts(&[skill, "go on"])),
        message("assistant", "went"),
        record("response_item", parts(&[moved])),
        message("user", "and on"),
        record(
            "compacted",
            json!({"message": "sum", "replacement_history": [
                parts(&[guide, place]), parts(&[elsewhere]), parts(&["and on"]),
            ]}),
        ),
        message("assistant", "done"),
    ];
    let session = read(&records);
    assert_eq!(session.preamble.system, ["Be brief.", "A hook says so."]);
    assert_eq!(session.preamble.pinned, [guide, place]);
    assert_eq!(outline(&session), ["system", "user", "assistant", "system", "user", "assistant"]);
    assert_eq!(session.messages[1].first_text(), "go on");
    // What is sent with every request is kept by no compaction.
    let compaction = &session.compactions[0];
    let place = Piece::Text { role: Role::System, text: elsewhere.to_owned() };
    assert_eq!((&compaction.pieces[..], compaction.kept_from), (&[place][..], 4));
}

#[test]
fn tool_search_is_a_call_with_its_result() {
    let item = |payload: Json| record("response_item", payload);
    let tools = json!([{"type": "function", "name": "open_valve"}]);
    let records = [
        message("user", "go"),
        item(json!({"type": "tool_search_call", "call_id": "A", "arguments": {"query": "valve"}})),
        item(json!({"type": "tool_search_output", "call_id": "A", "tools": tools})),
        tokens(100, 100),
        item(json!({"type": "tool_search_call", "arguments": {"query": "pump"}})),
        item(json!({"type": "tool_search_output", "call_id": null, "tools": []})),
        item(json!({"type": "tool_search_output", "call_id": null, "tools": []})),
        tokens(300, 200),
    ];
    let session = read(&records);
    let expected = ["user", "assistant:100", "result:A", "assistant:200", "result:line-5"];
    assert_eq!(outline(&session), expected);
    let found = session.messages[2].tool_result().unwrap().1;
    assert!(found.contains("open_valve"), "{found}");
    assert_eq!(session.left_out["tool result without the id of its call"], 1);
}

#[test]
fn window_is_most_frequently_logged_limit() {
    let started = |window: Json| {
        record("event_msg", json!({"type": "task_started", "model_context_window": window}))
    };
    let said = message("user", "go");
    let window = |stated: &[Json]| {
        let records: Vec<Json> =
            stated.iter().cloned().map(started).chain([said.clone()]).collect();
        read(&records).window
    };
    assert_eq!(window(&[json!(258_400), json!(121_600), json!(258_400)]), Some(258_400));
    assert_eq!(window(&[json!(null), json!(0)]), None);
}

#[test]
fn absurd_counts_dropped_undecodable_arguments_stay_text() {
    let most = json!({"input_tokens": u64::MAX, "output_tokens": u64::MAX});
    let info = json!({"total_token_usage": most, "last_token_usage": most});
    let records = [
        record(
            "response_item",
            json!({"type": "function_call", "name": "x", "arguments": "{oops", "call_id": "A"}),
        ),
        record("event_msg", json!({"type": "token_count", "info": info})),
    ];
    let session = read(&records);
    let Block::ToolCall { arguments, .. } = &session.messages[0].blocks[0] else {
        panic!("{session:?}");
    };
    assert_eq!(arguments, &json!("{oops"));
    assert_eq!(session.messages[0].usage, None);
    assert_eq!(session.left_out["reported usage beyond any context window"], 1);
    assert_eq!(session.left_out["structure of undecodable arguments"], 1);
}
