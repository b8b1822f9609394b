//! What a saver is sent, and what of it arrives.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value as Json, json};

use super::arrived::Arrival::{Changed, Dropped};
use super::arrived::{Arrived, compare};
use super::upstream::Upstream;
use super::wire::{Api, Kind, Outgoing, Owner, Response, parts};
use crate::testkit::Talk;
use recap_core::model::{Block, Message, Preamble, Role, Session, ToolDefinition, Usage};

const APIS: [Api; 3] = [Api::Anthropic, Api::OpenaiChat, Api::OpenaiResponses];

/// Everything that a recording may hold:
///
/// ```text
/// 0 user with a picture · 1 user · 2 reasoning, a text, calls a and b
/// 3 result a with a picture · 4 result b, an error · 5 system
/// 6 an empty text, call c without a result · 7 user · 8 the response
/// ```
fn session() -> Session {
    let text = |text: &str| Block::Text { text: text.to_owned() };
    let thought = Block::Reasoning { text: "Hm.".to_owned() };
    let two = [("a", "read", json!({"path": "x", "limit": 1})), ("b", "run", json!({}))];
    let talk = Talk::new("Be brief.").user("Look at this.").user("And quickly.").calls(&two);
    let talk = talk.result("a", "one").result("b", "fails").user("A reminder.");
    let talk = talk.calls(&[("c", "read", json!({"path": "y"}))]).user("Go on.").assistant("Done.");
    let mut session = talk.end();
    session.model = Some("model".to_owned());
    session.preamble.tools = vec![ToolDefinition {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        parameters: json!({"type": "object"}),
    }];
    let messages = &mut session.messages;
    messages[0].blocks.push(Block::Image { media_type: None });
    messages[2].blocks.splice(0..0, [thought, text("I look.")]);
    for message in &mut messages[3..5] {
        for block in &mut message.blocks {
            let Block::ToolResult { call, images, is_error, .. } = block else { continue };
            (*images, *is_error) = (u32::from(call == "a"), call == "b");
        }
    }
    messages[5].role = Role::System;
    messages[6].blocks.insert(0, text(""));
    session
}

fn outgoing<'a>(session: &'a Session, preamble: &'a Preamble) -> Outgoing<'a> {
    Outgoing { session, preamble, response: 8, stream: true, marks: &[5, 7] }
}

/// The tool as it counts, and as a line before the system prompt.
const READ: &str = r#"{"name":"read","description":"Reads.","parameters":{"type":"object"}}"#;

const CALL_A: &str = r#"{"name":"read","arguments":{"path":"x","limit":1}}"#;

const CALL_B: &str = r#"{"name":"run","arguments":{}}"#;

/// What is written in each interface, an item of a list a line, reviewed.
fn is_as_reviewed(name: &str, written: impl Fn(Api) -> Json) {
    let mut lines = Vec::new();
    for api in APIS {
        lines.push(api.path().to_owned());
        for (key, value) in written(api).as_object().unwrap() {
            match value {
                Json::Array(items) => {
                    lines.extend(items.iter().map(|item| format!("  {key}: {item}")));
                }
                value => lines.push(format!("  {key}: {value}")),
            }
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, lines.join("\n"));
    });
}

#[test]
fn requests_are_written_as_their_apis_require() {
    let session = session();
    is_as_reviewed("requests", |api| outgoing(&session, &session.preamble).written(api).0);
}

#[test]
fn request_that_arrives_unchanged_differs_in_nothing() {
    let described = session();
    let mut bare = session();
    (bare.preamble.tools, bare.preamble.system) = (Vec::new(), Vec::new());
    for api in APIS {
        for session in [&described, &bare] {
            let outgoing = outgoing(session, &session.preamble);
            let (body, sent) = outgoing.written(api);
            let arrived = parts(api, &body).unwrap();
            assert_eq!(compare(&sent, &arrived), Ok(Arrived::default()), "{api:?}");
        }
    }
}

