//! Logs of Claude Code as people have them: records that are written late,
//! attachments, subagents in files of their own, proxies and broken lines.

use std::path::Path;

use recap_core::model::{CellOutcome, LatencySource, Piece, RecordedTrigger, Role, Session};
use recap_formats::{Dataset, DatasetError, LoadOptions, load};
use recap_replay::replay;
use serde_json::{Value as Json, json};

use crate::common::talk::real;
use crate::common::{block_on, offline, shared, subject};
use crate::outline::{lines, outline, read, refused, try_read};

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

fn result(second: u32, id: &str, parent: &str, call: &str) -> Json {
    let part = json!({"type": "tool_result", "tool_use_id": call, "content": format!("of {call}")});
    at(second, id, Some(parent), "user", json!({"message": {"role": "user", "content": [part]}}))
}

fn hook(second: u32, id: &str, parent: &str) -> Json {
    at(second, id, Some(parent), "progress", json!({"data": {"type": "hook_progress"}}))
}

fn attached(id: &str, parent: Option<&str>, attachment: Json) -> Json {
    at(9, id, parent, "attachment", json!({ "attachment": attachment }))
}

/// Two calls and an answer, with prompts that grow from 1,000 to 1,200.
fn worked() -> Vec<Json> {
    vec![
        user(1, "u1", None, "Find the port."),
        says(2, "a1", "u1", Some("t1"), [0, 1_000]),
        result(3, "r1", "a1", "t1"),
        says(4, "a2", "r1", Some("t2"), [0, 1_100]),
        result(5, "r2", "a2", "t2"),
        says(6, "a3", "r2", None, [0, 1_200]),
    ]
}

/// Ids of the messages after those of [`worked`] and some further records.
#[track_caller]
fn ids(further: &[Json]) -> Vec<String> {
    let all = [worked().as_slice(), further].concat();
    let session = read(&lines(&all));
    session.messages.iter().map(|message| message.id.clone()).collect()
}

const WHOLE: [&str; 8] = ["u1", "a1", "r1", "a2", "r2", "a3", "u2", "a4"];

#[test]
fn a_message_behind_late_records_is_no_rewind() {
    // The hooks of the first call were written behind the last answer.
    let late = [hook(3, "p1", "a1"), hook(5, "p2", "p1")];
    let next = [user(20, "u2", Some("p2"), "Use it."), says(21, "a4", "u2", None, [0, 1_300])];
    assert_eq!(ids(&[late.as_slice(), &next].concat()), WHOLE);
    // Without any sizes, and where a command was written late.
    let plain = |record: &Json| {
        let mut record = record.clone();
        record["message"].as_object_mut().unwrap().remove("usage");
        record
    };
    let mut bare = [late.as_slice(), &[next[0].clone(), plain(&next[1])]].concat();
    assert_eq!(ids(&bare), WHOLE);
    let local =
        json!({"subtype": "local_command", "content": "<command-name>/context</command-name>"});
    bare[0] = at(3, "p1", Some("a1"), "system", local);
    let of_command = ids(&bare);
    assert_eq!(of_command, ["u1", "a1", "r1", "a2", "r2", "a3", "p1", "u2", "a4"]);
    let command = user(3, "c1", Some("a1"), "<command-name>/status</command-name>");
    let said = [command, user(20, "u2", Some("c1"), "Use it."), plain(&next[1])];
    assert_eq!(ids(&said)[6..], ["c1", "u2", "a4"]);
    // It hangs on the earlier message itself, and prompts keep growing.
    let direct = [user(20, "u2", Some("a1"), "Use it."), says(21, "a4", "u2", None, [0, 1_300])];
    assert_eq!(ids(&direct), WHOLE);
}

