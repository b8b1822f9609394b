//! Logs of Inspect on disk.

use std::collections::BTreeMap;

use crate::formats::prelude::*;

/// A log: the parts that the importer reads.
#[derive(Default, Deserialize)]
pub(super) struct Log {
    #[serde(default)]
    pub(super) eval: Eval,
    pub(super) samples: Option<Vec<Json>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Eval {
    pub(super) task: Option<String>,
    pub(super) model: Option<String>,
}

/// A run of the agent on one task of the data set.
#[derive(Deserialize)]
pub(super) struct Sample {
    #[serde(default)]
    pub(super) id: Json,
    pub(super) epoch: Option<u64>,
    #[serde(default)]
    pub(super) messages: Vec<WireMessage>,
    #[serde(default)]
    pub(super) events: Vec<Event>,
    /// What each model used, whoever asked it.
    pub(super) model_usage: Option<BTreeMap<String, Json>>,
}

#[derive(Deserialize)]
pub(super) struct WireMessage {
    pub(super) id: Option<String>,
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Content<Part>,
    pub(super) tool_calls: Option<Vec<WireCall>>,
    pub(super) tool_call_id: Option<String>,
    pub(super) error: Option<ToolError>,
}

#[derive(Deserialize)]
pub(super) struct Part {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) summary: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireCall {
    pub(super) id: String,
    pub(super) function: String,
    #[serde(default)]
    pub(super) arguments: Json,
}

#[derive(Deserialize)]
pub(super) struct ToolError {
    #[serde(default)]
    pub(super) message: String,
}

/// An event of the kind `model` or `tool`; the others are not read.
#[derive(Deserialize)]
pub(super) struct Event {
    #[serde(default)]
    pub(super) event: String,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) completed: Option<Timestamp>,
    /// The model that was asked, and whether a cache of Inspect answered (`read`).
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) cache: Json,
    /// Id of the call of a tool.
    pub(super) id: Option<Json>,
    /// A list of messages; other kinds of events have something else here.
    #[serde(default)]
    pub(super) input: Json,
    #[serde(default)]
    pub(super) tools: Json,
    #[serde(default)]
    pub(super) output: Json,
}

/// What a model returned.
#[derive(Default, Deserialize)]
pub(super) struct Output {
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) choices: Vec<Choice>,
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    pub(super) message: Json,
}

/// Inspect's usage. Whether the input contains what was read from a cache
/// depends on the provider and the version; the total tells.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    total_tokens: u64,
    input_tokens_cache_read: Option<u64>,
    input_tokens_cache_write: Option<u64>,
    pub(super) total_cost: Option<f64>,
}

impl WireUsage {
    /// The usage in disjoint buckets.
    pub(super) fn usage(&self) -> Usage {
        let cache_read = self.input_tokens_cache_read.unwrap_or(0);
        let cache_write_5m = self.input_tokens_cache_write.unwrap_or(0);
        let cached = cache_read.saturating_add(cache_write_5m);
        let beside = self.total_tokens > self.input_tokens.saturating_add(self.output_tokens);
        let input =
            if beside { self.input_tokens } else { self.input_tokens.saturating_sub(cached) };
        disjoint(input, cache_read, cache_write_5m, self.output_tokens)
    }
}

/// Where long texts stand that a sample repeats.
const ATTACHMENT: &str = "attachment://";

/// Puts the attachments of a sample in the places that name them.
pub(super) fn with_attachments(mut sample: Json) -> Json {
    let attachments = sample.get_mut("attachments").map(Json::take);
    let texts: FxHashMap<String, Json> = match attachments {
        Some(Json::Object(texts)) => texts.into_iter().collect(),
        _ => return sample,
    };
    attach(&mut sample, &texts);
    sample
}

fn attach(value: &mut Json, texts: &FxHashMap<String, Json>) {
    match value {
        Json::String(text) => {
            let named = text.strip_prefix(ATTACHMENT).and_then(|name| texts.get(name));
            if let Some(text) = named {
                *value = text.clone();
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| attach(item, texts)),
        Json::Object(fields) => fields.values_mut().for_each(|field| attach(field, texts)),
        _ => {}
    }
}