/// Messages of every role with blocks of every kind, some empty, in any order; calls with and
/// without results, and results without calls.
fn any_session(random: &mut ChaCha8Rng) -> Session {
    let mut one_of = |most: usize| (random.next_u64() % most as u64) as usize;
    let texts = ["", "One.", "Two.\nlines", "\"ü\u{0}\u{2028}", "One."];
    let arguments = [json!({}), json!("text"), json!({"a": [1.5, {"b": "\"\n"}]}), json!(null)];
    let roles = [Role::User, Role::System, Role::Assistant, Role::Assistant, Role::Tool];
    let mut session = Talk::new(texts[one_of(2)]).end();
    let (mut open, mut calls) = (Vec::new(), 0);
    for at in 0..12 {
        let role = roles[one_of(5)];
        let count = if role == Role::Tool { 1 } else { one_of(5) };
        let mut blocks = Vec::new();
        for _ in 0..count {
            let text = texts[one_of(5)].to_owned();
            blocks.push(match (role, one_of(4)) {
                (Role::Tool, number) => {
                    let call = open.pop().unwrap_or_else(|| format!("none {at}"));
                    Block::ToolResult { call, text, images: number as u32, is_error: number > 1 }
                }
                (Role::Assistant, 1 | 2) => {
                    calls += 1;
                    open.push(format!("call {calls}"));
                    let (name, arguments) = ("read".to_owned(), arguments[one_of(4)].clone());
                    Block::ToolCall { id: format!("call {calls}"), name, arguments }
                }
                (Role::Assistant, 3) => Block::Reasoning { text },
                (Role::User, 3) => Block::Image { media_type: None },
                _ => Block::Text { text },
            });
        }
        let mut message = Talk::new("").user("").end().messages.remove(0);
        (message.role, message.blocks) = (role, blocks);
        session.messages.push(message);
    }
    session
}

#[test]
fn any_session_arrives_unchanged_and_owned() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for number in 0..300 {
        let session = any_session(&mut random);
        let marks = [3, 11];
        let outgoing =
            Outgoing { response: 12, marks: &marks, ..outgoing(&session, &session.preamble) };
        for api in APIS {
            let (body, sent) = outgoing.written(api);
            let Ok(arrived) = parts(api, &body) else { continue };
            assert_eq!(compare(&sent, &arrived), Ok(Arrived::default()), "{number}, {api:?}");
            for (at, message) in (0..).zip(&session.messages) {
                let own = sent.iter().filter(|part| part.owner == Owner::Message(at));
                let own: Vec<&str> = own.map(|part| part.text.as_str()).collect();
                // OpenAI's formats put the texts of a response before its calls.
                let lines = |text: &str| {
                    let lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned);
                    lines.collect::<BTreeSet<_>>()
                };
                let expected = lines(&message.sent());
                assert_eq!(lines(&own.join("\n")), expected, "{number}, {api:?}: {at}");
            }
        }
    }
}

#[test]
fn every_message_owns_its_parts_of_request() {
    let session = session();
    let outgoing = outgoing(&session, &session.preamble);
    let said = Owner::Message;
    let head = [Owner::Preamble; 2];
    let rest = [0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7].map(said);
    for api in APIS {
        let (_, sent) = outgoing.written(api);
        let owners: Vec<Owner> = sent.iter().map(|part| part.owner).collect();
        assert_eq!(owners, [&head[..], &rest].concat(), "{api:?}");
        let texts = |at| -> Vec<&str> {
            let own = sent.iter().filter(|part| part.owner == said(at) && part.kind != Kind::Image);
            own.map(|part| part.text.as_str()).collect()
        };
        assert_eq!(texts(2), ["I look.", CALL_A, CALL_B], "{api:?}");
        for (at, message) in (0..8).zip(&session.messages) {
            assert_eq!(texts(at).join("\n"), message.sent(), "{api:?}: message {at}");
        }
        let preamble: Vec<&str> = sent[..2].iter().map(|part| part.text.as_str()).collect();
        assert_eq!(preamble, [READ, "Be brief."], "{api:?}");
    }
}

#[test]
fn called_tools_are_defined_without_belonging_to_preamble() {
    let mut session = session();
    session.preamble.tools.clear();
    let outgoing = outgoing(&session, &session.preamble);
    for api in APIS {
        let (_, sent) = outgoing.written(api);
        let required = sent.iter().filter(|part| part.owner == Owner::Required);
        let kinds: Vec<&Kind> = required.map(|part| &part.kind).collect();
        let tool = |name: &str| Kind::Tool(name.to_owned());
        assert_eq!(kinds, [&tool("read"), &tool("run")], "{api:?}");
    }
}

