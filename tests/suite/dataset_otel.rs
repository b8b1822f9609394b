//! Spans of model calls in OTLP JSON. Structure of open-telemetry/
//! semantic-conventions, `docs/gen-ai`, of Arize-ai/openinference, `spec`, and of
//! traceloop/openllmetry; what is said in them is invented.

use serde_json::{Value as Json, json};

use crate::outline::{outline, read, try_read, usages};

const SPANS: &str = include_str!("../fixtures/dataset/otel.jsonl");

const EXPECTED: [&str; 4] =
    ["user: Find the limit.", "assistant: I look.", "c1: LIMIT = 4210", "assistant: It is 4210."];

/// A span with attributes that are texts or numbers.
fn span(start: u64, attributes: &[(&str, Json)], events: Json) -> String {
    let of = |(key, value): &(&str, Json)| {
        let value = match value {
            Json::Number(number) => json!({"intValue": number.to_string()}),
            Json::String(text) => json!({"stringValue": text}),
            other => other.clone(),
        };
        json!({"key": key, "value": value})
    };
    let attributes: Vec<Json> = attributes.iter().map(of).collect();
    let span = json!({"traceId": "t", "startTimeUnixNano": start.to_string(), "attributes": attributes, "events": events});
    format!("{}\n", json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
}

#[test]
fn spans_are_the_conversation_that_was_extended_last() {
    let session = read(SPANS);
    assert_eq!(outline(&session), EXPECTED);
    assert_eq!(session.id, "talk-1");
    assert_eq!(session.preamble.system, ["Be brief."]);
    assert_eq!(session.preamble.tools[0].name, "read");
    assert_eq!(usages(&session), [[300, 600, 0, 40], [100, 900, 0, 8]]);
    assert_eq!(session.messages[1].at.unwrap().as_second(), 1_770_000_000);
    assert_eq!(session.model.as_deref(), Some("gpt-5"));
    assert_eq!(session.left_out["span that is no model call"], 1);
}

#[test]
fn the_names_of_openinference_and_openllmetry_are_read() {
    let inference = [
        ("openinference.span.kind", json!("LLM")),
        ("llm.model_name", json!("gpt-5")),
        ("llm.token_count.prompt", json!(50)),
        ("llm.token_count.prompt_details.cache_read", json!(20)),
        ("llm.token_count.prompt_details.cache_write", json!(10)),
        ("llm.token_count.completion", json!(3)),
        ("llm.input_messages.0.message.role", json!("user")),
        ("llm.input_messages.0.message.contents.0.message_content.type", json!("text")),
        ("llm.input_messages.0.message.contents.0.message_content.text", json!("Find the limit.")),
        ("llm.input_messages.1.message.role", json!("assistant")),
        ("llm.input_messages.1.message.content", json!("I look.")),
        ("llm.input_messages.1.message.tool_calls.0.tool_call.id", json!("c1")),
        ("llm.input_messages.1.message.tool_calls.0.tool_call.function.name", json!("read")),
        ("llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments", json!("{}")),
        ("llm.input_messages.2.message.role", json!("tool")),
        ("llm.input_messages.2.message.tool_call_id", json!("c1")),
        ("llm.input_messages.2.message.content", json!("LIMIT = 4210")),
        ("llm.output_messages.0.message.role", json!("assistant")),
        ("llm.output_messages.0.message.content", json!("It is 4210.")),
    ];
    let session = read(&span(1, &inference, json!([])));
    assert_eq!(outline(&session), EXPECTED);
    assert_eq!(usages(&session), [[20, 20, 10, 3]]);
    let vendor = [
        ("llm.request.type", json!("chat")),
        ("gen_ai.prompt.0.role", json!("user")),
        ("gen_ai.prompt.0.content", json!("[{\"type\":\"text\",\"text\":\"Find the limit.\"}]")),
        ("gen_ai.prompt.1.role", json!("assistant")),
        ("gen_ai.prompt.1.content", json!("I look.")),
        ("gen_ai.prompt.1.tool_calls.0.id", json!("c1")),
        ("gen_ai.prompt.1.tool_calls.0.name", json!("read")),
        ("gen_ai.prompt.1.tool_calls.0.arguments", json!("{}")),
        ("gen_ai.prompt.2.role", json!("tool")),
        ("gen_ai.prompt.2.tool_call_id", json!("c1")),
        ("gen_ai.prompt.2.content", json!("LIMIT = 4210")),
        ("gen_ai.completion.0.role", json!("assistant")),
        ("gen_ai.completion.0.content", json!("It is 4210.")),
    ];
    assert_eq!(outline(&read(&span(1, &vendor, json!([])))), EXPECTED);
}

#[test]
fn prompt_includes_what_was_read_and_written_by_any_name() {
    let usage = |written: &str| {
        let attributes = [
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.input.messages", json!(r#"[{"role": "user", "content": "go"}]"#)),
            ("gen_ai.output.messages", json!(r#"[{"role": "assistant", "content": "done"}]"#)),
            ("gen_ai.usage.input_tokens", json!(50)),
            ("gen_ai.usage.cache_read.input_tokens", json!(20)),
            (written, json!(10)),
            ("gen_ai.usage.output_tokens", json!(3)),
        ];
        usages(&read(&span(1, &attributes, json!([]))))
    };
    let expected = [[20, 20, 10, 3]];
    assert_eq!(usage("gen_ai.usage.cache_creation.input_tokens"), expected);
    assert_eq!(usage("gen_ai.usage.cache_write.input_tokens"), expected);
}

#[test]
fn messages_may_be_structured_or_events() {
    let text = |text: &str| json!({"stringValue": text});
    let list = |fields: Json| json!({"kvlistValue": {"values": fields}});
    let part = list(
        json!([{"key": "type", "value": text("text")}, {"key": "content", "value": text("go")}]),
    );
    let parts = json!({"arrayValue": {"values": [part]}});
    let message =
        list(json!([{"key": "role", "value": text("user")}, {"key": "parts", "value": parts}]));
    let messages = json!({"arrayValue": {"values": [message]}});
    let structured =
        [("gen_ai.operation.name", json!("chat")), ("gen_ai.input.messages", messages)];
    assert_eq!(outline(&read(&span(1, &structured, json!([])))), ["user: go"]);
    let event = |name: &str, content: &str| json!({"name": name, "attributes": [{"key": "content", "value": text(content)}]});
    let events = json!([
        event("gen_ai.user.message", "go"),
        event("gen_ai.choice", "done"),
        event("other", "?")
    ]);
    let session = read(&span(1, &[("gen_ai.operation.name", json!("chat"))], events));
    assert_eq!(outline(&session), ["user: go", "assistant: done"]);
}

#[test]
fn spans_without_messages_say_what_to_switch_on() {
    let silent = span(1, &[("gen_ai.operation.name", json!("chat"))], json!([]));
    let error = try_read(&silent).unwrap_err().to_string();
    assert!(error.contains("CAPTURE_MESSAGE_CONTENT"), "{error}");
    let both = format!("{silent}{SPANS}");
    let left = &read(&both).left_out;
    assert_eq!(left["span of a model call without messages"], 1);
}

#[test]
fn spans_without_model_calls_report_what_is_missing() {
    let other = span(1, &[("gen_ai.operation.name", json!("execute_tool"))], json!([]));
    let error = try_read(&format!("{other}{other}")).unwrap_err();
    assert!(error.to_string().contains("none of its 2 spans is a call of a model"), "{error}");
    assert!(error.help().contains("instrumentation"), "{}", error.help());
    let error = try_read("{\"resourceSpans\":[]}\n").unwrap_err();
    assert!(error.to_string().contains("it holds no span"), "{error}");
}

#[test]
fn hostile_spans_are_refused_or_counted() {
    let chat = ("gen_ai.operation.name", json!("chat"));
    let robot = ("gen_ai.input.messages", json!("[{\"role\":\"robot\"}]"));
    let error = try_read(&span(1, &[chat.clone(), robot], json!([]))).unwrap_err();
    assert!(error.to_string().contains("unknown role `robot`"), "{error}");
    assert!(try_read("{\"resourceSpans\":[{\"scopeSpans\":7}]}").is_err());
    let deep = format!("gen_ai.prompt.0.{}", "a.".repeat(100_000));
    let far = [
        chat.clone(),
        (deep.as_str(), json!("x")),
        ("gen_ai.prompt.4294967295.content", json!("go")),
    ];
    assert_eq!(read(&span(1, &far, json!([]))).messages.len(), 1);
    let one = |n: u64| {
        let messages = json!([{"role": "user", "content": (n % 7).to_string()}]).to_string();
        span(n, &[chat.clone(), ("gen_ai.input.messages", json!(messages))], json!([]))
    };
    let log: String = (0..5_000).map(one).collect();
    assert_eq!(read(&log).messages.len(), 1);
}
