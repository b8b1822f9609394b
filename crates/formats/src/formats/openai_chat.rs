//! Conversations as OpenAI chat messages: a list of messages, an object with
//! `messages` (and `tools`), one such object a line, or a list of runs as
//! tau-bench writes them (`task_id`, `trial`, `traj`). Where a `response` stands
//! beside the messages, as in the logs of LiteLLM, they are requests: each
//! repeats the messages of the one before and adds some.

use super::anthropic::is_request;
use super::content::ChatUsage;
use super::exchange::{ChatMessage, Part as ChatPart, Request, Requests};
use super::otel::message_of;
use super::prelude::*;
use super::{responses, swe_agent};
use crate::source::decoded;

/// The format of OpenAI chat messages.
pub(super) const FORMAT: Format = Format {
    name: "openai-chat",
    describe: "OpenAI chat messages (JSON list, object with messages, JSON lines, tau-bench runs)",
    tried: Tried::On { files: 1, compared: "messages, calls with results; 100 runs of tau-bench" },
    sniff,
    read: Read::Each(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_chat = |record: &Json| {
        let messages = record.get("messages").or_else(|| record.get("traj"));
        let first = messages.and_then(|m| m.get(0));
        first.is_some_and(|m| m.get("role").is_some() && m.get("blocks").is_none())
    };
    let is_list = |record: &Json| {
        let first = record.get(0);
        first.is_some_and(|m| m.get("role").is_some() || is_chat(m))
    };
    // The same roles, but parts of another kind.
    let is_other = |record: &Json| {
        swe_agent::is_mini(record)
            || is_request(record)
            || record.get(0).is_some_and(is_request)
            || responses::is_items(record)
    };
    head.any(|r| (is_chat(r) || is_list(r) || is_exchange(r)) && !is_other(r))
}

fn read(source: &mut Source<'_>, _: &LoadOptions, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let mut reader = Reader::default();
    let mut requests = Requests::default();
    // The last one waits for what follows it.
    let mut last: Option<Draft> = None;
    let mut next = |source: &Source<'_>, draft: Draft| {
        last.replace(draft).map_or(Ok(()), |draft| take(source, draft))
    };
    if source.is_document()? {
        let text = source.text()?;
        let conversations = match logged(&text) {
            Some(all) => {
                source.whole(all)?.into_iter().for_each(|one| requests.add(one));
                Vec::new()
            }
            None => match plain(&text) {
                Some(conversation) => vec![conversation],
                None => source.whole(conversations(source.parsed(&text)?))?,
            },
        };
        drop(text);
        let single = conversations.len() == 1;
        for (n, conversation) in conversations.into_iter().enumerate() {
            let id = conversation.name(source.stem(), (!single).then_some(n + 1));
            let draft = source.whole(reader.conversation(id, conversation, None))?;
            next(source, draft)?;
        }
    } else {
        let mut n = 0;
        // Conversations are handed on one after another.
        source.keeps_of_each(0);
        while let Some((line, entry)) = source.next_record(entry)? {
            let conversation = match entry {
                Entry::Requests(all) => {
                    source.keep(REQUEST)?;
                    all.into_iter().for_each(|one| requests.add(one));
                    continue;
                }
                Entry::Conversation(conversation) => conversation,
            };
            source.list()?;
            n += 1;
            let id = conversation.name(source.stem(), Some(n));
            match reader.conversation(id, *conversation, Some(line)) {
                Ok(draft) => next(source, draft)?,
                Err(problem) => source.set_aside(line, problem)?,
            }
        }
    }
    for draft in requests.sessions(source)? {
        next(source, draft)?;
    }
    if reader.renamed > 0 {
        let n = reader.renamed;
        source.warn(format!("calls that repeat an id: {n}; `#2` and so on was added to it"));
    }
    let Some(mut last) = last else { return Ok(()) };
    last.leave_out("torn last line", source.take_torn());
    take(source, last)
}

// Logs of requests, each beside its response.

/// Bytes that a request is kept with besides its text.
const REQUEST: u64 = 1_200;

/// A line of the input.
enum Entry {
    Conversation(Box<Conversation>),
    Requests(Vec<Request>),
}

fn entry(text: &str) -> Result<Entry, Problem> {
    match logged(text) {
        Some(requests) => requests.map(Entry::Requests),
        None => parse(text).map(|read| Entry::Conversation(Box::new(read))),
    }
}

/// The requests of a text that is one with its response, or a list of such.
fn logged(text: &str) -> Option<Result<Vec<Request>, Problem>> {
    // Conversations can take many times their bytes as JSON.
    if !["\"response\"", "\"choices\""].iter().all(|key| text.contains(key)) {
        return None;
    }
    let all = match decoded(text.trim_start_matches('\u{feff}'))? {
        Json::Array(all) => all,
        one => vec![one],
    };
    let is_log = !all.is_empty() && all.iter().all(is_exchange);
    is_log.then(|| all.into_iter().map(request).collect())
}

