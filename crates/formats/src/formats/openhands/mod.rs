//! Events of OpenHands: the lines of an evaluation's output, each a run with
//! its `history`, or the list of events of one session; of V1 (`v1.rs`) such a
//! list, or lines.
//!
//! What was sent follows OpenHands' own conversion of events into messages
//! (OpenHands/OpenHands, `openhands/memory/conversation_memory.py`). Outputs
//! are imported whole; the agent cuts very long ones in their middle.

mod v1;

use std::collections::{BTreeMap, VecDeque};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserializer;

use super::content::ChatUsage;
use super::exchange::Part;
use super::otel::message_of;
use super::prelude::*;
use crate::source::KEPT;

/// The format of OpenHands' events.
pub(super) const FORMAT: Format = Format {
    name: "openhands",
    describe: "OpenHands events (JSON lines of an evaluation with history, or a JSON list of events; V1 also as lines)",
    tried: Tried::On {
        files: 1,
        compared: "messages, calls with results, requests, sum of prompts; 2 runs, none of V1",
    },
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_event = |value: &Json| {
        let has = |key: &str| value.get(key).is_some_and(Json::is_string);
        has("source") && (has("action") || has("observation"))
    };
    let first = |record: &Json| {
        let events = record.get("history").unwrap_or(record);
        events.get(0).is_some_and(is_event)
    };
    head.any(first) || v1::is_it(head)
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let mut read = Vec::new();
    let head = source.read_head()?;
    if v1::is_it(&head) {
        return newer(source, &head);
    }
    let stem = source.stem().to_owned();
    if head.first_char() == Some('[') {
        let history = source.document()?;
        let run = Run { instance_id: None, history, metrics: Json::Null };
        read.push(source.whole(Reader::new(stem).run(run, None))?);
    } else if head.spread {
        let run: Run = source.document()?;
        let id = run.instance_id.clone().unwrap_or(stem);
        read.push(source.whole(Reader::new(id).run(run, None))?);
    } else {
        source.keeps_of_each(2 * size_of::<Draft>() as u64 + KEPT);
        let mut number = 0;
        while let Some((line, run)) = source.next_record(parse::<Run>)? {
            number += 1;
            let id = run.instance_id.clone().unwrap_or_else(|| format!("{stem}-{number}"));
            match Reader::new(id).run(run, Some(line)) {
                Ok(draft) => read.push(draft),
                Err(problem) => source.set_aside(line, problem)?,
            }
        }
        if let ([only], 1) = (&mut read[..], number)
            && only.session.id == format!("{stem}-1")
        {
            only.session.id = stem;
        }
    }
    Ok(read)
}

/// The events of one session of V1.
fn newer(source: &mut Source<'_>, head: &Head) -> Result<Vec<Draft>, DatasetError> {
    let mut events = Vec::new();
    if head.first_char() == Some('[') {
        let all: Vec<v1::Event> = source.document()?;
        events.extend(all.into_iter().map(|event| (None, event)));
    } else {
        source.keeps_of_each(2 * size_of::<v1::Event>() as u64);
        while let Some((line, event)) = source.next_record(parse::<v1::Event>)? {
            events.push((Some(line), event));
        }
    }
    Ok(vec![source.whole(v1::read(source.stem(), events))?])
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// What each response used, by its id. Several may have the same.
    usage: FxHashMap<String, VecDeque<Usage>>,
    /// Message of the newest response with an id, and those of its calls that
    /// no action has carried out yet.
    responses: FxHashMap<String, (u32, FxHashSet<String>)>,
    /// Id of the call of each action without one of its own.
    actions: FxHashMap<i64, String>,
    /// Tokens of all responses so far.
    accumulated: Usage,
    /// The prompt that was reported last.
    prompt: Option<u64>,
    view: View,
    line: Option<u64>,
}

impl Reader {
    fn new(id: String) -> Reader {
        Reader { draft: Draft::named(id), ..Reader::default() }
    }