#[test]
fn interface_follows_model_and_path() {
    let of = |model: Option<&str>| {
        Api::of(&Session { model: model.map(str::to_owned), ..Session::default() })
    };
    assert_eq!([None, Some("claude-x"), Some("a/claude-x")].map(of), [Api::Anthropic; 3]);
    let openai = ["gpt-5.1", "openai/gpt-6", "codex-mini", "o3"];
    assert_eq!(openai.map(Some).map(of), [Api::OpenaiResponses; 4]);
    assert_eq!(["gpt-4.1", "x/qwen3", "gemini-3"].map(Some).map(of), [Api::OpenaiChat; 3]);
    for api in APIS {
        let paths = [api.path().to_owned(), format!("/any{}/", api.path())];
        assert_eq!(paths.map(|path| Api::at(&path)), [Some(api); 2]);
    }
    assert_eq!(["/v1/messages/count_tokens", "/"].map(Api::at), [None; 2]);
}

/// What is seen of a request that a saver changes.
fn seen(api: Api, change: impl FnOnce(&mut Json)) -> Result<Arrived, String> {
    let session = session();
    let outgoing = outgoing(&session, &session.preamble);
    let (mut body, sent) = outgoing.written(api);
    change(&mut body);
    compare(&sent, &parts(api, &body)?)
}