/// The body of a logged request.
fn body(record: &Json) -> &Json {
    let request = record.get("request").unwrap_or(record);
    request.get("body").unwrap_or(request)
}

/// Whether a record is a request beside its response.
fn is_exchange(record: &Json) -> bool {
    let response = record.get("response");
    let response = response.map(|response| response.get("body").unwrap_or(response));
    body(record).get("messages").is_some_and(Json::is_array)
        && response.is_some_and(|own| choices(own).any(|choice| choice.get("message").is_some()))
}

fn choices(response: &Json) -> impl Iterator<Item = &Json> {
    response.get("choices").and_then(Json::as_array).into_iter().flatten()
}

/// A request of a log with its response, model, usage and time.
fn request(record: Json) -> Result<Request, Problem> {
    let body = body(&record);
    let response = record.get("response").unwrap_or(&Json::Null);
    let response = response.get("body").unwrap_or(response);
    let messages = body.get("messages").and_then(Json::as_array);
    let messages: Result<Vec<ChatMessage>, Problem> =
        messages.into_iter().flatten().map(message_of).collect();
    let first = choices(response).find_map(|choice| choice.get("message"));
    let mut answer = message_of(first.unwrap_or(&Json::Null))?;
    answer.role = Role::Assistant;
    let others = choices(response).count().saturating_sub(1);
    answer
        .parts
        .extend((0..others).map(|_| ChatPart::Other("further choice of a response".into())));
    let text = |place: &Json, key: &str| place.get(key).and_then(Json::as_str).map(str::to_owned);
    let tools = body.get("tools").or_else(|| body.pointer("/optional_params/tools"));
    let usage: Option<ChatUsage> =
        response.get("usage").cloned().and_then(|usage| from_json(usage).ok());
    let times = ["timestamp", "startTime", "start_time"].map(|key| record.get(key));
    let made = response.get("created");
    Ok(Request {
        session: text(&record, "session_id"),
        preamble: Preamble {
            tools: tool_definitions(tools.and_then(Json::as_array).into_iter().flatten()),
            ..Preamble::default()
        },
        messages: messages?,
        answer: vec![answer],
        usage: usage.as_ref().map(ChatUsage::disjoint),
        // LiteLLM writes it beside the response.
        usd: record.get("response_cost").and_then(Json::as_f64).or(usage.and_then(|own| own.cost)),
        model: text(response, "model").or_else(|| text(body, "model")),
        at: times.into_iter().chain([made]).flatten().find_map(time),
        ..Request::default()
    })
}

/// A time as text, or in seconds since 1970.
fn time(value: &Json) -> Option<Timestamp> {
    match value {
        Json::String(text) => text.parse().ok(),
        other => Timestamp::from_microsecond((other.as_f64()? * 1e6) as i64).ok(),
    }
}

/// A document that is one conversation and nothing odd, without holding it as
/// JSON, which takes many times its bytes. `None`: it has to be looked at.
fn plain(text: &str) -> Option<Conversation> {
    let text = text.trim_start_matches('\u{feff}').trim_ascii_start();
    if text.starts_with('{') {
        return decoded(text);
    }
    let items = text.strip_prefix('[')?;
    let is_list_of_objects = items.trim_ascii_start().starts_with('{');
    let messages = is_list_of_objects.then(|| decoded(text))?;
    Some(Conversation { messages: Some(messages?), ..Conversation::default() })
}

fn conversations(document: Json) -> Result<Vec<Conversation>, Problem> {
    let is_message = |value: &Json| value.get("role").is_some();
    match &document {
        Json::Array(items) if items.first().is_some_and(is_message) => Ok(vec![Conversation {
            messages: Some(from_json(document)?),
            ..Conversation::default()
        }]),
        Json::Array(_) => from_json(document),
        _ => Ok(vec![from_json(document)?]),
    }
}

#[derive(Default, Deserialize)]
struct Conversation {
    id: Option<Json>,
    task_id: Option<Json>,
    trial: Option<Json>,
    model: Option<String>,
    messages: Option<Vec<WireMessage>>,
    traj: Option<Vec<WireMessage>>,
    tools: Option<Vec<Json>>,
}

impl Conversation {
    /// Its own id; that of a tau-bench run; else the file's name, with a
    /// number where the file holds several.
    fn name(&self, stem: &str, number: Option<usize>) -> String {
        match (&self.id, &self.task_id, &self.trial, number) {
            (Some(id), ..) => bare(id),
            (_, Some(task), Some(trial), _) => {
                format!("task-{}-trial-{}", bare(task), bare(trial))
            }
            (.., Some(number)) => format!("{stem}-{number}"),
            (.., None) => stem.to_owned(),
        }
    }
}