    fn run(mut self, run: Run, line: Option<u64>) -> Result<Draft, Problem> {
        self.line = line;
        self.draft.metadata.extend(run.instance_id);
        let used = Fields(run.metrics).take("/token_usages")?;
        self.usage = by_response(used.unwrap_or_default());
        for event in run.history {
            match (event.action.as_deref(), event.observation.is_some()) {
                (Some(_), _) => self.action(event)?,
                (None, true) => self.observation(event),
                (None, false) => self.draft.leave_out("unknown event", 1),
            }
        }
        Ok(self.draft)
    }

    fn action(&mut self, mut event: Event) -> Result<(), Problem> {
        let used = self.used(&event);
        let kind = event.action.take().unwrap_or_default();
        match (kind.as_str(), event.source.as_str()) {
            ("system", _) => self.system(event),
            ("message", "user") => self.message_event(event, Role::User, None),
            ("message", _) if event.tool_call_metadata.is_none() => {
                self.message_event(event, Role::Assistant, used);
            }
            ("condensation", _) => {
                let prompt = self.prompt;
                return self.view.condense(event, prompt, &mut self.draft);
            }
            ("condensation_request", _) => self.view.request(&event),
            ("recall" | "change_agent_state" | "null" | "start" | "pause" | "resume", _) => {
                self.draft.leave_out(format!("{kind} action"), 1);
            }
            (_, "user") => self.draft.leave_out("action of the user", 1),
            _ => return self.call(event, kind, used),
        }
        Ok(())
    }

    /// Tokens that were added to those of the session since the last action.
    fn used(&mut self, event: &Event) -> Option<Usage> {
        let all = event.llm_metrics.as_ref()?.accumulated_token_usage.as_ref()?.usage();
        let before = std::mem::replace(&mut self.accumulated, all);
        since(all, before)
    }

    fn system(&mut self, event: Event) {
        let preamble = &mut self.draft.session.preamble;
        if preamble.system.is_empty() {
            preamble.system.extend(event.args.content);
            preamble.tools = tool_definitions(event.args.tools.iter().flatten());
        } else {
            self.draft.leave_out("later system prompt", 1);
        }
    }

    /// A message without a call.
    fn message_event(&mut self, event: Event, role: Role, used: Option<Usage>) {
        let text = event.args.content.unwrap_or_default();
        let pictures = event.args.image_urls.map_or(0, |urls| urls.len());
        let mut blocks = vec![Block::Text { text }];
        blocks.extend((0..pictures).map(|_| Block::Image { media_type: None }));
        let message = self.message(event.id, role, event.timestamp, blocks);
        self.push(event.id, Message { usage: used, ..message });
    }

