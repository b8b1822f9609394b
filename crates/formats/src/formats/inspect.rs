//! Logs of Inspect (UK AI Security Institute): a JSON document, or the zip
//! archive `.eval` with one document a sample.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::content::take_tail;
use super::prelude::*;
use crate::source::{HEAD, without_nan};
use crate::unpack::Archive;

/// Numbers that Python writes and JSON does not have.
const NOT_JSON: &[&str] = &["NaN", "-Infinity", "Infinity"];

/// First bytes of a zip archive.
const ZIP: &str = "PK\u{3}\u{4}";

/// The format of Inspect's logs.
pub(super) const FORMAT: Format = Format {
    name: "inspect",
    describe: "Inspect log (*.eval, or JSON)",
    tried: Tried::On { files: 9, compared: "messages, calls with results, requests, tokens" },
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_log = |record: &Json| {
        let has = |key: &str| record.get(key).is_some_and(Json::is_object);
        has("eval") && record.get("status").is_some_and(Json::is_string)
    };
    let of_samples = |name| head.text.contains(name);
    let packed = head.text.starts_with(ZIP)
        && ["header.json", "_journal/", "samples/"].into_iter().any(of_samples);
    head.any(is_log) || packed
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let is_archive = source.head(HEAD)?.starts_with(ZIP.as_bytes());
    let mut reader = Reader { stem: source.stem().to_owned(), ..Reader::default() };
    if is_archive {
        let mut archive = Archive::open(source)?;
        source.whole(reader.archive(&mut archive))?;
    } else {
        let text = source.text()?;
        let log: Log = match parse::<Log>(&text) {
            Ok(log) => log,
            Err(Problem::Syntax { .. }) => source.parsed(&without_nan(&text, NOT_JSON))?,
            Err(problem) => return Err(source.error(None, problem)),
        };
        drop(text);
        source.whole(reader.log(log))?;
    }
    Ok(reader.drafts)
}

#[derive(Default)]
struct Reader {
    stem: String,
    drafts: Vec<Draft>,
}

impl Reader {
    fn log(&mut self, log: Log) -> Result<(), Problem> {
        let samples = log.samples.unwrap_or_default();
        let single = samples.len() == 1;
        for sample in samples {
            self.sample(sample, &log.eval, single)?;
        }
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), Problem> {
        let header = ["header.json", "_journal/start.json"];
        let header = header.into_iter().find(|name| archive.names().any(|other| other == *name));
        let log: Log = match header {
            Some(name) => document(&archive.text(name)?)?,
            None => Log::default(),
        };
        let is_sample = |name: &&str| name.starts_with("samples/") && name.ends_with(".json");
        let mut names: Vec<String> = archive.names().filter(is_sample).map(str::to_owned).collect();
        names.sort();
        let single = names.len() == 1;
        for name in names {
            let sample = document(&archive.text(&name)?)?;
            self.sample(sample, &log.eval, single)?;
        }
        Ok(())
    }

