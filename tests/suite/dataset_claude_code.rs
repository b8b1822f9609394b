//! Logs of Claude Code as people have them: records that are written late or again and
//! again, odd boundaries of compactions, and subagents in files of their own.

use recap_formats::{LoadOptions, load};
use serde_json::{Value as Json, json};

use crate::common::shared;
use crate::outline::{dataset, files, folder, ids, lines, read};

/// A record at a second of the session.
fn at(second: u32, id: &str, parent: Option<&str>, kind: &str, more: Json) -> Json {
    let mut record = json!({
        "type": kind, "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": "s",
        "cwd": "/home/ada/engine",
        "timestamp": format!("2026-01-05T09:{:02}:{:02}Z", second / 60, second % 60),
    });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

fn user(second: u32, id: &str, parent: Option<&str>, text: &str) -> Json {
    at(second, id, parent, "user", json!({"message": {"role": "user", "content": text}}))
}

/// A call, or a text where there is no call, with the size of its prompt: what
/// was read from the cache and what was not.
fn says(second: u32, id: &str, parent: &str, call: Option<&str>, prompt: [u64; 2]) -> Json {
    let block = match call {
        Some(call) => json!({"type": "tool_use", "id": call, "name": "Read", "input": {}}),
        None => json!({"type": "text", "text": format!("said in {id}")}),
    };
    let usage = json!({"input_tokens": prompt[1], "cache_read_input_tokens": prompt[0],
        "output_tokens": 30});
    let message = json!({"role": "assistant", "id": format!("m-{id}"), "model": "m",
        "content": [block], "usage": usage, "stop_reason": "end_turn"});
    at(second, id, Some(parent), "assistant", json!({ "message": message }))
}

fn hook(second: u32, id: &str, parent: &str) -> Json {
    at(second, id, Some(parent), "progress", json!({"data": {"type": "hook_progress"}}))
}

#[test]
fn late_records_and_rewinds_read_in_linear_time() {
    let mut all = vec![user(1, "u", None, "go"), says(1, "a", "u", None, [0, 9])];
    for n in 0..20_000 {
        all.push(hook(1, &format!("p{n}"), if n == 0 { "a" } else { "p0" }));
        let parent = if n % 2 == 0 { format!("p{n}") } else { "a".to_owned() };
        all.push(user(1, &format!("u{n}"), Some(&parent), "on"));
    }
    assert!(read(&lines(&all)).messages.len() > 2);
}

/// A boundary behind `tail` that kept the records from `head` on, and its summary.
fn compacted(second: u32, id: &str, tail: &str, head: &str, size: u64) -> [Json; 2] {
    let summary = format!("{id}-sum");
    let metadata = json!({"trigger": "manual", "preTokens": size, "postTokens": 2_000,
        "preservedSegment": {"headUuid": head, "anchorUuid": &summary, "tailUuid": tail}});
    let boundary = json!({"subtype": "compact_boundary", "logicalParentUuid": tail,
        "compactMetadata": metadata});
    let mut text = user(second + 1, &summary, Some(id), "What we did.");
    text["isCompactSummary"] = json!(true);
    [at(second, id, None, "system", boundary), text]
}

/// Two turns, of 30,000 and 40,000 tokens.
fn begun() -> Vec<Json> {
    vec![
        user(1, "u1", None, "Find the port."),
        says(2, "a1", "u1", None, [20_000, 10_000]),
        user(3, "u2", Some("a1"), "And the host."),
        says(4, "a2", "u2", None, [30_000, 10_000]),
        hook(5, "h1", "a2"),
    ]
}

/// The same, a compaction, and what hangs on the tail that it kept.
fn once() -> Vec<Json> {
    let further = [
        user(8, "c1", Some("h1"), "<command-name>/compact</command-name>"),
        user(9, "u3", Some("c1"), "Use them."),
        says(10, "a3", "u3", None, [20_000, 3_000]),
        hook(11, "h2", "a3"),
    ];
    [&begun()[..], &compacted(6, "cut1", "h1", "a2", 40_050), &further].concat()
}

#[test]
fn many_copies_are_read_in_linear_time() {
    let mut records = once();
    for n in 0..300u32 {
        records.extend(begun().drain(..3));
        let [said, told] = [format!("v{n}"), format!("b{n}")];
        records.push(user(60 + n, &said, Some("u2"), "Go on."));
        records.push(says(60 + n, &told, &said, None, [23_000 + u64::from(n), 1]));
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
            let mut records = once();
            records[5]["compactMetadata"] = metadata.clone();
            records[7]["parentUuid"] = json!(parent);
            let session = read(&lines(&records));
            assert!(session.requests().count() >= 1, "{metadata} {parent}");
        }
    }
}

