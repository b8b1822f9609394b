//! Logs of Inspect: documents and archives, and what its requests sent.

use std::io::{Cursor, Write};

use recap_core::model::{Piece, Session};
use recap_formats::{Dataset, DatasetError, LoadOptions, Problem, TooMuch, load_reader};
use serde_json::{Value as Json, json};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

const FIXTURE: &str = include_str!("../fixtures/dataset/inspect.json");

fn try_read(bytes: &[u8]) -> Result<Dataset, DatasetError> {
    load_reader("run.eval", bytes, &LoadOptions::default())
}

fn read(log: &Json) -> Session {
    let dataset = try_read(log.to_string().as_bytes());
    dataset.unwrap_or_else(|error| panic!("{error}")).sessions.remove(0)
}

fn fixture() -> Session {
    let mut dataset = try_read(FIXTURE.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

/// The parsed fixture; its one number that is none is left out.
fn document() -> Json {
    serde_json::from_str(&FIXTURE.replace("NaN", "null")).unwrap()
}

fn log(sample: Json) -> Json {
    json!({"version": 2, "status": "success", "eval": {"task": "plant", "run_id": "r"},
           "samples": [sample]})
}

fn message(id: &str, role: &str, content: &str) -> Json {
    json!({"id": id, "role": role, "content": content})
}

/// The request that `answer` answered.
fn request(input: &[Json], answer: &str) -> Json {
    json!({"event": "model", "input": input,
           "output": {"choices": [{"message": {"id": answer}}],
                      "usage": {"input_tokens": 100, "output_tokens": 1, "total_tokens": 101}}})
}

fn archive(members: &[(&str, &str)], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, text) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn member_with_name_of_another_is_told() {
    let sample = |id: &str| json!({"id": id, "messages": [message("u", "user", id)]}).to_string();
    let header = log(json!({})).to_string();
    let (one, other) = (sample("one"), sample("other"));
    let members =
        [("header.json", &*header), ("samples/a.json", &*one), ("samples/b.json", &*other)];
    let bytes = archive(&members, CompressionMethod::Stored);
    let mut same = bytes.clone();
    for at in 0..bytes.len() - 14 {
        if bytes[at..].starts_with(b"samples/a.json") {
            same[at + 8] = b'b';
        }
    }
    let told = |bytes: &[u8]| {
        try_read(bytes).unwrap().warnings.iter().any(|warning| {
            warning.contains("left out: 1 member of the archive with the name of another")
        })
    };
    assert_eq!([told(&bytes), told(&same)], [false, true]);
}

#[test]
fn total_shows_whether_input_includes_cached_tokens() {
    let usages = fixture().messages.iter().filter_map(|m| m.usage).collect::<Vec<_>>();
    let buckets = usages.iter().map(|u| [u.input, u.cache_read, u.cache_write_5m, u.output]);
    let expected = [[400, 600, 0, 20], [400, 700, 300, 15], [500, 0, 0, 9]];
    assert_eq!(buckets.collect::<Vec<_>>(), expected);
}

#[test]
fn trimmed_messages_and_cleared_results_are_compactions_once() {
    let call = |id: &str, call: &str| {
        json!({"id": id, "role": "assistant", "content": "",
               "tool_calls": [{"id": call, "function": "go", "arguments": {}}]})
    };
    let result = |id: &str, call: &str, text: &str| json!({"id": id, "role": "tool", "content": text, "tool_call_id": call});
    let all = [
        message("u", "user", "go"),
        call("a1", "c1"),
        result("t1", "c1", "long"),
        call("a2", "c2"),
        result("t2", "c2", "other"),
        message("a3", "assistant", "done"),
        message("u2", "user", "on"),
        message("a4", "assistant", "well"),
    ];
    let short = result("t1", "c1", "(removed)");
    let cleared =
        |n: usize| [&[all[0].clone(), all[1].clone(), short.clone()], &all[3..n]].concat();
    let trimmed = [&all[..1], &all[3..7]].concat();
    let events = [
        request(&all[..1], "a1"),
        request(&all[..3], "a2"),
        request(&cleared(5), "a3"),
        request(&cleared(7), "a4"),
    ];
    let session = read(&log(json!({"messages": all, "events": events})));
    let [one] = &session.compactions[..] else { panic!("{:?}", session.compactions) };
    assert_eq!((one.after, one.kept_from, &one.cleared[..]), (5, 0, &["c1".to_owned()][..]));
    assert_eq!(session.messages[2].tool_result(), Some(("c1", "long")));
    let events = [request(&all[..1], "a1"), request(&all[..3], "a2"), request(&trimmed, "a4")];
    let session = read(&log(json!({"messages": all, "events": events})));
    let [one] = &session.compactions[..] else { panic!("{:?}", session.compactions) };
    assert_eq!((one.after, one.kept_from, &one.summary), (7, 3, &None));
    assert_eq!(one.pieces, [Piece::Message(0)]);
}

#[test]
fn an_archive_has_a_member_a_sample() {
    let log = document();
    let sample = log["samples"][0].to_string();
    let other = sample.replacen("\"epoch\":1", "\"epoch\":2", 1);
    let header = json!({"version": 2, "status": "success", "eval": log["eval"]}).to_string();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated, CompressionMethod::Zstd]
    {
        for start in ["header.json", "_journal/start.json"] {
            let one = [(start, header.as_str()), ("samples/valve_epoch_1.json", &sample)];
            let dataset = try_read(&archive(&one, method)).unwrap();
            assert_eq!(dataset.sessions, [fixture()]);
            let two = [&one[..], &[("samples/valve_epoch_2.json", &other[..])]].concat();
            let dataset = try_read(&archive(&two, method)).unwrap();
            let ids: Vec<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
            assert_eq!(ids, ["valve-epoch-1", "valve-epoch-2"]);
            assert!(dataset.sessions.iter().all(|t| t.project.as_deref() == Some("plant-valve")));
        }
    }
}

#[test]
fn an_archive_unpacks_no_further_than_other_packs() {
    let big = format!("{{\"messages\":[],\"x\":\"{}\"}}", "x".repeat(24 << 20));
    let bytes = archive(&[("samples/a.json", &big)], CompressionMethod::Zstd);
    assert!(bytes.len() < 100_000, "{}", bytes.len());
    let error = try_read(&bytes).unwrap_err();
    assert!(matches!(error.problem, Problem::Unpacked(TooMuch::Ratio { .. })), "{error}");
    // All members count together.
    let half = format!("{{\"messages\":[],\"x\":\"{}\"}}", "x".repeat(6 << 20));
    let members = [("samples/a.json", &half[..]), ("samples/b.json", &half[..])];
    let bytes = archive(&members, CompressionMethod::Zstd);
    assert!(matches!(try_read(&bytes).unwrap_err().problem, Problem::Unpacked(_)));
    let options = LoadOptions { max_unpacked: Some(20 << 20), ..LoadOptions::default() };
    let error = load_reader("run.eval", &bytes[..], &options).unwrap_err();
    assert!(matches!(error.problem, Problem::NoConversation { .. }), "{error}");
}

#[test]
fn broken_archives_are_refused() {
    let sample = document()["samples"][0].to_string();
    let whole = archive(&[("samples/a.json", &sample)], CompressionMethod::Zstd);
    for end in (40..whole.len()).step_by(7) {
        let error = try_read(&whole[..end]).unwrap_err();
        assert!(error.to_string().contains("archive"), "cut at {end}: {error}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        if let Err(error) = try_read(&changed) {
            assert!(!error.to_string().is_empty());
        }
    }
    let text = archive(&[("samples/a.json", "{\"messages\":")], CompressionMethod::Stored);
    assert!(try_read(&text).unwrap_err().to_string().contains("broken JSON"));
    let other = archive(&[("notes.txt", "x")], CompressionMethod::Stored);
    assert!(matches!(
        try_read(&other).unwrap_err().problem,
        Problem::NotUtf8 { .. } | Problem::UnknownFormat { .. }
    ));
}

#[test]
fn hostile_logs_are_refused() {
    let result = json!({"id": "t", "role": "tool", "content": "x", "tool_call_id": "c"});
    for (sample, says) in [
        (json!({"messages": [message("a", "robot", "x")]}), "unknown role `robot`"),
        (json!({"messages": [{"id": "a", "content": "x"}]}), "messages[0]"),
        (json!({"messages": [{"id": "a", "role": "user", "content": 7}]}), "messages[0].content"),
        (
            json!({"messages": [{"id": "a", "role": "tool", "content": "x"}]}),
            "lacks `tool_call_id`",
        ),
        (json!({"messages": 7}), "messages"),
        (
            json!({"messages": [], "events": [{"event": "model", "output": {"choices": 7}}]}),
            "choices",
        ),
        (json!({"messages": [], "events": [{"event": "model", "timestamp": "soon"}]}), "timestamp"),
    ] {
        let error = try_read(log(sample).to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
    let loose = try_read(log(json!({"messages": [result]})).to_string().as_bytes()).unwrap();
    let why = "call of a tool result, which is kept as a text";
    assert_eq!(loose.sessions[0].left_out[why], 1);
    let nothing = json!({"version": 2, "status": "started", "eval": {}});
    let error = try_read(nothing.to_string().as_bytes()).unwrap_err();
    assert!(matches!(error.problem, Problem::NoConversation { .. }), "{error}");
    // The number that is none stays where it is text.
    let said = FIXTURE.replace("You browse.", "NaN \\\" Infinity");
    let dataset = try_read(said.as_bytes()).unwrap();
    assert_eq!(dataset.sessions[0].preamble.system, ["NaN \" Infinity"]);
}

#[test]
fn many_same_id_messages_read_in_linear_time() {
    let n = 12_000;
    let messages: Vec<Json> = (0..n).map(|_| message("a", "assistant", "x")).collect();
    let events: Vec<Json> = (0..n).map(|_| request(&[], "a")).collect();
    assert_eq!(read(&log(json!({"messages": messages, "events": events}))).messages.len(), n);
}

/// A call of a model as Inspect wrote it before messages had ids.
fn unnamed(content: &str, calls: &[&str], [input, output]: [u64; 2]) -> Json {
    let calls: Vec<Json> =
        calls.iter().map(|id| json!({"id": id, "function": "run", "arguments": {}})).collect();
    let answer = json!({"role": "assistant", "content": content, "tool_calls": calls});
    json!({"event": "model", "model": "openai/gpt-4o-mini", "input": [{"role": "user", "content": "go"}],
        "output": {"model": "gpt-4o-mini-2024-07-18", "choices": [{"message": answer}],
            "usage": {"input_tokens": input, "output_tokens": output, "total_tokens": input + output}}})
}

/// The parts of a log that tell what models used.
fn used(messages: &[Json], events: &[Json], model_usage: Json) -> Session {
    let mut log =
        log(json!({"id": 1, "messages": messages, "events": events, "model_usage": model_usage}));
    log["eval"]["model"] = json!("openai/gpt-4o-mini");
    read(&log)
}

#[test]
fn answers_without_ids_are_told_by_what_they_say_and_call() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let call = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": "run", "arguments": {}}]});
    let says = |text: &str| json!({"role": "assistant", "content": text});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "Yes."});
    let messages = [user("Yes."), call, result, says("Yes."), user("Sure?"), says("Yes.")];
    let events = [
        unnamed("", &["c1"], [10, 1]),
        unnamed("Yes.", &[], [20, 2]),
        unnamed("Let me criticise.", &[], [30, 3]),
        unnamed("Yes.", &[], [40, 4]),
    ];
    let session = used(
        &messages,
        &events,
        json!({"openai/gpt-4o-mini": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}}),
    );
    assert_eq!(crate::outline::usages(&session), [[10, 0, 0, 1], [20, 0, 0, 2], [40, 0, 0, 4]]);
    assert_eq!(session.model.as_deref(), Some("gpt-4o-mini-2024-07-18"));
    assert_eq!(session.left_out["model call outside the conversation"], 1);
    let [total] = &session.totals[..] else { panic!("{:?}", session.totals) };
    assert_eq!((total.model.as_deref(), total.requests), (Some("gpt-4o-mini-2024-07-18"), 4));
    assert_eq!((total.usage.input, total.usage.output, total.usd), (100, 10, None));
}