/// A string without quotes; anything else as JSON.
fn bare(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Content<Part>,
    reasoning_content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
    function_call: Option<Box<WireFunction>>,
    tool_call_id: Option<String>,
    name: Option<String>,
    usage: Option<Box<ChatUsage>>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
}

/// A call of a function.
#[derive(Deserialize)]
pub(super) struct WireCall {
    pub(super) id: Option<String>,
    pub(super) function: WireFunction,
}

#[derive(Deserialize)]
pub(super) struct WireFunction {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Json,
}

/// Reads one conversation after another.
#[derive(Default)]
struct Reader {
    draft: Draft,
    /// Newest call of each function, for results that name only that.
    by_name: FxHashMap<String, String>,
    /// Calls of all conversations whose id was used before in the same one.
    renamed: u64,
}

impl Reader {
    fn conversation(
        &mut self,
        id: String,
        conversation: Conversation,
        line: Option<u64>,
    ) -> Result<Draft, Problem> {
        let messages = conversation.messages.or(conversation.traj);
        let messages = messages.ok_or_else(|| Problem::shape(".", "lacks `messages`"))?;
        let renamed = self.renamed;
        *self = Reader { draft: Draft::named(id), renamed, ..Reader::default() };
        let session = &mut self.draft.session;
        session.model = conversation.model;
        // Trials of one task are not independent sessions.
        session.project = conversation.task_id.map(|t| format!("task-{}", bare(&t)));
        session.preamble.tools = tool_definitions(conversation.tools.iter().flatten());
        for (n, message) in messages.into_iter().enumerate() {
            let message = self.message(format!("m{}", n + 1), message)?;
            self.draft.push(message, line);
        }
        self.draft.leading_system_to_preamble();
        Ok(std::mem::take(&mut self.draft))
    }

    fn message(&mut self, id: String, wire: WireMessage) -> Result<Message, Problem> {
        let role = match wire.role.as_str() {
            // The name that newer models have for it.
            "developer" => Role::System,
            "tool" | "function" => {
                let call = self.answered_by(wire.tool_call_id, wire.name)?;
                let read = |part: Part| (part.kind, part.text);
                let text = result_text(wire.content, read, "image_url", &mut self.draft);
                return Ok(result_message(id, call, text, false, None));
            }
            _ => role_of(wire.role)?,
        };
        let mut blocks = Vec::new();
        if let Some(text) = wire.reasoning_content.filter(|t| !t.is_empty()) {
            blocks.push(Block::Reasoning { text });
        }
        blocks.extend(wire.content.blocks(|part| Ok(self.block(part)))?);
        blocks.extend(wire.refusal.map(|text| Block::Text { text }));
        let made = wire.tool_calls.into_iter().flatten();
        let legacy = wire.function_call.map(|function| WireCall { id: None, function: *function });
        for (n, WireCall { id: own, function }) in made.chain(legacy).enumerate() {
            let own = own.unwrap_or_else(|| format!("{id}-call-{}", n + 1));
            // Some servers use an id twice.
            self.renamed += u64::from(self.draft.newest_call(&own).is_some());
            let call = self.draft.call(own.clone(), function.name.clone(), function.arguments);
            let newest = self.draft.newest_call(&own).unwrap_or(&own).to_owned();
            self.by_name.insert(function.name, newest);
            blocks.push(call);
        }
        let usage = wire.usage.map(|usage| usage.disjoint());
        Ok(Message { usage, ..Message::new(id, role, None, blocks) })
    }

    /// The newest call that a result can belong to.
    fn answered_by(&self, id: Option<String>, name: Option<String>) -> Result<String, Problem> {
        match (id, name) {
            (Some(id), _) => Ok(self.draft.newest_call(&id).unwrap_or(&id).to_owned()),
            (None, Some(name)) => Ok(self.by_name.get(&name).cloned().unwrap_or(name)),
            (None, None) => Err(Problem::shape("messages", "a tool result lacks `tool_call_id`")),
        }
    }

    fn block(&mut self, part: Part) -> Option<Block> {
        match (part.kind.as_str(), part.text.or(part.refusal)) {
            ("text" | "input_text" | "output_text" | "refusal", Some(text)) => {
                Some(Block::Text { text })
            }
            ("image_url" | "input_image", _) => Some(Block::Image { media_type: None }),
            (other, _) => {
                self.draft.leave_out(format!("{other} part"), 1);
                None
            }
        }
    }
}
