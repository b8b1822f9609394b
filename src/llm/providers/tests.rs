//! Holds the wire formats by bodies in the providers' documented shapes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Anthropic, Gemini, OpenAiChat, PROVIDERS, Provider, named};
use crate::llm::{
    FaultKind, Finish, Message, NoUsage, Reply, Request, Schema, Speaker, Tokens, WireError,
};
use crate::model::Usage;

const OPENAI: OpenAiChat = OpenAiChat::OPENAI;

fn request() -> Request {
    let message = |speaker, text: &str| Message { speaker, text: text.to_owned() };
    Request {
        model: "some-model".to_owned(),
        system: "Answer briefly.".to_owned(),
        messages: vec![
            message(Speaker::User, "Which port?"),
            message(Speaker::Assistant, "8080."),
            message(Speaker::User, "And the host?"),
        ],
        max_tokens: 256,
        temperature: Some(0.0),
        effort: None,
        schema: Some(Schema { name: "answer".to_owned(), json: json!({"type": "object"}) }),
        breakpoints: BTreeSet::from([0, 2]),
    }
}

fn decoded(provider: &dyn Provider, status: u16, body: &Value) -> Result<Reply, WireError> {
    provider.decode(status, body.to_string().as_bytes())
}

fn reply(provider: &dyn Provider, body: &Value) -> Reply {
    decoded(provider, 200, body).unwrap()
}

fn contradiction(reply: &Reply) -> &str {
    match &reply.usage {
        Err(NoUsage::Contradictory(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Buckets: input, read, written for five minutes, for an hour, output.
fn tokens(buckets: [u64; 5], reasoning: Option<u64>) -> Result<Tokens, NoUsage> {
    let [input, cache_read, cache_write_5m, cache_write_1h, output] = buckets;
    let output_final = true;
    let usage = Usage { input, cache_read, cache_write_5m, cache_write_1h, output, output_final };
    Ok(Tokens { usage, reasoning })
}

fn openai(message: Value, reason: &str, usage: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "some-model-2026-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    })
}

fn openai_usage(usage: Value) -> Reply {
    reply(&OPENAI, &openai(json!({"role": "assistant", "content": "ok"}), "stop", usage))
}

fn anthropic(content: Value, reason: &str, usage: Value) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "some-model",
        "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage,
    })
}

fn anthropic_usage(usage: Value) -> Reply {
    reply(&Anthropic, &anthropic(json!([]), "end_turn", usage))
}

fn gemini(parts: Value, reason: &str, usage: Value) -> Value {
    json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason}],
        "usageMetadata": usage, "modelVersion": "some-model-001",
    })
}

fn gemini_usage(usage: Value) -> Reply {
    reply(&Gemini, &gemini(json!([]), "STOP", usage))
}

// Requests

#[test]
fn openai_is_sent_a_strict_schema_and_its_newer_bound() {
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": "Which port?"},
            {"role": "assistant", "content": "8080."},
            {"role": "user", "content": "And the host?"},
        ],
        "max_completion_tokens": 256,
        "temperature": 0.0,
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "answer", "strict": true, "schema": {"type": "object"},
        }},
    });
    assert_eq!(OPENAI.encode(&request()), expected);
    let compatible = OpenAiChat::COMPATIBLE.encode(&request());
    assert_eq!(compatible["max_tokens"], 256);
    assert_eq!(compatible["max_completion_tokens"], Value::Null);
}

#[test]
fn anthropic_is_sent_marks_where_shared_prefixes_end() {
    let mark = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "some-model",
        "max_tokens": 256,
        "system": [{"type": "text", "text": "Answer briefly.", "cache_control": mark}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Which port?"}]},
            {"role": "assistant",
             "content": [{"type": "text", "text": "8080.", "cache_control": mark}]},
            {"role": "user", "content": [{"type": "text", "text": "And the host?"}]},
        ],
        "temperature": 0.0,
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    });
    assert_eq!(Anthropic.encode(&request()), expected);
}

