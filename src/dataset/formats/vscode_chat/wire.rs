//! A chat of VS Code as it is stored, and the texts of its parts.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::dataset::formats::content::ResultText;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    pub(super) session_id: Option<String>,
    #[serde(default)]
    pub(super) requests: Vec<Request>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) request_id: Option<String>,
    /// Milliseconds since 1970.
    pub(super) timestamp: Option<i64>,
    /// A text, or an object with one.
    #[serde(default)]
    pub(super) message: Json,
    pub(super) variable_data: Option<Variables>,
    pub(super) response: Option<Vec<Json>>,
    pub(super) result: Option<Outcome>,
    pub(super) model_id: Option<String>,
    pub(super) is_hidden: Option<bool>,
    /// Set when the user went back to before this request.
    pub(super) should_be_removed_on_send: Option<Json>,
}

impl Request {
    pub(super) fn is_undone(&self) -> bool {
        self.is_hidden == Some(true) || self.should_be_removed_on_send.is_some()
    }

    /// The model, without the name of its vendor in front (`copilot/`).
    pub(super) fn model(&self) -> Option<String> {
        let id = self.model_id.as_deref()?;
        Some(id.split_once('/').map_or(id, |(_, name)| name).to_owned())
    }
}

#[derive(Deserialize)]
pub(super) struct Variables {
    #[serde(default)]
    pub(super) variables: Vec<Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Whatever the participant that answered keeps.
    #[serde(default)]
    pub(super) metadata: Json,
    pub(super) error_details: Option<Json>,
}

/// What Copilot keeps of a request.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Kept {
    pub(super) tool_call_rounds: Option<Vec<Round>>,
    pub(super) tool_call_results: Option<FxHashMap<String, Json>>,
    /// What the model was sent in the place of the message.
    pub(super) rendered_user_message: Option<Vec<Json>>,
    /// What stood in front of the first message.
    pub(super) rendered_global_context: Option<Vec<Json>>,
    pub(super) summary: Option<Summary>,
}

/// A response of the model.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Round {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) response: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Vec<Call>,
    #[serde(default)]
    pub(super) thinking: Json,
    pub(super) timestamp: Option<i64>,
    pub(super) summary: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Json,
}

/// A summary of all up to a round, that one included.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    pub(super) tool_call_round_id: String,
    pub(super) text: String,
}

/// A text, or several that are one.
pub(super) fn joined(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(texts) => texts.iter().filter_map(Json::as_str).collect(),
        _ => String::new(),
    }
}

/// The text of rendered parts: those of other types are marks and pictures.
pub(super) fn rendered(parts: &[Json]) -> String {
    parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
}

/// The text of what a tool returned: texts, data, and trees of prompt elements.
pub(super) fn result_text(result: &Json) -> ResultText {
    let mut text = ResultText::default();
    for part in result.get("content").and_then(Json::as_array).into_iter().flatten() {
        match part.get("value") {
            Some(Json::String(own)) => text.add(own),
            Some(tree) => {
                let mut own = String::new();
                node(tree.get("node").unwrap_or(tree), &mut own, &mut text.images);
                text.add(&own);
            }
            None => text.images += u32::from(is_image(part)),
        }
    }
    text
}

fn is_image(part: &Json) -> bool {
    part.get("mimeType").and_then(Json::as_str).is_some_and(|kind| kind.starts_with("image/"))
}

/// Adds the texts below a node. The depth of a value is bounded where it is read.
fn node(node: &Json, text: &mut String, images: &mut u32) {
    /// The number of an element that is a picture.
    const IMAGE: u64 = 3;
    *images += u32::from(node.get("ctor").and_then(Json::as_u64) == Some(IMAGE));
    if let Some(own) = node.get("text").and_then(Json::as_str) {
        let breaks = node.get("lineBreakBefore");
        let breaks = breaks.is_some_and(|b| b.as_bool().unwrap_or(b.as_u64() > Some(0)));
        if breaks && !text.is_empty() {
            text.push('\n');
        }
        text.push_str(own);
    }
    for child in node.get("children").and_then(Json::as_array).into_iter().flatten() {
        self::node(child, text, images);
    }
}
