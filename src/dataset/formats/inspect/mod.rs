//! Logs of Inspect (UK AI Security Institute): a JSON document, or the zip
//! archive `.eval` with one document a sample.

mod sent;
mod wire;

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use self::sent::Requests;
use self::wire::{Event, Log, Output, Sample, Tool, WireMessage, with_attachments, without_nan};
use super::content::{Content, Models, ResultText, arguments, result_message};
use crate::dataset::LoadOptions;
use crate::dataset::archive::Archive;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::{HEAD, Source, from_json, parse};
use crate::model::{Block, Message, MessageIndex, Role, ToolDefinition};

/// The format of Inspect's logs.
pub struct Inspect;

/// First bytes of a zip archive.
const ZIP: &str = "PK\u{3}\u{4}";

impl Format for Inspect {
    fn name(&self) -> &'static str {
        "inspect"
    }

    fn describe(&self) -> &'static str {
        "Inspect log (*.eval, or JSON)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let is_log = |record: &Json| {
            let has = |key: &str| record.get(key).is_some_and(Json::is_object);
            has("eval") && record.get("status").is_some_and(Json::is_string)
        };
        let long = head.records.is_empty()
            && head.first_char() == Some('{')
            && head.mentions(&["version", "status", "eval", "task", "run_id"]);
        let of_samples = |name| head.text.contains(name);
        let packed = head.text.starts_with(ZIP)
            && ["header.json", "_journal/", "samples/"].into_iter().any(of_samples);
        head.any(is_log) || long || packed
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let is_archive = source.head(HEAD)?.starts_with(ZIP.as_bytes());
        let mut reader = Reader { stem: source.stem().to_owned(), ..Reader::default() };
        if is_archive {
            let mut archive = Archive::open(source)?;
            let read = reader.archive(&mut archive);
            read.map_err(|problem| source.error(None, problem))?;
        } else {
            let text = source.text()?;
            let log: Log = match parse::<Log>(&text) {
                Ok(log) => log,
                Err(Problem::Syntax { .. }) => source.parsed(&without_nan(&text))?,
                Err(problem) => return Err(source.error(None, problem)),
            };
            drop(text);
            reader.log(log).map_err(|problem| source.error(None, problem))?;
        }
        reader.drafts.retain(|draft| !draft.transcript.messages.is_empty());
        Ok(reader.drafts)
    }
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

    fn sample(&mut self, sample: Json, eval: &wire::Eval, single: bool) -> Result<(), Problem> {
        let sample: Sample = from_json(with_attachments(sample))?;
        let own = match &sample.id {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut draft = Draft::default();
        draft.transcript.id = match (single, sample.epoch) {
            (true, _) => self.stem.clone(),
            (false, Some(epoch)) => format!("{own}-epoch-{epoch}"),
            (false, None) => own.clone(),
        };
        // Epochs of one sample are not independent sessions.
        draft.transcript.project = eval.task.as_ref().map(|task| format!("{task}-{own}"));
        let mut calls = Calls::of(sample.events)?;
        draft.transcript.preamble.tools = std::mem::take(&mut calls.tools);
        let mut uses: FxHashMap<String, u64> = FxHashMap::default();
        let mut asked = Vec::new();
        let mut places = FxHashMap::default();
        let mut models = Models::default();
        for (number, message) in (1..).zip(sample.messages) {
            let own = message.id.clone();
            let id = own.clone().unwrap_or_else(|| format!("message-{number}"));
            let times = uses.entry(id.clone()).or_default();
            *times += 1;
            let id = if *times == 1 { id } else { format!("{id}#{times}") };
            let made = own.as_ref().and_then(|id| calls.by_message.remove(id));
            let message = calls.message(id, message, &mut draft)?;
            places.entry(own.unwrap_or_default()).or_insert(message.id.clone());
            if let Some(made) = made {
                let model = made.output.model.clone().or_else(|| eval.model.clone());
                model.iter().for_each(|model| models.add(model, &message.id));
                let usage = made.output.usage.map(|usage| usage.usage());
                let at = made.at.or(message.at);
                draft.push(Message { usage, at, ..message }, None);
                asked.push((draft.transcript.messages.len(), made.input));
            } else {
                draft.push(message, None);
            }
        }
        draft.leave_out("model call outside the conversation", calls.by_message.len() as u64);
        let before = draft.transcript.messages.len();
        draft.leading_system_to_preamble();
        let lead = before - draft.transcript.messages.len();
        requests(asked, lead, &places, &mut draft)?;
        models.name_models(&mut draft.transcript);
        if draft.transcript.model.is_none() {
            draft.transcript.model.clone_from(&eval.model);
        }
        self.drafts.push(draft);
        Ok(())
    }
}

