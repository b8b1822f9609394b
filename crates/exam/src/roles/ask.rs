//! Sends a role's question to its model, and parses the reply.
//!
//! Schemas are not reliable: some servers ignore them, and the grammars of
//! others do not enforce them. So every structured reply is parsed and checked
//! here, and an invalid one is sent back once.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use recap_core::model::{ModelRole, NoReply};
use recap_llm::{
    Answered, Call, CallError, FaultKind, Finish, Llm, Message, ModelRequest, Speaker,
};

/// Why a model's reply cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ReplyError {
    /// The reply cannot be used.
    #[error(transparent)]
    Reply(#[from] NoReply),
    /// The call failed, so that there is no reply.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<ReplyError> for NoReply {
    fn from(failure: ReplyError) -> Self {
        match failure {
            ReplyError::Reply(reply) => reply,
            ReplyError::Call(error) => NoReply::Other(error.to_string()),
        }
    }
}

impl ReplyError {
    /// Whether the failure concerns the run or the provider and not the
    /// question. A provider that does not accept the key, the account or the
    /// model refuses every request.
    pub(crate) fn is_systemic(&self) -> bool {
        match self {
            ReplyError::Call(CallError::Rejected(fault)) => {
                let kind = fault.kind;
                kind.is_transient()
                    || matches!(kind, FaultKind::Auth | FaultKind::Quota | FaultKind::NotFound)
            }
            ReplyError::Call(error) => !error.is_request_error(),
            ReplyError::Reply(_) => false,
        }
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
    pub(crate) fn bound(&self, question: &ModelRequest) -> u64 {
        question.max_tokens + self.llm.model().settings.room
    }

    /// Sends a question and returns the reply.
    pub(crate) async fn put(&self, question: ModelRequest) -> Result<Answered, CallError> {
        self.llm.call(self.call(question)).await
    }

    /// Drops the stored reply to a question, so that a resumed run asks for another.
    pub(crate) fn discard(&self, question: ModelRequest) {
        self.llm.discard(self.call(question));
    }

    fn call(&self, question: ModelRequest) -> Call {
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
        mut question: ModelRequest,
        read: impl Fn(ReplyText<'_>) -> Result<T, String>,
        mut seen: impl FnMut(&ModelRequest, &Answered),
    ) -> Result<T, ReplyError> {
        let bound = self.bound(&question);
        let (first, mut wrong) = (question.clone(), String::new());
        for _ in 0..2 {
            let answered = self.put(question.clone()).await?;
            seen(&question, &answered);
            let said = ReplyText::of(&answered, bound)?;
            if said.cut && question.schema.is_some() {
                return Err(NoReply::CutOff(bound).into());
            }
            match read(said) {
                Ok(read) => return Ok(read),
                Err(_) if said.cut => return Err(NoReply::CutOff(bound).into()),
                Err(why) => {
                    send_back(&mut question, said.text, &why);
                    wrong = why;
                }
            }
        }
        self.discard(first);
        Err(NoReply::Misshapen(wrong).into())
    }
}

/// Appends a reply and the error in it. Most providers refuse an empty message.
pub(crate) fn send_back(question: &mut ModelRequest, reply: &str, why: &str) {
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

#[cfg(test)]
mod tests;
