//! Sends a role's question to its model, and parses the reply.
//!
//! Schemas are not reliable: some servers ignore them, and the grammars of
//! others do not enforce them. So every structured reply is parsed and checked
//! here, and an invalid one is sent back once.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use recap_core::model::ModelRole;
use recap_llm::{
    Answered, Call, CallError, Fault, FaultKind, Finish, Llm, Message, Request, Speaker,
};

/// Why a model's reply cannot be used. The text quotes neither question nor
/// reply: it also stays in runs that are shared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoReply {
    /// The reply was cut off at this number of tokens, or at the end of the
    /// model's window.
    #[error("the reply was cut off at {0} tokens")]
    CutOff(u64),
    /// The model declined to reply.
    #[error("the model refused")]
    Refused,
    /// The provider withheld the reply.
    #[error("the provider withheld the reply")]
    Filtered,
    /// The reply ended for another reason, in the provider's words.
    #[error("the reply ended early: {0}")]
    Ended(String),
    /// The reply has no text.
    #[error("the reply is empty")]
    Empty,
    /// Neither the first nor the second reply has the requested format.
    /// Contains the error.
    #[error("the reply had not the asked shape, nor had the second one: {0}")]
    Misshapen(String),
    /// The call failed, so that there is no reply.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl NoReply {
    /// Whether the failure concerns the run or the provider and not the
    /// question. A provider that does not accept the key, the account or the
    /// model refuses every request.
    pub(crate) fn is_systemic(&self) -> bool {
        match self {
            NoReply::Call(CallError::Rejected(fault)) => {
                let kind = fault.kind;
                kind.is_transient()
                    || matches!(kind, FaultKind::Auth | FaultKind::Quota | FaultKind::NotFound)
            }
            NoReply::Call(error) => !error.is_request_error(),
            _ => false,
        }
    }

    /// Whether the failure tells nothing of what the model can do: it concerns the run, or
    /// this request alone.
    fn spares_the_model(&self) -> bool {
        use FaultKind::{ContextTooLong, Filtered};
        let of_request = |fault: &Fault| matches!(fault.kind, ContextTooLong | Filtered);
        let is_of_request =
            matches!(self, NoReply::Call(CallError::Rejected(fault)) if of_request(fault));
        is_of_request || self.is_systemic()
    }
}

/// The text of a model's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyText<'a> {
    /// The text without reasoning that the server left in it.
    pub text: &'a str,
    /// Whether the reply was cut off.
    pub cut: bool,
}

impl<'a> ReplyText<'a> {
    /// The text of a reply, or why it has none.
    pub(crate) fn of(answered: &'a Answered, bound: u64) -> Result<Self, NoReply> {
        let text = without_reasoning(&answered.reply.text);
        match &answered.reply.finish {
            Finish::Done => Ok(Self { text, cut: false }),
            Finish::Length if text.is_empty() => Err(NoReply::CutOff(bound)),
            Finish::Length => Ok(Self { text, cut: true }),
            Finish::Refused => Err(NoReply::Refused),
            Finish::Filtered => Err(NoReply::Filtered),
            Finish::Other(word) => Err(NoReply::Ended(word.clone())),
        }
    }
}

/// The connection of a role to its model.
#[derive(Clone, Copy)]
pub(crate) struct ModelClient<'a> {
    /// Sends the calls to the provider.
    pub llm: &'a dyn Llm,
    /// The role that asks.
    pub role: ModelRole,
    /// Number of the repetition, from 0.
    pub replicate: u32,
}

impl ModelClient<'_> {
    /// Largest number of tokens that the model may write for a question.
    pub(crate) fn bound(&self, question: &Request) -> u64 {
        question.max_tokens + self.llm.model().settings.room
    }

    /// Sends a question and returns the reply.
    pub(crate) async fn put(&self, question: Request) -> Result<Answered, CallError> {
        self.llm.call(self.call(question)).await
    }

    /// Tells the model whether the role could use its reply to a question: a model that is
    /// of no use is stopped, and a resumed run asks again for what cannot be read.
    pub(crate) fn rate<T>(&self, question: Request, read: &Result<T, NoReply>) {
        match read {
            Ok(_) => self.llm.used(self.role),
            Err(why) if why.spares_the_model() => {}
            Err(why) => {
                let again = matches!(why, NoReply::Misshapen(_) | NoReply::Empty);
                self.llm.discard(self.call(question), &why.to_string(), again);
            }
        }
    }

    fn call(&self, question: Request) -> Call {
        let request = self.llm.model().request(question);
        Call { role: self.role, replicate: self.replicate, request }
    }

    /// Sends a question until a reply can be parsed, at most twice: the second
    /// time with the reply and the error that `read` found in it. A reply that
    /// was cut off is not requested again, since it would be cut off again; it
    /// is still parsed if free text is expected. `seen` is called with each
    /// reply.
    pub(crate) async fn ask<T>(
        &self,
        question: Request,
        read: impl Fn(ReplyText<'_>) -> Result<T, String>,
        seen: impl FnMut(&Request, &Answered),
    ) -> Result<T, NoReply> {
        let read = self.ask_twice(question.clone(), read, seen).await;
        self.rate(question, &read);
        read
    }

    async fn ask_twice<T>(
        &self,
        mut question: Request,
        read: impl Fn(ReplyText<'_>) -> Result<T, String>,
        mut seen: impl FnMut(&Request, &Answered),
    ) -> Result<T, NoReply> {
        let bound = self.bound(&question);
        let mut wrong = String::new();
        for _ in 0..2 {
            let answered = self.put(question.clone()).await?;
            seen(&question, &answered);
            let reply = ReplyText::of(&answered, bound)?;
            if reply.cut && question.schema.is_some() {
                return Err(NoReply::CutOff(bound));
            }
            match read(reply) {
                Ok(read) => return Ok(read),
                Err(_) if reply.cut => return Err(NoReply::CutOff(bound)),
                Err(why) => {
                    send_back(&mut question, reply.text, &why);
                    wrong = why;
                }
            }
        }
        Err(NoReply::Misshapen(wrong))
    }
}

/// Appends a reply and the error in it. Most providers refuse an empty message.
pub(crate) fn send_back(question: &mut Request, reply: &str, why: &str) {
    let mut text = format!(
        "Your reply cannot be used: {why}.\nReply to the same request again, in the form that \
         it asks for and with nothing else."
    );
    if let Some(schema) = &question.schema {
        text.push_str(" It has to be one JSON object that matches this JSON Schema:\n");
        text.push_str(&schema.json.to_string());
    }
    match question.messages.last_mut() {
        Some(last) if reply.is_empty() => last.text.extend(["\n\n", &text]),
        _ => {
            let reply = Message { speaker: Speaker::Assistant, text: reply.to_owned() };
            question.messages.extend([reply, Message { speaker: Speaker::User, text }]);
        }
    }
}

/// A reply without the reasoning that some servers leave in front of it,
/// between the tags that models of DeepSeek and Qwen write.
fn without_reasoning(text: &str) -> &str {
    let text = text.trim();
    let thought = text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
    thought.map_or(text, |(_, said)| said.trim())
}

/// Parses the only JSON object in a text, whatever text surrounds it.
pub(crate) fn object<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let is_object = |part: &&str| serde_json::from_str::<Map<String, Value>>(part).is_ok();
    let objects: Vec<&str> = braced(text).into_iter().filter(is_object).collect();
    match objects[..] {
        [] => Err("it holds no whole JSON object".to_owned()),
        [one] => serde_json::from_str(one).map_err(|why| misfit(&why)),
        [..] => Err(format!("it holds {} JSON objects instead of one", objects.len())),
    }
}

