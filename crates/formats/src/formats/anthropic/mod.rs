//! Requests to Anthropic's Messages API: a body, a log of many (each a body, or
//! an object with `request` and `response`), or the list of messages alone, as
//! agents keep it (Cline, Roo and Kilo: `api_conversation_history.json`).
//!
//! Read from the API's public documentation, without recordings at hand. Of a
//! log, the conversation that was extended last is read: each request repeats
//! the messages of the one before and adds some.

mod passes;
mod wire;

use std::collections::{BTreeSet, VecDeque};

pub(super) use self::passes::{PartKind, Pass as ResponsePass, Passes as ResponsePasses};
use self::passes::{Pass, Passes};
use self::wire::{Body, Metrics, Response, WireMessage};
pub(super) use self::wire::{Diagnostics, Part, ResultPart, WireUsage, entry, is_request};
use super::exchange::{Chain, Chains, Sent, UNREPEATED, ends};
use super::prelude::*;

/// The format of requests to Anthropic's Messages API.
pub(super) const FORMAT: Format = Format {
    name: "anthropic",
    describe: "Anthropic Messages requests (JSON, a log of many, or a list of messages as Cline, Roo and Kilo keep it)",
    tried: Tried::Documentation,
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_own = |record: &Json| is_request(record) || record.get(0).is_some_and(is_request);
    // A thread of Amp has messages of this form, but its results are elsewhere.
    let is_of_amp = |record: &Json| {
        record.get("v").is_some()
            && record.get("id").and_then(Json::as_str).is_some_and(|id| id.starts_with("T-"))
    };
    head.any(is_own) && !head.any(is_of_amp)
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let mut chains = Log::default();
    source.each_value(|line, value| match line {
        None => add_all(&mut chains, value),
        Some(_) => add(&mut chains, value),
    })?;
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
    reader.recorder.draft.leave_out(UNREPEATED, chain.unrepeated);
    Ok(vec![source.whole(reader.chain(chain))?])
}

/// The requests of a log, each with its response.
type Log = Chains<(Body, Option<Response>), WireUsage>;

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

fn append(chains: &mut Log, body: Body, mut response: Option<Response>) {
    let model = response.as_ref().and_then(|response| response.model.clone());
    let model = model.or_else(|| body.model.clone());
    let usage = response.as_mut().and_then(|response| {
        let mut usage = response.usage.take()?;
        usage.diagnosed(response.diagnostics);
        Some(usage)
    });
    let sent = Sent { length: body.messages.len(), usage, usd: None, model, at: None };
    let ends = ends(&body.messages, |message, hasher| {
        hasher.update(comparable(message).to_string().as_bytes());
    });
    chains.add(&ends, (body, response), sent, |(old, response), (new, _)| {
        let answer = response.iter().filter_map(|response| response.content.as_ref());
        let before = old.messages.iter().filter_map(|message| message.get("content"));
        let kept = new.messages.iter().take(old.messages.len() + 1);
        let now: u64 = kept.filter_map(|message| message.get("content")).map(thoughts).sum();
        before.chain(answer).map(thoughts).sum::<u64>().saturating_sub(now)
    });
}

/// How many thoughts a content has.
fn thoughts(content: &Json) -> u64 {
    let parts = content.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part.get("thinking")?.as_str());
    texts.filter(|text| !text.is_empty()).count() as u64
}

