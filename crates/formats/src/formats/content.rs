//! What several formats share: content that is a string or a list, and the
//! values that a record contains about itself.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value as Json;

use crate::draft::{Draft, Ids};
use crate::error::Problem;
use crate::source::{Source, from_json};
use recap_core::model::{
    Block, Message, MessageIndex, Piece, Role, Session, ToolDefinition, Usage,
};

/// Warns if more records of a log lie on abandoned branches, counted as
/// `reason`, than on the one that is read: perhaps the file was sorted, and its
/// last record was not the last one written.
pub(super) fn warn_of_branches(source: &mut Source<'_>, draft: &Draft, reason: &str) {
    let left = draft.session.left_out.get(reason).copied().unwrap_or(0);
    let read = draft.session.messages.len() as u64;
    if left > read {
        source.warn(format!(
            "{left} records lie on branches that the conversation left, {read} messages on the \
             one that leads to the last record of the file, which is read"
        ));
    }
}

/// Which records lie on the branch that leads to the last one, given the id and
/// the parent of each. Records without an id are on no branch of their own. A
/// parent that is not in the file stands for the record before; without any
/// parents the records are a list.
///
/// # Errors
/// Parents that run in a circle.
pub(super) fn branch_to_last<'a>(
    records: impl Iterator<Item = (Option<&'a str>, Option<&'a str>)>,
) -> Result<Vec<bool>, Problem> {
    let records: Vec<_> = records.collect();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    let mut before = Vec::with_capacity(records.len());
    let mut last = None;
    for (at, (id, _)) in records.iter().enumerate() {
        before.push(last);
        if let Some(id) = id {
            places.insert(id, at);
            last = Some(at);
        }
    }
    if records.iter().all(|(_, parent)| parent.is_none()) {
        return Ok(vec![true; records.len()]);
    }
    let mut on: Vec<bool> = records.iter().map(|(id, _)| id.is_none()).collect();
    while let Some(at) = last {
        if std::mem::replace(&mut on[at], true) {
            return Err(Problem::Inconsistent("the records' parents run in a circle".to_owned()));
        }
        last = records[at].1.and_then(|parent| places.get(parent).copied().or(before[at]));
    }
    Ok(on)
}

/// Content that may be written as plain text or as a list of parts.
#[derive(Debug, PartialEq)]
pub(super) enum Content<P> {
    /// The content as plain text.
    Text(String),
    /// The content as a list of parts.
    Parts(Vec<P>),
}

impl<P> Default for Content<P> {
    fn default() -> Self {
        Content::Parts(Vec::new())
    }
}

impl<P> Content<P> {
    /// Its texts in order, where `text` gives that of a part.
    pub(super) fn texts(self, text: fn(P) -> Option<String>) -> Vec<String> {
        match self {
            Content::Text(text) => vec![text],
            Content::Parts(parts) => parts.into_iter().filter_map(text).collect(),
        }
    }

    /// Its blocks: one of a plain text, else what `read` makes of each part.
    pub(super) fn blocks(
        self,
        read: impl FnMut(P) -> Result<Option<Block>, Problem>,
    ) -> Result<Vec<Block>, Problem> {
        match self {
            Content::Text(text) => Ok(vec![Block::Text { text }]),
            Content::Parts(parts) => {
                parts.into_iter().map(read).filter_map(Result::transpose).collect()
            }
        }
    }
}

// By hand: an untagged enum would copy every value once more and say "did not
// match any variant" where the type of a part is wrong.
impl<'de, P: Deserialize<'de>> Deserialize<'de> for Content<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor<P>(std::marker::PhantomData<P>);

        impl<'de, P: Deserialize<'de>> Visitor<'de> for ContentVisitor<P> {
            type Value = Content<P>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of content parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Content::default())
            }

            // A single part stands for a list of one.
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let part = P::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Content::Parts(vec![part]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }

        deserializer.deserialize_any(ContentVisitor(std::marker::PhantomData))
    }
}

