//! Records of Gemini CLI on disk, in both forms of its files.

use serde::Deserializer;

use crate::formats::content::usage_of;
use crate::formats::prelude::*;

/// A line of the event-sourced form.
pub(super) enum Record {
    /// The session's own data, at the head of a file or changed by `$set`.
    Session(WireSession),
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
    set: Option<WireSession>,
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
pub(super) struct WireSession {
    pub(super) session_id: Option<String>,
    pub(super) project_hash: Option<String>,
    pub(super) last_updated: Option<Timestamp>,
    pub(super) directories: Option<Vec<String>>,
    /// All messages of the older form; in the event-sourced form, what the
    /// model is sent from then on.
    pub(super) messages: Option<Vec<WireMessage>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMessage {
    pub(super) id: Option<String>,
    pub(super) timestamp: Option<Timestamp>,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "parts")]
    pub(super) content: Vec<Part>,
    pub(super) thoughts: Option<Vec<Thought>>,
    pub(super) tool_calls: Option<Vec<WireCall>>,
    pub(super) tokens: Option<Tokens>,
    pub(super) model: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Patch {
    pub(super) id: String,
    #[serde(default, deserialize_with = "some_parts")]
    pub(super) content: Option<Vec<Part>>,
    pub(super) tool_calls: Option<Vec<WireCall>>,
    pub(super) tokens: Option<Tokens>,
    pub(super) model: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Thought {
    #[serde(default)]
    pub(super) subject: String,
    #[serde(default)]
    pub(super) description: String,
}

/// A call with its result.
#[derive(Deserialize)]
pub(super) struct WireCall {
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
pub(super) struct Part {
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thought: bool,
    pub(super) function_call: Option<FunctionCall>,
    pub(super) function_response: Option<FunctionResponse>,
    pub(super) inline_data: Option<Data>,
    pub(super) file_data: Option<Data>,
    /// All of it, where it is of no known kind.
    #[serde(skip)]
    pub(super) other: Json,
}

impl Part {
    fn is_known(&self) -> bool {
        self.text.is_some()
            || self.function_call.is_some()
            || self.function_response.is_some()
            || self.inline_data.is_some()
            || self.file_data.is_some()
    }
}

#[derive(Deserialize)]
pub(super) struct FunctionCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Json,
}

#[derive(Deserialize)]
pub(super) struct FunctionResponse {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) response: Json,
    /// Pictures that the tool returned.
    #[serde(default, deserialize_with = "parts")]
    pub(super) parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data {
    pub(super) mime_type: Option<String>,
}

/// Gemini's usage: cached tokens are part of the input, thoughts are not part
/// of the output, and what the provider's own tools returned is counted apart.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Tokens {
    #[serde(default)]
    pub(super) input: u64,
    #[serde(default)]
    pub(super) output: u64,
    #[serde(default)]
    pub(super) cached: u64,
    #[serde(default)]
    pub(super) thoughts: u64,
    #[serde(default)]
    pub(super) tool: u64,
}

impl Tokens {
    /// The usage in disjoint buckets.
    pub(super) fn usage(&self) -> Usage {
        let usage =
            usage_of(self.input, [self.cached, 0], self.output.saturating_add(self.thoughts));
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
        other => match Part::deserialize(&other) {
            Ok(part) if part.is_known() => Ok(part),
            Ok(part) => Ok(Part { other, ..part }),
            Err(error) => {
                Err(serde::de::Error::custom(format_args!("a part of `content`: {error}")))
            }
        },
    };
    match Json::deserialize(deserializer)? {
        Json::Null => Ok(None),
        Json::Array(items) => items.into_iter().map(part).collect::<Result<_, _>>().map(Some),
        one => Ok(Some(vec![part(one)?])),
    }
}
