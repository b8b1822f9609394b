//! Requests to Anthropic's Messages API: a body, a log of many (each a body, or
//! an object with `request` and `response`), or the list of messages alone, as
//! agents keep it (Cline, Roo and Kilo: `api_conversation_history.json`).
//!
//! Read from the API's public documentation, without recordings at hand. Of a
//! log, the conversation that was extended last is read: each request repeats
//! the messages of the one before and adds some.

use std::collections::{BTreeSet, VecDeque};

use super::content::ImageSource;
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
        usage.diagnosed(&response.diagnostics);
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
            turn.usage = cline_usage(&wire.metrics);
            let model = wire.model_info.get("modelId").and_then(Json::as_str);
            turn.model = turn.model.or(model.map(str::to_owned));
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

// One response may be several requests to models: those of `usage.iterations`
// (Anthropic's documentation of server tools, compaction and the advisor).
//
// A server's tool runs within the response, and the model is asked again behind
// its result; the sum of these prompts is no prompt. An advisor is another model,
// and so is one that declined before another took over. A compaction of the
// server's writes a summary, and what stood before it is not sent again.

/// What a model wrote in one go.
#[derive(Default)]
pub(super) struct Pass {
    /// The summary that took the place of everything before it, with its call.
    pub(super) summary: Option<(String, Option<RecordedCall>)>,
    pub(super) blocks: Vec<Block>,
    pub(super) usage: Option<Usage>,
}

impl Pass {
    /// The compaction in front of it, behind `after` messages.
    pub(super) fn compaction(
        &mut self,
        after: MessageIndex,
        at: Option<Timestamp>,
    ) -> Option<RecordedCompaction> {
        let (summary, call) = self.summary.take()?;
        Some(RecordedCompaction {
            after,
            kept_from: after,
            summary: Some(summary),
            trigger: RecordedTrigger::Auto,
            tokens_before: call.as_ref().map(|call| call.usage.prompt()),
            call,
            at,
            ..RecordedCompaction::default()
        })
    }
}

/// A response as it is read, part by part.
pub(super) struct Passes {
    passes: Vec<Pass>,
    /// Whether the newest part is the result of a server's tool.
    behind_result: bool,
}

impl Passes {
    pub(super) fn new() -> Self {
        Self { passes: vec![Pass::default()], behind_result: false }
    }

    /// Takes the next part, and the block that it is.
    pub(super) fn add(&mut self, kind: PartKind, block: Option<Block>) {
        let Some(block) = block else { return };
        let is_result = kind == PartKind::ServerResult;
        match block {
            Block::Text { text } if kind == PartKind::Compaction => {
                self.passes.pop_if(|pass| pass.blocks.is_empty() && pass.summary.is_none());
                let summary = Some((text, None));
                self.passes.push(Pass { summary, ..Pass::default() });
            }
            block => {
                if self.behind_result && !is_result {
                    self.passes.push(Pass::default());
                }
                self.passes.last_mut().expect("one is there from the beginning").blocks.push(block);
            }
        }
        self.behind_result = is_result;
    }

    /// The passes with their usage, and the requests of other models. Where the
    /// usage does not tell as many passes as the parts, the last one has what was
    /// reported last, and the rest is counted beside.
    pub(super) fn finish(
        self,
        usage: Option<(&WireUsage, bool)>,
        model: Option<&str>,
        at: Option<Timestamp>,
    ) -> (Vec<Pass>, Vec<SidechainRequest>) {
        let Some((wire, output_final)) = usage else { return (merged(self.passes), Vec::new()) };
        let Calls { mut own, mut compactions, beside } = wire.calls(model);
        let mut passes =
            if own.len() == self.passes.len() { self.passes } else { merged(self.passes) };
        let mut beside: Vec<SidechainRequest> = beside
            .into_iter()
            .map(|(model, usage)| SidechainRequest { at, model, usage })
            .collect();
        for pass in passes.iter_mut().rev() {
            pass.usage = own.pop();
            let call = pass.summary.as_mut().zip(compactions.pop());
            if let Some(((_, call), (model, usage))) = call {
                *call = Some(RecordedCall { model, usage, latency_ms: None });
            }
        }
        if let Some(usage) = passes.last_mut().and_then(|pass| pass.usage.as_mut()) {
            usage.output_final = output_final;
        }
        let earlier = own.into_iter().map(|usage| (wire.named(model), usage));
        let rest = earlier.chain(compactions);
        beside.extend(rest.map(|(model, usage)| SidechainRequest { at, model, usage }));
        (passes, beside)
    }
}