/// A record whose fields are taken by their JSON pointers.
pub(super) struct Fields(pub(super) Json);

impl Fields {
    /// Takes a value; `None` where there is none, or null.
    ///
    /// # Errors
    /// A value of another shape, with its place.
    pub(super) fn take<T: DeserializeOwned>(
        &mut self,
        pointer: &str,
    ) -> Result<Option<T>, Problem> {
        match self.0.pointer_mut(pointer).map(Json::take) {
            None if !self.0.is_object() && !self.0.is_null() => {
                Err(Problem::shape(".", "expected an object"))
            }
            None | Some(Json::Null) => Ok(None),
            Some(value) => from_json(value).map(Some).map_err(|problem| below(pointer, problem)),
        }
    }

    /// Takes a value that must be there.
    ///
    /// # Errors
    /// As [`Fields::take`], and where it is missing.
    pub(super) fn need<T: DeserializeOwned>(&mut self, pointer: &str) -> Result<T, Problem> {
        let missing = || below(pointer, Problem::shape(".", "it is missing"));
        self.take(pointer)?.ok_or_else(missing)
    }
}

/// A problem at a place below this pointer.
pub(super) fn below(pointer: &str, problem: Problem) -> Problem {
    let place = pointer.trim_start_matches('/').replace('/', ".");
    match problem {
        Problem::Shape { at, message } if at == "." => Problem::Shape { at: place, message },
        Problem::Shape { at, message } if at.starts_with('[') => {
            Problem::Shape { at: format!("{place}{at}"), message }
        }
        other => other.within(format_args!("{place}.")),
    }
}

/// The source of an image; its bytes are not kept.
#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub(super) enum ImageSource {
    /// Anthropic's notation with a type.
    Typed {
        /// The image's MIME type.
        #[serde(alias = "mediaType")]
        media_type: String,
    },
    /// A notation of another format.
    Other(IgnoredAny),
}

impl ImageSource {
    pub(super) fn media_type(self) -> Option<String> {
        match self {
            ImageSource::Typed { media_type } => Some(media_type),
            ImageSource::Other(_) => None,
        }
    }
}

/// The MIME type of an image in a data URL (RFC 2397).
pub(super) fn media_type(url: &str) -> Option<String> {
    let named = url.strip_prefix("data:")?.split([';', ',']).next()?;
    (!named.is_empty()).then(|| named.to_owned())
}

/// A part of a tool result, of which nothing but a text is kept.
#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(expecting = "struct Part")]
pub(super) struct TextPart {
    #[serde(rename = "type")]
    kind: String,
    pub(super) text: Option<String>,
}

impl TextPart {
    /// Its kind and its text.
    pub(super) fn split(self) -> (String, Option<String>) {
        (self.kind, self.text)
    }
}

/// A call of a tool, under the names of most agents.
#[derive(serde::Deserialize)]
pub(super) struct ToolCall {
    #[serde(alias = "toolCallId")]
    pub(super) id: String,
    #[serde(alias = "function")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Json,
}

/// Text and picture count of a tool result.
#[derive(Debug, Default)]
pub(super) struct ResultText {
    pub(super) text: String,
    pub(super) images: u32,
}

