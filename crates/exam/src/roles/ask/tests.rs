use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::roles::testkit::{Scripted, down, ended, rejected};
use recap_llm::Schema;

#[derive(Debug, Deserialize, PartialEq)]
struct Sum {
    sum: u32,
}

fn sum(said: ReplyText<'_>) -> Result<u32, String> {
    let Sum { sum } = object(said.text)?;
    if sum <= 9 { Ok(sum) } else { Err(format!("{sum} is more than 9")) }
}

fn question() -> ModelRequest {
    let json = json!({"type": "object"});
    let schema = Some(Schema { name: "sum".to_owned(), json });
    ModelRequest { schema, ..ModelRequest::of("Add.", "4 + 5", 50) }
}

async fn ask(llm: &Scripted) -> Result<u32, ReplyError> {
    let line = ModelClient { llm, role: ModelRole::Judge, replicate: 2 };
    line.ask(question(), sum, |_, _| {}).await
}

#[tokio::test]
async fn well_formed_reply_is_requested_only_once() {
    let llm = Scripted::saying([r#"{"sum": 9}"#]);
    assert_eq!(ask(&llm).await, Ok(9));
    let calls = llm.calls();
    assert_eq!((calls.len(), calls[0].role, calls[0].replicate), (1, ModelRole::Judge, 2));
    assert_eq!(calls[0].request.max_tokens, 50);
}

#[tokio::test]
async fn wrong_reply_is_returned_once_with_its_error() {
    let llm = Scripted::saying([r#"{"sum": 10}"#, r#"{"sum": 8}"#]);
    assert_eq!(ask(&llm).await, Ok(8));
    let messages = &llm.calls()[1].request.messages;
    assert_eq!(messages[0].text, "4 + 5");
    assert_eq!((messages[1].speaker, &*messages[1].text), (Speaker::Assistant, r#"{"sum": 10}"#));
    assert_eq!(
        messages[2].text,
        "Your reply cannot be used: 10 is more than 9.\nReply to the same request again, in the \
         form that it asks for and with nothing else. It has to be one JSON object that matches \
         this JSON Schema:\n{\"type\":\"object\"}"
    );
}

#[tokio::test]
async fn empty_reply_is_not_sent_back_as_message() {
    let llm = Scripted::saying([" \n", r#"{"sum": 8}"#]);
    assert_eq!(ask(&llm).await, Ok(8));
    let messages = &llm.calls()[1].request.messages;
    assert_eq!(messages.len(), 1);
    assert!(messages[0].text.starts_with("4 + 5\n\nYour reply cannot be used: it holds no"));
}

#[tokio::test]
async fn a_second_wrong_reply_is_the_last() {
    let llm = Scripted::saying(["nine", r#"{"sum": 12}"#]);
    assert_eq!(ask(&llm).await, Err(NoReply::Misshapen("12 is more than 9".to_owned()).into()));
    assert_eq!(llm.calls().len(), 2);
}

#[tokio::test]
async fn incomplete_reply_is_not_requested_again() {
    for (reply, failure) in [
        (ended("{\"sum\": 9}", Finish::Length), NoReply::CutOff(50)),
        (ended("I would rather not.", Finish::Refused), NoReply::Refused),
        (ended("", Finish::Filtered), NoReply::Filtered),
        (ended("", Finish::Other("pause".to_owned())), NoReply::Ended("pause".to_owned())),
    ] {
        let llm = Scripted::new([reply]);
        assert_eq!(ask(&llm).await, Err(failure.into()));
        assert_eq!(llm.calls().len(), 1);
    }
}

#[tokio::test]
async fn failure_is_systemic_if_every_request_would_fail() {
    use FaultKind::{Auth, BadRequest, ContextTooLong, Filtered, NotFound, Quota, Server};
    let of_the_run =
        |reply| async { ask(&Scripted::new([reply])).await.unwrap_err().is_systemic() };
    for kind in [Auth, NotFound, Quota, Server] {
        assert!(of_the_run(rejected(kind)).await, "{kind:?}");
    }
    for kind in [BadRequest, ContextTooLong, Filtered] {
        assert!(!of_the_run(rejected(kind)).await, "{kind:?}");
    }
    assert!(of_the_run(down()).await);
    assert!(of_the_run(Err(CallError::NotRecorded("abc".to_owned()))).await);
    assert!(!of_the_run(ended("", Finish::Refused)).await);
}

#[test]
fn one_json_object_is_found_in_any_text() {
    for text in [
        r#"{"sum": 3}"#,
        "```json\n{\"sum\": 3}\n```",
        r#"Adding {both}, I get {"sum": 3}. I hope this helps!"#,
        "[{\"sum\": 3}]",
        r#"{"sum": 3, "why": "a \"}\" \\"}"#,
    ] {
        assert_eq!(object(text), Ok(Sum { sum: 3 }), "{text}");
    }
}

#[test]
fn missing_or_multiple_objects_and_wrong_fields_fail() {
    for (text, wrong) in [
        ("3", "it holds no whole JSON object"),
        (r#"{"sum": 3"#, "it holds no whole JSON object"),
        (r#"{"sum": 3} or {"sum": 4}"#, "it holds 2 JSON objects instead of one"),
        ("{\"total\": 3}", "it lacks the field `sum`"),
        (r#"{"sum": "secret"}"#, "a field is unknown or of another type"),
        (r#"{"sum": 3, "sum": 4}"#, "it has the field `sum` twice"),
    ] {
        assert_eq!(object::<Sum>(text).unwrap_err(), wrong, "{text}");
    }
}

#[test]
fn reasoning_in_front_of_a_reply_is_removed() {
    assert_eq!(without_reasoning("<think>\n{\"sum\": 1}\n</think>\n\nNine.\n"), "Nine.");
    assert_eq!(without_reasoning(" <think> is a tag."), "<think> is a tag.");
    assert_eq!(without_reasoning("It ends with </think> here."), "It ends with </think> here.");
}

#[tokio::test]
async fn a_model_that_reasons_is_given_its_room() {
    let mut llm = Scripted::new([ended("", Finish::Length)]);
    llm.room(1_000);
    assert_eq!(ask(&llm).await, Err(NoReply::CutOff(1_050).into()));
    assert_eq!(llm.calls()[0].request.max_tokens, 1_050);
}