/// Passes as one, as far as no summary stands between them.
fn merged(passes: Vec<Pass>) -> Vec<Pass> {
    let mut merged: Vec<Pass> = Vec::new();
    for pass in passes {
        match merged.last_mut() {
            Some(last) if pass.summary.is_none() => last.blocks.extend(pass.blocks),
            _ => merged.push(pass),
        }
    }
    merged
}

/// What a part is for the passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Compaction,
    ServerResult,
    Other,
}

/// The requests that one usage reports.
#[derive(Default)]
struct Calls {
    /// Those of the response's own model, in order; never empty.
    own: Vec<Usage>,
    compactions: Vec<(Option<String>, Usage)>,
    /// Those of other models.
    beside: Vec<(Option<String>, Usage)>,
}

// Requests and responses of Anthropic's Messages API.

/// A request's body.
#[derive(Default, Deserialize)]
struct Body {
    model: Option<String>,
    #[serde(default)]
    system: Content<Part>,
    tools: Option<Vec<Json>>,
    messages: Vec<Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Content<Part>,
    /// Milliseconds since 1970, which agents add to messages that they keep.
    ts: Option<i64>,
    /// What Cline adds: the model, and what its request used.
    #[serde(default)]
    model_info: Json,
    #[serde(default)]
    metrics: Json,
    /// What Roo and Kilo add to messages that they condensed or hid.
    is_summary: Option<bool>,
    condense_id: Option<String>,
    condense_parent: Option<String>,
    is_truncation_marker: Option<bool>,
    truncation_id: Option<String>,
    truncation_parent: Option<String>,
}

/// What Cline says of a request. Tokens that were read from a cache or written to it are
/// one sum, beside the prompt's (cline/cline, `src/core/task/index.ts`).
fn cline_usage(metrics: &Json) -> Option<Usage> {
    let tokens = metrics.get("tokens").filter(|tokens| tokens.is_object())?;
    let count = |key: &str| tokens.get(key).and_then(Json::as_u64).unwrap_or(0);
    let cached = count("cached");
    let usage = disjoint(count("prompt"), cached, 0, count("completion"));
    Some(Usage { cache_unknown: cached > 0, ..usage })
}

/// A part of a message, in the API's notation; which fields there are depends on
/// `kind`.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Part {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    thinking: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Json>,
    pub(super) tool_use_id: Option<String>,
    #[serde(default)]
    pub(super) content: Content<ResultPart>,
    pub(super) is_error: Option<bool>,
    source: Option<ImageSource>,
}

/// A part of a result. A server's tool has parts of many kinds, and some are the
/// whole content.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "Json")]
pub(super) struct ResultPart {
    kind: String,
    text: Option<String>,
}

impl ResultPart {
    /// Its kind and its text.
    pub(super) fn split(self) -> (String, Option<String>) {
        (self.kind, self.text)
    }
}

/// What the model read of it: ciphertext and files are not named.
const READ: [&str; 10] = [
    "title",
    "url",
    "stdout",
    "stderr",
    "content",
    "source",
    "lines",
    "tool_references",
    "error_code",
    "error_message",
];

impl TryFrom<Json> for ResultPart {
    type Error = &'static str;

