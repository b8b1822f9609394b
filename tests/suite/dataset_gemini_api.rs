//! Requests to the Gemini API (structure of googleapis/python-genai, `types.py`)
//! and LongMemEval (structure of xiaowu0162/LongMemEval, `README.md`). What is
//! said in them is invented.

use recap::dataset::{Dataset, DatasetError, LoadOptions, load_reader};
use recap::model::{Expectation, ProbeKind, Transcript};
use serde_json::{Value as Json, json};

use crate::outline::{outline, usages};

const REQUESTS: &str = include_str!("../fixtures/dataset/gemini-api.jsonl");
const HISTORIES: &str = include_str!("../fixtures/dataset/longmemeval.json");

fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("file.jsonl", text.as_bytes(), &LoadOptions::default())
}

fn read(text: &str) -> Transcript {
    let read = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    read.transcripts.into_iter().next().unwrap()
}

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
fn a_history_is_read_in_the_order_of_its_dates_with_its_question() {
    let dataset = try_read(HISTORIES).unwrap();
    let transcript = &dataset.transcripts[0];
    let expected = [
        "user: My tank holds 40 litres.",
        "assistant: A good size.",
        "user: The new tank holds 60 litres.",
        "assistant: Noted.",
    ];
    assert_eq!(outline(transcript), expected);
    assert_eq!(transcript.messages[0].at.unwrap().to_string(), "2023-05-20T02:21:00Z");
    let [probe, other] = dataset.probes.as_slice() else { panic!("two questions") };
    assert_eq!(
        (probe.id.as_str(), probe.kind, probe.asked_at),
        ("q7/question", ProbeKind::Update, 3)
    );
    assert_eq!(probe.expect, Expectation::AnyOf(vec!["60".to_owned()]));
    assert_eq!(probe.evidence, ["s1-1", "s2-1"]);
    assert_eq!(
        probe.question,
        "Current date: 2023/06/01 (Thu) 09:00. How many litres does the tank hold today?"
    );
    assert_eq!((other.kind, &other.expect), (ProbeKind::Abstain, &Expectation::Unanswerable));
}

#[test]
fn sessions_that_answer_are_evidence_where_no_message_of_theirs_is_marked() {
    let mut one: Json = serde_json::from_str(HISTORIES).unwrap();
    one[0]["haystack_sessions"][1][0].as_object_mut().unwrap().remove("has_answer");
    one[0]["answer_session_ids"] = json!(["s1", "s2", "s9"]);
    let dataset = try_read(&one.to_string()).unwrap();
    assert_eq!(dataset.probes[0].evidence, ["s1-1", "s1-2", "s2-1"]);
    let left = &dataset.transcripts[0].left_out;
    assert_eq!(left["session with the answer that is not in the history"], 1);
    assert!(dataset.probes[1].evidence.is_empty());
}

#[test]
fn counts_of_gemini_that_were_not_made_may_be_null() {
    let log = json!({"request": {"contents": [{"role": "user", "parts": [{"text": "go"}]}]},
        "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "done"}]}}],
        "usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": null,
        "candidatesTokenCount": 2}}});
    assert_eq!(usages(&read(&log.to_string())), [[9, 0, 0, 2]]);
}

#[test]
fn hostile_histories_are_refused_or_counted() {
    let whole: Json = serde_json::from_str(HISTORIES).unwrap();
    let with = |key: &str, value: Json| {
        let mut one = whole[0].clone();
        one[key] = value;
        json!([one]).to_string()
    };
    for (key, value, says) in [
        ("question_type", json!("robot"), "unknown type `robot`"),
        ("answer", json!({}), "q7.answer"),
        ("haystack_sessions", json!([[{"role": "robot", "content": "x"}]]), "unknown role `robot`"),
        ("haystack_sessions", json!([]), "no history"),
        ("haystack_sessions", json!([[{"role": "user"}]]), "content"),
    ] {
        let error = try_read(&with(key, value)).unwrap_err().to_string();
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
    let transcript = read(&with("haystack_dates", json!(["yesterday"])));
    assert_eq!(transcript.left_out["session date that cannot be read"], 2);
    let turns: Vec<Json> = (0..10_000).map(|_| json!({"role": "user", "content": "x"})).collect();
    assert_eq!(read(&with("haystack_sessions", json!([turns]))).messages.len(), 10_000);
}
