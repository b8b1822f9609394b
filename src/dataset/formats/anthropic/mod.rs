//! Requests to Anthropic's Messages API: a body, a log of many (each a body, or
//! an object with `request` and `response`), or the list of messages alone, as
//! agents keep it (Cline, Roo and Kilo: `api_conversation_history.json`).
//!
//! Read from the API's public documentation, without recordings at hand. Of a
//! log, the conversation that was extended last is read: each request repeats
//! the messages of the one before and adds some.

mod wire;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use self::wire::{Body, Part, Response, ResultPart, WireMessage};
pub(super) use self::wire::{entry, is_request};
use super::chains::{Chain, Chains, Sent, ends};
use super::content::{Content, result_text};
use super::recorder::{Outcome, Recorder, Turn};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::{HEAD, Source, from_json, parse};
use crate::model::{Block, Role, ToolDefinition, Usage};

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
            && head.mentions(&["role", "content", "tool_use_id"])
            && !head.mentions(&["blocks"])
            && !head.mentions(&["uuid"]);
        head.any(|record| is_request(record) || record.get(0).is_some_and(is_request)) || long
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
        let mut draft = self.recorder.finish();
        let model = &mut draft.transcript.model;
        *model = model.take().or(body.model);
        Ok(draft)
    }

    fn message(&mut self, at: usize, wire: WireMessage) -> Result<(), Problem> {
        let role = match wire.role.as_str() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return Err(Problem::UnknownRole { role: wire.role }),
        };
        let mut turn = Turn::new(role);
        turn.at = wire.ts.and_then(|ts| Timestamp::from_millisecond(ts).ok());
        let parts = match wire.content {
            Content::Text(text) => {
                turn.text(text);
                Vec::new()
            }
            Content::Parts(parts) => parts,
        };
        for (n, part) in parts.into_iter().enumerate() {
            if part.kind == "tool_result" {
                self.result(format!("message-{}-result-{}", at + 1, n + 1), part, turn.at)?;
            } else {
                turn.blocks.extend(self.block(part)?);
            }
        }
        if turn.blocks.is_empty() {
            return Ok(());
        }
        turn.id = Some(format!("message-{}", at + 1));
        let request = self.requests.remove(&at).filter(|_| role == Role::Assistant);
        (turn.usage, turn.model) = request.unwrap_or_default();
        self.recorder.turn(turn);
        Ok(())
    }

    fn result(&mut self, id: String, part: Part, at: Option<Timestamp>) -> Result<(), Problem> {
        let call = part.tool_use_id.ok_or_else(|| lacks("tool_result", "tool_use_id"))?;
        let read = |part: ResultPart| (part.kind, part.text);
        let text = result_text(part.content, read, "image", &mut self.recorder.draft);
        let is_error = part.is_error == Some(true);
        self.recorder.result(&call, text, Outcome { id: Some(id), is_error, at, line: None });
        Ok(())
    }

    fn block(&mut self, part: Part) -> Result<Option<Block>, Problem> {
        Ok(Some(match part.kind.as_str() {
            "text" => Block::Text { text: part.text.ok_or_else(|| lacks("text", "text"))? },
            "thinking" => Block::Reasoning { text: part.thinking.unwrap_or_default() },
            "redacted_thinking" => Block::Reasoning { text: String::new() },
            "tool_use" => {
                let id = part.id.ok_or_else(|| lacks("tool_use", "id"))?;
                let name = part.name.ok_or_else(|| lacks("tool_use", "name"))?;
                self.recorder.call(id, name, part.input.unwrap_or_default())
            }
            "image" => {
                Block::Image { media_type: part.source.and_then(|source| source.media_type()) }
            }
            other => {
                self.recorder.draft.leave_out(format!("{other} part"), 1);
                return Ok(None);
            }
        }))
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

fn lacks(kind: &str, field: &str) -> Problem {
    let message = format!("a part of type {kind} lacks `{field}`");
    Problem::Shape { at: "messages".to_owned(), message }
}
