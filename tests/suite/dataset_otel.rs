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

/// A message in the conventions' shape, as JSON in a string.
fn said(role: &str, part: &Json) -> Json {
    json!(json!([{"role": role, "parts": [part]}]).to_string())
}

fn words(text: &str) -> Json {
    json!({"type": "text", "content": text})
}

/// A request that does not repeat what was said before, in a trace of its own.
fn goes_on(n: u64, previous: Option<(&str, &str)>, input: &Json, output: &Json) -> String {
    let mut attributes = vec![
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.response.id", json!(format!("resp_{n}"))),
        ("gen_ai.usage.input_tokens", json!(10 * n)),
        ("gen_ai.input.messages", input.clone()),
        ("gen_ai.output.messages", output.clone()),
    ];
    attributes.extend(previous.map(|(name, id)| (name, json!(id))));
    span(n, &attributes, json!([])).replace("\"traceId\":\"t\"", &format!("\"traceId\":\"t{n}\""))
}

#[test]
fn a_request_that_goes_on_from_a_response_is_of_its_conversation() {
    let call = json!({"type": "tool_call", "id": "c1", "name": "read", "arguments": {}});
    let result = json!({"type": "tool_call_response", "id": "c1", "response": "LIMIT = 4210"});
    let log = |[id, name]: [&str; 2]| {
        let first = goes_on(1, None, &said("user", &words("Find it.")), &said("assistant", &call));
        let second = (&said("tool", &result), &said("assistant", &words("It is 4210.")));
        let third = (&said("user", &words("Sure?")), &said("assistant", &words("Yes.")));
        let second = goes_on(2, Some((name, id)), second.0, second.1);
        first + &second + &goes_on(3, Some((name, "resp_2")), third.0, third.1)
    };
    let names = ["gen_ai.request.previous_response.id", "gen_ai.request.previous_response_id"];
    for name in names {
        let session = read(&log(["resp_1", name]));
        let talk = [
            "user: Find it.",
            "assistant: ",
            "c1: LIMIT = 4210",
            "assistant: It is 4210.",
            "user: Sure?",
            "assistant: Yes.",
        ];
        assert_eq!(outline(&session), talk);
        assert_eq!(usages(&session), [[10, 0, 0, 0], [20, 0, 0, 0], [30, 0, 0, 0]]);
        // It is named after the trace that it began in.
        assert_eq!(session.id, "t1");
    }
    // A response that is not there, and one that goes on from itself.
    for id in ["resp_9", "resp_2"] {
        let dataset = try_read(&log([id, names[0]])).unwrap();
        assert_eq!(dataset.sessions.len(), 2, "{id}");
        let warnings = dataset.warnings.join(" ");
        assert!(
            warnings.contains("of 3 requests, 1 go on from a response that is not here"),
            "{warnings}"
        );
    }
}

/// A record of a log with these attributes.
fn event(name: &str, span: Option<&str>, attributes: &[(&str, Json)], body: Json) -> Json {
    let of = |(key, value): &(&str, Json)| {
        let value = match value {
            Json::Number(number) => json!({"intValue": number.to_string()}),
            other => json!({"stringValue": other}),
        };
        json!({"key": key, "value": value})
    };
    json!({"traceId": "t", "spanId": span, "timeUnixNano": "0", "observedTimeUnixNano": "1770000000000000000",
        "eventName": name, "body": body, "attributes": attributes.iter().map(of).collect::<Vec<_>>()})
}

fn events(records: &[Json]) -> String {
    format!("{}\n", json!({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}))
}

const DETAILS: &str = "gen_ai.client.inference.operation.details";

fn details(span: Option<&str>) -> Json {
    let all = [
        ("gen_ai.conversation.id", json!("talk")),
        ("gen_ai.response.model", json!("gpt-5")),
        ("gen_ai.system_instructions", json!("Be brief.")),
        ("gen_ai.usage.input_tokens", json!(40)),
        ("gen_ai.usage.output_tokens", json!(3)),
        ("gen_ai.input.messages", said("user", &words("go"))),
        ("gen_ai.output.messages", said("assistant", &words("done"))),
    ];
    event(DETAILS, span, &all, json!({}))
}

#[test]
fn messages_in_a_log_are_a_call_or_belong_to_its_span() {
    let other = event("session.start", Some("s"), &[], json!({"stringValue": "hello"}));
    for span in [Some("s"), Some(""), None] {
        let session = read(&events(&[details(span), other.clone()]));
        assert_eq!(outline(&session), ["user: go", "assistant: done"]);
        assert_eq!(usages(&session), [[40, 0, 0, 3]]);
        assert_eq!((session.id.as_str(), session.model.as_deref()), ("talk", Some("gpt-5")));
        assert_eq!(session.preamble.system, ["Be brief."]);
        assert_eq!(session.messages[1].at.unwrap().as_second(), 1_770_000_000);
        assert_eq!(session.left_out["record of a log that is no message of a model call"], 1);
    }
    // The span has the figures, the log the messages, before it or behind it.
    let usage = ("gen_ai.usage.input_tokens", json!(50));
    let silent = span(1, &[("gen_ai.operation.name", json!("chat")), usage], json!([]))
        .replace("\"traceId\":\"t\"", "\"traceId\":\"t\",\"spanId\":\"s\"");
    let log = events(&[details(Some("s"))]);
    for both in [format!("{silent}{log}"), format!("{log}{silent}")] {
        let session = read(&both);
        assert_eq!(outline(&session), ["user: go", "assistant: done"]);
        assert_eq!(usages(&session), [[50, 0, 0, 0]]);
        assert_eq!(session.preamble.system, ["Be brief."]);
    }
    // A span that has them too has them once.
    let own = [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.input.messages", said("user", &words("go"))),
    ];
    let full =
        span(1, &own, json!([])).replace("\"traceId\":\"t\"", "\"traceId\":\"t\",\"spanId\":\"s\"");
    assert_eq!(outline(&read(&format!("{full}{log}"))), ["user: go", "assistant: done"]);
}

