//! Trajectories of SWE-agent, with commands in fences and with tool calls.

use recap_core::model::{Block, Session};
use recap_formats::{Dataset, DatasetError, LoadOptions, load_reader};
use serde_json::{Value as Json, json};

use crate::outline::outline;

const FIXTURE: &str = include_str!("../fixtures/dataset/swe-agent.json");

fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("task.traj", text.as_bytes(), &LoadOptions::default())
}

fn read(text: &str) -> Session {
    let mut dataset = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

fn trajectory(history: &[Json]) -> String {
    json!({"trajectory": [], "history": history, "info": {}}).to_string()
}

fn calling(id: &str, more: Json) -> Json {
    let call = json!({"id": id, "type": "function",
                      "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}});
    let mut entry = json!({"role": "assistant", "content": "I look.", "action": "ls",
                           "tool_calls": [call]});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn result(id: &str, text: &str) -> Json {
    json!({"role": "tool", "content": [{"type": "text", "text": text}], "tool_call_ids": [id]})
}

#[test]
fn fenced_command_is_call_answered_by_next_message() {
    let session = read(FIXTURE);
    let expected = [
        "user: Here is a demonstration.",
        "user: Find the limit of the valve.",
        "assistant: I open the file.",
        "m4-command: [File: src/valve.rs (1 lines total)]\n1:pub const LIMIT: u32 = 4210;",
        "assistant: The limit is 4210.",
    ];
    assert_eq!(outline(&session), expected);
    assert_eq!(session.id, "task");
    assert_eq!(session.preamble.system, ["SETTING: You are a programmer."]);
    let call = &session.messages[2].blocks[1];
    let arguments = json!({"command": "open src/valve.rs"});
    assert!(matches!(call, Block::ToolCall { arguments: a, .. } if *a == arguments), "{call:?}");
    // The last command ended the run; another agent's words are no message.
    assert_eq!(session.calls().iter().filter(|call| call.result.is_none()).count(), 1);
    assert_eq!(session.left_out["message of another agent"], 1);
    assert_eq!(session.requests().count(), 2);
}

#[test]
fn ids_that_a_demonstration_repeats_are_told_apart() {
    let demo = json!({"is_demo": true});
    let history = [
        json!({"role": "user", "content": "go"}),
        calling("c", demo),
        result("c", "1"),
        calling("c", json!({})),
        result("c", "2"),
    ];
    let session = read(&trajectory(&history));
    let expected = ["user: go", "assistant: I look.", "c: 1", "assistant: I look.", "c#2: 2"];
    assert_eq!(outline(&session), expected);
    // The answer of the demonstration was not asked for here.
    assert_eq!(session.requests().collect::<Vec<_>>(), [3]);
}

#[test]
fn model_and_thoughts_are_read_where_present() {
    let thinking = json!({"thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]});
    let history = [json!({"role": "user", "content": "go"}), calling("c", thinking)];
    let config = json!({"agent": {"model": {"name": "gpt-5"}}});
    for config in [config.clone(), json!(config.to_string())] {
        let text = json!({"trajectory": [], "history": history, "replay_config": config});
        let session = read(&text.to_string());
        assert_eq!(session.model.as_deref(), Some("gpt-5"));
        assert_eq!(session.messages[1].reasoning(), "Hm.");
    }
}

#[test]
fn hostile_trajectories_are_refused() {
    for (entry, says) in [
        (json!({"role": "robot"}), "unknown role `robot`"),
        (json!({"content": "x"}), "history[0]"),
        (json!({"role": "user", "content": 7}), "history[0].content"),
        (json!({"role": "tool", "content": "x"}), "lacks `tool_call_ids`"),
        (calling("c", json!({"tool_calls": [{"id": "c"}]})), "tool_calls[0]"),
    ] {
        let error = try_read(&trajectory(&[entry])).unwrap_err().to_string();
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
    let loose = try_read(&trajectory(&[result("c", "x")])).unwrap();
    let why = "call of a tool result, which is kept as a text";
    assert_eq!(loose.sessions[0].left_out[why], 1);
    assert!(try_read(&trajectory(&[])).unwrap_err().to_string().contains("no conversation"));
}

#[test]
fn many_same_id_calls_read_in_linear_time() {
    let pair = |_| [calling("c", json!({})), result("c", "x")];
    let history: Vec<Json> = (0..11_000).flat_map(pair).collect();
    assert_eq!(read(&trajectory(&history)).messages.len(), 22_000);
}
