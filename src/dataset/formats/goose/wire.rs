//! Messages of Goose on disk.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::dataset::formats::content::Content;
use crate::model::Role;

/// What the store says of a session.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) folder: Option<String>,
    pub(super) model: Option<String>,
}

/// The model that a session is set to.
pub(super) fn config_model(text: &str) -> Option<String> {
    let config: Json = serde_json::from_str(text).ok()?;
    config.get("model_name").and_then(Json::as_str).map(str::to_owned)
}

/// A line of a log: about the session, or a message.
#[derive(Deserialize)]
pub(super) struct Line {
    pub(super) working_dir: Option<String>,
    pub(super) role: Option<String>,
    pub(super) created: Option<i64>,
    #[serde(default)]
    pub(super) content: Vec<Item>,
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// A message with its place.
pub(super) struct Recorded {
    pub(super) id: String,
    pub(super) role: Role,
    pub(super) at: Option<Timestamp>,
    pub(super) content: Vec<Item>,
    pub(super) metadata: Metadata,
    pub(super) line: Option<u64>,
}

impl Recorded {
    /// Whether it is a text of this role that the user does not see.
    pub(super) fn is_hidden(&self, role: Role) -> bool {
        let texts = self.content.iter().all(|item| item.kind == "text");
        self.role == role && self.metadata.user_visible == Some(false) && texts
    }

    pub(super) fn text(&self) -> String {
        let texts = self.content.iter().filter(|item| item.kind == "text");
        texts.map(|item| item.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Who sees a message.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) user_visible: Option<bool>,
}

/// A part of a message; which fields there are depends on its kind.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) thinking: String,
    pub(super) mime_type: Option<String>,
    pub(super) tool_call: Option<Request>,
    pub(super) tool_result: Option<Response>,
}

#[derive(Deserialize)]
pub(super) struct Request {
    /// Absent where the model's call was not valid.
    pub(super) value: Option<Called>,
}

#[derive(Deserialize)]
pub(super) struct Called {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Json,
}

/// How a call ended: with content, or with an error of the tool's server.
#[derive(Deserialize)]
pub(super) struct Response {
    value: Option<Returned>,
    error: Option<String>,
}

/// The content alone until 2025, and an object since.
#[derive(Deserialize)]
#[serde(untagged)]
enum Returned {
    Bare(Vec<Part>),
    Whole {
        content: Vec<Part>,
        #[serde(default, rename = "isError")]
        is_error: Option<bool>,
    },
}

impl Response {
    /// The content, and whether the tool failed.
    pub(super) fn content(self) -> (Content<Part>, bool) {
        match (self.value, self.error) {
            (Some(Returned::Bare(parts)), _) => (Content::Parts(parts), false),
            (Some(Returned::Whole { content, is_error }), _) => {
                (Content::Parts(content), is_error == Some(true))
            }
            (None, error) => (Content::Text(error.unwrap_or_default()), true),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    resource: Option<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    text: Option<String>,
}

/// The kind of a part and its text; the text of a resource counts as text.
pub(super) fn part(part: Part) -> (String, Option<String>) {
    match part.resource.and_then(|resource| resource.text) {
        Some(text) => ("text".to_owned(), Some(text)),
        None => (part.kind, part.text),
    }
}
