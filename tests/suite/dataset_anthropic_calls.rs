//! Responses of Anthropic's API that are several requests: advisors, declined
//! requests, tools and compactions of the server.

use recap_core::model::{RecordedTrigger, Role, Session, Usage};
use serde_json::{Value as Json, json};

use crate::outline::{lines, outline, read, try_read, usages};

/// A session of Claude Code whose one response has these parts, one a line.
fn claude_code(usage: &Json, parts: &[Json]) -> Session {
    let record = |n: usize, kind: &str, message: Json| {
        let parent = n.checked_sub(1).map(|n| format!("n{n}"));
        json!({"type": kind, "uuid": format!("n{n}"), "parentUuid": parent, "sessionId": "s",
            "timestamp": format!("2026-09-05T09:00:{n:02}Z"), "message": message})
    };
    let mut records = vec![record(0, "user", json!({"role": "user", "content": "Plan it."}))];
    for part in parts {
        let message = json!({"role": "assistant", "id": "m1", "model": "claude-opus-5",
            "content": [part], "usage": usage, "stop_reason": "end_turn"});
        records.push(record(records.len(), "assistant", message));
    }
    read(&lines(&records))
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn iteration(kind: &str, model: Option<&str>, [input, read, output]: [u64; 3]) -> Json {
    json!({"type": kind, "model": model, "input_tokens": input, "cache_read_input_tokens": read,
        "output_tokens": output})
}

fn figures(usage: &Usage) -> [u64; 3] {
    [usage.input, usage.cache_read, usage.output]
}

/// Model and usage of each response, then of what stands beside them.
fn requests(session: &Session) -> [Vec<(String, [u64; 3])>; 2] {
    let model = |at: u32| session.other_models.get(&at).or(session.model.as_ref()).unwrap();
    let own = (0..)
        .zip(&session.messages)
        .filter_map(|(at, message)| Some((model(at).clone(), figures(message.usage.as_ref()?))));
    let beside = session.sidechains.iter();
    let beside = beside.map(|one| (one.model.clone().unwrap_or_default(), figures(&one.usage)));
    [own.collect(), beside.collect()]
}

fn of(model: &str, usage: [u64; 3]) -> (String, [u64; 3]) {
    (model.to_owned(), usage)
}

const OPUS: &str = "claude-opus-5";

#[test]
fn an_advisor_is_a_request_of_its_own_model_and_its_advice_a_text() {
    let usage = json!({"input_tokens": 4, "cache_read_input_tokens": 60_000, "output_tokens": 90,
    "iterations": [
        iteration("message", None, [2, 29_000, 40]),
        iteration("advisor_message", Some("claude-fable-5"), [30_000, 0, 700]),
        iteration("message", None, [2, 31_000, 50]),
    ]});
    let asks = json!({"type": "server_tool_use", "id": "s1", "name": "advisor", "input": {}});
    let advice = json!({"type": "advisor_tool_result", "tool_use_id": "s1",
        "content": {"type": "advisor_result", "text": "Begin with the schema."}});
    let session = claude_code(&usage, &[asks.clone(), advice, text("I begin.")]);
    let [own, beside] = requests(&session);
    assert_eq!(own, [of(OPUS, [2, 29_000, 40]), of(OPUS, [2, 31_000, 50])]);
    assert_eq!(beside, [of("claude-fable-5", [30_000, 0, 700])]);
    assert_eq!(outline(&session)[1..], ["assistant: advisor", "assistant: I begin."]);
    assert!(session.messages[1].sent().contains("Begin with the schema."));
    assert!(session.left_out.is_empty(), "{:?}", session.left_out);
    // The parts do not show where the second request began: the last one is the prompt.
    let session = claude_code(&usage, &[text("I begin.")]);
    let [own, beside] = requests(&session);
    assert_eq!(own, [of(OPUS, [2, 31_000, 50])]);
    assert_eq!(beside, [of("claude-fable-5", [30_000, 0, 700]), of(OPUS, [2, 29_000, 40])]);
}

#[test]
fn a_model_that_declined_is_paid_beside_the_one_that_answered() {
    let usage = json!({"input_tokens": 2, "cache_read_input_tokens": 54_000, "output_tokens": 136,
    "iterations": [
        iteration("message", Some("claude-fable-5"), [9, 32_000, 2]),
        iteration("fallback_message", Some("claude-opus-4-8"), [2, 54_000, 136]),
    ]});
    let mut session = claude_code(&usage, &[text("Answered.")]);
    let [own, beside] = requests(&session);
    assert_eq!(own, [of(OPUS, [2, 54_000, 136])]);
    assert_eq!(beside, [of("claude-fable-5", [9, 32_000, 2])]);
    assert_eq!(session.messages.remove(1).first_text(), "Answered.");
}

#[test]
fn speed_place_and_tier_stand_behind_the_model() {
    let with = |more: Json| {
        let mut usage = json!({"input_tokens": 9, "output_tokens": 1});
        usage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claude_code(&usage, &[text("Yes.")]).model.unwrap()
    };
    assert_eq!(with(json!({"speed": "fast"})), "claude-opus-5[fast]");
    assert_eq!(with(json!({"speed": "fast", "inference_geo": "us"})), "claude-opus-5[fast,us]");
    assert_eq!(with(json!({"service_tier": "batch"})), "claude-opus-5[batch]");
    for usual in [
        json!({"speed": "standard", "inference_geo": "not_available", "service_tier": "standard"}),
        json!({"speed": null, "inference_geo": "global", "service_tier": 7}),
        json!({"speed": ["fast"], "inference_geo": {}, "iterations": "none"}),
    ] {
        assert_eq!(with(usual), OPUS);
    }
}

#[test]
fn the_reason_for_a_cache_miss_is_kept() {
    let of = |told: Json| {
        let usage = json!({"role": "assistant", "id": "m", "model": OPUS, "stop_reason": "end_turn",
            "content": "Yes.", "usage": {"input_tokens": 9, "output_tokens": 1},
            "diagnostics": told});
        let records = [
            json!({"type": "user", "uuid": "u", "sessionId": "s",
                "message": {"role": "user", "content": "Well?"}}),
            json!({"type": "assistant", "uuid": "a", "parentUuid": "u", "sessionId": "s",
                "message": usage}),
        ];
        let usage = read(&lines(&records)).messages[1].usage.unwrap();
        serde_json::to_value(usage).unwrap()["cache_miss"].clone()
    };
    let told = |kind: &str| json!({"cache_miss_reason": {"type": kind}});
    assert_eq!(of(told("system_changed")), json!("system_changed"));
    assert_eq!(of(told("previous_message_not_found")), json!("previous_message_not_found"));
    let none = [told("a_later_kind"), json!(null), json!(3), json!({"cache_miss_reason": []})];
    none.into_iter().for_each(|none| assert_eq!(of(none), Json::Null));
}

/// A log of requests, each with its response; neither system prompt nor tools tell
/// the API.
fn log(exchanges: &[(Json, Json, Json)]) -> String {
    let entry = |(messages, content, usage): &(Json, Json, Json)| {
        json!({"request": {"model": OPUS, "max_tokens": 9, "messages": messages,
            "context_management": {"edits": [{"type": "compact_20260112"}]}},
            "response": {"model": OPUS, "role": "assistant", "content": content, "usage": usage}})
    };
    lines(&exchanges.iter().map(entry).collect::<Vec<_>>())
}

#[test]
fn a_compaction_of_the_server_is_one_of_the_recording() {
    let summary = json!({"type": "compaction", "content": "We read a.rs."});
    let mut messages = vec![
        json!({"role": "user", "content": "Read a.rs."}),
        json!({"role": "assistant", "content": "Done."}),
        json!({"role": "user", "content": "Go on."}),
    ];
    let usage = json!({"input_tokens": 23_000, "output_tokens": 100, "iterations": [
        iteration("compaction", None, [180_000, 0, 3_500]),
        iteration("message", None, [23_000, 0, 100]),
    ]});
    let answer = json!([summary, text("Going on.")]);
    let first = (json!(messages), answer.clone(), usage);
    messages.push(json!({"role": "assistant", "content": answer}));
    messages.push(json!({"role": "user", "content": "Next."}));
    let second = (
        json!(messages),
        json!([text("Next is b.rs.")]),
        json!({"input_tokens": 24_000, "output_tokens": 20}),
    );
    let session = read(&log(&[first, second]));
    let [made] = &session.compactions[..] else { panic!("{:?}", session.compactions) };
    assert_eq!((made.after, made.kept_from, made.trigger), (3, 3, RecordedTrigger::Auto));
    assert_eq!(made.summary.as_deref(), Some("We read a.rs."));
    assert_eq!(made.tokens_before, Some(180_000));
    let call = made.call.as_ref().unwrap();
    assert_eq!((call.model.as_deref(), figures(&call.usage)), (Some(OPUS), [180_000, 0, 3_500]));
    let [own, beside] = requests(&session);
    assert_eq!(own, [of(OPUS, [23_000, 0, 100]), of(OPUS, [24_000, 0, 20])]);
    assert_eq!((beside.len(), session.messages.len()), (0, 6));
    assert!(session.left_out.is_empty(), "{:?}", session.left_out);
}

/// How many sessions a log has, and what the last one reports.
fn plain(entries: &[Json]) -> (usize, Vec<[u64; 4]>) {
    let dataset = try_read(&lines(entries)).unwrap();
    (dataset.sessions.len(), usages(dataset.sessions.last().unwrap()))
}

#[test]
fn requests_of_plain_texts_are_told_by_their_response_or_their_model() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let agent = json!({"role": "assistant", "content": "Which one?"});
    let longer = json!([user("Mend it."), agent, user("The first.")]);
    let body = |model: &str, messages: &Json| json!({"model": model, "max_tokens": 9, "messages": messages});
    let bodies = |model: &str| [body(model, &json!([user("Mend it.")])), body(model, &longer)];
    assert_eq!(plain(&bodies(OPUS)), (1, vec![]));
    let bedrock = bodies(OPUS).map(|mut body| {
        body["model"].take();
        body["anthropic_version"] = json!("bedrock-2023-05-31");
        body
    });
    assert_eq!(plain(&bedrock), (1, vec![]));
    let usage = json!({"input_tokens": 7, "output_tokens": 2, "cache_read_input_tokens": 5});
    let response = json!({"content": [text("Done.")], "usage": usage});
    for response in [response.clone(), json!({"body": response})] {
        let logged =
            bodies("a-local-model").map(|body| json!({"request": body, "response": response}));
        assert_eq!(plain(&logged), (1, vec![[7, 5, 0, 2]; 2]));
    }
    // Conversations of OpenAI's API stay what they are, one a line.
    assert_eq!(plain(&bodies("gpt-5")), (2, vec![]));
    let mut of_claude = bodies(OPUS).to_vec();
    of_claude.iter_mut().for_each(|body| _ = body.as_object_mut().unwrap().remove("max_tokens"));
    assert_eq!(plain(&of_claude), (2, vec![]));
    let system = json!([{"role": "system", "content": "Be brief."}, user("Mend it.")]);
    assert_eq!(plain(&[body(OPUS, &system), body(OPUS, &system)]), (2, vec![]));
    for odd in [json!([]), json!([7]), json!({"role": "user"}), json!(null)] {
        assert!(try_read(&lines(&[body(OPUS, &odd)])).is_err(), "{odd}");
    }
}