    fn try_from(mut part: Json) -> Result<Self, Self::Error> {
        let text = |part: &Json, key: &str| part.get(key).and_then(Json::as_str).map(str::to_owned);
        let kind = text(&part, "type").ok_or("a part lacks its `type`")?;
        let own = text(&part, "text").or_else(|| {
            let mut texts = Vec::new();
            for field in READ {
                gather(part.get_mut(field).map(Json::take).unwrap_or_default(), &mut texts);
            }
            Some(texts.join("\n")).filter(|text| !text.is_empty())
        });
        Ok(Self { kind, text: own })
    }
}

/// The texts of a value: those of documents, of pages and of what a program wrote.
fn gather(value: Json, texts: &mut Vec<String>) {
    match value {
        Json::String(text) if !text.is_empty() => texts.push(text),
        Json::Array(items) => items.into_iter().for_each(|item| gather(item, texts)),
        Json::Object(mut fields) => {
            // Bytes of a picture or a file are no text.
            let is_text = fields.get("type").is_none_or(|kind| kind != "base64");
            let own = ["title", "text", "stdout", "stderr", "content", "source", "tool_name"];
            let data = is_text.then_some("data");
            for field in own.into_iter().chain(data) {
                gather(fields.remove(field).unwrap_or_default(), texts);
            }
        }
        _ => {}
    }
}

/// A call that the server runs, as the model wrote it.
fn server_call(name: &str, input: &Json) -> String {
    if input.as_object().is_none_or(serde_json::Map::is_empty) {
        name.to_owned()
    } else {
        format!("{name} {input}")
    }
}

impl Part {
    /// What it is for the passes of its response.
    pub(super) fn place(&self) -> PartKind {
        match self.kind.as_str() {
            "compaction" => PartKind::Compaction,
            "tool_result" => PartKind::Other,
            kind if kind.ends_with("_tool_result") => PartKind::ServerResult,
            _ => PartKind::Other,
        }
    }

    /// The block that it is, at this path in its record. Kinds that the model does
    /// not have are counted as left out.
    pub(super) fn block(self, at: &str, draft: &mut Draft) -> Result<Option<Block>, Problem> {
        let lacks = |field| Problem::lacks(at, &self.kind, field);
        Ok(Some(match self.kind.as_str() {
            "text" => Block::Text { text: self.text.ok_or_else(|| lacks("text"))? },
            // A redacted part has only ciphertext, but there was reasoning.
            "thinking" | "redacted_thinking" => {
                Block::Reasoning { text: self.thinking.unwrap_or_default() }
            }
            "tool_use" => Block::ToolCall {
                id: self.id.ok_or_else(|| lacks("id"))?,
                name: self.name.ok_or_else(|| lacks("name"))?,
                arguments: self.input.unwrap_or_else(|| serde_json::json!({})),
            },
            "image" => Block::Image { media_type: self.source.and_then(ImageSource::media_type) },
            "server_tool_use" | "mcp_tool_use" => {
                let name = self.name.ok_or_else(|| lacks("name"))?;
                Block::Text { text: server_call(&name, &self.input.unwrap_or_default()) }
            }
            kind => {
                let is_read = self.place() != PartKind::Other;
                let text = self.content.texts(|part| part.text).join("\n");
                if !is_read || text.is_empty() {
                    draft.leave_out(format!("{kind} part"), 1);
                    return Ok(None);
                }
                Block::Text { text }
            }
        }))
    }
}

#[derive(Deserialize)]
struct Response {
    model: Option<String>,
    content: Option<Json>,
    usage: Option<WireUsage>,
    #[serde(default)]
    diagnostics: Json,
}

/// Anthropic's usage: cached tokens are counted beside the input.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation: Option<Written>,
    output_tokens: Option<u64>,
    /// How the request was served, which changes its price.
    #[serde(default, deserialize_with = "word")]
    speed: Option<String>,
    #[serde(default, deserialize_with = "word")]
    inference_geo: Option<String>,
    #[serde(default, deserialize_with = "word")]
    service_tier: Option<String>,
    /// The requests that the response is made of, where there are several.
    #[serde(default, deserialize_with = "iterations")]
    iterations: Vec<Iteration>,
    #[serde(skip)]
    cache_miss: Option<CacheMiss>,
}

