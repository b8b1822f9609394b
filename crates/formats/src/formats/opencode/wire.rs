//! The format of an OpenCode export on disk: `{info, messages: [{info,
//! parts}]}`.
//!
//! Only fields that the importer reads are named: `summary.diffs` of a user
//! message repeats whole files and was never sent to the model.

use serde::Deserializer;

use crate::formats::prelude::*;

/// Largest integer that JavaScript, which wrote the file, counts exactly (2⁵³).
const EXACT: f64 = 9_007_199_254_740_992.0;

#[derive(Deserialize)]
pub(super) struct Export {
    pub(super) info: WireSession,
    pub(super) messages: Vec<WireMessage>,
}

/// What a session is made of.
pub(super) enum Item {
    Message(Box<WireMessage>),
    Entry(Entry),
}

impl Item {
    pub(super) fn id(&self) -> &str {
        match self {
            Item::Message(message) => &message.info.id,
            Item::Entry(entry) => &entry.id,
        }
    }
}

/// A row of OpenCode 2.
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) kind: String,
    /// When it was made, in milliseconds since 1970.
    pub(super) at: i64,
    /// Whether a fork took it over from the session that it began from.
    pub(super) copied: bool,
    pub(super) data: Json,
}

/// The session's own data.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireSession {
    pub(super) id: String,
    pub(super) slug: Option<String>,
    #[serde(rename = "projectID")]
    pub(super) project_id: Option<String>,
    #[serde(rename = "parentID")]
    pub(super) parent_id: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireMessage {
    pub(super) info: Info,
    #[serde(default)]
    pub(super) parts: Vec<Part>,
}

/// The fields depend on `role`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Info {
    pub(super) id: String,
    pub(super) role: String,
    #[serde(rename = "parentID")]
    pub(super) parent_id: Option<String>,
    #[serde(rename = "modelID")]
    pub(super) model: Option<String>,
    pub(super) path: Option<Path>,
    /// `true` on the answer to a compaction; a user message holds diffs here.
    #[serde(default)]
    pub(super) summary: Json,
    pub(super) error: Option<Error>,
    pub(super) finish: Option<Json>,
    #[serde(default)]
    pub(super) time: Times,
    pub(super) tokens: Option<Tokens>,
    /// The system prompt, until 2025.
    #[serde(default)]
    pub(super) system: Json,
}

impl Info {
    /// Whether this is a complete summary.
    pub(super) fn is_summary(&self) -> bool {
        self.summary == Json::Bool(true) && self.error.is_none()
    }

    /// The system prompt that the message contains.
    pub(super) fn system(&self) -> Vec<String> {
        let texts = self.system.as_array().into_iter().flatten().filter_map(Json::as_str);
        texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }
}

#[derive(Deserialize)]
pub(super) struct Path {
    pub(super) cwd: Option<String>,
    pub(super) root: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Error {
    #[serde(default)]
    pub(super) name: String,
}

/// Times in milliseconds since 1970.
#[derive(Clone, Copy, Default, Deserialize)]
pub(super) struct Times {
    #[serde(default, deserialize_with = "time")]
    pub(super) created: Option<Timestamp>,
    #[serde(default, deserialize_with = "time")]
    pub(super) completed: Option<Timestamp>,
    #[serde(default, deserialize_with = "time")]
    pub(super) end: Option<Timestamp>,
    /// The time at which the output of a tool was pruned.
    #[serde(default, deserialize_with = "time")]
    pub(super) compacted: Option<Timestamp>,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let millis = Option::<i64>::deserialize(deserializer)?;
    let at = millis.map(Timestamp::from_millisecond).transpose();
    at.map_err(|_| serde::de::Error::custom("no time: out of range"))
}

/// Token counts of one step. Cached tokens are counted besides `input`.
#[derive(Deserialize)]
pub(super) struct Tokens {
    total: Option<f64>,
    input: Option<f64>,
    output: Option<f64>,
    reasoning: Option<f64>,
    #[serde(default)]
    cache: Cache,
}

#[derive(Default, Deserialize)]
struct Cache {
    read: Option<f64>,
    write: Option<f64>,
}

impl Tokens {
    /// As OpenCode 2 counts: the reasoning is no part of the output.
    pub(super) fn with_reasoning_apart(mut self) -> Tokens {
        let counts = [self.input, self.output, self.reasoning, self.cache.read, self.cache.write];
        self.total = Some(counts.into_iter().flatten().sum());
        self
    }

    /// The counts as `(input, read, written, output)`, reasoning included in
    /// the output; `None` where one of them is not a valid count.
    ///
    /// Until 2026 `output` included the reasoning, and since then it is counted
    /// separately: `total` shows which, and without a total it is taken as
    /// included.
    pub(super) fn counts(&self) -> Option<[u64; 4]> {
        let count = |value: Option<f64>| {
            let value = value.unwrap_or(0.0);
            (value.fract() == 0.0 && (0.0..=EXACT).contains(&value)).then_some(value as u64)
        };
        let [input, read, written] =
            [count(self.input)?, count(self.cache.read)?, count(self.cache.write)?];
        let [output, reasoning] = [count(self.output)?, count(self.reasoning)?];
        let apart = input + read + written + output + reasoning;
        let total = count(self.total)?;
        let output = if total == apart { output + reasoning } else { output };
        Some([input, read, written, output])
    }
}

/// A part of a message; which fields there are depends on `kind`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: Option<String>,
    pub(super) text: Option<String>,
    /// Texts that are displayed but not sent.
    #[serde(default)]
    pub(super) ignored: bool,
    pub(super) mime: Option<String>,
    #[serde(rename = "callID")]
    pub(super) call_id: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) state: Option<State>,
    pub(super) tokens: Option<Tokens>,
    /// For a compaction: whether the agent's own threshold triggered it.
    pub(super) auto: Option<bool>,
    /// For a compaction: the first message that it kept.
    #[serde(rename = "tail_start_id")]
    pub(super) tail_start_id: Option<String>,
}

/// The state of a tool call.
#[derive(Default, Deserialize)]
pub(super) struct State {
    pub(super) status: String,
    pub(super) input: Option<Json>,
    pub(super) output: Option<String>,
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) metadata: Json,
    #[serde(default)]
    pub(super) time: Times,
    #[serde(default)]
    pub(super) attachments: Vec<Attachment>,
}

#[derive(Deserialize)]
pub(super) struct Attachment {
    #[serde(default)]
    pub(super) mime: String,
}