#[test]
fn older_events_have_a_message_each_in_their_body() {
    let text = |text: &str| json!({"stringValue": text});
    let fields = |fields: Json| json!({"kvlistValue": {"values": fields}});
    let body = |content: &str| fields(json!([{"key": "content", "value": text(content)}]));
    let choice = fields(
        json!([{"key": "message", "value": body("done")}, {"key": "index", "value": {"intValue": 0}}]),
    );
    let named = |name: &str, body: Json| {
        event(
            "",
            Some("s"),
            &[("event.name", json!(name)), ("gen_ai.system", json!("openai"))],
            body,
        )
    };
    let talk = [
        named("gen_ai.system.message", body("Be brief.")),
        named("gen_ai.user.message", body("go")),
        named("gen_ai.choice", choice),
    ];
    let session = read(&events(&talk));
    assert_eq!(outline(&session), ["user: go", "assistant: done"]);
    assert_eq!(session.preamble.system, ["Be brief."]);
    let nowhere: Vec<Json> = talk
        .iter()
        .map(|record| {
            let mut record = record.clone();
            record["spanId"].take();
            record
        })
        .collect();
    let error = try_read(&events(&nowhere)).unwrap_err().to_string();
    assert!(error.contains("none of its 3 records of a log is a call of a model"), "{error}");
    for odd in [json!([7]), json!([{"eventName": 7}]), json!({"logRecords": 1})] {
        assert!(try_read(&events(std::slice::from_ref(&odd))).is_err(), "{odd}");
    }
    assert!(
        try_read("{\"resourceLogs\":[]}\n").unwrap_err().to_string().contains("it holds no span")
    );
}

#[test]
fn what_openrouter_sends_is_read_without_its_attempts() {
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "LIMIT = 4210"});
    let call = json!({"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"a\"}"}});
    let again = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}]});
    let mark = json!({"type": "text", "text": "Find it.", "cache_control": {"type": "ephemeral"}});
    let generation = |n: u64, prompt: Json, completion: Json, written: u64| {
        let own = [
            ("span.type", json!("generation")),
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.response.model", json!("anthropic/claude-haiku-4.5")),
            ("gen_ai.usage.input_tokens", json!(100 * n)),
            ("gen_ai.usage.output_tokens", json!(7)),
            ("gen_ai.usage.input_tokens.cached", json!(10)),
            ("gen_ai.usage.input_tokens.cache_write", json!(written)),
            ("gen_ai.usage.input_tokens.cache_write_1h", json!(20)),
            ("gen_ai.usage.total_cost", json!({"doubleValue": 0.25})),
            ("gen_ai.prompt", json!(json!({"messages": prompt}).to_string())),
            ("gen_ai.completion", json!(completion.to_string())),
        ];
        let attempt = [("span.type", json!("span")), ("gen_ai.operation.name", json!("chat"))];
        span(n, &own, json!([])) + &span(n, &attempt, json!([]))
    };
    let first = json!([{"role": "user", "content": [mark]}]);
    let second =
        json!([{"role": "user", "content": [{"type": "text", "text": "Find it."}]}, again, result]);
    let log = generation(
        1,
        first,
        json!({"completion": "", "reasoning": "I look.", "toolCalls": [call]}),
        50,
    ) + &generation(
        2,
        second,
        json!({"completion": "It is 4210.", "reasoning": null, "toolCalls": []}),
        5,
    );
    let dataset = try_read(&log).unwrap();
    let [session] = &dataset.sessions[..] else { panic!("{}", dataset.sessions.len()) };
    assert_eq!(
        outline(session),
        ["user: Find it.", "assistant: ", "c1: LIMIT = 4210", "assistant: It is 4210."]
    );
    assert_eq!(session.left_out["span that is no model call"], 2);
    assert!(!session.left_out.contains_key("span of a model call without messages"));
    let written: Vec<_> = session
        .messages
        .iter()
        .filter_map(|m| m.usage)
        .map(|u| (u.input, u.cache_write_5m, u.cache_write_1h))
        .collect();
    let [total] = &session.totals[..] else { panic!("{:?}", session.totals) };
    assert_eq!((total.requests, total.usd, total.usage.output), (2, Some(0.5), 14));
    assert_eq!(total.model.as_deref(), Some("anthropic/claude-haiku-4.5"));
    // No more of what was written can be kept an hour than was written.
    assert_eq!(written, [(40, 30, 20), (185, 0, 5)]);
    for odd in
        [json!({"completion": 7}), json!({"toolCalls": {"a": 1}}), json!([]), json!("x"), json!({})]
    {
        let log = generation(1, json!([{"role": "user", "content": "go"}]), odd.clone(), 0);
        assert_eq!(read(&log).messages[0].first_text(), "go", "{odd}");
    }
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
