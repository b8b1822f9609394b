//! Requests to Anthropic's Messages API: a body, a log of many (each a body, or
//! an object with `request` and `response`), or the list of messages alone, as
//! agents keep it (Cline, Roo and Kilo: `api_conversation_history.json`).
//!
//! Read from the API's public documentation, without recordings at hand. Of a
//! log, the conversation that was extended last is read: each request repeats
//! the messages of the one before and adds some.

mod blocks;
mod condensed;
mod wire;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

pub(super) use self::blocks::{add as add_message, role_of};
use self::condensed::Condensed;
use self::wire::{Body, Response, WireMessage};
pub(super) use self::wire::{Part, entry, is_request};
use super::amp;
use super::chains::{Chain, Chains, Sent, ends};
use super::content::Content;
use super::recorder::{Recorder, Turn};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::{HEAD, Source, from_json, parse};
use crate::model::{Role, ToolDefinition, Usage};

/// The format of requests to Anthropic's Messages API.
pub struct Anthropic;

impl Format for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn describe(&self) -> &'static str {
        "Anthropic Messages requests (JSON, a log of many, or a list of messages as Cline, Roo and Kilo keep it; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let long = head.records.is_empty()
            && head.mentions(&["role", "content"])
            && ["tool_use_id", "condenseParent", "isSummary"]
                .iter()
                .any(|key| head.mentions(&[key]))
            && !head.mentions(&["blocks"])
            && !head.mentions(&["uuid"])
            && !head.mentions(&["parentId"]);
        let is_own = |record: &Json| is_request(record) || record.get(0).is_some_and(is_request);
        (head.any(is_own) && !head.any(amp::is_thread)) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let head = Head::new(source.head(HEAD)?);
        let mut chains = Log::default();
        if head.first_char() == Some('[') || head.spread {
            let document: Json = source.document()?;
            add_all(&mut chains, document).map_err(|problem| source.error(None, problem))?;
        } else {
            while let Some((line, value)) = source.next_record(parse::<Json>)? {
                let added = add(&mut chains, value);
                added.map_err(|problem| source.error(Some(line), problem))?;
            }
        }
        let Some((chain, others)) = chains.last() else { return Ok(Vec::new()) };
        if others > 0 {
            source.warn(format!(
                "of {} requests, {others} are no part of the conversation that was extended last, \
                 which is read",
                others + chain.requests.len()
            ));
        }
        let mut reader = Reader { recorder: Recorder::new(source.stem()), ..Reader::default() };
        reader.recorder.draft.leave_out("request of another conversation", others as u64);
        let mut draft = reader.chain(chain).map_err(|problem| source.error(None, problem))?;
        draft.leave_out("torn last line", source.torn());
        Ok(if draft.transcript.messages.is_empty() { vec![] } else { vec![draft] })
    }
}

/// The requests of a log, each with its response.
type Log = Chains<(Body, Option<Response>)>;

/// A document is a body, a list of messages, or a list of bodies.
fn add_all(chains: &mut Log, document: Json) -> Result<(), Problem> {
    match document {
        Json::Array(items) if items.first().is_some_and(|item| item.get("role").is_some()) => {
            append(chains, Body { messages: items, ..Body::default() }, None);
            Ok(())
        }
        Json::Array(items) => items.into_iter().try_for_each(|item| add(chains, item)),
        other => add(chains, other),
    }
}

fn add(chains: &mut Log, value: Json) -> Result<(), Problem> {
    let (body, response) = entry(value);
    let response = response.map(from_json::<Response>).transpose()?;
    append(chains, from_json(body)?, response);
    Ok(())
}

fn append(chains: &mut Log, body: Body, response: Option<Response>) {
    let model = response.as_ref().and_then(|response| response.model.clone());
    let model = model.or_else(|| body.model.clone());
    let usage = response.as_ref().and_then(|response| response.usage).map(|u| u.usage());
    let sent = Sent { length: body.messages.len(), usage, model, at: None };
    let ends = ends(&body.messages, |message, hasher| {
        hasher.update(said(message).to_string().as_bytes());
    });
    chains.add(&ends, (body, response), sent);
}

