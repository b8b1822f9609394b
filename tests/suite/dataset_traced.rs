//! Exports of Langfuse and LangSmith. Structure of langfuse/langfuse,
//! `fern/apis/server/definition/commons.yml`, of langchain-ai/langsmith-sdk,
//! `python/langsmith/schemas.py`, and of langchain-ai/langchain,
//! `langchain_core/tracers/core.py`; what is said in them is invented.

use recap::dataset::{Dataset, DatasetError, LoadOptions, load_reader};
use recap::model::Transcript;
use serde_json::{Value as Json, json};

use crate::outline::{outline, usages};

const LANGFUSE: &str = include_str!("../fixtures/dataset/langfuse.json");
const LANGSMITH: &str = include_str!("../fixtures/dataset/langsmith.jsonl");

const EXPECTED: [&str; 4] =
    ["user: Find the limit.", "assistant: I look.", "c1: LIMIT = 4210", "assistant: It is 4210."];

fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("file.json", text.as_bytes(), &LoadOptions::default())
}

fn read(text: &str) -> Transcript {
    let read = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.transcripts.len(), 1);
    read.transcripts.into_iter().next().unwrap()
}

fn observation(n: u64, input: Json, output: Json, usage: Json) -> Json {
    json!({
        "id": format!("o{n}"), "trace_id": "t1", "type": "GENERATION",
        "start_time": format!("2026-02-02 02:40:{:02}.000", n % 60), "parent_observation_id": null,
        "provided_model_name": "gpt-5", "input": input, "output": output, "usage_details": usage
    })
}

fn run(n: u64, inputs: Json, outputs: Json) -> Json {
    json!({
        "id": format!("r{n}"), "run_type": "llm", "trace_id": "r0", "dotted_order": "1",
        "start_time": format!("2026-02-02T02:40:{:02}", n % 60), "session_id": "project-7",
        "inputs": inputs, "outputs": outputs
    })
}

#[test]
fn an_export_is_the_conversation_that_was_extended_last() {
    for text in [LANGFUSE, LANGSMITH] {
        let transcript = read(text);
        assert_eq!(outline(&transcript), EXPECTED);
        assert_eq!(transcript.id, "talk-1");
        assert_eq!(transcript.preamble.system, ["Be brief."]);
        assert_eq!(transcript.preamble.tools[0].name, "read");
        assert_eq!(usages(&transcript), [[300, 600, 0, 40], [100, 900, 0, 8]]);
        assert_eq!(transcript.messages[1].at.unwrap().as_second(), 1_770_000_000);
        assert!(transcript.model.unwrap().starts_with("gpt-5"));
        assert!(transcript.left_out["record that is no model call"] > 0);
    }
    assert_eq!(read(LANGSMITH).model.as_deref(), Some("gpt-5-2025"));
}

#[test]
fn lines_of_langfuse_s_storage_export_are_read_with_their_traces() {
    let input = json!([{"role": "user", "content": "go"}]).to_string();
    let output = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "done"}]});
    let usage = json!({"input": "10", "cache_read_input_tokens": "20",
        "cache_creation_input_tokens": 30, "input_cache_creation_1h": 5, "output": 7, "total": 72});
    let one = observation(1, input.into(), output.to_string().into(), usage);
    let trace = json!({"id": "t1", "session_id": "talk-2", "timestamp": "2026-02-02 02:40:00"});
    let transcript = read(&format!("{one}\n{trace}\n"));
    assert_eq!(outline(&transcript), ["user: go", "assistant: done"]);
    assert_eq!(transcript.id, "talk-2");
    let usage = transcript.messages[1].usage.unwrap();
    assert_eq!((usage.cache_write_5m, usage.cache_write_1h), (30, 5));
    assert_eq!(usages(&transcript), [[10, 20, 35, 7]]);
    assert_eq!(read(&format!("{{\"data\":[{one}],\"meta\":{{}}}}")).id, "t1");
    assert_eq!(read(&format!("[{one}]")).id, "t1");
}