#[test]
fn anthropic_is_sent_the_latest_four_marks_and_none_on_an_empty_text() {
    let mut many = request();
    many.messages = vec![many.messages[0].clone(); 7];
    many.messages[5].text.clear();
    many.breakpoints = (0..20).collect();
    let body = Anthropic.encode(&many);
    let marked = |block: &Value| block["cache_control"]["type"] == "ephemeral";
    let messages = body["messages"].as_array().unwrap().iter();
    let marks: Vec<bool> = messages.map(|message| marked(&message["content"][0])).collect();
    assert_eq!(marks, [false, false, true, true, true, false, true]);
    assert!(!marked(&body["system"][0]));
}

#[test]
fn gemini_is_sent_json_schema_and_its_own_roles() {
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Answer briefly."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Which port?"}]},
            {"role": "model", "parts": [{"text": "8080."}]},
            {"role": "user", "parts": [{"text": "And the host?"}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 256,
            "temperature": 0.0,
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
    });
    assert_eq!(Gemini.encode(&request()), expected);
}

#[test]
fn what_is_not_asked_for_is_not_sent() {
    let bare = Request {
        system: String::new(),
        temperature: None,
        effort: None,
        schema: None,
        breakpoints: BTreeSet::new(),
        ..request()
    };
    for (provider, keys) in [
        (&OPENAI as &dyn Provider, vec!["model", "messages", "max_completion_tokens"]),
        (&Anthropic, vec!["model", "max_tokens", "messages"]),
        (&Gemini, vec!["contents", "generationConfig"]),
    ] {
        let body = provider.encode(&bare);
        let sent: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(sent, keys);
        assert!(!body.to_string().contains("cache_control"));
    }
    assert_eq!(Gemini.encode(&bare)["generationConfig"], json!({"maxOutputTokens": 256}));
}

#[test]
fn a_model_of_any_name_stays_one_segment_of_the_path() {
    let path = |model: &str| Gemini.path(&Request { model: model.to_owned(), ..request() });
    assert_eq!(path("gemini-2.5-pro"), "/v1beta/models/gemini-2.5-pro:generateContent");
    assert_eq!(path("models/gemini-2.5-pro"), "/v1beta/models/gemini-2.5-pro:generateContent");
    assert_eq!(path("a/../é?"), "/v1beta/models/a%2F..%2F%C3%A9%3F:generateContent");
}

#[test]
fn providers_are_found_by_names_of_their_own() {
    let names: BTreeSet<&str> = PROVIDERS.iter().map(|provider| provider.name()).collect();
    assert_eq!(names.len(), PROVIDERS.len());
    for name in names {
        assert_eq!(named(name).unwrap().name(), name);
    }
    assert!(named("nobody").is_none());
}

/// Speakers and texts of a body, system text first.
fn read_back(body: &Value) -> Vec<(String, String)> {
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap().to_owned(),
    };
    let mut said = Vec::new();
    for system in [&body["system"], &body["systemInstruction"]["parts"]] {
        if !system.is_null() {
            said.push(("system".to_owned(), text(system)));
        }
    }
    let messages = body.get("messages").or_else(|| body.get("contents")).unwrap();
    for message in messages.as_array().unwrap() {
        let role = message["role"].as_str().unwrap().replace("model", "assistant");
        let content = message.get("content").or_else(|| message.get("parts")).unwrap();
        said.push((role, text(content)));
    }
    said
}