/// Follows what each request sent. `asked` has the number of messages up to each
/// answer, of which `lead` became the preamble.
fn requests(
    asked: Vec<(usize, Vec<WireMessage>)>,
    lead: usize,
    ids: &FxHashMap<String, String>,
    draft: &mut Draft,
) -> Result<(), Problem> {
    let index = draft.places();
    let place = |(own, id): (&String, &String)| Some((own.clone(), *index.get(id)? as u32));
    let places: FxHashMap<String, MessageIndex> = ids.iter().filter_map(place).collect();
    let mut requests = Requests::default();
    for (number, input) in asked {
        let at = (number - 1 - lead) as u32;
        // Versions since 2026 keep the inputs elsewhere.
        if !input.is_empty() && input.iter().all(|message| message.id.is_some()) {
            requests.take(input, at, &places, draft)?;
        }
        let usage = draft.transcript.messages[at as usize].usage;
        requests.prompt = usage.map(|usage| usage.prompt()).or(requests.prompt);
    }
    Ok(())
}

/// A text as one JSON document, in which Python may have written NaN.
fn document<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Problem> {
    match parse(text) {
        Err(Problem::Syntax { .. }) => parse(&without_nan(text)),
        other => other,
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
    /// By the id of the message that answered.
    by_message: FxHashMap<String, Made>,
    tools: Vec<ToolDefinition>,
    /// When each call of a tool ended.
    ended: FxHashMap<String, jiff::Timestamp>,
    /// How often the id of a call was used, and the newest id that it became.
    ids: FxHashMap<String, (u64, String)>,
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
                _ => {}
            }
        }
        Ok(calls)
    }

    fn made(&mut self, event: Event, at: Option<jiff::Timestamp>) -> Result<(), Problem> {
        if self.tools.is_empty() && event.tools.is_array() {
            let tools: Vec<Tool> = from_json(event.tools)?;
            self.tools = tools.into_iter().map(definition).collect();
        }
        let some =
            |value: Json| if value.is_null() { Json::Object(Default::default()) } else { value };
        let output: Output = from_json(some(event.output))?;
        let first = output.choices.first().and_then(|choice| choice.message.id.clone());
        let input = if event.input.is_array() { from_json(event.input)? } else { Vec::new() };
        if let Some(id) = first {
            // A call that is repeated from a cache has the first one's bill.
            self.by_message.entry(id).or_insert(Made { at, output, input });
        }
        Ok(())
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
            let call = wire.tool_call_id.ok_or_else(|| {
                let message = "a tool result lacks `tool_call_id`".to_owned();
                Problem::Shape { at: "messages".to_owned(), message }
            })?;
            let at = self.ended.get(&call).copied();
            let call = self.ids.get(&call).map_or(call, |(_, newest)| newest.clone());
            return Ok(result_message(id, call, text, wire.error.is_some(), at));
        }
        let mut blocks = blocks(wire.content, draft);
        for call in wire.tool_calls.into_iter().flatten() {
            let (uses, newest) = self.ids.entry(call.id.clone()).or_default();
            *uses += 1;
            *newest = if *uses == 1 { call.id } else { format!("{}#{uses}", call.id) };
            let arguments = arguments(call.arguments, draft);
            blocks.push(Block::ToolCall { id: newest.clone(), name: call.function, arguments });
        }
        Ok(Message { id, role, at: None, blocks, usage: None, synthetic: false, broadcast: false })
    }
}

fn definition(tool: Tool) -> ToolDefinition {
    let Tool { name, description, parameters } = tool;
    ToolDefinition { name, description, parameters }
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

fn images(content: &Content<wire::Part>) -> u32 {
    match content {
        Content::Text(_) => 0,
        Content::Parts(parts) => parts.iter().filter(|part| part.kind == "image").count() as u32,
    }
}

fn blocks(content: Content<wire::Part>, draft: &mut Draft) -> Vec<Block> {
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