/// One of several requests.
#[derive(Clone, Debug, Deserialize)]
struct Iteration {
    #[serde(rename = "type")]
    kind: String,
    model: Option<String>,
    #[serde(flatten)]
    usage: WireUsage,
}

/// A text; anything else is none.
fn word<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    match Json::deserialize(value)? {
        Json::String(text) => Ok(Some(text)),
        _ => Ok(None),
    }
}

/// The entries that can be read. A single one repeats what stands around it.
fn iterations<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Vec<Iteration>, D::Error> {
    let mut entries = match Json::deserialize(value)? {
        Json::Array(entries) if entries.len() > 1 => entries,
        _ => Vec::new(),
    };
    // Of each depth one more copy would be made.
    for entry in &mut entries {
        entry.as_object_mut().map(|fields| fields.remove("iterations"));
    }
    Ok(entries.into_iter().filter_map(|entry| from_json(entry).ok()).collect())
}

/// Cache writes by their lifetime.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Written {
    ephemeral_1h_input_tokens: Option<u64>,
}

impl WireUsage {
    /// Takes along why the cache was not read.
    pub(super) fn diagnosed(&mut self, diagnostics: &Json) {
        let reason = diagnostics.pointer("/cache_miss_reason/type").cloned();
        // A reason of a later version is none that is known.
        self.cache_miss = self.cache_miss.or(reason.and_then(|kind| from_json(kind).ok()));
    }

    /// What the request used that wrote the end of the response, in disjoint
    /// buckets: the prompt that the next one extends.
    pub(super) fn usage(&self) -> Usage {
        self.calls(None).own.pop().unwrap_or_default()
    }

    /// Tokens that the models wrote, by which a later report is told.
    pub(super) fn output(&self) -> u64 {
        self.output_tokens.unwrap_or(0)
    }

    /// The requests that are reported, where a model answered. One that declined
    /// before another took over is not that model.
    fn calls(&self, model: Option<&str>) -> Calls {
        let mut calls = Calls::default();
        let answers = |entry: &&Iteration| matches!(&*entry.kind, "message" | "fallback_message");
        let last = self.iterations.iter().rfind(answers);
        for entry in &self.iterations {
            let is_own = answers(&entry)
                && last.is_some_and(|last| entry.model == last.model && entry.kind == last.kind);
            let usage = entry.usage.counted();
            let named = || match entry.model.as_deref().filter(|own| Some(*own) != model) {
                // Only the response's own model is asked to hurry.
                Some(own) => Some(marked(own, [None, self.geo(), self.tier()])),
                None => self.named(model),
            };
            match entry.kind.as_str() {
                _ if is_own => calls.own.push(usage),
                // Nothing says which model declined.
                "message" if entry.model.is_none() => calls.beside.push((None, usage)),
                "compaction" => calls.compactions.push((named(), usage)),
                _ => calls.beside.push((named(), usage)),
            }
        }
        if calls.own.iter().all(|usage| usage.prompt() == 0) {
            calls.own = vec![self.counted()];
        }
        // The first request is the one that was compared with the one before.
        if let Some(first) = calls.own.first_mut() {
            first.cache_miss = self.cache_miss;
        }
        calls
    }

    /// The model with the marks of how it was served (`pricing::service`).
    pub(super) fn named(&self, model: Option<&str>) -> Option<String> {
        let fast = self.speed.as_deref().filter(|speed| *speed == "fast");
        Some(marked(model?, [fast, self.geo(), self.tier()]))
    }

    fn geo(&self) -> Option<&str> {
        self.inference_geo.as_deref().filter(|geo| matches!(*geo, "us" | "eu"))
    }

    fn tier(&self) -> Option<&str> {
        let tier = self.service_tier.as_deref();
        tier.filter(|tier| matches!(*tier, "batch" | "flex" | "priority"))
    }