proptest! {
    #[test]
    fn a_body_holds_every_message_in_its_order(
        system in ".{0,8}",
        messages in prop::collection::vec((any::<bool>(), ".{0,8}"), 0..8),
        breakpoints in prop::collection::btree_set(0_usize..12, 0..6),
    ) {
        let mut expected = Vec::new();
        if !system.is_empty() {
            expected.push(("system".to_owned(), system.clone()));
        }
        let mut asked = Request { system, breakpoints, messages: Vec::new(), ..request() };
        for (user, text) in messages {
            let speaker = if user { Speaker::User } else { Speaker::Assistant };
            let role = if user { "user" } else { "assistant" };
            expected.push((role.to_owned(), text.clone()));
            asked.messages.push(Message { speaker, text });
        }
        for provider in PROVIDERS {
            prop_assert_eq!(&read_back(&provider.encode(&asked)), &expected);
        }
    }

    #[test]
    fn no_body_ends_the_program(status in 100_u16..600, body in ".{0,40}") {
        for provider in PROVIDERS {
            prop_assert!(provider.decode(status, body.as_bytes()).is_err());
        }
    }
}

// Replies

#[test]
fn a_reply_is_its_text_without_its_reasoning() {
    let said = openai(
        json!({"role": "assistant", "content": "Port 8080.", "reasoning_content": "Hm."}),
        "stop",
        json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}),
    );
    let expected = Reply {
        text: "Port 8080.".to_owned(),
        finish: Finish::Done,
        usage: tokens([10, 0, 0, 0, 4], None),
        model: Some("some-model-2026-01-01".to_owned()),
    };
    assert_eq!(reply(&OPENAI, &said), expected);

    let blocks = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        {"type": "text", "text": "Port "}, {"type": "text", "text": "8080."},
    ]);
    let said = anthropic(blocks, "end_turn", json!({"input_tokens": 10, "output_tokens": 4}));
    let expected = Reply { model: Some("some-model".to_owned()), ..expected };
    assert_eq!(reply(&Anthropic, &said), expected);

    let parts = json!([{"text": "Hm.", "thought": true}, {"text": "Port "}, {"text": "8080."}]);
    let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 4, "totalTokenCount": 14});
    let expected = Reply { model: Some("some-model-001".to_owned()), ..expected };
    assert_eq!(reply(&Gemini, &gemini(parts, "STOP", usage)), expected);
}

#[test]
fn text_in_parts_is_joined() {
    let parts =
        json!([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]);
    let said = openai(json!({"content": parts}), "stop", Value::Null);
    assert_eq!(reply(&OPENAI, &said).text, "ab");
}

#[test]
fn why_a_reply_ended_is_told() {
    let other = |word: &str| Finish::Other(word.to_owned());
    for (reason, finish) in [
        ("stop", Finish::Done),
        ("length", Finish::Length),
        ("content_filter", Finish::Filtered),
        ("tool_calls", other("tool_calls")),
    ] {
        let said = openai(json!({"content": null, "refusal": null}), reason, Value::Null);
        assert_eq!(reply(&OPENAI, &said).finish, finish);
    }
    for (reason, finish) in [
        ("end_turn", Finish::Done),
        ("stop_sequence", Finish::Done),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("refusal", Finish::Refused),
        ("pause_turn", other("pause_turn")),
    ] {
        let said = anthropic(json!([]), reason, Value::Null);
        assert_eq!(reply(&Anthropic, &said).finish, finish);
    }
    for (reason, finish) in [
        ("STOP", Finish::Done),
        ("MAX_TOKENS", Finish::Length),
        ("SAFETY", Finish::Filtered),
        ("RECITATION", Finish::Filtered),
        ("PROHIBITED_CONTENT", Finish::Filtered),
        ("OTHER", other("OTHER")),
    ] {
        let said = json!({"candidates": [{"finishReason": reason}]});
        assert_eq!(reply(&Gemini, &said).finish, finish);
    }
}

#[test]
fn a_refusal_is_told_although_openai_says_stop() {
    let said = openai(json!({"content": null, "refusal": "I cannot."}), "stop", Value::Null);
    let refused = reply(&OPENAI, &said);
    assert_eq!((refused.finish, refused.text.as_str()), (Finish::Refused, "I cannot."));
}