#[test]
fn shapes_of_providers_are_read() {
    let system = json!({"system": "Be brief.", "messages": [{"role": "user", "content": "go"}],
        "tools": [{"name": "read", "input_schema": {}}]});
    let choices =
        json!({"choices": [{"message": {"role": "assistant", "content": "a"}}, {"message": {}}]});
    let transcript = read(&observation(1, system, choices, json!(null)).to_string());
    assert_eq!(outline(&transcript), ["user: go", "assistant: a"]);
    assert_eq!(transcript.preamble.system, ["Be brief."]);
    assert_eq!(transcript.preamble.tools.len(), 1);
    assert_eq!(transcript.left_out["further answer to the same request"], 1);
    let items = json!([{"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "4210"}]);
    let outputs = json!({"output": [{"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "done"}]}]});
    let transcript = read(&run(1, json!({"input": items}), outputs).to_string());
    assert_eq!(outline(&transcript)[2..], ["c1: 4210", "assistant: done"]);
    let (parts, text) = (json!([{"type": "text", "text": "go"}]), json!("done"));
    let transcript = read(&observation(1, parts, text, json!(null)).to_string());
    assert_eq!(outline(&transcript), ["user: go", "assistant: done"]);
}

#[test]
fn runs_stand_within_their_parents_or_on_a_page() {
    let flat = json!({"role": "assistant", "content": "done", "usage_metadata": {
        "input_tokens": 60, "output_tokens": 7, "input_token_details":
        {"cache_read": 20, "ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 5}}});
    let child = run(1, json!({"messages": [{"role": "user", "content": "go"}]}), flat);
    let mut parent = run(0, json!({}), json!({}));
    parent["run_type"] = json!("chain");
    parent["child_runs"] = json!([child]);
    let transcript = read(&json!({"runs": [parent], "cursors": {}}).to_string());
    assert_eq!(outline(&transcript), ["user: go", "assistant: done"]);
    assert_eq!(usages(&transcript), [[25, 20, 15, 7]]);
    // Not the project's.
    assert_eq!(transcript.id, "r0");
    let mut prompt =
        run(1, json!({"prompts": ["go"]}), json!({"generations": [[{"text": "done"}]]}));
    prompt["prompt_tokens"] = json!(9);
    prompt["completion_tokens"] = json!(2);
    let transcript = read(&prompt.to_string());
    assert_eq!(outline(&transcript), ["user: go", "assistant: done"]);
    assert_eq!(usages(&transcript), [[9, 0, 0, 2]]);
}

#[test]
fn hostile_exports_are_refused_or_counted() {
    let robot = json!([{"role": "robot", "content": "x"}]);
    let error = try_read(&observation(1, robot.clone(), json!(null), json!(null)).to_string());
    assert!(error.unwrap_err().to_string().contains("unknown role `robot`"));
    assert!(try_read(&run(1, json!({"messages": robot}), json!(null)).to_string()).is_err());
    let good = json!([{"role": "user", "content": "go"}]);
    let odd = [json!(7), json!([7]), json!([[[]]]), json!({"generations": 7}), json!(null)];
    let mut lines: String = odd
        .iter()
        .map(|odd| format!("{}\n", observation(1, odd.clone(), odd.clone(), odd.clone())))
        .collect();
    assert!(try_read(&lines).is_err());
    lines += &observation(2, good, json!(null), json!({"input": -1})).to_string();
    let transcript = read(&lines);
    assert_eq!(transcript.left_out["model call without messages"], 5);
    let deep = format!("{}{}", "{\"child_runs\":[".repeat(100_000), "]}".repeat(100_000));
    assert!(try_read(&format!("{LANGSMITH}{deep}\n")).is_err());
    let one = |n: u64| {
        let text = json!([{"role": "user", "content": (n % 7).to_string()}]);
        format!("{}\n", observation(n, text, json!(null), json!(null)))
    };
    assert_eq!(read(&(0..5_000).map(one).collect::<String>()).messages.len(), 1);
}
