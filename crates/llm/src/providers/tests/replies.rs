//! What was said, and why it ended.

use super::*;

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