    fn sample(&mut self, sample: Json, eval: &Json, single: bool) -> Result<(), Problem> {
        let sample: Sample = from_json(with_attachments(sample))?;
        let own = match &sample.id {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut draft = Draft::named(match (single, sample.epoch) {
            (true, _) => self.stem.clone(),
            (false, Some(epoch)) => format!("{own}-epoch-{epoch}"),
            (false, None) => own.clone(),
        });
        let text = |key: &str| eval.get(key).and_then(Json::as_str).map(str::to_owned);
        let asked = text("model");
        draft.session.model.clone_from(&asked);
        // Epochs of one sample are not independent sessions.
        draft.session.project = text("task").map(|task| format!("{task}-{own}"));
        let mut calls = Calls::of(sample.events)?;
        draft.session.preamble.tools = std::mem::take(&mut calls.tools);
        let mut ids = Ids::default();
        let mut inputs = Vec::new();
        let mut places = FxHashMap::default();
        for (number, message) in (1..).zip(sample.messages) {
            let own = message.id.clone();
            let id = ids.free(own.clone().unwrap_or_else(|| format!("message-{number}")));
            let made = calls.of_answer(&message);
            let message = calls.message(id, message, &mut draft)?;
            places.entry(own.unwrap_or_default()).or_insert(message.id.clone());
            if let Some(made) = made {
                let model = made.output.model.clone().or_else(|| asked.clone());
                model.iter().for_each(|model| draft.models.add(model, &message.id));
                let usage = made.output.usage.map(|usage| usage.usage());
                let at = made.at.or(message.at);
                draft.push(Message { usage, at, ..message }, None);
                inputs.push((draft.session.messages.len(), made.input));
            } else {
                draft.push(message, None);
            }
        }
        draft.session.totals.extend(std::mem::take(&mut calls.totals).into_values());
        let silent = sample.model_usage.into_iter().flatten();
        for (model, wire) in silent.filter(|(model, _)| !calls.reporting.contains(model)) {
            let Ok(wire) = from_json::<WireUsage>(wire) else {
                draft.leave_out("total of a model that cannot be read", 1);
                continue;
            };
            let is_own = eval.get("model").and_then(Json::as_str) == Some(&model);
            let answers = draft.session.messages.iter().filter(|message| message.is_request());
            let requests = if is_own { answers.count() as u64 } else { 0 };
            let (usage, usd) = (wire.usage(), wire.total_cost);
            draft.session.totals.push(SessionTotal { model: Some(model), requests, usage, usd });
        }
        let outside = calls.by_message.values().map(|made| made.len() as u64).sum();
        draft.leave_out("model call outside the conversation", outside);
        calls.others.into_iter().for_each(|(reason, n)| draft.leave_out(reason, n));
        let before = draft.session.messages.len();
        draft.leading_system_to_preamble();
        let lead = before - draft.session.messages.len();
        requests(inputs, lead, &places, &mut draft)?;
        self.drafts.push(draft);
        Ok(())
    }
}

/// Follows what each request sent. `inputs` has the number of messages up to each
/// answer, of which `lead` became the preamble.
fn requests(
    inputs: Vec<(usize, Vec<WireMessage>)>,
    lead: usize,
    ids: &FxHashMap<String, String>,
    draft: &mut Draft,
) -> Result<(), Problem> {
    let index = draft.places();
    let place = |(own, id): (&String, &String)| Some((own.clone(), *index.get(id)? as u32));
    let places: FxHashMap<String, MessageIndex> = ids.iter().filter_map(place).collect();
    let mut requests = Requests::default();
    for (number, input) in inputs {
        let at = (number - 1 - lead) as u32;
        // Versions since 2026 keep the inputs elsewhere.
        if input.iter().any(|message| message.id.is_none()) {
            draft.leave_out("request whose messages have no ids", 1);
        } else if !input.is_empty() {
            requests.take(input, at, &places, draft)?;
        }
        let usage = draft.session.messages[at as usize].usage;
        requests.prompt = usage.map(|usage| usage.prompt()).or(requests.prompt);
    }
    Ok(())
}

/// A text as one JSON document, in which Python may have written NaN.
fn document<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Problem> {
    match parse(text) {
        Err(Problem::Syntax { .. }) => parse(&without_nan(text, NOT_JSON)),
        other => other,
    }
}

/// What an answer of a model is told by: its id or, before Inspect gave messages ids
/// (spring of 2025), what it says and calls.
#[derive(PartialEq, Eq, Hash)]
enum Answer {
    Named(String),
    Said(String, Vec<String>),
}

impl Answer {
    fn of(message: &WireMessage) -> Answer {
        let calls = || message.tool_calls.iter().flatten().map(|call| call.id.clone());
        let said = || Answer::Said(plain_text(message), calls().collect());
        message.id.clone().map_or_else(said, Answer::Named)
    }

    fn chosen(message: &Json) -> Option<Answer> {
        let named = message.get("id").and_then(Json::as_str);
        let said = || from_json(message.clone()).ok().map(|message| Answer::of(&message));
        named.map(|id| Answer::Named(id.to_owned())).or_else(said)
    }