/// The content of a message in Anthropic's format.
fn content(body: &mut Json, message: usize) -> &mut Vec<Json> {
    body["messages"][message]["content"].as_array_mut().unwrap()
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

/// A change of a request.
type Change = fn(&mut Json);

#[test]
fn changed_and_dropped_messages_are_recognised() {
    let changed = |text: &str| Changed(text.to_owned());
    let cases: [(Change, Vec<(u32, _)>); 9] = [
        (|body| content(body, 2)[0]["content"] = "o".into(), vec![(3, changed("o"))]),
        (|body| content(body, 0)[0] = text("Look."), vec![(0, changed("Look."))]),
        (
            |body| drop((content(body, 1).remove(2), content(body, 2).remove(1))),
            vec![(2, changed(&format!("I look.\n{CALL_A}"))), (4, Dropped)],
        ),
        (|body| drop(content(body, 0).remove(2)), vec![(1, Dropped)]),
        (|body| drop(body["messages"].as_array_mut().unwrap().remove(3)), vec![(6, Dropped)]),
        (|body| content(body, 2).insert(2, text("Note.")), vec![(4, changed("fails\nNote."))]),
        (|body| content(body, 4).push(text("Be quick.")), vec![(7, changed("Go on.\nBe quick."))]),
        (|body| content(body, 0)[1] = text("[a picture]"), {
            vec![(0, changed("Look at this.\n[a picture]"))]
        }),
        (
            |body| content(body, 1)[1]["input"] = json!({"limit": 1, "path": "x"}),
            Vec::new(), // The order of keys is no change.
        ),
    ];
    for (number, (change, messages)) in cases.into_iter().enumerate() {
        let expected = Arrived { messages: messages.into_iter().collect(), ..Arrived::default() };
        assert_eq!(seen(Api::Anthropic, change), Ok(expected), "case {number}");
    }
}

#[test]
fn changes_before_first_message_belong_to_preamble() {
    let find = r#"{"name":"find","description":"Finds.","parameters":null}"#;
    let other = READ.replace("Reads.", "Reads a file.");
    let cases: [(Change, String); 5] = [
        (|body| content(body, 0).insert(0, text("Hi.")), format!("{READ}\nBe brief.\nHi.")),
        (
            |body| {
                let tools = body["tools"].as_array_mut().unwrap();
                tools.push(json!({"name": "find", "description": "Finds."}));
            },
            format!("{READ}\n{find}\nBe brief."),
        ),
        (
            |body| body["tools"][0]["description"] = "Reads a file.".into(),
            format!("{other}\nBe brief."),
        ),
        (|body| body["system"][0]["text"] = "Be terse.".into(), format!("{READ}\nBe terse.")),
        (|body| body["tools"].as_array_mut().unwrap().clear(), "Be brief.".to_owned()),
    ];
    for (number, (change, preamble)) in cases.into_iter().enumerate() {
        let expected = Arrived { preamble: Some(preamble), ..Arrived::default() };
        assert_eq!(seen(Api::Anthropic, change), Ok(expected), "case {number}");
    }
    let system = |body: &mut Json| body["instructions"] = "Be terse.".into();
    let arrived = seen(Api::OpenaiResponses, system).unwrap();
    assert_eq!(arrived.preamble, Some(format!("{READ}\nBe terse.")));
    let system = |body: &mut Json| body["messages"][0]["content"] = "Be terse.".into();
    let arrived = seen(Api::OpenaiChat, system).unwrap();
    assert_eq!(arrived.preamble, Some(format!("{READ}\nBe terse.")));
}

#[test]
fn text_before_bare_conversation_becomes_preamble() {
    let session = Talk::new("").user("Go on.").assistant("Done.").end();
    let preamble = Preamble::default();
    let bare = Outgoing { response: 1, marks: &[], ..outgoing(&session, &preamble) };
    let (mut body, sent) = bare.written(Api::Anthropic);
    body["system"] = "Be brief.".into();
    let arrived = compare(&sent, &parts(Api::Anthropic, &body).unwrap()).unwrap();
    let expected = Arrived { preamble: Some("Be brief.".to_owned()), ..Arrived::default() };
    assert_eq!(arrived, expected);
}

#[test]
fn moved_cache_breakpoints_are_recognised() {
    let moved = seen(Api::Anthropic, |body| {
        let mark = content(body, 4)[0].as_object_mut().unwrap().remove("cache_control").unwrap();
        content(body, 0)[0]["cache_control"] = mark;
    });
    let marks = vec![Owner::Preamble, Owner::Message(0), Owner::Message(5)];
    assert_eq!(moved, Ok(Arrived { marks: Some(marks), ..Arrived::default() }));
    let none = seen(Api::Anthropic, |body| {
        body["system"] = "Be brief.".into();
        content(body, 2)[2] = text("A reminder.");
        content(body, 4)[0] = text("Go on.");
    });
    assert_eq!(none, Ok(Arrived { marks: Some(Vec::new()), ..Arrived::default() }));
}

#[test]
fn requests_that_providers_refuse_are_errors() {
    let cases: [(Change, &str); 11] = [
        (
            |body| content(body, 2).swap(0, 1),
            "it moves the result of the call `a` before what was said earlier",
        ),
        (
            |body| drop(content(body, 2).remove(1)),
            "it drops the result of the call `b` and keeps the call: providers refuse that",
        ),
        (
            |body| drop(content(body, 1).remove(2)),
            "it drops the call `b` and keeps its result: providers refuse that",
        ),
        (
            |body| content(body, 1).push(json!({"type": "tool_use", "id": "own", "name": "read"})),
            "it adds the call `own` without a result: providers refuse that",
        ),
        (
            |body| content(body, 2).push(json!({"type": "tool_result", "tool_use_id": "own"})),
            "it adds a result of the call `own`, which is not there: providers refuse that",
        ),
        (
            |body| body["messages"][4]["role"] = "assistant".into(),
            "it turns a text of the role `user` into one of the role `assistant`",
        ),
        (
            |body| body["messages"][2]["role"] = "assistant".into(),
            "it turns the result of the call `a` of the role `user` into one of the role `assistant`",
        ),
        (
            |body| body["messages"][4]["role"] = "robot".into(),
            "a message has the role `robot`, which providers do not know",
        ),
        (
            |body| content(body, 4)[0] = json!({"type": "video"}),
            "a part of the type `video` is not known",
        ),
        (|body| body["messages"] = json!([]), "`messages` is empty"),
        (|body| body["messages"] = "none".into(), "`messages` is no list"),
    ];
    for (change, problem) in cases {
        assert_eq!(seen(Api::Anthropic, change), Err(problem.to_owned()));
    }
    let untyped = |body: &mut Json| body["messages"][1]["content"][0] = json!({"text": "x"});
    let problem = "a part of the type `none` is not known".to_owned();
    assert_eq!(seen(Api::OpenaiChat, untyped), Err(problem));
    let item = |body: &mut Json| body["input"][0] = json!({"type": "item_reference"});
    let problem = "a part of the type `item_reference` is not known".to_owned();
    assert_eq!(seen(Api::OpenaiResponses, item), Err(problem));
}

/// A result whose call the recording lacks is no fault of a saver's, and hides none.
#[test]
fn recorded_result_without_call_hides_no_fault() {
    let call = [("b", "read", json!({}))];
    let session = Talk::new("S").user("u").result("a", "x").calls(&call).result("b", "y").end();
    let outgoing = Outgoing { response: 4, marks: &[], ..outgoing(&session, &session.preamble) };
    let api = Api::OpenaiChat;
    let (mut body, sent) = outgoing.written(api);
    assert_eq!(compare(&sent, &parts(api, &body).unwrap()), Ok(Arrived::default()));
    body["messages"].as_array_mut().unwrap().remove(3);
    let problem = "it drops the call `b` and keeps its result: providers refuse that".to_owned();
    assert_eq!(compare(&sent, &parts(api, &body).unwrap()), Err(problem));
}

/// Of two equal texts, the one of the same role is meant.
#[test]
fn equal_text_of_another_role_is_no_change() {
    let session = Talk::new("S").user("Ask.").assistant("OK.").user("OK.").assistant("Done.").end();
    let outgoing = Outgoing { response: 3, marks: &[], ..outgoing(&session, &session.preamble) };
    let (mut body, sent) = outgoing.written(Api::OpenaiChat);
    body["messages"].as_array_mut().unwrap().remove(2);
    let arrived = compare(&sent, &parts(Api::OpenaiChat, &body).unwrap()).unwrap();
    assert_eq!(arrived.messages.into_iter().collect::<Vec<_>>(), [(1, Dropped)]);
}

// The recorded response, as the provider would have given it.

/// A response with a thought, two texts and two calls, of a prompt of 22 tokens.
fn recorded() -> Message {
    let calls = [("a", "read", json!({"path": "x"})), ("b", "run", json!({}))];
    let mut message = Talk::new("").calls(&calls).end().messages.remove(0);
    let said = |text: &str| Block::Text { text: text.to_owned() };
    let thought = Block::Reasoning { text: "Hm.".to_owned() };
    message.blocks.splice(0..0, [thought, said("One."), said("Two.")]);
    message.usage = Some(Usage {
        input: 10,
        cache_read: 5,
        cache_write_5m: 4,
        cache_write_1h: 3,
        output: 6,
        ..Usage::default()
    });
    message
}

fn answer(api: Api, message: &Message, stream: bool) -> String {
    let usage = message.usage.unwrap_or_default();
    api.answer(&Response { message, model: "model", usage }, stream)
}

/// An answer in one piece.
fn whole(api: Api, message: &Message) -> Json {
    serde_json::from_str(&answer(api, message, false)).unwrap()
}

/// The data of a stream's events, each with the event's name where it has one.
fn events(api: Api, message: &Message) -> Vec<Json> {
    let answer = answer(api, message, true);
    let mut events: Vec<&str> = answer.split("\n\n").collect();
    assert_eq!(events.pop(), Some(""), "the last event is complete");
    let data = |event: &str| -> Json {
        let (name, data) = event.split_once("data: ").unwrap();
        let data: Json = serde_json::from_str(data).unwrap_or_else(|_| data.into());
        let kind = data["type"].as_str().map(|kind| format!("event: {kind}\n"));
        assert_eq!(name, kind.unwrap_or_default());
        data
    };
    events.into_iter().map(data).collect()
}

#[test]
fn answers_are_those_of_the_providers_whole_and_streamed() {
    let done = Talk::new("").assistant("Done.").end().messages.remove(0);
    is_as_reviewed("answers", |api| {
        let (calls, stream) = (whole(api, &recorded()), events(api, &recorded()));
        json!({"whole": calls, "stream": stream, "text": whole(api, &done)})
    });
}

#[tokio::test]
async fn provider_says_what_its_answer_is() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let upstream = Upstream::start(0).await.unwrap();
    for (stream, content_type) in [(false, "application/json"), (true, "text/event-stream")] {
        upstream.expect(&recorded(), "model", 0);
        let request = client.post(format!("{}/v1/messages", upstream.url));
        let answer = request.body(json!({"stream": stream}).to_string()).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], content_type);
        assert!(upstream.taken().is_ok());
    }
}
