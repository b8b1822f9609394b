//! Sessions of subagents in files of their own.

use std::path::Path;

use recap_core::model::Session;
use recap_formats::{Dataset, Export, LoadOptions, load, load_reader};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::outline::{files, ids, imported, lines, outline};

fn codex(kind: &str, payload: Json) -> Json {
    json!({"timestamp": "2026-01-05T09:00:00Z", "type": kind, "payload": payload})
}

fn said(role: &str, text: &str) -> Json {
    let content = json!([{"type": "text", "text": text}]);
    codex("response_item", json!({"type": "message", "role": role, "content": content}))
}

fn counted(total: u64, input: u64) -> Json {
    let counts = |input: u64| json!({"input_tokens": input, "output_tokens": 1});
    let info = json!({"total_token_usage": counts(total), "last_token_usage": counts(input)});
    codex("event_msg", json!({"type": "token_count", "info": info}))
}

fn meta(id: &str, parent: Option<&str>) -> Json {
    let source = match parent {
        None => json!("cli"),
        Some(parent) => {
            json!({"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}})
        }
    };
    codex("session_meta", json!({"id": id, "source": source}))
}

/// A session of one request of this size.
fn session(id: &str, parent: Option<&str>, model: &str, input: u64) -> Vec<Json> {
    let turn = codex("turn_context", json!({"model": model}));
    vec![meta(id, parent), turn, said("user", id), said("assistant", "done"), counted(input, input)]
}

fn folder(files: &[(&str, Vec<Json>)]) -> TempDir {
    let files = files.iter().map(|(name, records)| (*name, lines(records)));
    crate::outline::folder(&files.collect::<Vec<_>>())
}

fn read(folder: &Path, sidechains: bool) -> Dataset {
    let options = LoadOptions { sidechains, ..LoadOptions::default() };
    load(folder, &options).unwrap_or_else(|error| panic!("{error}"))
}

fn asides(session: &Session) -> Vec<(Option<&str>, u64)> {
    let all = session.sidechains.iter();
    all.map(|one| (one.model.as_deref(), one.usage.prompt())).collect()
}

/// A session with two subagents, one of which has one itself. Children stand
/// before their parents.
fn family() -> TempDir {
    let mut fork = vec![meta("b", Some("d")), meta("d", None)];
    // It begins with a copy of its parent's conversation.
    fork.extend(session("d", None, "large", 100).into_iter().skip(1));
    fork.extend(session("b", None, "small", 40).into_iter().skip(1).map(|mut record| {
        if let Some(total) = record.pointer_mut("/payload/info/total_token_usage/input_tokens") {
            *total = json!(140);
        }
        record
    }));
    folder(&[
        ("01/rollout-a.jsonl", session("a", Some("b"), "tiny", 7)),
        ("01/rollout-b.jsonl", fork),
        ("02/rollout-c.jsonl", session("c", Some("d"), "small", 50)),
        ("02/rollout-d.jsonl", session("d", None, "large", 100)),
    ])
}

#[test]
fn codex_subagents_belong_to_session_that_started_them() {
    let folder = family();
    let dataset = read(folder.path(), false);
    let [main] = &dataset.sessions[..] else { panic!("{}", dataset.sessions.len()) };
    assert_eq!(main.id, "rollout-d");
    assert_eq!(outline(main), ["user: d", "assistant: done"]);
    // What the fork repeats is its parent's.
    let expected = [(Some("small"), 40), (Some("small"), 50), (Some("tiny"), 7)];
    assert_eq!(asides(main), expected);
    assert_eq!(main.left_out["message of a subagent"], 6);
    assert_eq!(dataset.warnings, Vec::<String>::new());
    let all = ["02/rollout-d", "01/rollout-b", "02/rollout-c", "01/rollout-a"];
    assert_eq!(files(&dataset), all.map(|name| format!("{name}.jsonl")));
}

#[test]
fn codex_subagents_become_separate_sessions_on_request() {
    let folder = family();
    let dataset = read(folder.path(), true);
    let expected = ["", "#sidechain-1", "#sidechain-2", "#sidechain-1#sidechain-1"];
    assert_eq!(ids(&dataset), expected.map(|end| format!("rollout-d{end}")));
    assert!(dataset.sessions[0].sidechains.is_empty());
}

#[test]
fn import_writes_subagent_requests_with_their_session() {
    let (folder, out) = (family(), tempfile::tempdir().unwrap());
    let out = out.path().join("out");
    let imported = imported(folder.path(), &out, Export::Native, false);
    assert_eq!(imported.sessions, 1);
    let left = imported.left_out.iter().find(|(_, why, _)| why == "message of a subagent");
    assert_eq!(left.map(|(_, _, n)| *n), Some(6));
    let (written, read_at_once) = (read(&out, false), read(folder.path(), false));
    assert_eq!(written.sessions, read_at_once.sessions);
}

#[test]
fn subagent_without_parent_is_read_alone_with_warning() {
    let alone = lines(&session("a", Some("b"), "m", 7));
    let options = LoadOptions::default();
    let dataset = load_reader("rollout-a.jsonl", alone.as_bytes(), &options).unwrap();
    assert_eq!(outline(&dataset.sessions[0]), ["user: a", "assistant: done"]);
    let [warning] = &dataset.warnings[..] else { panic!("{:?}", dataset.warnings) };
    assert!(warning.starts_with("rollout-a.jsonl: a subagent's session without"), "{warning}");
    // A circle, a subagent of nobody, and one whose parent is read by itself.
    let of_nobody = codex("session_meta", json!({"id": "e", "source": {"subagent": "review"}}));
    let folder = folder(&[
        ("a.jsonl", session("a", Some("b"), "m", 1)),
        ("b.jsonl", session("b", Some("a"), "m", 2)),
        ("c.jsonl", session("c", Some("lost"), "m", 3)),
        ("d.jsonl", session("d", Some("c"), "m", 4)),
        ("e.jsonl", vec![of_nobody, said("user", "e")]),
    ]);
    let dataset = read(folder.path(), false);
    let sum = |one: &Session| asides(one).iter().map(|(_, n)| n).sum::<u64>();
    let mut all: Vec<_> = dataset.sessions.iter().map(|one| (&*one.id, sum(one))).collect();
    all.sort_unstable();
    assert_eq!(all, [("a", 2), ("c", 4), ("e", 0)]);
    assert_eq!(dataset.warnings.len(), 3, "{:?}", dataset.warnings);
}

#[test]
fn a_broken_session_takes_no_subagents() {
    let broken = vec![meta("a", None), json!({"type": 7})];
    let folder = folder(&[("a.jsonl", broken), ("b.jsonl", session("b", Some("a"), "m", 2))]);
    let dataset = read(folder.path(), false);
    assert_eq!(dataset.sessions.len(), 1);
    assert_eq!(dataset.warnings.len(), 2, "{:?}", dataset.warnings);
}

#[test]
fn kimi_subagent_belongs_to_main_agent_beside_it() {
    let agent = |text: &str, input: u64| {
        let content = json!([{"type": "text", "text": text}]);
        let usage = json!({"inputOther": input, "output": 5});
        let part = json!({"type": "content.part", "part": {"type": "text", "text": "done"}});
        vec![
            json!({"type": "context.append_message", "message": {"role": "user", "content": content}}),
            json!({"type": "context.append_loop_event", "event": part}),
            json!({"type": "usage.record", "model": "k3", "usage": usage}),
        ]
    };
    let folder = folder(&[
        ("wd_engine_1/session_1/agents/agent-0/wire.jsonl", agent("part", 40)),
        ("wd_engine_1/session_1/agents/main/wire.jsonl", agent("main", 100)),
        ("wd_engine_1/session_2/agents/main/wire.jsonl", agent("other", 10)),
        ("wd_engine_1/session_3/agents/agent-0/wire.jsonl", agent("lost", 3)),
    ]);
    let dataset = read(folder.path(), false);
    let all: Vec<_> = dataset.sessions.iter().map(|one| (one.id.as_str(), asides(one))).collect();
    let side = vec![(Some("k3"), 40)];
    let expected = [("session_1", side), ("session_2", vec![]), ("session_3-agent-0", vec![])];
    assert_eq!(all, expected);
    assert!(dataset.sessions.iter().all(|one| one.project.as_deref() == Some("engine")));
    let lost = "session_3/agents/agent-0/wire.jsonl";
    assert!(dataset.warnings.iter().any(|warning| warning.contains(lost)));
}