impl ResultText {
    /// Adds a text part. Parts are separated by a line feed, since a model sees
    /// them as separate blocks.
    pub(super) fn add(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

/// The text of a tool result. `read` gives the kind of a part and its text, if it
/// has one; pictures are of the kind `image`.
pub(super) fn result_text<P>(
    content: Content<P>,
    read: fn(P) -> (String, Option<String>),
    image: &str,
    draft: &mut Draft,
) -> ResultText {
    let mut result = ResultText::default();
    match content {
        Content::Text(text) => result.text = text,
        Content::Parts(parts) => {
            for (kind, text) in parts.into_iter().map(read) {
                match text {
                    Some(text) if kind == "text" => result.add(&text),
                    _ if kind == image => result.images += 1,
                    _ => draft.leave_out(format!("{kind} part in a tool result"), 1),
                }
            }
        }
    }
    result
}

/// The role that most formats name so.
pub(super) fn role_of(name: String) -> Result<Role, Problem> {
    match name.as_str() {
        "system" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        _ => Err(Problem::UnknownRole { role: name }),
    }
}

/// The tools that a model was told of, in the notation of OpenAI, Anthropic or
/// OpenTelemetry.
pub(super) fn tool_definitions<'a>(
    tools: impl IntoIterator<Item = &'a Json>,
) -> Vec<ToolDefinition> {
    let is_one = |tool: &&Json| !tool.is_null() && **tool != serde_json::json!({});
    tools.into_iter().filter(is_one).map(tool_definition).collect()
}

/// One without a name keeps its JSON: it was sent, too.
fn tool_definition(tool: &Json) -> ToolDefinition {
    let own = tool.get("function").unwrap_or(tool);
    let text = |key: &str| own.get(key)?.as_str().filter(|text| !text.is_empty());
    let Some(name) = text("name").or_else(|| text("title")) else {
        // A tool of the provider may have a type and nothing else.
        let is_bare = tool.as_object().is_some_and(|fields| fields.keys().eq(["type"]));
        let description = if is_bare { String::new() } else { tool.to_string() };
        let name = text("type").unwrap_or_default().to_owned();
        return ToolDefinition { name, description, parameters: Json::Null };
    };
    let parameters = own.get("parameters").or_else(|| own.get("input_schema"));
    ToolDefinition {
        name: name.to_owned(),
        description: own.get("description").map(text_of).unwrap_or_default(),
        parameters: parameters.cloned().unwrap_or_default(),
    }
}

/// A text as it is; anything else but nothing as JSON.
pub(super) fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// A time without a zone, taken for UTC.
pub(super) fn in_utc(time: DateTime) -> Option<Timestamp> {
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Takes the newest of `after` messages off the end of what is sent, as far as
/// they have no gap; returns the first of them.
pub(super) fn take_tail(pieces: &mut Vec<Piece>, after: MessageIndex) -> MessageIndex {
    let mut first = after;
    while first > 0 && pieces.pop_if(|piece| *piece == Piece::Message(first - 1)).is_some() {
        first -= 1;
    }
    first
}

/// A message with one tool result.
pub(super) fn result_message(
    id: String,
    call: String,
    result: ResultText,
    is_error: bool,
    at: Option<Timestamp>,
) -> Message {
    let block = Block::ToolResult { call, text: result.text, images: result.images, is_error };
    Message::new(id, Role::Tool, at, vec![block])
}

/// Name of the project that a working directory belongs to: its last
/// component, or that of the repository where the directory is one of its
/// worktrees (`.worktrees/x`, `.claude/worktrees/x`).
pub(super) fn project_of(cwd: &str) -> Option<String> {
    let parts: Vec<&str> = cwd.split(['/', '\\']).filter(|p| !p.is_empty()).collect();
    let cut = parts
        .iter()
        .position(|p| matches!(*p, ".worktrees" | ".claude" | "worktrees"))
        .unwrap_or(parts.len());
    parts[..cut].last().map(|&p| p.to_owned())
}

/// OpenAI's usage; cached tokens are part of the prompt's.
#[derive(serde::Deserialize)]
pub(super) struct ChatUsage {
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    /// What OpenRouter charges, in USD.
    pub(super) cost: Option<f64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// What LiteLLM adds of Anthropic's.
    cache_creation_input_tokens: Option<u64>,
}

/// What OpenAI says of the prompt's tokens.
#[derive(Clone, Copy, Default, serde::Deserialize)]
pub(super) struct PromptDetails {
    cached_tokens: Option<u64>,
    /// Charged from GPT-5.6 on.
    cache_write_tokens: Option<u64>,
}

impl PromptDetails {
    /// Tokens that were read from the cache, and those that were written to it.
    pub(super) fn cached(details: Option<PromptDetails>) -> [u64; 2] {
        let details = details.unwrap_or_default();
        [details.cached_tokens, details.cache_write_tokens].map(Option::unwrap_or_default)
    }
}

impl ChatUsage {
    pub(super) fn disjoint(&self) -> Usage {
        let [read, written] = PromptDetails::cached(self.prompt_tokens_details);
        let cached = [read, self.cache_creation_input_tokens.unwrap_or(written)];
        usage_of(self.prompt_tokens, cached, self.completion_tokens)
    }
}

/// The usage where what was read from a cache or written to it is counted beside
/// the rest of the prompt.
pub(super) fn disjoint(input: u64, cache_read: u64, cache_write_5m: u64, output: u64) -> Usage {
    Usage { input, cache_read, cache_write_5m, output, output_final: true, ..Usage::default() }
}

/// The usage in disjoint buckets where what was read from a cache and written to it is
/// part of the prompt.
pub(super) fn usage_of(prompt: u64, [read, written]: [u64; 2], output: u64) -> Usage {
    let cache_read = read.min(prompt);
    let written = written.min(prompt - cache_read);
    disjoint(prompt - cache_read - written, cache_read, written, output)
}

// Writes the messages of one session into a draft: ids are made unique,
// results are tied to their calls, and the models are counted.

/// A message as a format has it, without the results of calls.
#[derive(Clone)]
pub(super) struct Turn {
    /// Its id in the recording; without one it is named by its position.
    pub(super) id: Option<String>,
    pub(super) role: Role,
    pub(super) at: Option<Timestamp>,
    pub(super) blocks: Vec<Block>,
    /// What the request that it answers used.
    pub(super) usage: Option<Usage>,
    /// The model that wrote it.
    pub(super) model: Option<String>,
    /// Its line in the file, where that has lines.
    pub(super) line: Option<u64>,
}

impl Turn {
    pub(super) fn new(role: Role) -> Turn {
        let (id, at, usage, model, line) = (None, None, None, None, None);
        Turn { id, role, at, blocks: Vec::new(), usage, model, line }
    }

    /// Adds a text that is not empty.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
    }

    /// Adds what the model thought, unless that is empty.
    pub(super) fn reasoning(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.blocks.extend((!text.is_empty()).then_some(Block::Reasoning { text }));
    }
}

/// The session that is being written.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) draft: Draft,
    ids: Ids,
    /// Calls whose results have not come, by their newest ids.
    open: FxHashSet<String>,
}

