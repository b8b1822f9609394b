//! Faults that providers report.

use super::*;

#[test]
fn body_without_reply_names_what_is_missing() {
    for (provider, body, lacks) in [
        (&OPENAI as &dyn Provider, json!({"choices": []}), "choices"),
        (&OPENAI, json!([]), "choices"),
        (&OPENAI, json!({"choices": [{"finish_reason": "stop"}]}), "message"),
        (&OPENAI, json!({"choices": [{"message": {}}]}), "finish_reason"),
        (&Anthropic, json!({"stop_reason": "end_turn"}), "content"),
        (&Anthropic, json!({"content": [], "stop_reason": null}), "stop_reason"),
        (&Gemini, json!({"candidates": []}), "candidates"),
        (&Gemini, json!({"candidates": [{"content": {}}]}), "finishReason"),
    ] {
        assert_eq!(decoded(provider, 200, &body), Err(WireError::Lacks(lacks.into())), "{body}");
    }
}

#[test]
fn success_that_is_not_json_shows_its_beginning() {
    let error = OPENAI.decode(200, b"{\"choices\": [").unwrap_err();
    let WireError::NotJson { excerpt, .. } = &error else { panic!("{error}") };
    assert_eq!(excerpt, "{\"choices\": [");
    assert!(OPENAI.decode(200, b"\xff\xfe").is_err());
}

pub(super) fn fault(provider: &dyn Provider, status: u16, body: &[u8]) -> (FaultKind, u16, String) {
    match provider.decode(status, body).unwrap_err() {
        WireError::Fault(fault) => (fault.kind, fault.status, fault.message),
        other => panic!("{other}"),
    }
}

pub(super) fn kind(provider: &dyn Provider, status: u16, error: Value) -> FaultKind {
    let body = json!({"type": "error", "error": error});
    fault(provider, status, body.to_string().as_bytes()).0
}

#[test]
fn proxy_page_is_a_fault_by_status() {
    let (kind, status, message) = fault(&Anthropic, 502, b"<html>Bad Gateway</html>");
    assert_eq!((kind, status), (FaultKind::Server, 502));
    assert_eq!(message, "<html>Bad Gateway</html>");
    assert_eq!(fault(&Gemini, 503, b"").0, FaultKind::Overloaded);
}

#[test]
fn openai_faults_classify_by_code_words_then_status() {
    let coded = |status, code: &str| kind(&OPENAI, status, json!({"message": "m", "code": code}));
    assert_eq!(coded(400, "context_length_exceeded"), FaultKind::ContextTooLong);
    assert_eq!(coded(400, "content_filter"), FaultKind::Filtered);
    assert_eq!(coded(429, "insufficient_quota"), FaultKind::Quota);
    assert_eq!(coded(429, "rate_limit_exceeded"), FaultKind::RateLimited);
    assert_eq!(coded(401, "invalid_api_key"), FaultKind::Auth);
    assert_eq!(coded(404, "model_not_found"), FaultKind::NotFound);
    assert_eq!(coded(400, "unheard_of"), FaultKind::BadRequest);
    assert_eq!(coded(500, "unheard_of"), FaultKind::Server);
    let typed = json!({"type": "insufficient_quota", "code": null});
    assert_eq!(kind(&OPENAI, 429, typed), FaultKind::Quota);
    let vllm = json!({"message": "This model's maximum context length is 8 tokens.", "code": 400});
    assert_eq!(kind(&OpenAiChat::COMPATIBLE, 400, vllm), FaultKind::ContextTooLong);
    // vLLM's older bodies have no `error` around the fault.
    let bare = json!({"object": "error", "message": "no such model", "code": 404});
    let found = fault(&OpenAiChat::COMPATIBLE, 404, bare.to_string().as_bytes());
    assert_eq!(found, (FaultKind::NotFound, 404, "no such model".to_owned()));
}

#[test]
fn fault_inside_success_keeps_its_own_status() {
    let body = json!({"error": {"code": 429, "message": "upstream"}});
    let found = fault(&OpenAiChat::COMPATIBLE, 200, body.to_string().as_bytes());
    assert_eq!(found, (FaultKind::RateLimited, 429, "upstream".to_owned()));
    let body = json!({"error": "upstream failed"});
    let found = fault(&OpenAiChat::COMPATIBLE, 200, body.to_string().as_bytes());
    assert_eq!(found, (FaultKind::Server, 200, "upstream failed".to_owned()));
}

#[test]
fn anthropics_faults_are_told_apart_by_type() {
    for (status, name, expected) in [
        (400, "invalid_request_error", FaultKind::BadRequest),
        (401, "authentication_error", FaultKind::Auth),
        (402, "billing_error", FaultKind::Quota),
        (403, "permission_error", FaultKind::Auth),
        (404, "not_found_error", FaultKind::NotFound),
        (413, "request_too_large", FaultKind::ContextTooLong),
        (429, "rate_limit_error", FaultKind::RateLimited),
        (500, "api_error", FaultKind::Server),
        (504, "timeout_error", FaultKind::Server),
        (529, "overloaded_error", FaultKind::Overloaded),
        (429, "unheard_of", FaultKind::RateLimited),
    ] {
        assert_eq!(kind(&Anthropic, status, json!({"type": name, "message": "m"})), expected);
    }
    for (message, expected) in [
        ("prompt is too long: 210000 tokens > 200000 maximum", FaultKind::ContextTooLong),
        (
            "input length and `max_tokens` exceed context limit: 9 + 9 > 10",
            FaultKind::ContextTooLong,
        ),
        ("Your credit balance is too low", FaultKind::Quota),
    ] {
        let error = json!({"type": "invalid_request_error", "message": message});
        assert_eq!(kind(&Anthropic, 400, error), expected);
    }
}

#[test]
fn gemini_faults_are_classified_by_status_and_words() {
    for (code, status, message, expected) in [
        (400, "INVALID_ARGUMENT", "Unknown name", FaultKind::BadRequest),
        (400, "INVALID_ARGUMENT", "API key not valid.", FaultKind::Auth),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            FaultKind::ContextTooLong,
        ),
        (403, "PERMISSION_DENIED", "m", FaultKind::Auth),
        (404, "NOT_FOUND", "m", FaultKind::NotFound),
        (429, "RESOURCE_EXHAUSTED", "m", FaultKind::RateLimited),
        (500, "INTERNAL", "m", FaultKind::Server),
        (503, "UNAVAILABLE", "m", FaultKind::Overloaded),
        (504, "DEADLINE_EXCEEDED", "m", FaultKind::Server),
    ] {
        let error = json!({"code": code, "status": status, "message": message});
        assert_eq!(kind(&Gemini, code, error), expected, "{status} {message}");
    }
}