    /// An action of the agent. All calls of one response are one message.
    fn call(&mut self, mut event: Event, kind: String, used: Option<Usage>) -> Result<(), Problem> {
        // Actions that are not known may say something, too.
        let Args { content, summary, tools, others, .. } = &mut event.args;
        let texts = [("content", content.take()), ("summary", summary.take())];
        let said = texts.map(|(key, text)| (key, text.map(Json::String)));
        for (key, value) in said.into_iter().chain([("tools", tools.take().map(Json::Array))]) {
            others.extend(value.map(|value| (key.to_owned(), value)));
        }
        let Some(ToolCallMetadata { tool_call_id, function_name, model_response }) =
            event.tool_call_metadata
        else {
            let id = format!("action-{}", event.id.unwrap_or(-1));
            let thought = event.args.thought.filter(|text| !text.is_empty());
            let mut blocks: Vec<Block> =
                thought.map(|text| Block::Text { text }).into_iter().collect();
            blocks.push(self.draft.call(id.clone(), kind, Json::Object(event.args.others)));
            let made = self.draft.newest_call(&id).unwrap_or(&id).to_owned();
            self.actions.extend(event.id.map(|event| (event, made)));
            let message = self.message(event.id, Role::Assistant, event.timestamp, blocks);
            self.push(event.id, Message { usage: used, ..message });
            return Ok(());
        };
        let mut response = Fields(model_response);
        let response_id: Option<String> = response.take("/id")?;
        let before = response_id.as_ref().and_then(|id| self.responses.get_mut(id));
        if let Some((message, open)) = before
            && open.remove(&tool_call_id)
        {
            self.view.add(event.id, *message);
            return Ok(());
        }
        let own = response_id.as_ref().and_then(|id| self.usage.get_mut(id)?.pop_front());
        let reported: Option<ChatUsage> = response.take("/usage")?;
        let usage = own.or(reported.map(|usage| usage.disjoint())).or(used);
        let choices: Vec<Json> = response.take("/choices")?.unwrap_or_default();
        let others = choices.len().saturating_sub(1);
        self.draft.leave_out("further choice of a response", others as u64);
        let answer = choices.first().and_then(|choice| choice.get("message"));
        let answer = answer.map(message_of).transpose()?;
        let (mut open, mut blocks, mut made) = (FxHashSet::default(), Vec::new(), false);
        for part in answer.into_iter().flat_map(|answer| answer.parts) {
            match part {
                Part::Text(text) if !text.is_empty() => blocks.push(Block::Text { text }),
                Part::Reasoning(text) if !text.is_empty() => blocks.push(Block::Reasoning { text }),
                Part::Image(media_type) => blocks.push(Block::Image { media_type }),
                Part::Call { id, name, arguments } => {
                    let id = id.unwrap_or_else(|| format!("{tool_call_id}-{}", open.len() + 1));
                    made |= id == tool_call_id;
                    open.insert(id.clone());
                    blocks.push(self.draft.call(id, name, arguments));
                }
                Part::Other(reason) => self.draft.leave_out(reason, 1),
                _ => {}
            }
        }
        open.remove(&tool_call_id);
        self.responses.extend(response_id.map(|id| (id, (self.draft.next_index(), open))));
        if !made {
            let name = function_name.unwrap_or(kind);
            blocks.push(self.draft.call(tool_call_id, name, Json::Object(event.args.others)));
        }
        let message = self.message(event.id, Role::Assistant, event.timestamp, blocks);
        if let Some(model) = response.take::<String>("/model")? {
            self.draft.models.add(&model, &message.id);
            self.draft.metadata.insert(model);
        }
        self.push(event.id, Message { usage, ..message });
        Ok(())
    }

    fn observation(&mut self, event: Event) {
        let kind = event.observation.clone().unwrap_or_default();
        let listed = event.tool_call_metadata.as_ref();
        let listed = listed.and_then(|call| self.draft.newest_call(&call.tool_call_id));
        let listed = listed.map(str::to_owned);
        let call = listed.or_else(|| self.actions.get(&event.cause?).cloned());
        let command = event.extras.metadata.as_ref();
        let failed = kind == "error" || command.is_some_and(|command| command.exit_code > 0);
        let mut text = match command {
            Some(command) => command.around(&event.content),
            None => event.content.clone(),
        };
        match kind.as_str() {
            "error" => text.push_str("\n[Error occurred in processing last action]"),
            "user_rejected" => {
                text.push_str("\n[Last action has been rejected by the user]");
            }
            _ => {}
        }
        let images = event.extras.image_urls.map_or(0, |urls| urls.len()) as u32;
        match call {
            Some(call) => {
                let id = event_id(event.id, self.draft.next_index());
                let result = ResultText { text, images };
                let message = result_message(id, call, result, failed, event.timestamp);
                self.push(event.id, message);
            }
            None if matches!(kind.as_str(), "error" | "user_rejected") => {
                let blocks = vec![Block::Text { text }];
                let message = self.message(event.id, Role::User, event.timestamp, blocks);
                self.push(event.id, message);
            }
            None => self.draft.leave_out(format!("{kind} observation without a call"), 1),
        }
    }

    fn message(
        &self,
        id: Option<i64>,
        role: Role,
        at: Option<jiff::Timestamp>,
        blocks: Vec<Block>,
    ) -> Message {
        Message::new(event_id(id, self.draft.next_index()), role, at, blocks)
    }

    fn push(&mut self, event: Option<i64>, message: Message) {
        self.view.add(event, self.draft.next_index());
        let prompt = message.usage.map(|usage| usage.prompt()).filter(|&prompt| prompt > 0);
        self.prompt = prompt.or(self.prompt);
        self.draft.push(message, self.line);
    }
}