/// A message without what changes from request to request: the marks of the
/// cache, and thoughts, which are dropped later.
fn comparable(message: &Json) -> Json {
    let Some(parts) = message.get("content").and_then(Json::as_array) else {
        return serde_json::json!([message.get("role"), [{"text": message.get("content")}]]);
    };
    let is_sent = |part: &&Json| {
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
    let parts: Vec<Json> = parts.iter().filter(is_sent).map(plain).collect();
    serde_json::json!([message.get("role"), parts])
}

#[derive(Default)]
struct Reader {
    recorder: Recorder,
    /// What the request after so many messages used, and its model.
    requests: FxHashMap<usize, (Option<WireUsage>, Option<String>)>,
    condensed: Condensed,
}

impl Reader {
    fn chain(
        mut self,
        chain: Chain<(Body, Option<Response>), WireUsage>,
    ) -> Result<Draft, Problem> {
        let Chain { body: (body, response), requests, .. } = chain;
        self.recorder.session().model = body.model;
        let preamble = &mut self.recorder.session().preamble;
        preamble.system = body.system.texts(|part| part.text);
        preamble.tools = tool_definitions(body.tools.iter().flatten());
        let own = requests.into_iter().map(|sent| (sent.length, (sent.usage, sent.model)));
        self.requests = own.collect();
        let last = response.and_then(|response| response.content);
        let last = last.map(|content| serde_json::json!({"role": "assistant", "content": content}));
        for (at, message) in body.messages.into_iter().chain(last).enumerate() {
            let within = |problem: Problem| problem.within(format_args!("messages[{at}]."));
            let message = from_json(message).map_err(within)?;
            self.message(at, message)?;
        }
        self.condensed.finish(&mut self.recorder.draft)?;
        Ok(self.recorder.finish())
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
        let (usage, model) = request.unwrap_or_default();
        turn.model = model;
        if turn.role == Role::Assistant {
            turn.usage = wire.metrics.and_then(Metrics::usage);
            turn.model = turn.model.or(wire.model_info.and_then(|model| model.model_id));
        }
        add_message(&mut self.recorder, turn, wire.content, usage.as_ref())?;
        let parents = [wire.condense_parent, wire.truncation_parent];
        self.condensed.add(first, parents, &mut self.recorder.draft)
    }
}

// Messages in Anthropic's shape, as the API has them and several agents keep them.

/// Adds a message with this content. Results stand before what else the user
/// said, and behind the calls of the same message.
fn add_message(
    recorder: &mut Recorder,
    mut turn: Turn,
    content: Content<Part>,
    usage: Option<&WireUsage>,
) -> Result<(), Problem> {
    let next = || format!("message-{}", recorder.count() + 1);
    let own = turn.id.clone().unwrap_or_else(next);
    let mut passes = Passes::new();
    let parts = match content {
        Content::Text(text) => {
            turn.text(text);
            Vec::new()
        }
        Content::Parts(parts) => parts,
    };
    let mut results = Vec::new();
    for (n, part) in parts.into_iter().enumerate() {
        if part.kind == "tool_result" {
            results.push((format!("{own}-result-{}", n + 1), part));
            continue;
        }
        let kind = part.place();
        let block = match part.block("messages", &mut recorder.draft)? {
            Some(Block::ToolCall { id, name, arguments }) => {
                Some(recorder.call(id, name, arguments))
            }
            other => other,
        };
        passes.add(kind, block);
    }
    let (at, line, first) = (turn.at, turn.line, turn.role == Role::Assistant);
    let model = turn.model.take();
    let (mut passes, beside) =
        passes.finish(usage.map(|usage| (usage, true)), model.as_deref(), at);
    recorder.session().sidechains.extend(beside);
    turn.model = usage.and_then(|usage| usage.named(model.as_deref())).or(model);
    if first {
        add_passes(recorder, &turn, std::mem::take(&mut passes))?;
    }
    for (id, part) in results {
        result(recorder, id, part, (at, line))?;
    }
    add_passes(recorder, &turn, passes)
}

/// Adds the passes of a message, each with its compaction in front; what `turn`
/// has already belongs to the last one.
fn add_passes(recorder: &mut Recorder, turn: &Turn, passes: Vec<Pass>) -> Result<(), Problem> {
    let last = passes.len().saturating_sub(1);
    for (n, mut pass) in passes.into_iter().enumerate() {
        if let Some(compaction) = pass.compaction(recorder.count(), turn.at) {
            recorder.draft.compact(compaction)?;
        }
        let mut own = Turn { blocks: pass.blocks, usage: pass.usage, ..turn.clone() };
        if n == last {
            own.blocks.splice(0..0, turn.blocks.iter().cloned());
            own.usage = own.usage.or(turn.usage);
        }
        if !own.blocks.is_empty() || own.usage.is_some() {
            recorder.turn(own);
        }
    }
    Ok(())
}

fn result(
    recorder: &mut Recorder,
    id: String,
    part: Part,
    (at, line): (Option<Timestamp>, Option<u64>),
) -> Result<(), Problem> {
    let lacks = || Problem::lacks("messages", "tool_result", "tool_use_id");
    let call = part.tool_use_id.ok_or_else(lacks)?;
    let is_error = part.is_error == Some(true);
    let text = result_text(part.content, ResultPart::split, "image", &mut recorder.draft);
    recorder.result(&call, text, Outcome { id: Some(id), is_error, at, line });
    Ok(())
}

// What Roo and Kilo condensed of the messages that they keep. Read from Roo's
// public source (RooCodeInc/Roo-Code, `src/core/condense/index.ts` and
// `src/core/context-management/index.ts`, several versions), without
// recordings at hand.
//
// A summary stands in the list, and the messages that it replaced name it. A
// summary of the user's stands where it was made. An older one, of the
// model's, stands before the messages that were kept then.

/// How many of the newest messages the older versions kept.
const KEPT: usize = 3;

/// What is still sent, and the compactions whose tail is not complete.
#[derive(Default)]
struct Condensed {
    sent: BTreeSet<MessageIndex>,
    /// Messages by the summary, or the mark of a truncation, that they name.
    replaced: FxHashMap<String, Vec<MessageIndex>>,
    /// Each with the number of messages of the list behind which it was made.
    open: VecDeque<(usize, RecordedCompaction)>,
    /// Number of messages of the list so far, without summaries and marks.
    listed: usize,
}

impl Condensed {
    /// A message of the list became messages from `first` on. `parents` are the
    /// summary and the mark of a truncation that it names.
    fn add(
        &mut self,
        first: MessageIndex,
        parents: [Option<String>; 2],
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        let own = first..draft.next_index();
        self.sent.extend(own.clone());
        for parent in parents.into_iter().flatten() {
            self.replaced.entry(parent).or_default().extend(own.clone());
        }
        self.listed += 1;
        while self.open.front().is_some_and(|(until, _)| *until <= self.listed) {
            self.close(draft)?;
        }
        Ok(())
    }

    /// A summary, which is no message.
    fn summary(
        &mut self,
        (role, id): (Role, Option<String>),
        content: Content<Part>,
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        self.forget(id);
        let text = plain(content, draft);
        let kept_from = draft.next_index();
        let front = self.sent.iter().map(|&message| Piece::Message(message));
        let pieces = front.chain([Piece::Text { role, text: text.clone() }]).collect();
        let compaction =
            RecordedCompaction { kept_from, summary: Some(text), pieces, ..Default::default() };
        let tail = if role == Role::Assistant { KEPT } else { 0 };
        self.open.push_back((self.listed + tail, compaction));
        if tail == 0 { self.finish(draft) } else { Ok(()) }
    }

    /// The mark of a truncation stands where the removed messages end, and
    /// nothing says when it was set there.
    fn truncation(&mut self, id: Option<String>, draft: &mut Draft) {
        self.forget(id);
        draft.leave_out("truncation whose time is not recorded", 1);
    }

    /// The list has ended.
    fn finish(&mut self, draft: &mut Draft) -> Result<(), Problem> {
        while !self.open.is_empty() {
            self.close(draft)?;
        }
        Ok(())
    }

    fn forget(&mut self, id: Option<String>) {
        let gone = id.and_then(|id| self.replaced.remove(&id)).unwrap_or_default();
        for message in gone {
            self.sent.remove(&message);
        }
    }

    fn close(&mut self, draft: &mut Draft) -> Result<(), Problem> {
        let Some((_, compaction)) = self.open.pop_front() else { return Ok(()) };
        draft.compact(RecordedCompaction { after: draft.next_index(), ..compaction })
    }
}

/// The text of a summary. Calls that stand in it again, since their results
/// were kept, are in the session already.
fn plain(content: Content<Part>, draft: &mut Draft) -> String {
    let all = if let Content::Parts(parts) = &content { parts.len() } else { 1 };
    let texts = content.texts(|part| part.text);
    draft.leave_out("part of a summary that is no text", (all - texts.len()) as u64);
    texts.join("\n")
}
