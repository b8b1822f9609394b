//! Records of Gemini CLI on disk, in both forms of its files.

use serde::Deserializer;

use crate::formats::content::usage_of;
use crate::formats::prelude::*;

/// A line of the event-sourced form.
pub(in crate::formats) enum Record {
    /// The session's own data, at the head of a file or changed by `$set`.
    Session(Session),
    /// A message, or a newer version of the one with the same id.
    Message(WireMessage),
    /// Fields that replace those of a message.
    Patch(Patch),
    /// The message with this id and all that follow it are undone.
    Rewind(String),
    /// Nothing that is known.
    Other,
}

/// The fields that tell the records apart.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "$rewindTo")]
    rewind_to: Option<String>,
    #[serde(rename = "$set")]
    set: Option<Session>,
    #[serde(rename = "$patch")]
    patch: Option<Patch>,
    id: Option<String>,
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

pub(super) fn read_record(text: &str) -> Result<Record, Problem> {
    let line: Line = parse(text)?;
    Ok(match line {
        Line { rewind_to: Some(id), .. } => Record::Rewind(id),
        Line { set: Some(session), .. } => Record::Session(session),
        Line { patch: Some(patch), .. } => Record::Patch(patch),
        Line { id: Some(_), .. } => Record::Message(parse(text)?),
        Line { session: Some(_), .. } => Record::Session(parse(text)?),
        _ => Record::Other,
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::formats) struct Session {
    pub(in crate::formats) session_id: Option<String>,
    pub(in crate::formats) project_hash: Option<String>,
    pub(in crate::formats) last_updated: Option<Timestamp>,
    pub(in crate::formats) directories: Option<Vec<String>>,
    /// All messages of the older form; in the event-sourced form, what the
    /// model is sent from then on.
    pub(in crate::formats) messages: Option<Vec<WireMessage>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::formats) struct WireMessage {
    pub(in crate::formats) id: Option<String>,
    pub(in crate::formats) timestamp: Option<Timestamp>,
    #[serde(rename = "type")]
    pub(in crate::formats) kind: String,
    #[serde(default, deserialize_with = "parts")]
    pub(in crate::formats) content: Vec<Part>,
    pub(in crate::formats) thoughts: Option<Vec<Thought>>,
    pub(in crate::formats) tool_calls: Option<Vec<WireCall>>,
    pub(in crate::formats) tokens: Option<Tokens>,
    pub(in crate::formats) model: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::formats) struct Patch {
    pub(super) id: String,
    #[serde(default, deserialize_with = "some_parts")]
    pub(super) content: Option<Vec<Part>>,
    pub(super) tool_calls: Option<Vec<WireCall>>,
    pub(super) tokens: Option<Tokens>,
    pub(super) model: Option<String>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct Thought {
    #[serde(default)]
    pub(super) subject: String,
    #[serde(default)]
    pub(super) description: String,
}

/// A call with its result.
#[derive(Deserialize)]
pub(in crate::formats) struct WireCall {
    pub(super) id: String,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) args: Json,
    #[serde(default, deserialize_with = "parts")]
    pub(super) result: Vec<Part>,
    pub(super) status: Option<String>,
    pub(super) timestamp: Option<Timestamp>,
}

/// A part of a message, as the Gemini API has it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::formats) struct Part {
    pub(in crate::formats) text: Option<String>,
    #[serde(default)]
    pub(in crate::formats) thought: bool,
    pub(in crate::formats) function_call: Option<FunctionCall>,
    pub(in crate::formats) function_response: Option<FunctionResponse>,
    pub(in crate::formats) inline_data: Option<Data>,
    pub(in crate::formats) file_data: Option<Data>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct FunctionCall {
    pub(in crate::formats) id: Option<String>,
    pub(in crate::formats) name: String,
    #[serde(default)]
    pub(in crate::formats) args: Json,
}

#[derive(Deserialize)]
pub(in crate::formats) struct FunctionResponse {
    pub(in crate::formats) id: Option<String>,
    pub(in crate::formats) name: Option<String>,
    #[serde(default)]
    pub(in crate::formats) response: Json,
    /// Pictures that the tool returned.
    #[serde(default, deserialize_with = "parts")]
    pub(in crate::formats) parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::formats) struct Data {
    pub(in crate::formats) mime_type: Option<String>,
}

/// Gemini's usage: cached tokens are part of the input, thoughts are not part
/// of the output, and what the provider's own tools returned is counted apart.
#[derive(Clone, Copy, Deserialize)]
pub(in crate::formats) struct Tokens {
    #[serde(default)]
    pub(in crate::formats) input: u64,
    #[serde(default)]
    pub(in crate::formats) output: u64,
    #[serde(default)]
    pub(in crate::formats) cached: u64,
    #[serde(default)]
    pub(in crate::formats) thoughts: u64,
    #[serde(default)]
    pub(in crate::formats) tool: u64,
}

impl WireMessage {
    /// A message of these parts, and nothing else.
    pub(in crate::formats) fn new(kind: &str, content: Vec<Part>) -> WireMessage {
        let (id, timestamp, thoughts, tool_calls, tokens, model) =
            (None, None, None, None, None, None);
        let kind = kind.to_owned();
        WireMessage { id, timestamp, kind, content, thoughts, tool_calls, tokens, model }
    }
}

impl Tokens {
    /// The counts of a prompt, of what of it was cached, and of the whole answer.
    pub(in crate::formats) fn new(input: u64, cached: u64, output: u64) -> Tokens {
        Tokens { input, output, cached, thoughts: 0, tool: 0 }
    }

    /// The usage in disjoint buckets.
    pub(in crate::formats) fn usage(&self) -> Usage {
        let usage = usage_of(self.input, self.cached, self.output.saturating_add(self.thoughts));
        Usage { input: usage.input.saturating_add(self.tool), ..usage }
    }
}

/// Parts may be written as a text, as one part, or as a list of either.
fn parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
    some_parts(deserializer).map(Option::unwrap_or_default)
}

fn some_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Part>>, D::Error> {
    let part = |value: Json| match value {
        Json::String(text) => Ok(Part { text: Some(text), ..Part::default() }),
        other => serde_json::from_value(other).map_err(serde::de::Error::custom),
    };
    match Json::deserialize(deserializer)? {
        Json::Null => Ok(None),
        Json::Array(items) => items.into_iter().map(part).collect::<Result<_, _>>().map(Some),
        one => Ok(Some(vec![part(one)?])),
    }
}