#[test]
fn a_blocked_prompt_is_filtered_and_paid() {
    let body = json!({
        "promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
    });
    let blocked = reply(&Gemini, &body);
    assert_eq!(blocked.finish, Finish::Filtered);
    assert_eq!(blocked.usage, tokens([9, 0, 0, 0, 0], None));
}

// Usage

#[test]
fn openai_counts_cached_tokens_within_the_prompt() {
    // 1,000 = 300 uncached + 600 read + 100 written; 1,000 + 50 = 1,050.
    let told = openai_usage(json!({
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }));
    assert_eq!(told.usage, tokens([300, 600, 100, 0, 50], Some(30)));
    let deepseek = openai_usage(json!({
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_cache_hit_tokens": 640, "prompt_cache_miss_tokens": 360,
    }));
    assert_eq!(deepseek.usage, tokens([360, 640, 0, 0, 50], None));
}

#[test]
fn reasoning_beside_the_completion_is_output_if_the_total_says_so() {
    // 100 + 20 + 80 = 200: the reasoning is not within the completion.
    let beside = openai_usage(json!({
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 200,
        "completion_tokens_details": {"reasoning_tokens": 80},
    }));
    assert_eq!(beside.usage, tokens([100, 0, 0, 0, 100], Some(80)));
}

#[test]
fn anthropic_counts_cached_tokens_beside_the_input() {
    // 20 + 600 + 100 + 300 = 1,020 prompt tokens.
    let told = anthropic_usage(json!({
        "input_tokens": 20, "output_tokens": 50,
        "cache_read_input_tokens": 600, "cache_creation_input_tokens": 400,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 300},
    }));
    assert_eq!(told.usage, tokens([20, 600, 100, 300, 50], None));
    assert_eq!(told.usage.unwrap().usage.prompt(), 1020);
    let unsplit = anthropic_usage(json!({
        "input_tokens": 20, "output_tokens": 50, "cache_creation_input_tokens": 400,
    }));
    assert_eq!(unsplit.usage, tokens([20, 0, 400, 0, 50], None));
}

#[test]
fn gemini_counts_cached_tokens_within_the_prompt_and_thoughts_beside_the_answer() {
    // 1,000 = 400 uncached + 600 read; 20 answer + 70 thoughts; total 1,090.
    let told = gemini_usage(json!({
        "promptTokenCount": 1000, "cachedContentTokenCount": 600,
        "candidatesTokenCount": 20, "thoughtsTokenCount": 70, "totalTokenCount": 1090,
    }));
    assert_eq!(told.usage, tokens([400, 600, 0, 0, 90], Some(70)));
    // 5 of a tool's tokens stand beside the prompt's 10.
    let tool = gemini_usage(json!({
        "promptTokenCount": 10, "toolUsePromptTokenCount": 5, "totalTokenCount": 15,
    }));
    assert_eq!(tool.usage, tokens([15, 0, 0, 0, 0], None));
}

#[test]
fn usage_that_cannot_be_right_leaves_the_reply_and_says_why() {
    let base = json!({"prompt_tokens": 10, "completion_tokens": 5});
    for (field, value, why) in [
        (
            "prompt_tokens_details",
            json!({"cached_tokens": 11}),
            "11 cached_tokens of 10 prompt_tokens",
        ),
        (
            "prompt_tokens_details",
            json!({"cached_tokens": 8, "cache_write_tokens": 3}),
            "3 cache_write_tokens of 2 uncached prompt_tokens",
        ),
        (
            "completion_tokens_details",
            json!({"reasoning_tokens": 6}),
            "6 reasoning_tokens of 5 completion_tokens",
        ),
        ("prompt_tokens", json!(-10), "prompt_tokens is -10"),
        ("prompt_tokens", json!(u64::MAX), "prompt_tokens is 18446744073709551615"),
        ("completion_tokens", json!(null), "completion_tokens is missing"),
        ("total_tokens", json!(16), "total_tokens is 16, its parts sum to 15"),
    ] {
        let mut usage = base.clone();
        usage[field] = value;
        let told = openai_usage(usage);
        assert_eq!((told.text.as_str(), contradiction(&told)), ("ok", why));
    }
    let split = anthropic_usage(json!({
        "input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 10,
        "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5},
    }));
    assert_eq!(contradiction(&split), "cache_creation_input_tokens is 10, its parts sum to 9");
    let cached = gemini_usage(json!({"promptTokenCount": 3, "cachedContentTokenCount": 4}));
    assert_eq!(contradiction(&cached), "4 cachedContentTokenCount of 3 promptTokenCount");
}

