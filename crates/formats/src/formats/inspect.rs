//! Logs of Inspect (UK AI Security Institute): a JSON document, or the zip
//! archive `.eval` with one document a sample.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::content::{Part, each, joined, take_tail};
use super::prelude::*;
use crate::source::{HEAD, without_nan};
use crate::unpack::Archive;

/// First bytes of a zip archive.
const ZIP: &str = "PK\u{3}\u{4}";

/// The format of Inspect's logs.
pub(super) const FORMAT: Format = Format {
    name: "inspect",
    describe: "Inspect log (*.eval, or JSON)",
    tried: Tried::On { files: 9, compared: "messages, calls with results, requests, tokens" },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    let of_samples = |name| head.text.contains(name);
    let packed = head.text.starts_with(ZIP)
        && ["header.json", "_journal/", "samples/"].into_iter().any(of_samples);
    head.has(&["/eval /status"]) || packed
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let is_archive = source.head(HEAD)?.starts_with(ZIP.as_bytes());
    let mut reader = Reader { stem: source.stem().to_owned(), ..Reader::default() };
    if is_archive {
        let mut archive = Archive::open(source)?;
        source.whole(reader.archive(&mut archive))?;
    } else {
        let text = source.text()?;
        let log = match parse(&text) {
            Ok(log) => log,
            Err(Problem::Syntax { .. }) => source.parsed(&without_nan(&text))?,
            Err(problem) => return Err(source.error(None, problem)),
        };
        drop(text);
        source.whole(reader.log(Fields(log)))?;
    }
    reader.drafts.into_iter().try_for_each(|draft| take(source, draft))
}

#[derive(Default)]
struct Reader {
    stem: String,
    drafts: Vec<Draft>,
}

impl Reader {
    fn log(&mut self, mut log: Fields) -> Result<(), Problem> {
        let samples: Vec<Json> = log.take("/samples")?.unwrap_or_default();
        let single = samples.len() == 1;
        samples.into_iter().try_for_each(|sample| self.sample(sample, &log, single))
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), Problem> {
        let header = ["header.json", "_journal/start.json"];
        let header = header.into_iter().find(|name| archive.names().any(|other| other == *name));
        let log = Fields(match header {
            Some(name) => document(&archive.text(name)?)?,
            None => Json::Null,
        });
        let is_sample = |name: &&str| name.starts_with("samples/") && name.ends_with(".json");
        let mut names: Vec<String> = archive.names().filter(is_sample).map(str::to_owned).collect();
        names.sort();
        let single = names.len() == 1;
        for name in names {
            let sample = document(&archive.text(&name)?)?;
            self.sample(sample, &log, single)?;
        }
        Ok(())
    }

