//! OpenAI's responses, from request to fault.

use super::faults::{fault, kind};
use super::*;

fn body(status: &str, output: Value, usage: Value) -> Value {
    json!({
        "id": "resp_1", "object": "response", "status": status, "error": null,
        "incomplete_details": null, "model": "some-model-2026-01-01", "output": output,
        "store": false, "usage": usage,
    })
}

fn message(content: Value) -> Value {
    json!([
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
         "content": content},
    ])
}

fn text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

#[test]
fn requests_have_instructions_and_strict_format_without_storage() {
    let expected = json!({
        "model": "some-model",
        "instructions": "Answer briefly.",
        "input": [
            {"role": "user", "content": "Which port?"},
            {"role": "assistant", "content": "8080."},
            {"role": "user", "content": "And the host?"},
        ],
        "max_output_tokens": 256,
        "store": false,
        "temperature": 0.0,
        "reasoning": {"effort": "low"},
        "text": {"format": {
            "type": "json_schema", "name": "answer", "strict": true,
            "schema": {"type": "object"},
        }},
    });
    let asked = Request { effort: Some("low".to_owned()), ..request() };
    assert_eq!(OpenAiResponses.encode(&asked), expected);
    assert_eq!(OpenAiResponses.path(&asked), "/v1/responses");
}

#[test]
fn a_response_is_the_text_of_its_messages() {
    let usage = json!({
        "input_tokens": 1000, "input_tokens_details": {"cached_tokens": 600},
        "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 1050,
    });
    let said = body("completed", message(json!([text("Port "), text("8080.")])), usage);
    let expected = Reply {
        text: "Port 8080.".to_owned(),
        finish: Finish::Done,
        usage: tokens([400, 600, 0, 0, 50], Some(30)),
        model: Some("some-model-2026-01-01".to_owned()),
    };
    assert_eq!(reply(&OpenAiResponses, &said), expected);
}

#[test]
fn refusal_is_reported_despite_completed_response() {
    let parts = json!([{"type": "refusal", "refusal": "I cannot."}]);
    let said = reply(&OpenAiResponses, &body("completed", message(parts), Value::Null));
    assert_eq!((said.finish, said.text.as_str()), (Finish::Refused, "I cannot."));
    assert_eq!(said.usage, Err(NoUsage::Missing));
}

#[test]
fn why_a_response_is_incomplete_is_told() {
    let other = |word: &str| Finish::Other(word.to_owned());
    for (status, reason, finish) in [
        ("incomplete", json!("max_output_tokens"), Finish::Length),
        ("incomplete", json!("content_filter"), Finish::Filtered),
        ("incomplete", json!("steering"), other("steering")),
        ("incomplete", Value::Null, other("incomplete")),
        ("cancelled", Value::Null, other("cancelled")),
        ("completed", Value::Null, Finish::Done),
    ] {
        let mut said = body(status, message(json!([text("Port 80")])), Value::Null);
        said["incomplete_details"] = json!({"reason": reason});
        let said = reply(&OpenAiResponses, &said);
        assert_eq!((said.finish, said.text.as_str()), (finish, "Port 80"));
    }
    // All that was granted went into reasoning.
    let mut said = body("incomplete", json!([{"type": "reasoning"}]), Value::Null);
    said["incomplete_details"] = json!({"reason": "max_output_tokens"});
    assert_eq!(reply(&OpenAiResponses, &said).finish, Finish::Length);
}

#[test]
fn response_usage_is_told_in_disjoint_buckets() {
    // 1,000 = 300 uncached + 600 read + 100 written.
    let usage = |usage: Value| {
        reply(&OpenAiResponses, &body("completed", message(json!([text("ok")])), usage))
    };
    let reply = usage(json!({
        "input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050,
        "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
    }));
    assert_eq!(reply.usage, tokens([300, 600, 100, 0, 50], None));
    for (field, value, why) in [
        ("total_tokens", json!(16), "total_tokens is 16, its parts sum to 15"),
        ("output_tokens", Value::Null, "output_tokens is missing"),
        (
            "input_tokens_details",
            json!({"cached_tokens": 11}),
            "11 cached_tokens of 10 input_tokens",
        ),
        (
            "output_tokens_details",
            json!({"reasoning_tokens": 6}),
            "6 reasoning_tokens of 5 output_tokens",
        ),
    ] {
        let mut figures = json!({"input_tokens": 10, "output_tokens": 5});
        figures[field] = value;
        assert_eq!(contradiction(&usage(figures)), why);
    }
}

#[test]
fn failed_response_is_a_fault_of_its_kind() {
    let failed = |code: &str| {
        let mut said = body("failed", json!([]), Value::Null);
        said["error"] = json!({"code": code, "message": "m"});
        fault(&OpenAiResponses, 200, said.to_string().as_bytes())
    };
    let expected = |kind| (kind, 200, "m".to_owned());
    assert_eq!(failed("server_error"), expected(FaultKind::Server));
    assert_eq!(failed("rate_limit_exceeded"), expected(FaultKind::RateLimited));
    assert_eq!(failed("invalid_prompt"), expected(FaultKind::Filtered));
    let silent = body("failed", json!([]), Value::Null).to_string();
    assert_eq!(fault(&OpenAiResponses, 200, silent.as_bytes()).0, FaultKind::Server);
    let coded = json!({"message": "m", "type": "invalid_request_error", "param": "input",
        "code": "context_length_exceeded"});
    assert_eq!(kind(&OpenAiResponses, 400, coded), FaultKind::ContextTooLong);
}

#[test]
fn body_that_is_no_response_names_missing_part() {
    for (body, lacks) in
        [(json!({"status": "completed"}), "output"), (json!({"output": []}), "status")]
    {
        let error = Err(WireError::Lacks(lacks.into()));
        assert_eq!(decoded(&OpenAiResponses, 200, &body), error);
    }
}