fn event_id(id: Option<i64>, index: u32) -> String {
    id.map_or_else(|| format!("message-{}", index + 1), |id| format!("event-{id}"))
}

// What OpenHands' condensers remove from the events that are sent.

/// The events that are still sent, by id, each with its message.
#[derive(Default)]
struct View {
    sent: BTreeMap<i64, MessageIndex>,
    /// First and last message that was removed.
    removed: Option<(MessageIndex, MessageIndex)>,
    /// Whether the user asked for the next condensation.
    is_requested: bool,
}

impl View {
    /// Adds the message of an event.
    fn add(&mut self, event: Option<i64>, message: MessageIndex) {
        self.sent.extend(event.map(|id| (id, message)));
    }

    /// Somebody asked for a condensation.
    fn request(&mut self, event: &Event) {
        self.is_requested = event.source == "user";
    }

    /// A condensation: events are forgotten, and a summary may stand for them.
    fn condense(
        &mut self,
        event: Event,
        before: Option<u64>,
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        let args = event.args;
        let mut gone = self.forget(args.forgotten_event_ids.unwrap_or_default());
        let range = args.forgotten_events_start_id.zip(args.forgotten_events_end_id);
        if let Some((first, last)) = range.filter(|(first, last)| first <= last) {
            let within = self.sent.range(first..=last).map(|(id, _)| *id).collect();
            gone.extend(self.forget(within));
        }
        let is_requested = std::mem::take(&mut self.is_requested);
        let (Some(first), Some(last)) = (gone.iter().min(), gone.iter().max()) else {
            draft.leave_out("condensation that removed no message", 1);
            return Ok(());
        };
        let removed = self.removed.map_or((*first, *last), |(a, b)| (a.min(*first), b.max(*last)));
        self.removed = Some(removed);
        let summary = args.summary.filter(|text| !text.is_empty());
        draft.compact(RecordedCompaction {
            after: draft.next_index(),
            kept_from: removed.1 + 1,
            pieces: self.pieces(removed, summary.clone()),
            summary,
            trigger: if is_requested { RecordedTrigger::Manual } else { RecordedTrigger::Auto },
            tokens_before: before,
            at: event.timestamp,
            ..RecordedCompaction::default()
        })
    }

    /// Removes events; returns their messages.
    fn forget(&mut self, ids: Vec<i64>) -> Vec<MessageIndex> {
        ids.iter().filter_map(|id| self.sent.remove(id)).collect()
    }

    /// The messages in front of the last one that was removed, with the summary
    /// in the place of the first.
    fn pieces(&self, removed: (MessageIndex, MessageIndex), summary: Option<String>) -> Vec<Piece> {
        let (first, last) = removed;
        // Ids ascend, except in logs that were put together.
        let front = self.sent.values().copied().take_while(|&message| message <= last);
        let mut front: Vec<MessageIndex> = front.collect();
        front.sort_unstable();
        front.dedup();
        let rest = front.split_off(front.partition_point(|&message| message < first));
        let text = summary.map(|text| Piece::Text { role: Role::User, text });
        let messages = |all: Vec<MessageIndex>| all.into_iter().map(Piece::Message);
        messages(front).chain(text).chain(messages(rest)).collect()
    }
}

// Events of OpenHands on disk.

/// A run: one line of an evaluation's output.
#[derive(Deserialize)]
struct Run {
    instance_id: Option<String>,
    history: Vec<Event>,
    #[serde(default)]
    metrics: Json,
}

/// What each response used, by its id and in order.
fn by_response(used: Vec<TokenUsage>) -> FxHashMap<String, VecDeque<Usage>> {
    let mut all: FxHashMap<String, VecDeque<Usage>> = FxHashMap::default();
    for used in used {
        let usage = used.usage();
        if let Some(id) = used.response_id.filter(|id| !id.is_empty()) {
            all.entry(id).or_default().push_back(usage);
        }
    }
    all
}

/// Tokens of one response, or of all so far.
#[derive(Deserialize)]
struct TokenUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    cache_read_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    response_id: Option<String>,
    model: Option<String>,
}

