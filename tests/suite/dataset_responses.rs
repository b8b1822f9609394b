//! Requests to OpenAI's Responses API. Structure of openai/openai-python,
//! `src/openai/types/responses`; the talk is invented.

use recap_core::model::Role;
use serde_json::{Value as Json, json};

use crate::outline::{outline, read, try_read, usages};

fn user(text: &str) -> Json {
    json!({"role": "user", "content": text})
}

fn call(id: &str) -> Json {
    json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"})
}

fn output(id: &str, text: &str) -> Json {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

fn said(text: &str) -> Json {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn entry(id: &str, before: Option<&str>, input: Json, output: Json, tokens: u64) -> String {
    let request = json!({"model": "gpt-5", "previous_response_id": before, "input": input});
    let usage = json!({"input_tokens": tokens, "output_tokens": 1});
    let response = json!({"id": id, "object": "response", "output": output, "usage": usage});
    format!("{}\n", json!({"request": request, "response": response}))
}

#[test]
fn tokens_written_to_the_cache_are_told_by_either_api() {
    let details = json!({"cached_tokens": 500, "cache_write_tokens": 400});
    let usage = json!({"input_tokens": 1_000, "input_tokens_details": details, "output_tokens": 7});
    let request = json!({"model": "m", "input": [user("Go.")]});
    let response =
        json!({"id": "r", "object": "response", "output": [said("Done.")], "usage": usage});
    let responses = json!({"request": request, "response": response});
    let usage =
        json!({"prompt_tokens": 1_000, "prompt_tokens_details": details, "completion_tokens": 7});
    let request = json!({"model": "m", "messages": [user("Go.")]});
    let choice = json!({"message": {"role": "assistant", "content": "Done."}});
    let response = json!({"id": "r", "choices": [choice], "usage": usage});
    let chat = json!({"request": request, "response": response});
    for log in [responses, chat] {
        assert_eq!(usages(&read(&format!("{log}\n"))), [[100, 500, 400, 7]], "{log}");
    }
}

#[test]
fn body_or_item_list_alone_is_read() {
    let items = json!([
        user("go"),
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]},
        call("a"),
        call("b"),
        output("a", "1"),
        output("b", "2"),
        said("3"),
    ]);
    let body = json!({"model": "gpt-5", "input": items});
    let expected = ["user: go", "assistant: ", "a: 1", "b: 2", "assistant: 3"];
    let lines: String =
        items.as_array().unwrap()[1..].iter().map(|item| format!("{item}\n")).collect();
    for document in [&items, &body, &json!([body])] {
        for text in [document.to_string(), serde_json::to_string_pretty(document).unwrap()] {
            let session = read(&text);
            assert_eq!(outline(&session), expected);
            assert_eq!(session.messages[1].reasoning(), "Hm.");
        }
    }
    assert_eq!(outline(&read(&lines)), expected[1..]);
}

#[test]
fn request_may_continue_earlier_response_by_id() {
    let mut log = entry("r1", None, json!([user("go")]), json!([call("a")]), 10);
    log += &entry("r2", Some("r1"), json!([output("a", "1")]), json!([said("2")]), 20);
    let expected = ["user: go", "assistant: ", "a: 1", "assistant: 2"];
    assert_eq!(outline(&read(&log)), expected);
    assert_eq!(usages(&read(&log)), [[10, 0, 0, 1], [20, 0, 0, 1]]);
    // The same response again, with another result: the later branch is read.
    log += &entry("r3", Some("r1"), json!([output("a", "7")]), json!([said("8")]), 30);
    assert_eq!(outline(&read(&log)), ["user: go", "assistant: ", "a: 7", "assistant: 8"]);
    assert_eq!(usages(&read(&log)), [[10, 0, 0, 1], [30, 0, 0, 1]]);
}

#[test]
fn encrypted_summary_is_an_unreadable_compaction() {
    let summary = json!({"type": "compaction", "encrypted_content": "gAAA"});
    let items = json!([user("go"), said("1"), summary, user("on"), said("2")]);
    let session = read(&items.to_string());
    let found = &session.compactions[0];
    assert_eq!((found.after, found.kept_from), (2, 2));
    assert_eq!(found.unreadable.as_deref(), Some("the vendor encrypted its summary"));
    // What the user said is all that is left of a conversation before the file.
    let rest = json!([user("go"), summary, user("on"), said("2")]);
    let session = read(&rest.to_string());
    assert_eq!((session.compactions.len(), session.left_out["encrypted summary"]), (0, 1));
}

#[test]
fn provider_executed_tool_is_call_with_its_result() {
    let mcp = json!({"type": "mcp_call", "id": "m", "name": "find", "arguments": "{\"a\":1}", "output": "4210", "error": null});
    let shell = json!({"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "x"}]});
    let run = json!({"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}});
    let known = json!({"type": "item_reference", "id": "old"});
    let items = json!([user("go"), known, mcp, run, shell, output("z", "?"), said("done")]);
    let session = read(&items.to_string());
    let expected =
        ["user: go", "assistant: ", "m: 4210", "s: [{\"stdout\":\"x\"}]", "assistant: done"];
    assert_eq!(outline(&session), expected);
    assert_eq!(session.left_out["item_reference item"], 1);
    assert_eq!(session.left_out["tool result whose call is not in the recording"], 1);
}

#[test]
fn hostile_items_are_refused_or_counted() {
    for (item, says) in [
        (json!({"role": "robot", "content": "x"}), "unknown role `robot`"),
        (json!({"type": "function_call", "name": "x"}), "call_id"),
        (json!({"type": "message", "role": "user", "content": 7}), "input[1].content"),
    ] {
        let body = json!({"model": "gpt-5", "input": [call("a"), item]});
        let error = try_read(&body.to_string()).unwrap_err().to_string();
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
    let negative = entry("r", None, json!([call("a")]), json!([]), 1).replace(":1,", ":-1,");
    assert!(try_read(&negative).unwrap_err().to_string().contains("input_tokens"));
    let nothing = entry("r", Some("r"), json!([]), json!([]), 1);
    assert!(try_read(&nothing.replace("\"input\":[]", "\"input\":[7]")).is_err());
}

#[test]
fn very_many_requests_are_read_in_linear_time() {
    let one = |n: usize| json!({"model": "x", "input": [call(&(n % 7).to_string())]});
    let log: String = (0..8_000).map(|n| format!("{}\n", one(n))).collect();
    assert_eq!(read(&log).messages.len(), 1);
    let id = |n: usize| format!("r{n}");
    let next = |n: usize| {
        let before = n.checked_sub(1).map(id);
        entry(&id(n), before.as_deref(), json!([user("x")]), json!([said("y")]), 1)
    };
    let chained: String = (0..5_000).map(next).collect();
    assert_eq!(read(&chained).messages.len(), 10_000);
    // Every request goes back to the first response.
    let back: String = (0..5_000)
        .map(|n| entry(&id(n), (n > 0).then_some("r0"), json!([user("x")]), json!([]), 1))
        .collect();
    assert_eq!(read(&back).messages.iter().filter(|m| m.role == Role::User).count(), 2);
}