#[test]
fn results_of_the_servers_tools_are_texts_of_the_response() {
    let parts = json!([
        {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "1+1"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s1", "content":
            {"type": "bash_code_execution_result", "stdout": "two\n", "stderr": "slow"}},
        {"type": "web_search_tool_result", "tool_use_id": "s2", "content": [
            {"type": "web_search_result", "url": "https://example.invalid/p", "title": "A page",
                "encrypted_content": "Zm9v"}]},
        {"type": "web_fetch_tool_result", "tool_use_id": "s3", "content":
            {"type": "web_fetch_result", "content": {"type": "document",
                "source": {"type": "text", "data": "what it says"}}}},
        {"type": "web_fetch_tool_result", "tool_use_id": "s4", "content":
            {"type": "web_fetch_result", "content": {"type": "document",
                "source": {"type": "base64", "data": "JVBERi0="}}}},
        {"type": "mcp_tool_result", "tool_use_id": "s5", "content": [text("of a server")]},
        {"type": "web_search_tool_result", "tool_use_id": "s6", "content":
            {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}},
        {"type": "tool_search_tool_result", "tool_use_id": "s8", "content":
            {"type": "tool_search_tool_search_result", "tool_references": [
                {"type": "tool_reference", "tool_name": "get_port"}]}},
        {"type": "odd_tool_result", "tool_use_id": "s7", "content": null},
        text("It is two."),
    ]);
    let body = json!({"model": OPUS, "messages": [
        {"role": "user", "content": "Count."}, {"role": "assistant", "content": parts},
        {"role": "user", "content": "Thanks."}]});
    let session = read(&body.to_string());
    let roles: Vec<Role> = session.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    let said = session.messages[1].sent();
    for part in
        ["code_execution {\"code\":\"1+1\"}", "two\n", "slow", "A page", "what it says", "get_port"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains("of a server") && said.contains("max_uses_exceeded"), "{said}");
    assert!(!said.contains("Zm9v") && !said.contains("JVBERi0"), "{said}");
    let left = session.left_out.iter().map(|(reason, n)| (reason.as_str(), *n));
    let left: Vec<_> = left.collect();
    assert_eq!(left, [("odd_tool_result part", 1), ("web_fetch_tool_result part", 1)]);
}

#[test]
fn hostile_iterations_neither_stop_nor_inflate() {
    let odd = [
        json!(null),
        json!(3),
        json!([]),
        json!([{}, {}]),
        json!([{"type": "message"}, {"type": "message"}]),
        json!([{"type": 1}, {"type": "message", "input_tokens": -4}]),
        json!([{"type": "advisor_message"}, {"type": "no_such_kind", "input_tokens": u64::MAX}]),
        json!([{"type": "message", "iterations": [{"type": "message"}, {"type": "message"}]}, []]),
    ];
    for iterations in odd {
        let usage = json!({"input_tokens": 9, "output_tokens": 1, "iterations": iterations});
        let parts = [text("Yes."), json!({"type": "compaction"}), text("No.")];
        let session = claude_code(&usage, &parts);
        assert_eq!(session.requests().count(), 1, "{iterations}");
        let beside = session.sidechains.iter();
        assert!(beside.map(|one| one.usage).all(|usage| usage.is_believable()), "{iterations}");
    }
    // A content that is one object without a type is no part.
    let odd = json!({"model": OPUS, "system": "S", "messages": [
        {"role": "user", "content": {"text": "x"}}]});
    assert!(try_read(&odd.to_string()).is_err());
}