impl TokenUsage {
    /// The usage in disjoint buckets: the prompt includes what was cached.
    fn usage(&self) -> Usage {
        let cached = self.cache_read_tokens.saturating_add(self.cache_write_tokens);
        let input = self.prompt_tokens.saturating_sub(cached);
        disjoint(input, self.cache_read_tokens, self.cache_write_tokens, self.completion_tokens)
    }
}

/// What was used between two sums; nothing where that is no more than before.
fn since(now: Usage, before: Usage) -> Option<Usage> {
    let used = Usage {
        input: now.input.checked_sub(before.input)?,
        cache_read: now.cache_read.checked_sub(before.cache_read)?,
        cache_write_5m: now.cache_write_5m.checked_sub(before.cache_write_5m)?,
        output: now.output.checked_sub(before.output)?,
        ..now
    };
    (used.prompt() > 0).then_some(used)
}

/// An action or an observation.
#[derive(Deserialize)]
struct Event {
    id: Option<i64>,
    #[serde(default, deserialize_with = "time")]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    source: String,
    action: Option<String>,
    observation: Option<String>,
    #[serde(default)]
    args: Args,
    #[serde(default)]
    content: String,
    #[serde(default)]
    extras: Extras,
    /// Id of the action that an observation answers.
    cause: Option<i64>,
    tool_call_metadata: Option<ToolCallMetadata>,
    llm_metrics: Option<LlmMetrics>,
}

/// Arguments of an action; which there are depends on its kind.
#[derive(Default, Deserialize)]
struct Args {
    content: Option<String>,
    thought: Option<String>,
    image_urls: Option<Vec<Json>>,
    tools: Option<Vec<Json>>,
    summary: Option<String>,
    forgotten_event_ids: Option<Vec<i64>>,
    forgotten_events_start_id: Option<i64>,
    forgotten_events_end_id: Option<i64>,
    #[serde(flatten)]
    others: serde_json::Map<String, Json>,
}

#[derive(Default, Deserialize)]
struct Extras {
    metadata: Option<CommandMetadata>,
    image_urls: Option<Vec<Json>>,
}

/// What OpenHands knows of a command that ended.
#[derive(Deserialize)]
struct CommandMetadata {
    #[serde(default = "running")]
    exit_code: i64,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    suffix: String,
    #[serde(default)]
    working_dir: Option<String>,
    #[serde(default)]
    py_interpreter_path: Option<String>,
}

/// The exit code of a command that has not ended.
fn running() -> i64 {
    -1
}

impl CommandMetadata {
    /// A command's output as the model is sent it (OpenHands,
    /// `openhands/events/observation/commands.py`).
    fn around(&self, output: &str) -> String {
        let mut text = format!("{}{output}{}", self.prefix, self.suffix);
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        if let Some(folder) = given(&self.working_dir) {
            text.push_str(&format!("\n[Current working directory: {folder}]"));
        }
        if let Some(path) = given(&self.py_interpreter_path) {
            text.push_str(&format!("\n[Python interpreter: {path}]"));
        }
        if self.exit_code != running() {
            text.push_str(&format!("\n[Command finished with exit code {}]", self.exit_code));
        }
        text
    }
}

/// The call that an action carries out, with the response that made it.
#[derive(Deserialize)]
struct ToolCallMetadata {
    tool_call_id: String,
    function_name: Option<String>,
    /// A response in the notation of OpenAI.
    #[serde(default)]
    model_response: Json,
}

/// What the model used since the start of the session.
#[derive(Deserialize)]
struct LlmMetrics {
    accumulated_token_usage: Option<TokenUsage>,
}

/// Times have no zone; they are taken for UTC.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    if let Ok(at) = text.parse() {
        return Ok(Some(at));
    }
    let civil = text.parse().and_then(|civil: DateTime| civil.to_zoned(TimeZone::UTC));
    // What is found here has no place in the text, so its field is named.
    let zoned = civil.map_err(|e| serde::de::Error::custom(format_args!("timestamp: {e}")))?;
    Ok(Some(zoned.timestamp()))
}