impl Recorder {
    /// Begins the session with this id.
    pub(super) fn new(id: impl Into<String>) -> Recorder {
        Recorder { draft: Draft::named(id), ..Recorder::default() }
    }

    /// The session so far.
    pub(super) fn session(&mut self) -> &mut Session {
        &mut self.draft.session
    }

    /// Number of messages so far.
    pub(super) fn count(&self) -> u32 {
        self.draft.next_index()
    }

    /// Notes which model wrote the message at a place.
    pub(super) fn wrote(&mut self, at: u32, model: &str) {
        if let Some(message) = self.draft.session.messages.get(at as usize) {
            self.draft.models.add(model, &message.id);
        }
    }

    /// The responses that a model wrote.
    pub(super) fn responses_of(&mut self, model: &str) -> Vec<&mut Message> {
        let Draft { session, models, .. } = &mut self.draft;
        let messages = session.messages.iter_mut();
        messages.filter(|message| models.of(&message.id) == Some(model)).collect()
    }

    /// A call, with an id that no other call of the session has. Arguments may
    /// be JSON in a string.
    pub(super) fn call(&mut self, id: String, name: String, given: Json) -> Block {
        let block = self.draft.call(id, name, given);
        if let Block::ToolCall { id, .. } = &block {
            self.open.insert(id.clone());
        }
        block
    }