    fn sample(&mut self, sample: Json, log: &Fields, single: bool) -> Result<(), Problem> {
        let mut sample = Fields(with_attachments(sample));
        let own = match sample.take("/id")? {
            Some(Json::String(text)) => text,
            other => other.unwrap_or_default().to_string(),
        };
        let epoch: Option<u64> = sample.take("/epoch")?;
        let mut draft = Draft::named(match (single, epoch) {
            (true, _) => self.stem.clone(),
            (false, Some(epoch)) => format!("{own}-epoch-{epoch}"),
            (false, None) => own.clone(),
        });
        let asked = log.text("/eval/model").map(str::to_owned);
        draft.session.model.clone_from(&asked);
        // Epochs of one sample are not independent sessions.
        draft.session.project = log.text("/eval/task").map(|task| format!("{task}-{own}"));
        let mut calls = Calls::of(sample.take("/events")?.unwrap_or_default())?;
        let messages: Vec<Json> = sample.take("/messages")?.unwrap_or_default();
        draft.session.preamble.tools = std::mem::take(&mut calls.tools);
        let mut inputs = Vec::new();
        let mut places = FxHashMap::default();
        for (number, message) in (1..).zip(messages) {
            let message = Said::read(message)
                .map_err(|problem| below(&format!("/messages[{}]", number - 1), problem))?;
            let own = message.id.clone();
            let id = draft.free_id(own.clone());
            let made = calls.of_answer(&message);
            let message = calls.message(id, message, &mut draft)?;
            places.entry(own.unwrap_or_default()).or_insert(message.id.clone());
            if let Some(made) = made {
                let model = made.model.as_ref().or(asked.as_ref());
                model.iter().for_each(|model| draft.models.add(model, &message.id));
                let usage = made.usage;
                let at = made.at.or(message.at);
                draft.push(Message { usage, at, ..message });
                inputs.push((draft.session.messages.len(), made.input));
            } else {
                draft.push(message);
            }
        }
        draft.session.totals.extend(std::mem::take(&mut calls.totals).into_values());
        // What each model used, whoever asked it.
        let silent: BTreeMap<String, Json> = sample.take("/model_usage")?.unwrap_or_default();
        let silent = silent.into_iter().filter(|(model, _)| !calls.reporting.contains(model));
        for (model, used) in silent {
            let Ok((usage, usd)) = used_of(used) else {
                draft.leave_out("total of a model that cannot be read", 1);
                continue;
            };
            let is_own = asked.as_ref() == Some(&model);
            let answers = draft.session.messages.iter().filter(|message| message.is_request());
            let requests = if is_own { answers.count() as u64 } else { 0 };
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
    inputs: Vec<(usize, Vec<Said>)>,
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
fn document<T: serde::de::DeserializeOwned + 'static>(text: &str) -> Result<T, Problem> {
    match parse(text) {
        Err(Problem::Syntax { .. }) => parse(&without_nan(text)),
        other => other,
    }
}

/// What an answer of a model is recognised by: its id or, before Inspect gave messages ids
/// (spring of 2025), what it says and calls.
type Answer = (Option<String>, String, Vec<String>);

fn answer_of(message: &Said) -> Answer {
    let call = |call: &Part| match call {
        Part::Call { id, .. } => id.clone(),
        _ => None,
    };
    match &message.id {
        Some(id) => (Some(id.clone()), String::new(), Vec::new()),
        None => (None, message.text(), message.calls.iter().filter_map(call).collect()),
    }
}

/// That of a choice, which may be no more than an id.
fn chosen(message: Json) -> Option<Answer> {
    match message.get("id").and_then(Json::as_str) {
        Some(id) => Some((Some(id.to_owned()), String::new(), Vec::new())),
        None => Said::read(message).ok().map(|said| answer_of(&said)),
    }
}

/// A call of the model.
struct Made {
    at: Option<Timestamp>,
    model: Option<String>,
    usage: Option<Usage>,
    input: Vec<Said>,
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
    ended: FxHashMap<String, Timestamp>,
    /// Events that tell nothing of the messages, by the reason.
    others: BTreeMap<&'static str, u64>,
}

impl Calls {
    fn of(events: Vec<Json>) -> Result<Calls, Problem> {
        let mut calls = Calls::default();
        each(events, "/events", |_, event| calls.event(event))?;
        Ok(calls)
    }

    fn event(&mut self, mut event: Fields) -> Result<(), Problem> {
        let at = event.first(&["/completed", "/timestamp"])?;
        match event.text("/event") {
            Some("model") => self.made(event, at)?,
            Some("tool") => self.ended.extend(event.text("/id").map(str::to_owned).zip(at)),
            _ => self.leave_out("event that is no call of a model or tool"),
        }
        Ok(())
    }

    fn made(&mut self, mut event: Fields, at: Option<Timestamp>) -> Result<(), Problem> {
        if self.tools.is_empty() {
            let tools = event.0.get("tools").and_then(Json::as_array);
            self.tools = tool_definitions(tools.into_iter().flatten());
        }
        let model: Option<String> = event.take("/output/model")?;
        let choices: Option<Vec<Json>> = event.take("/output/choices")?;
        let choice = choices.into_iter().flatten().next();
        let first = choice.and_then(|mut choice| Some(choice.get_mut("message")?.take()));
        let first = first.and_then(chosen);
        let used = event.take("/output/usage")?.map(used_of).transpose()?;
        let (usage, usd) = used.unzip();
        // Other kinds of events have something else there.
        let input = match event.take("/input")? {
            Some(Json::Array(messages)) => messages,
            _ => Vec::new(),
        };
        let input = input.into_iter().map(Said::read).collect::<Result<_, _>>()?;
        // The model that was asked, unless a cache of Inspect answered.
        let own = event.take("/model")?.or_else(|| model.clone());
        if let Some((own, usage)) = own.zip(usage).filter(|_| event.text("/cache") != Some("read"))
        {
            let named = model.clone().unwrap_or_else(|| own.clone());
            let total = self.totals.entry(named.clone()).or_default();
            total.model = Some(named);
            total.add(1, &usage, usd.flatten());
            self.reporting.insert(own);
        }
        match first.map(|answer| (answer.0.is_some(), self.by_message.entry(answer).or_default())) {
            // A call that is repeated from a cache has the first one's bill.
            Some((true, known)) if !known.is_empty() => {
                self.leave_out("model call that repeats another");
            }
            Some((_, known)) => known.push_back(Made { at, model, usage, input }),
            None => self.leave_out("model call without an answer"),
        }
        Ok(())
    }

    /// The call that a message answers.
    fn of_answer(&mut self, message: &Said) -> Option<Made> {
        let is_answer = message.role == "assistant";
        is_answer.then(|| self.by_message.get_mut(&answer_of(message))?.pop_front())?
    }

    fn leave_out(&mut self, reason: &'static str) {
        *self.others.entry(reason).or_default() += 1;
    }

    fn message(&self, id: String, said: Said, draft: &mut Draft) -> Result<Message, Problem> {
        let role = role(&said.role).ok_or_else(|| Problem::UnknownRole(said.role.clone()))?;
        if role == Role::Tool {
            let images = said.parts.iter().filter(|part| matches!(part, Part::Image(_))).count();
            let result = ResultText {
                is_error: said.error.is_some(),
                ..ResultText::new(said.text(), images as u32)
            };
            let lacks = || Problem::shape("messages", "a tool result lacks `tool_call_id`");
            let call = said.call.ok_or_else(lacks)?;
            let at = self.ended.get(&call).copied();
            let call = draft.newest_call(&call).unwrap_or(&call).to_owned();
            return Ok(draft.result_message(id, call, result, at));
        }
        let mut blocks = draft.blocks(said.parts);
        blocks.extend(draft.blocks(said.calls));
        Ok(Message::new(id, role, None, blocks))
    }
}

fn role(name: &str) -> Option<Role> {
    if name == "tool" { Some(Role::Tool) } else { role_of(name.to_owned()).ok() }
}

/// A message as it stands in a log.
struct Said {
    id: Option<String>,
    role: String,
    parts: Vec<Part>,
    calls: Vec<Part>,
    /// The call whose result it is, and what went wrong with that.
    call: Option<String>,
    error: Option<String>,
}

impl Said {
    fn read(message: Json) -> Result<Said, Problem> {
        let mut message = Fields(message);
        let parts = if message.text("/content") == Some("") {
            Vec::new()
        } else {
            message.parts("/content")?
        };
        let failed = message.0.get("error").is_some_and(|error| !error.is_null());
        let error: Option<String> = message.take("/error/message")?;
        Ok(Said {
            id: message.take("/id")?,
            role: message.need("/role")?,
            parts,
            calls: message.calls("/tool_calls")?,
            call: message.take("/tool_call_id")?,
            error: failed.then(|| error.unwrap_or_default()),
        })
    }

    /// Its text; of a call that failed, what went wrong.
    fn text(&self) -> String {
        let failed = self.error.as_ref().filter(|text| !text.is_empty());
        failed.cloned().unwrap_or_else(|| joined(&self.parts))
    }
}

// What the requests of a sample sent, against what had been said until then:
// the compactions that the agent made.

/// Follows the requests of a sample in their order.
#[derive(Default)]
struct Requests {
    /// What stood in the last request in front of the newest messages, and the first of those.
    last: (Vec<Piece>, MessageIndex),
    /// Calls whose results were cleared before.
    cleared: FxHashSet<String>,
    /// Prompt of the request before.
    prompt: Option<u64>,
}

impl Requests {
    /// Takes the input of the request that message `at` answered.
    fn take(
        &mut self,
        input: Vec<Said>,
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
        let run = take_tail(&mut pieces, at);
        let compaction = RecordedCompaction {
            after: at,
            kept_from: run,
            trigger: RecordedTrigger::Auto,
            tokens_before: self.prompt,
            ..RecordedCompaction::default()
        };
        let is_new = self.last.1 != run || self.last.0 != pieces;
        if is_new && (run > 0 || !pieces.is_empty()) && is_sorted(&pieces, run) {
            let texts = pieces.iter().filter_map(|piece| match piece {
                Piece::Text { text, .. } => Some(text.as_str()),
                Piece::Message(_) => None,
            });
            let summary =
                Some(texts.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty());
            let pieces = pieces.clone();
            draft.compact(RecordedCompaction { summary, pieces, ..compaction.clone() })?;
        } else if is_new {
            draft.leave_out("request with another selection of messages", 1);
            return Ok(());
        }
        if !cleared.is_empty() {
            draft.compact(RecordedCompaction { cleared, ..compaction })?;
        }
        self.last = (pieces, run);
        Ok(())
    }

    /// The call whose result was sent with another text than it had, once.
    fn clears(&mut self, message: Said, index: MessageIndex, draft: &mut Draft) -> Option<String> {
        let (call, text) = draft.session.messages[index as usize].tool_result()?;
        let call = call.to_owned();
        (message.text() != text && self.cleared.insert(call.clone())).then_some(call)
    }
}

/// Whether the messages in front of those from `run` on stand in the order in which they were
/// said.
fn is_sorted(front: &[Piece], run: MessageIndex) -> bool {
    let messages = front.iter().filter_map(|piece| match piece {
        Piece::Message(index) => Some(*index),
        Piece::Text { .. } => None,
    });
    messages.clone().is_sorted() && messages.clone().all(|index| index < run)
}

/// A message that a compaction wrote.
fn written(message: Said, draft: &mut Draft) -> Option<Piece> {
    let role = role_of(message.role.clone()).ok();
    let text = message.text();
    if role.is_none() || text.is_empty() {
        draft.leave_out("message of a request that is not in the conversation", 1);
        return None;
    }
    role.map(|role| Piece::Text { role, text })
}

/// What a model used, and the dollars. Whether the input contains what was read from a cache
/// depends on the provider and the version; the total tells.
fn used_of(used: Json) -> Result<(Usage, Option<f64>), Problem> {
    let mut used = Fields(used);
    let [input, read, written, output] = used.counts([
        "/input_tokens",
        "/input_tokens_cache_read",
        "/input_tokens_cache_write",
        "/output_tokens",
    ])?;
    let total: u64 = used.take("/total_tokens")?.unwrap_or(0);
    let is_beside = total > input.saturating_add(output);
    let cached = if is_beside { 0 } else { read.saturating_add(written) };
    let usage = disjoint(input.saturating_sub(cached), read, written, output);
    Ok((usage, used.take("/total_cost")?))
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