/// A message without what changes from request to request: the marks of the
/// cache, and thoughts, which are dropped later.
fn said(message: &Json) -> Json {
    let Some(parts) = message.get("content").and_then(Json::as_array) else {
        return serde_json::json!([message.get("role"), [{"text": message.get("content")}]]);
    };
    let is_said = |part: &&Json| {
        let kind = part.get("type").and_then(Json::as_str);
        !matches!(kind, Some("thinking" | "redacted_thinking"))
    };
    let plain = |part: &Json| match part.get("type").and_then(Json::as_str) {
        Some("text") => serde_json::json!({"text": part.get("text")}),
        _ => {
            let mut part = part.clone();
            part.as_object_mut().map(|fields| fields.remove("cache_control"));
            part
        }
    };
    let parts: Vec<Json> = parts.iter().filter(is_said).map(plain).collect();
    serde_json::json!([message.get("role"), parts])
}

#[derive(Default)]
struct Reader {
    recorder: Recorder,
    /// What the request after so many messages used, and its model.
    requests: FxHashMap<usize, (Option<Usage>, Option<String>)>,
    condensed: Condensed,
}

impl Reader {
    fn chain(mut self, chain: Chain<(Body, Option<Response>)>) -> Result<Draft, Problem> {
        let Chain { body: (body, response), requests, .. } = chain;
        let preamble = &mut self.recorder.transcript().preamble;
        preamble.system = match body.system {
            Content::Text(text) => vec![text],
            Content::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        };
        preamble.tools = body.tools.into_iter().flatten().filter_map(definition).collect();
        let own = requests.into_iter().map(|sent| (sent.length, (sent.usage, sent.model)));
        self.requests = own.collect();
        let last = response.and_then(|response| response.content);
        let last = last.map(|content| serde_json::json!({"role": "assistant", "content": content}));
        for (at, message) in body.messages.into_iter().chain(last).enumerate() {
            let message = from_json(message).map_err(|problem| within(at, problem))?;
            self.message(at, message)?;
        }
        self.condensed.finish(&mut self.recorder.draft)?;
        let mut draft = self.recorder.finish();
        let model = &mut draft.transcript.model;
        *model = model.take().or(body.model);
        Ok(draft)
    }

    fn message(&mut self, at: usize, wire: WireMessage) -> Result<(), Problem> {
        let mut turn = Turn::new(role_of(wire.role)?);
        let draft = &mut self.recorder.draft;
        if wire.is_summary == Some(true) {
            return self.condensed.summary((turn.role, wire.condense_id), wire.content, draft);
        }
        if wire.is_truncation_marker == Some(true) {
            self.condensed.truncation(wire.truncation_id, draft);
            return Ok(());
        }
        let first = draft.next_index();
        turn.id = Some(format!("message-{}", at + 1));
        turn.at = wire.ts.and_then(|ts| Timestamp::from_millisecond(ts).ok());
        let request = self.requests.remove(&at).filter(|_| turn.role == Role::Assistant);
        (turn.usage, turn.model) = request.unwrap_or_default();
        add_message(&mut self.recorder, turn, wire.content)?;
        let parents = [wire.condense_parent, wire.truncation_parent];
        self.condensed.add(first, parents, &mut self.recorder.draft)
    }
}

/// Tools of the provider have no schema.
fn definition(tool: wire::Tool) -> Option<ToolDefinition> {
    Some(ToolDefinition {
        name: tool.name?,
        description: tool.description.unwrap_or_default(),
        parameters: tool.input_schema,
    })
}

fn within(at: usize, problem: Problem) -> Problem {
    match problem {
        Problem::Shape { at: inner, message } => {
            Problem::Shape { at: format!("messages[{at}].{inner}"), message }
        }
        other => other,
    }
}