/// A folder with a session, whose subagent has a file of its own at this path.
fn with_agent(path: &str) -> tempfile::TempDir {
    let side = |mut record: Json| {
        record["isSidechain"] = json!(true);
        record
    };
    let session = [user(1, "u1", None, "Ask."), says(9, "a1", "u1", None, [0, 1_000])];
    let agent = [
        side(user(2, "su", None, "Find it.")),
        side(says(3, "sa", "su", None, [0, 500_000])),
        side(says(4, "sb", "sa", None, [500_000, 20])),
    ];
    folder(&[("s.jsonl", lines(&session)), (path, lines(&agent))])
}

#[test]
fn subagent_usage_in_separate_files_belongs_to_session() {
    for path in ["s/subagents/agent-x.jsonl", "s/subagents/deep/agent-x.jsonl", "agent-x.jsonl"] {
        let folder = with_agent(path);
        for input in [folder.path().to_owned(), folder.path().join("s.jsonl")] {
            let dataset = dataset(&input);
            assert_eq!(dataset.warnings, Vec::<String>::new(), "{path}");
            let [session] = &dataset.sessions[..] else { panic!("{path}") };
            let prompts = session.sidechains.iter().map(|request| request.usage.prompt());
            assert_eq!(prompts.collect::<Vec<_>>(), [500_000, 500_020], "{path}");
            let files = files(&dataset);
            assert!(files.contains(&path) && files.contains(&"s.jsonl"), "{files:?}");
        }
        let all = LoadOptions { sidechains: true, ..LoadOptions::default() };
        assert_eq!(ids(&load(folder.path(), &all).unwrap()), ["s", "s#sidechain-1"]);
        // Alone it is no session, as long as its session is there.
        let log = folder.path().join(path);
        let error = load(&log, &LoadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("part of the session") && error.contains("s.jsonl"), "{error}");
        std::fs::remove_file(folder.path().join("s.jsonl")).unwrap();
        let alone = dataset(&log);
        assert_eq!(alone.sessions[0].requests().count(), 2);
        assert!(alone.warnings[0].contains("session s is not beside it"), "{:?}", alone.warnings);
    }
}

#[test]
fn subagent_usage_without_log_comes_from_progress() {
    let folder = with_agent("s/subagents/agent-x.jsonl");
    let path = folder.path().join("s.jsonl");
    let shown = |id, prompt| says(3, id, "su", None, [0, prompt]);
    let progress = |id: &str, shown: Json| {
        let data = json!({"type": "agent_progress", "message": shown});
        at(3, id, Some("u1"), "progress", json!({ "data": data }))
    };
    let mut text = std::fs::read_to_string(&path).unwrap();
    text += &lines(&[
        progress("p1", shown("sa", 500_000)),
        progress("p2", shown("sa", 500_000)),
        progress("p3", shown("sc", 700)),
        progress("p4", user(3, "su", None, "Find it.")),
    ]);
    std::fs::write(&path, text).unwrap();
    let prompts = || {
        let dataset = dataset(&path);
        let asked = dataset.sessions[0].sidechains.iter().map(|r| r.usage.prompt());
        asked.collect::<Vec<_>>()
    };
    // The log has one of them, too.
    assert_eq!(prompts(), [500_000, 700, 500_020]);
    std::fs::remove_dir_all(folder.path().join("s")).unwrap();
    assert_eq!(prompts(), [500_000, 700]);
}

#[test]
fn broken_subagent_log_is_named_and_session_read() {
    let folder = with_agent("s/subagents/agent-x.jsonl");
    let log = folder.path().join("s/subagents/agent-x.jsonl");
    let broken = r#"{"isSidechain":true,"sessionId":"s","type":"user","message":{}}"#;
    std::fs::write(&log, format!("{broken}\n{broken}\n")).unwrap();
    let dataset = dataset(folder.path());
    assert_eq!(dataset.sessions.len(), 1);
    assert!(dataset.warnings[0].contains("set aside: agent-x.jsonl"), "{:?}", dataset.warnings);
}

/// No session of ours was rewound by more than a message.
#[test]
fn no_real_session_loses_what_was_sent() {
    for folder in ["claude-code-sessions", "context-evaluator"] {
        let Some(path) = shared(&format!("data/{folder}")) else { return };
        let dataset = dataset(&path);
        for session in &dataset.sessions {
            let left = session.left_out.get("record on an abandoned branch");
            println!("{folder} {} {} {left:?}", session.id, session.requests().count());
        }
        let branches = dataset.warnings.iter().filter(|text| text.contains("branches"));
        assert_eq!(branches.count(), 0, "{:?}", dataset.warnings);
    }
}