#[test]
fn a_rewind_is_one_whatever_was_written_between() {
    // The result of the call that stays belongs to it.
    let left = ["u1", "a1", "r1", "u2", "a4"];
    let says = |parent, prompt| says(21, "a4", parent, None, prompt);
    let again = |parent| user(20, "u2", Some(parent), "Read the other one.");
    // The next prompt is as short as the one before the part that is left.
    assert_eq!(ids(&[again("a1"), says("u2", [0, 1_020])]), left);
    let hung = [hook(19, "p1", "a1"), again("p1"), says("u2", [0, 1_020])];
    assert_eq!(ids(&hung), left);
    // A long text was pasted: the cache holds what stood before, and no more.
    let mut records = worked();
    for (at, cached) in [(1, 900), (3, 1_000), (5, 1_100)] {
        records[at]["message"]["usage"]["cache_creation_input_tokens"] = json!(cached);
    }
    let pasted = [again("a1"), says("u2", [1_000, 9_000])];
    let session = read(&lines(&[records.as_slice(), &pasted].concat()));
    assert_eq!(session.messages.len(), 5);
    assert_eq!(session.left_out["record on an abandoned branch"], 3);
    // A command of a later time is the first thing after a rewind.
    let mut silent = worked();
    silent.iter_mut().for_each(|record| {
        record["message"].as_object_mut().unwrap().remove("usage");
    });
    let command = user(19, "c1", Some("a1"), "<command-name>/status</command-name>");
    silent.extend([command, user(20, "u2", Some("c1"), "Again.")]);
    assert_eq!(read(&lines(&silent)).messages.len(), 5);
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

#[test]
fn attachments_become_context_at_their_place() {
    let memory = json!({"path": "/w/api/CLAUDE.md", "content": "Deploy with ship_blue.sh."});
    let queued = |prompt: &str, mode: &str| json!({"type": "queued_command", "prompt": prompt, "commandMode": mode});
    let mut rendered =
        attached("d4", Some("d3"), json!({"type": "edited_text_file", "snippet": "?"}));
    rendered["rendered"] = json!([{"content": "<system-reminder>x.rs changed</system-reminder>"}]);
    let mut silent = attached("d5", Some("d4"), json!({"type": "token_note", "text": "a b"}));
    silent["rendered"] = json!([]);
    let hook = json!({"type": "hook_success", "hookName": "PostToolUse:Read", "hookEvent": "PostToolUse", "content": "fine"});
    let session = read(&lines(&[
        attached(
            "b1",
            None,
            json!({"type": "hook_additional_context", "hookName": "SessionStart", "content": ["Ada is here."]}),
        ),
        user(1, "u1", Some("b1"), "Start the server."),
        attached("b2", Some("u1"), json!({"type": "skill_listing", "content": "- ship: deploys"})),
        attached(
            "b3",
            Some("b2"),
            json!({"type": "file", "filename": "/w/a.toml", "content": {"type": "text", "file": {"content": "port = 9443"}}}),
        ),
        says(2, "a1", "b3", Some("t1"), [0, 900]),
        result(3, "r1", "a1", "t1"),
        attached("d1", Some("r1"), queued("Use port 9443, please.", "prompt")),
        attached(
            "d2",
            Some("d1"),
            queued("<task-notification>found it</task-notification>", "task-notification"),
        ),
        attached(
            "d3",
            Some("d2"),
            json!({"type": "nested_memory", "path": "/w/api/CLAUDE.md", "content": memory}),
        ),
        rendered,
        silent,
        attached("d6", Some("d5"), hook),
        attached(
            "d7",
            Some("d6"),
            json!({"type": "kind_of_tomorrow", "notes": [{"body": "The gate is shut."}]}),
        ),
        says(4, "a2", "d7", None, [0, 1_400]),
    ]));
    let expected = [
        "user: Start the server.",
        "system: <system-reminder>\nContents of /w/a.toml:\n\nport = 9443\n</system-reminder>",
        "assistant: ",
        "t1: of t1",
        "user: Use port 9443, please.",
        "system: <system-reminder>\n<task-notification>found it</task-notification>\n</system-reminder>",
        "system: <system-reminder>\nContents of /w/api/CLAUDE.md:\n\nDeploy with ship_blue.sh.\n</system-reminder>",
        "system: <system-reminder>x.rs changed</system-reminder>",
        "system: <system-reminder>\nThe gate is shut.\n</system-reminder>",
        "assistant: said in a2",
    ];
    assert_eq!(outline(&session), expected);
    // What stands in front of the first request and is no one's message.
    let preamble = session.preamble.system.join("\n");
    assert!(
        preamble.contains("Ada is here.") && preamble.contains("- ship: deploys"),
        "{preamble}"
    );
    let left: Vec<&str> = session.left_out.keys().map(String::as_str).collect();
    let unsent = ["hook_success", "token_note"]
        .map(|kind| format!("attachment/{kind} record, which is not sent"));
    assert_eq!(left, unsent);
}

#[test]
fn queued_prompt_taken_by_request_is_user_message() {
    let queue = |operation: &str, content: Option<&str>| {
        json!({"type": "queue-operation", "operation": operation, "content": content,
            "sessionId": "s", "timestamp": "2026-01-05T09:00:03Z"})
    };
    let session = |own: &[Json]| {
        let mut records = worked();
        records.splice(3..3, own.iter().cloned());
        outline(&read(&lines(&records)))[3..].to_vec()
    };
    let typed = [queue("enqueue", Some("Use 9443.")), queue("remove", None)];
    assert_eq!(session(&typed)[0], "user: Use 9443.");
    let actual = [queue("enqueue", Some("<task-notification>ok")), queue("remove", None)];
    assert_eq!(session(&actual)[0], "system: <task-notification>ok");
    // Taken back, sent as a message of its own, or a command of the program.
    let back = [queue("enqueue", Some("Use 9443.")), queue("popAll", None)];
    let own = [queue("enqueue", Some("Use 9443.")), queue("dequeue", None)];
    let command = [queue("enqueue", Some("/model")), queue("remove", None)];
    // Newer versions record it as an attachment.
    let prompt = json!({"type": "queued_command", "prompt": "Use 9443.", "commandMode": "prompt"});
    let newer = [typed.as_slice(), &[attached("q", Some("r1"), prompt)]].concat();
    for own in [back.as_slice(), &own, &command] {
        assert_eq!(session(own)[0], "assistant: ");
    }
    assert_eq!(session(&newer)[..2], ["user: Use 9443.", "assistant: "]);
}

#[test]
fn the_recorded_system_prompt_is_the_preamble() {
    let tool = json!({"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}});
    let snapshot =
        json!({"type": "prompt_snapshot", "systemPrompt": ["Be brief."], "tools": [tool]});
    let records = [
        user(1, "u1", None, "Go."),
        attached("b1", Some("u1"), snapshot.clone()),
        says(2, "a1", "b1", None, [0, 900]),
        attached("b2", Some("a1"), snapshot),
    ];
    let session = read(&lines(&records));
    assert_eq!(session.preamble.system, ["Be brief."]);
    assert_eq!(session.preamble.tools[0].name, "Read");
    assert_eq!((session.messages.len(), session.left_out.len()), (2, 0));
}

/// A compaction with this metadata, its summary and a file that was sent again.
fn compacted(metadata: Json) -> Session {
    let boundary = json!({"subtype": "compact_boundary", "logicalParentUuid": "a3", "compactMetadata": metadata});
    let mut summary = user(8, "sum", Some("cut"), "We found the port.");
    summary["isCompactSummary"] = json!(true);
    let file =
        json!({"type": "file", "filename": "/w/a.toml", "content": {"file": {"content": "port"}}});
    let behind = [
        at(7, "cut", None, "system", boundary),
        summary,
        attached("f", Some("sum"), file),
        user(20, "u2", Some("f"), "Use it."),
        says(21, "a4", "u2", None, [0, 300]),
    ];
    read(&lines(&[worked().as_slice(), &behind].concat()))
}

#[test]
fn messages_resent_by_compaction_only_follow_its_summary() {
    let session = compacted(json!({"trigger": "auto", "preTokens": 1_230, "postTokens": 290}));
    assert_eq!(session.messages.len(), WHOLE.len());
    let [compaction] = &session.compactions[..] else { panic!() };
    assert_eq!((compaction.tokens_before, compaction.tokens_after), (Some(1_230), Some(290)));
    let [Piece::Text { role: Role::User, text: summary }, Piece::Text { role: Role::System, text }] =
        &compaction.pieces[..]
    else {
        panic!("{:?}", compaction.pieces)
    };
    assert!(summary == "We found the port." && text.contains("/w/a.toml"), "{text}");
}

#[test]
fn compaction_time_is_recorded_unless_nobody_waited() {
    let of = |metadata: Json| {
        let subject = subject(compacted(metadata));
        let ran = block_on(replay(&subject, &real("recorded", 200_000, &[]), &offline()));
        let CellOutcome::Done(rows) = ran.cell.outcome else { panic!("it failed") };
        let [row] = &rows.compactions[..] else { panic!("{:?}", rows.compactions) };
        (row.latency_ms, row.latency_source)
    };
    let took = json!({"trigger": "auto", "durationMs": 137_000});
    assert_eq!(of(took), (Some(137_000.0), Some(LatencySource::Recorded)));
    let nobody = json!({"trigger": "idle", "durationMs": 137_000});
    assert_eq!(of(nobody), (Some(0.0), Some(LatencySource::Recorded)));
    // Where the log does not say, it is that of the estimated call.
    let (_, source) = of(json!({"durationMs": -1}));
    assert_eq!(source, Some(LatencySource::Modelled));
    let idle = compacted(json!({"trigger": "idle"}));
    assert_eq!(idle.compactions[0].trigger, RecordedTrigger::Unknown);
}

#[test]
fn responses_sharing_one_proxy_id_are_all_kept() {
    let with = |usage: bool, request: bool| {
        let mut records = vec![user(0, "u", None, "Start.")];
        for n in 0..10 {
            let (id, call) = (format!("a{n}"), format!("t{n}"));
            let parent = if n == 0 { "u".to_owned() } else { format!("r{}", n - 1) };
            let mut response = says(n, &id, &parent, Some(&call), [0, u64::from(100 + n)]);
            response["message"]["id"] = json!("msg_mock");
            let own = json!({"type": "text", "text": format!("step {n}")});
            response["message"]["content"].as_array_mut().unwrap().insert(0, own);
            if !usage {
                response["message"].as_object_mut().unwrap().remove("usage");
            }
            if request {
                response["requestId"] = json!(format!("req-{n}"));
            }
            records.extend([response, result(n, &format!("r{n}"), &id, &call)]);
        }
        read(&lines(&records)).requests().count()
    };
    assert_eq!([with(true, false), with(false, false), with(false, true)], [10, 10, 10]);
    // The parts of one response, between which the result of a call came.
    let mut parts = vec![user(0, "u", None, "Start."), says(1, "a1", "u", Some("t1"), [0, 100])];
    parts.extend([result(2, "r1", "a1", "t1"), says(3, "a2", "a1", Some("t2"), [0, 100])]);
    parts.extend([result(4, "r2", "a2", "t2"), says(5, "a3", "r2", None, [0, 150])]);
    for part in [1, 3] {
        parts[part]["message"]["id"] = json!("one");
    }
    let session = read(&lines(&parts));
    assert_eq!(session.requests().count(), 2);
    assert_eq!(outline(&session)[2..4], ["t1: of t1", "t2: of t2"]);
}

#[test]
fn token_count_without_stop_reason_is_final() {
    let of = |stop: Option<Json>| {
        let mut response = says(1, "a1", "u", None, [0, 100]);
        let message = response["message"].as_object_mut().unwrap();
        message.remove("stop_reason");
        message.extend(stop.map(|stop| ("stop_reason".to_owned(), stop)));
        read(&lines(&[user(0, "u", None, "Start."), response]))
    };
    let output = |session: Session| {
        let request = &subject(session).facts.requests[0];
        (request.output, request.output_recorded)
    };
    assert_eq!(output(of(None)), (30, true));
    // It is not final, but more than the text has: the response has no less.
    assert_eq!(output(of(Some(json!(null)))), (30, true));
}

#[test]
fn broken_record_is_set_aside_with_line() {
    let mut text: Vec<String> = worked().iter().map(Json::to_string).collect();
    text.insert(2, r#"{"type":"user","uuid":"x","message":{"ro"#.to_owned());
    text.insert(
        5,
        r#"{"type":"user","uuid":"y","message":{"role":"user","content":7}}"#.to_owned(),
    );
    let dataset = try_read(&text.join("\n")).unwrap();
    assert_eq!(dataset.sessions[0].messages.len(), 6);
    // They are counted by kind.
    let [broken, odd] = &dataset.warnings[..] else { panic!("{:?}", dataset.warnings) };
    let aside = "set aside: 1 record that cannot be read, first line";
    assert!(broken.contains(&format!("{aside} 3: broken JSON")), "{broken}");
    assert!(odd.contains(&format!("{aside} 6: wrong shape")), "{odd}");
    let only = text[2].clone() + "\n" + &text[2] + "\n" + &hook(1, "p", "x").to_string();
    assert!(refused(&only).contains("file.jsonl:1"), "{}", refused(&only));
}

/// A session with a subagent in a file of its own, at this path below the folder.
fn with_agent(folder: &Path, path: &str) {
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
    std::fs::write(folder.join("s.jsonl"), lines(&session)).unwrap();
    let agents = folder.join(path);
    std::fs::create_dir_all(agents.parent().unwrap()).unwrap();
    std::fs::write(agents, lines(&agent)).unwrap();
}

fn actual(read: Result<Dataset, DatasetError>) -> Dataset {
    read.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn subagent_usage_in_separate_files_belongs_to_session() {
    for path in ["s/subagents/agent-x.jsonl", "s/subagents/deep/agent-x.jsonl", "agent-x.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        with_agent(folder.path(), path);
        for input in [folder.path().to_owned(), folder.path().join("s.jsonl")] {
            let dataset = actual(load(&input, &LoadOptions::default()));
            assert_eq!(dataset.warnings, Vec::<String>::new(), "{path}");
            let [session] = &dataset.sessions[..] else { panic!("{path}") };
            let prompts = session.sidechains.iter().map(|request| request.usage.prompt());
            assert_eq!(prompts.collect::<Vec<_>>(), [500_000, 500_020], "{path}");
            let files: Vec<&str> = dataset.files.iter().map(|(name, _)| name.as_str()).collect();
            assert!(files.contains(&path) && files.contains(&"s.jsonl"), "{files:?}");
        }
        let all = LoadOptions { sidechains: true, ..LoadOptions::default() };
        let dataset = actual(load(folder.path(), &all));
        let ids: Vec<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
        assert_eq!(ids, ["s", "s#sidechain-1"]);
        // Alone it is no session, as long as its session is there.
        let log = folder.path().join(path);
        let error = load(&log, &LoadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("part of the session") && error.contains("s.jsonl"), "{error}");
        std::fs::remove_file(folder.path().join("s.jsonl")).unwrap();
        let alone = actual(load(&log, &LoadOptions::default()));
        assert_eq!(alone.sessions[0].requests().count(), 2);
        assert!(alone.warnings[0].contains("session s is not beside it"), "{:?}", alone.warnings);
    }
}

#[test]
fn subagent_usage_without_log_comes_from_progress() {
    let folder = tempfile::tempdir().unwrap();
    with_agent(folder.path(), "s/subagents/agent-x.jsonl");
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
        let dataset = actual(load(&path, &LoadOptions::default()));
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
    let folder = tempfile::tempdir().unwrap();
    with_agent(folder.path(), "s/subagents/agent-x.jsonl");
    let log = folder.path().join("s/subagents/agent-x.jsonl");
    let broken = r#"{"isSidechain":true,"sessionId":"s","type":"user","message":{}}"#;
    std::fs::write(&log, format!("{broken}\n{broken}\n")).unwrap();
    let dataset = actual(load(folder.path(), &LoadOptions::default()));
    assert_eq!(dataset.sessions.len(), 1);
    assert!(dataset.warnings[0].contains("set aside: agent-x.jsonl"), "{:?}", dataset.warnings);
}

/// No session of ours was rewound by more than a message.
#[test]
fn no_real_session_loses_what_was_sent() {
    for folder in ["claude-code-sessions", "context-evaluator"] {
        let Some(path) = shared(&format!("data/{folder}")) else { return };
        let dataset = actual(load(&path, &LoadOptions::default()));
        for session in &dataset.sessions {
            let left = session.left_out.get("record on an abandoned branch");
            println!("{folder} {} {} {left:?}", session.id, session.requests().count());
        }
        let branches = dataset.warnings.iter().filter(|text| text.contains("branches"));
        assert_eq!(branches.count(), 0, "{:?}", dataset.warnings);
    }
}