/// Why an object has the wrong fields, without quoting its text.
fn misfit(why: &serde_json::Error) -> String {
    let message = why.to_string();
    let name = |kind| message.strip_prefix(kind)?.split('`').nth(1);
    match (name("missing field"), name("duplicate field")) {
        (Some(field), _) => format!("it lacks the field `{field}`"),
        (_, Some(field)) => format!("it has the field `{field}` twice"),
        _ => "a field is unknown or of another type".to_owned(),
    }
}

/// The outermost parts of a text in braces; braces in JSON strings do not
/// count.
fn braced(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b'"' => quoted = depth > 0,
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    parts.push(&text[start..=at]);
                }
            }
            _ => {}
        }
    }
    parts
}

// A mark that separates a text from others, whatever the text contains.

/// Number of hexadecimal digits of a mark.
const DIGITS: usize = 8;

/// A mark that none of the given texts contains, so that no text can imitate a
/// line with it.
///
/// It is derived from the first text, and derived again until no text contains
/// it: contexts with the same beginning have the same mark, and share their
/// prefix in the provider's cache.
pub(crate) fn fence<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> String {
    let first = texts.clone().next().unwrap_or_default();
    let mut marks = (0u32..).map(|draw| mark(first, draw));
    let is_free = |mark: &String| texts.clone().all(|text| !text.contains(mark.as_str()));
    marks.find(is_free).expect("no text holds every mark")
}

fn mark(text: &str, draw: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&draw.to_le_bytes()).update(text.as_bytes());
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::roles::testkit::{Scripted, down, ended, rejected};
    use recap_llm::Schema;

    fn fence(texts: &[&str]) -> String {
        super::fence(texts.iter().copied())
    }

    #[test]
    fn a_mark_depends_only_on_the_first_text() {
        assert_eq!(fence(&["a", "b"]), fence(&["a", "b", "c"]));
        assert_ne!(fence(&["a", "b"]), fence(&["b", "a"]));
        assert_eq!(fence(&[]), fence(&[""]));
        assert_eq!(fence(&["a"]).len(), 8);
    }

    #[test]
    fn text_containing_the_mark_gets_another_mark() {
        let first = fence(&["a"]);
        let second = fence(&["a", &format!("</conversation {first}>")]);
        assert_ne!(second, first);
        let third = fence(&["a", &first, &second]);
        assert!(third != first && third != second);
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Sum {
        sum: u32,
    }

    fn sum(reply: ReplyText<'_>) -> Result<u32, String> {
        let Sum { sum } = object(reply.text)?;
        if sum <= 9 { Ok(sum) } else { Err(format!("{sum} is more than 9")) }
    }

    fn question() -> Request {
        let json = json!({"type": "object"});
        let schema = Some(Schema { name: "sum".to_owned(), json });
        Request { schema, ..Request::of("Add.", "4 + 5", 50) }
    }

    async fn ask(llm: &Scripted) -> Result<u32, NoReply> {
        let client = ModelClient { llm, role: ModelRole::Judge, replicate: 2 };
        client.ask(question(), sum, |_, _| {}).await
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
        assert_eq!(
            (messages[1].speaker, &*messages[1].text),
            (Speaker::Assistant, r#"{"sum": 10}"#)
        );
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
        assert_eq!(ask(&llm).await, Err(NoReply::Misshapen("12 is more than 9".to_owned())));
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
            assert_eq!(ask(&llm).await, Err(failure));
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
        assert_eq!(ask(&llm).await, Err(NoReply::CutOff(1_050)));
        assert_eq!(llm.calls()[0].request.max_tokens, 1_050);
    }
}