    /// Appends a message; one that says nothing and used nothing is left out.
    pub(super) fn turn(&mut self, turn: Turn) {
        let Turn { id, role, at, blocks, usage, model, line } = turn;
        if blocks.is_empty() && usage.is_none() {
            self.draft.leave_out("message without content", 1);
            return;
        }
        let id = self.id(id);
        if let Some(model) = model.filter(|_| role == Role::Assistant) {
            self.draft.models.add(&model, &id);
        }
        let message = Message { usage, ..Message::new(id, role, at, blocks) };
        self.draft.push(message, line);
    }

    /// Appends the result of the newest call with this id. A second result, or
    /// one whose call is not in the recording, is left out and counted.
    pub(super) fn result(&mut self, call: &str, result: ResultText, outcome: Outcome) {
        let Some(newest) = self.draft.newest_call(call) else {
            self.draft.leave_out("tool result whose call is not in the recording", 1);
            return;
        };
        let newest = newest.to_owned();
        if !self.open.remove(&newest) {
            self.draft.leave_out("second result of a tool call", 1);
            return;
        }
        let id = self.id(outcome.id);
        let message = result_message(id, newest, result, outcome.is_error, outcome.at);
        self.draft.push(message, outcome.line);
    }

    /// The session. Leading system messages become its preamble.
    pub(super) fn finish(mut self) -> Draft {
        if self.draft.session.compactions.is_empty() {
            self.draft.leading_system_to_preamble();
        }
        self.draft
    }

    fn id(&mut self, own: Option<String>) -> String {
        let own = own.unwrap_or_else(|| format!("message-{}", self.count() + 1));
        // `#` parts a response into messages that keep its model.
        self.ids.free(own)
    }
}

/// How a call ended.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) id: Option<String>,
    pub(super) is_error: bool,
    pub(super) at: Option<Timestamp>,
    pub(super) line: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn worktree_belongs_to_its_repository_project() {
        let project = |cwd| project_of(cwd).unwrap_or_default();
        assert_eq!(project("/Users/ada/work/engine"), "engine");
        assert_eq!(project("/Users/ada/work/engine/.worktrees/fix-loop"), "engine");
        assert_eq!(project("/home/ada/engine/.claude/worktrees/a/src"), "engine");
        assert_eq!(project("C:\\Users\\ada\\engine"), "engine");
        assert_eq!(project_of("/"), None);
    }

    fn text(text: &str) -> ResultText {
        ResultText { text: text.to_owned(), images: 0 }
    }

    #[test]
    fn ids_are_unique_and_results_match_newest_call() {
        let mut recorder = Recorder::new("s");
        for _ in 0..2 {
            let mut turn = Turn::new(Role::Assistant);
            turn.id = Some("m".to_owned());
            turn.model = Some("a".to_owned());
            turn.blocks.push(recorder.call("c".to_owned(), "read".to_owned(), json!("{\"a\":1}")));
            recorder.turn(turn);
            recorder.result("c", text("4210"), Outcome::default());
        }
        recorder.result("c", text("again"), Outcome::default());
        recorder.result("d", text("?"), Outcome::default());
        recorder.turn(Turn::new(Role::User));
        let mut draft = recorder.finish();
        draft.finish();
        crate::draft::check(&draft).unwrap();
        let ids = draft.session.messages.iter().map(|message| message.id.as_str());
        assert_eq!(ids.collect::<Vec<_>>(), ["m", "message-2", "m#2", "message-4"]);
        let results = draft.session.messages.iter().filter_map(Message::tool_result);
        assert_eq!(results.map(|(call, _)| call).collect::<Vec<_>>(), ["c", "c#2"]);
        let left: Vec<(&str, u64)> =
            draft.session.left_out.iter().map(|(why, n)| (why.as_str(), *n)).collect();
        let expected = [
            ("message without content", 1),
            ("second result of a tool call", 1),
            ("tool result whose call is not in the recording", 1),
        ];
        assert_eq!(left, expected);
        assert_eq!(draft.session.model.as_deref(), Some("a"));
    }
}
