//! Requests to the Gemini API (structure of googleapis/python-genai, `types.py`).
//! What is said in them is invented.

use serde_json::json;

use crate::outline::{outline, read, try_read, usages};

const REQUESTS: &str = include_str!("../fixtures/dataset/gemini-api.jsonl");

#[test]
fn a_log_of_gemini_requests_is_the_conversation_that_was_extended_last() {
    let transcript = read(REQUESTS);
    let expected = [
        "user: Find the limit.",
        "assistant: I look.",
        "call-2-2: LIMIT = 4210",
        "assistant: It is 4210.",
    ];
    assert_eq!(outline(&transcript), expected);
    assert_eq!(transcript.preamble.system, ["Be brief."]);
    assert_eq!(transcript.preamble.tools[0].name, "read");
    assert_eq!(transcript.messages[0].images(), 1);
    assert_eq!(usages(&transcript), [[300, 600, 0, 40], [100, 900, 0, 8]]);
    assert_eq!(transcript.requests().collect::<Vec<_>>(), [1, 3]);
    assert_eq!(transcript.model.as_deref(), Some("gemini-3-pro"));
    assert_eq!(transcript.left_out["request of another conversation"], 1);
}

#[test]
fn a_body_or_a_list_of_contents_alone_is_read() {
    let call = |id: &str| json!({"functionCall": {"id": id, "name": "read", "args": {}}});
    let result = |id: &str| json!({"functionResponse": {"id": id, "name": "read", "response": {"error": "no"}}});
    let contents = json!([
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call("a"), call("b")]},
        {"role": "user", "parts": [result("b"), result("a"), {"text": "on"}]},
        {"role": "model", "parts": [{"executableCode": {"code": "1"}}, {"text": "done"}]},
    ]);
    let body = json!({"contents": contents});
    for document in [&contents, &body, &json!([body])] {
        for text in [document.to_string(), serde_json::to_string_pretty(document).unwrap()] {
            let transcript = read(&text);
            let expected =
                ["user: go", "assistant: ", "b: no", "a: no", "user: on", "assistant: done"];
            assert_eq!(outline(&transcript), expected);
            assert_eq!(transcript.left_out["part of an unknown kind"], 1);
        }
    }
}

#[test]
fn a_streamed_response_is_one_answer() {
    let piece = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}]}}], "usageMetadata": {"promptTokenCount": 5}});
    let request = json!({"contents": [{"role": "user", "parts": [{"text": "go"}]}]});
    let log = json!({"request": request, "response": [piece("It is "), piece("4210.")]});
    let transcript = read(&log.to_string());
    assert_eq!(outline(&transcript), ["user: go", "assistant: It is 4210."]);
    assert_eq!(usages(&transcript), [[5, 0, 0, 0]]);
}

#[test]
fn hostile_contents_are_refused_or_counted() {
    let first = json!({"role": "user", "parts": [{"text": "go"}]});
    for (content, says) in [
        (json!({"role": "robot", "parts": []}), "unknown role `robot`"),
        (json!({"role": "user", "parts": 7}), "parts"),
        (json!({"parts": [{"functionCall": {}}]}), "name"),
    ] {
        let error = try_read(&json!({"contents": [first, content]}).to_string()).unwrap_err();
        assert!(error.to_string().contains(says), "`{says}` is missing in {error}");
    }
    let lost = json!({"parts": [{"functionResponse": {"name": "x", "response": {}}}]});
    let transcript = read(&json!({"contents": [first, lost]}).to_string());
    assert_eq!(transcript.left_out["tool result that names no call"], 1);
    let one = |n: usize| json!({"contents": [{"parts": [{"text": (n % 7).to_string()}]}]});
    let log: String = (0..8_000).map(|n| format!("{}\n", one(n))).collect();
    assert_eq!(read(&log).messages.len(), 1);
}

#[test]
fn counts_of_gemini_that_were_not_made_may_be_null() {
    let log = json!({"request": {"contents": [{"role": "user", "parts": [{"text": "go"}]}]},
        "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "done"}]}}],
        "usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": null,
        "candidatesTokenCount": 2}}});
    assert_eq!(usages(&read(&log.to_string())), [[9, 0, 0, 2]]);
}