    fn is_named(&self) -> bool {
        matches!(self, Answer::Named(_))
    }
}

/// A call of the model.
struct Made {
    at: Option<jiff::Timestamp>,
    output: Output,
    input: Vec<WireMessage>,
}

/// What the events of a sample tell of its messages.
#[derive(Default)]
struct Calls {
    /// By the message that answered, in order.
    by_message: FxHashMap<Answer, VecDeque<Made>>,
    /// What each model used that answered, within the conversation or not.
    totals: BTreeMap<String, SessionTotal>,
    /// The models whose calls report what they used, as they were asked.
    reporting: BTreeSet<String>,
    tools: Vec<ToolDefinition>,
    /// When each call of a tool ended.
    ended: FxHashMap<String, jiff::Timestamp>,
    /// Events that tell nothing of the messages, by the reason.
    others: BTreeMap<&'static str, u64>,
}

impl Calls {
    fn of(events: Vec<Event>) -> Result<Calls, Problem> {
        let mut calls = Calls::default();
        for event in events {
            let at = event.completed.or(event.timestamp);
            match event.event.as_str() {
                "model" => calls.made(event, at)?,
                "tool" => {
                    let id = event.id.as_ref().and_then(Json::as_str).map(str::to_owned);
                    calls.ended.extend(id.zip(at));
                }
                _ => calls.leave_out("event that is no call of a model or tool"),
            }
        }
        Ok(calls)
    }

    fn made(&mut self, event: Event, at: Option<jiff::Timestamp>) -> Result<(), Problem> {
        if self.tools.is_empty() {
            self.tools = tool_definitions(event.tools.as_array().into_iter().flatten());
        }
        let some =
            |value: Json| if value.is_null() { Json::Object(Default::default()) } else { value };
        let output: Output = from_json(some(event.output))?;
        let first =
            output.choices.first().and_then(|choice| Answer::chosen(choice.get("message")?));
        let input = if event.input.is_array() { from_json(event.input)? } else { Vec::new() };
        let own = event.model.or_else(|| output.model.clone());
        if let Some((model, usage)) = own.zip(output.usage).filter(|_| event.cache != "read") {
            let named = output.model.clone().unwrap_or_else(|| model.clone());
            let total = self.totals.entry(named.clone()).or_default();
            total.model = Some(named);
            total.add(1, &usage.usage(), usage.total_cost);
            self.reporting.insert(model);
        }
        match first.map(|answer| (answer.is_named(), self.by_message.entry(answer).or_default())) {
            // A call that is repeated from a cache has the first one's bill.
            Some((true, known)) if !known.is_empty() => {
                self.leave_out("model call that repeats another");
            }
            Some((_, known)) => known.push_back(Made { at, output, input }),
            None => self.leave_out("model call without an answer"),
        }
        Ok(())
    }

    /// The call that a message answers.
    fn of_answer(&mut self, message: &WireMessage) -> Option<Made> {
        let is_answer = message.role == "assistant";
        is_answer.then(|| self.by_message.get_mut(&Answer::of(message))?.pop_front())?
    }

    fn leave_out(&mut self, reason: &'static str) {
        *self.others.entry(reason).or_default() += 1;
    }