    /// Its own figures; writes without a lifetime are the five-minute default.
    fn counted(&self) -> Usage {
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let hour = self.cache_creation.and_then(|written| written.ephemeral_1h_input_tokens);
        let cache_write_1h = hour.unwrap_or(0).min(written);
        let [input, read, output] =
            [self.input_tokens, self.cache_read_input_tokens, self.output_tokens]
                .map(Option::unwrap_or_default);
        let usage = disjoint(input, read, written - cache_write_1h, output);
        Usage { cache_write_1h, ..usage }
    }
}

fn marked(model: &str, marks: [Option<&str>; 3]) -> String {
    let marks: Vec<&str> = marks.into_iter().flatten().collect();
    if marks.is_empty() || model.contains('[') {
        model.to_owned()
    } else {
        format!("{model}[{}]", marks.join(","))
    }
}

/// An entry of a log: the request's body, and the response where it is there.
pub(super) fn entry(mut value: Json) -> (Json, Option<Json>) {
    let Some(request) = value.get_mut("request").map(Json::take) else { return (value, None) };
    let inner = |mut value: Json| match value.get_mut("body").map(Json::take) {
        Some(body) => body,
        None => value,
    };
    let response = value.get_mut("response").map(Json::take).filter(|value| !value.is_null());
    (inner(request), response.map(inner))
}

/// What only messages have that Roo or Kilo condensed or hid.
const MARKS: [&str; 2] = ["condenseParent", "truncationParent"];

/// Whether a record can only be a request to this API: other APIs have roles
/// and contents, too.
pub(super) fn is_request(record: &Json) -> bool {
    let request = record.get("request").unwrap_or(record);
    let body = request.get("body").unwrap_or(request);
    let tools = body.get("tools").and_then(|tools| tools.get(0));
    let own_tools = tools.is_some_and(|tool| tool.get("input_schema").is_some());
    let Some(messages) = body.get("messages").or(Some(body)).and_then(Json::as_array) else {
        return false;
    };
    let is_message = |message: &Json| {
        message.get("role").is_some_and(Json::is_string) && message.get("content").is_some()
    };
    let blocks = |message: &Json| {
        let parts = message.get("content").and_then(Json::as_array).into_iter().flatten();
        parts.filter_map(|part| part.get("type")?.as_str()).any(|kind| {
            let own = ["tool_use", "thinking", "redacted_thinking", "compaction"];
            own.contains(&kind) || kind.ends_with("tool_use") || kind.ends_with("tool_result")
        })
    };
    let edits = body.pointer("/context_management/edits").is_some_and(Json::is_array);
    let system = body.get("system").is_some_and(|system| system.is_string() || system.is_array());
    let is_marked = |message: &Json| {
        message.get("isSummary") == Some(&Json::Bool(true))
            || MARKS.iter().any(|mark| message.get(mark).is_some_and(Json::is_string))
    };
    let is_own = |message: &Json| blocks(message) || is_marked(message);
    messages.first().is_some_and(is_message)
        && (system || own_tools || edits || messages.iter().any(is_own) || is_plain(record, body))
}

/// Whether a request of plain texts is one to this API: by its response, or by what it
/// asks for. OpenAI's API needs no `max_tokens`, and has other models and roles.
fn is_plain(record: &Json, body: &Json) -> bool {
    let response = record.get("response").map(|own| own.get("body").unwrap_or(own));
    if let Some(response) = response.filter(|own| own.is_object()) {
        return response.get("content").is_some_and(Json::is_array);
    }
    let text = |key: &str| body.get(key).and_then(Json::as_str);
    let is_claude = text("model").is_some_and(|model| model.starts_with("claude"));
    let messages = body.get("messages").and_then(Json::as_array);
    let mut roles = messages.into_iter().flatten().map(|message| message.get("role"));
    let are_own = roles.all(|role| role.is_some_and(|role| role == "user" || role == "assistant"));
    are_own
        && body.get("max_tokens").is_some_and(Json::is_u64)
        && (is_claude || text("anthropic_version").is_some())
}