#[test]
fn the_largest_figures_do_not_overflow() {
    let most = 9_007_199_254_740_991_u64;
    let told = gemini_usage(json!({
        "promptTokenCount": most, "toolUsePromptTokenCount": most,
        "candidatesTokenCount": most, "thoughtsTokenCount": most,
    }));
    assert_eq!(told.usage, tokens([2 * most, 0, 0, 0, 2 * most], Some(most)));
}

#[test]
fn a_reply_without_usage_has_no_cost() {
    assert_eq!(openai_usage(Value::Null).usage, Err(NoUsage::Missing));
    assert_eq!(anthropic_usage(Value::Null).usage, Err(NoUsage::Missing));
    assert_eq!(gemini_usage(Value::Null).usage, Err(NoUsage::Missing));
}

// Faults

#[test]
fn a_body_without_a_reply_says_what_it_lacks() {
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
fn a_success_that_is_no_json_shows_how_it_begins() {
    let error = OPENAI.decode(200, b"{\"choices\": [").unwrap_err();
    let WireError::NotJson { excerpt, .. } = &error else { panic!("{error}") };
    assert_eq!(excerpt, "{\"choices\": [");
    assert!(OPENAI.decode(200, b"\xff\xfe").is_err());
}

fn fault(provider: &dyn Provider, status: u16, body: &[u8]) -> (FaultKind, u16, String) {
    match provider.decode(status, body).unwrap_err() {
        WireError::Fault(fault) => (fault.kind, fault.status, fault.message),
        other => panic!("{other}"),
    }
}

fn kind(provider: &dyn Provider, status: u16, error: Value) -> FaultKind {
    let body = json!({"type": "error", "error": error});
    fault(provider, status, body.to_string().as_bytes()).0
}

#[test]
fn a_proxys_page_is_a_fault_by_its_status() {
    let (kind, status, message) = fault(&Anthropic, 502, b"<html>Bad Gateway</html>");
    assert_eq!((kind, status), (FaultKind::Server, 502));
    assert_eq!(message, "<html>Bad Gateway</html>");
    assert_eq!(fault(&Gemini, 503, b"").0, FaultKind::Overloaded);
}

#[test]
fn openais_faults_are_told_apart_by_code_then_by_words_then_by_status() {
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
    let told = fault(&OpenAiChat::COMPATIBLE, 404, bare.to_string().as_bytes());
    assert_eq!(told, (FaultKind::NotFound, 404, "no such model".to_owned()));
}

#[test]
fn a_fault_inside_a_success_has_its_own_status() {
    let body = json!({"error": {"code": 429, "message": "upstream"}});
    let told = fault(&OpenAiChat::COMPATIBLE, 200, body.to_string().as_bytes());
    assert_eq!(told, (FaultKind::RateLimited, 429, "upstream".to_owned()));
    let body = json!({"error": "upstream failed"});
    let told = fault(&OpenAiChat::COMPATIBLE, 200, body.to_string().as_bytes());
    assert_eq!(told, (FaultKind::Server, 200, "upstream failed".to_owned()));
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
fn geminis_faults_are_told_apart_by_status_and_words() {
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