    fn message(
        &mut self,
        id: String,
        wire: WireMessage,
        draft: &mut Draft,
    ) -> Result<Message, Problem> {
        let Some(role) = role_of(&wire.role) else {
            return Err(Problem::UnknownRole { role: wire.role });
        };
        if role == Role::Tool {
            let images = images(&wire.content);
            let text = ResultText { text: plain_text(&wire), images };
            let call = wire
                .tool_call_id
                .ok_or_else(|| Problem::shape("messages", "a tool result lacks `tool_call_id`"))?;
            let at = self.ended.get(&call).copied();
            let call = draft.newest_call(&call).unwrap_or(&call).to_owned();
            return Ok(result_message(id, call, text, wire.error.is_some(), at));
        }
        let mut blocks = blocks(wire.content, draft);
        for call in wire.tool_calls.into_iter().flatten() {
            blocks.push(draft.call(call.id, call.name, call.arguments));
        }
        Ok(Message::new(id, role, None, blocks))
    }
}

fn role_of(name: &str) -> Option<Role> {
    Some(match name {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => return None,
    })
}

/// The text of a message; of a call that failed, what went wrong.
fn plain_text(message: &WireMessage) -> String {
    let failed = message.error.as_ref().map(|error| error.message.as_str());
    match (failed.filter(|text| !text.is_empty()), &message.content) {
        (Some(text), _) => text.to_owned(),
        (None, Content::Text(text)) => text.clone(),
        (None, Content::Parts(parts)) => {
            let texts = parts.iter().filter_map(|part| part.text.as_deref());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

fn images(content: &Content<Part>) -> u32 {
    match content {
        Content::Text(_) => 0,
        Content::Parts(parts) => parts.iter().filter(|part| part.kind == "image").count() as u32,
    }
}

fn blocks(content: Content<Part>, draft: &mut Draft) -> Vec<Block> {
    let parts = match content {
        Content::Text(text) if text.is_empty() => return Vec::new(),
        Content::Text(text) => return vec![Block::Text { text }],
        Content::Parts(parts) => parts,
    };
    let mut blocks = Vec::with_capacity(parts.len());
    for part in parts {
        match (part.kind.as_str(), part.text) {
            ("text", Some(text)) => blocks.push(Block::Text { text }),
            ("reasoning", _) => {
                let text = part.reasoning.or(part.summary).unwrap_or_default();
                blocks.push(Block::Reasoning { text });
            }
            ("image", _) => blocks.push(Block::Image { media_type: None }),
            (other, _) => draft.leave_out(format!("{other} part"), 1),
        }
    }
    blocks
}

// What the requests of a sample sent, against what had been said until then:
// the compactions that the agent made.

/// What stands in a request in front of the newest messages, and the first of
/// those.
#[derive(Default, PartialEq)]
struct Shape {
    front: Vec<Piece>,
    run: MessageIndex,
}

/// Follows the requests of a sample in their order.
#[derive(Default)]
struct Requests {
    last: Shape,
    /// Calls whose results were cleared before.
    cleared: FxHashSet<String>,
    /// Prompt of the request before.
    prompt: Option<u64>,
}

impl Requests {
    /// Takes the input of the request that message `at` answered.
    fn take(
        &mut self,
        input: Vec<WireMessage>,
        at: MessageIndex,
        places: &FxHashMap<String, MessageIndex>,
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        let mut pieces = Vec::new();
        let mut cleared = Vec::new();
        for message in input.into_iter().filter(|message| message.role != "system") {
            let known = message.id.as_ref().and_then(|id| places.get(id)).copied();
            match known.filter(|index| *index < at) {
                Some(index) => {
                    cleared.extend(self.clears(message, index, draft));
                    pieces.push(Piece::Message(index));
                }
                None => pieces.extend(written(message, draft)),
            }
        }
        let shape = shape(pieces, at);
        let removes = shape.run > 0 || !shape.front.is_empty();
        if shape != self.last && removes && is_sorted(&shape) {
            let texts = shape.front.iter().filter_map(|piece| match piece {
                Piece::Text { text, .. } => Some(text.as_str()),
                Piece::Message(_) => None,
            });
            let summary = texts.collect::<Vec<_>>().join("\n");
            draft.compact(RecordedCompaction {
                after: at,
                kept_from: shape.run,
                summary: Some(summary).filter(|text| !text.is_empty()),
                pieces: shape.front.clone(),
                trigger: RecordedTrigger::Auto,
                tokens_before: self.prompt,
                ..RecordedCompaction::default()
            })?;
        } else if shape != self.last {
            draft.leave_out("request with another selection of messages", 1);
            return Ok(());
        }
        if !cleared.is_empty() {
            draft.compact(RecordedCompaction {
                after: at,
                kept_from: shape.run,
                cleared,
                trigger: RecordedTrigger::Auto,
                tokens_before: self.prompt,
                ..RecordedCompaction::default()
            })?;
        }
        self.last = shape;
        Ok(())
    }

    /// The call whose result was sent with another text than it had, once.
    fn clears(
        &mut self,
        message: WireMessage,
        index: MessageIndex,
        draft: &mut Draft,
    ) -> Option<String> {
        let (call, text) = draft.session.messages[index as usize].tool_result()?;
        let call = call.to_owned();
        (plain_text(&message) != text && self.cleared.insert(call.clone())).then_some(call)
    }
}

/// The newest messages without a gap, and what stands in front of them.
fn shape(mut pieces: Vec<Piece>, at: MessageIndex) -> Shape {
    let run = take_tail(&mut pieces, at);
    Shape { front: pieces, run }
}

/// Whether the messages in front stand in the order in which they were said.
fn is_sorted(shape: &Shape) -> bool {
    let messages = shape.front.iter().filter_map(|piece| match piece {
        Piece::Message(index) => Some(*index),
        Piece::Text { .. } => None,
    });
    messages.clone().is_sorted() && messages.clone().all(|index| index < shape.run)
}

/// A message that a compaction wrote.
fn written(message: WireMessage, draft: &mut Draft) -> Option<Piece> {
    let role = role_of(&message.role).filter(|role| *role != Role::Tool);
    let text = plain_text(&message);
    if role.is_none() || text.is_empty() {
        draft.leave_out("message of a request that is not in the conversation", 1);
        return None;
    }
    role.map(|role| Piece::Text { role, text })
}

// Logs of Inspect on disk.

/// A log: the parts that the importer reads.
#[derive(Default, Deserialize)]
struct Log {
    #[serde(default)]
    eval: Json,
    samples: Option<Vec<Json>>,
}

/// A run of the agent on one task of the data set.
#[derive(Deserialize)]
struct Sample {
    #[serde(default)]
    id: Json,
    epoch: Option<u64>,
    #[serde(default)]
    messages: Vec<WireMessage>,
    #[serde(default)]
    events: Vec<Event>,
    /// What each model used, whoever asked it.
    model_usage: Option<BTreeMap<String, Json>>,
}

#[derive(Deserialize)]
struct WireMessage {
    id: Option<String>,
    role: String,
    #[serde(default)]
    content: Content<Part>,
    tool_calls: Option<Vec<ToolCall>>,
    tool_call_id: Option<String>,
    error: Option<ToolError>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    reasoning: Option<String>,
    summary: Option<String>,
}

#[derive(Deserialize)]
struct ToolError {
    #[serde(default)]
    message: String,
}

/// An event of the kind `model` or `tool`; the others are not read.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    event: String,
    timestamp: Option<Timestamp>,
    completed: Option<Timestamp>,
    /// The model that was asked, and whether a cache of Inspect answered (`read`).
    model: Option<String>,
    #[serde(default)]
    cache: Json,
    /// Id of the call of a tool.
    id: Option<Json>,
    /// A list of messages; other kinds of events have something else here.
    #[serde(default)]
    input: Json,
    #[serde(default)]
    tools: Json,
    #[serde(default)]
    output: Json,
}

/// What a model returned.
#[derive(Default, Deserialize)]
struct Output {
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Json>,
    usage: Option<WireUsage>,
}

/// Inspect's usage. Whether the input contains what was read from a cache
/// depends on the provider and the version; the total tells.
#[derive(Clone, Copy, Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    total_tokens: u64,
    input_tokens_cache_read: Option<u64>,
    input_tokens_cache_write: Option<u64>,
    total_cost: Option<f64>,
}

impl WireUsage {
    /// The usage in disjoint buckets.
    fn usage(&self) -> Usage {
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
fn with_attachments(mut sample: Json) -> Json {
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