#[test]
fn totals_of_a_model_stand_where_no_call_tells() {
    let talk = [
        message("u", "user", "go"),
        message("a", "assistant", "done"),
        message("b", "assistant", "more"),
    ];
    let usage = json!({"openai/gpt-4o-mini": {"input_tokens": 90, "output_tokens": 9, "total_tokens": 99,
            "input_tokens_cache_read": 50, "total_cost": 0.25},
        "grader": {"input_tokens": 7, "output_tokens": 1, "total_tokens": 8}, "odd": {"input_tokens": "x"}});
    let session = used(&talk, &[], usage);
    let totals: Vec<_> = session
        .totals
        .iter()
        .map(|total| {
            (total.model.as_deref().unwrap(), total.requests, total.usage.prompt(), total.usd)
        })
        .collect();
    assert_eq!(totals, [("grader", 0, 7, None), ("openai/gpt-4o-mini", 2, 90, Some(0.25))]);
    assert_eq!(session.totals[1].usage.cache_read, 50);
    assert_eq!(session.left_out["total of a model that cannot be read"], 1);
    // What Inspect took from its own cache was paid before.
    let mut cached = unnamed("done", &[], [10, 1]);
    cached["cache"] = json!("read");
    for none in [json!(null), json!({})] {
        assert!(used(&talk, &[cached.clone()], none).totals.is_empty());
    }
}
