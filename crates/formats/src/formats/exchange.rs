//! Requests to models with what they answered, in one shape for all providers
//! and tracing tools, and the sessions that they make up.

use std::collections::BTreeMap;
use std::io::Write as _;

use super::content::{ChatMessage, Part};
use super::prelude::*;

/// A request with its answer.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// The session that it names, where it names one.
    pub(super) session: Option<String>,
    /// What else groups requests, such as a trace.
    pub(super) group: Option<String>,
    /// The provider's id of its response.
    pub(super) response: Option<String>,
    /// The response that it goes on from, whose messages it does not repeat.
    pub(super) previous: Option<String>,
    pub(super) preamble: Preamble,
    pub(super) messages: Vec<ChatMessage>,
    pub(super) answer: Vec<ChatMessage>,
    pub(super) usage: Option<Calls>,
    /// USD that the provider or the program wrote down.
    pub(super) usd: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) at: Option<Timestamp>,
}

impl Request {
    fn sent(&mut self) -> Sent {
        let (length, usage, usd) = (self.messages.len(), self.usage.take(), self.usd);
        Sent { length, usage, usd, model: self.model.clone(), at: self.at }
    }

    /// The hash of all messages up to each. Sessions may begin with the same words.
    fn ends(&self) -> Vec<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.session.as_deref().unwrap_or_default().as_bytes());
        let end = |message: &ChatMessage| {
            hasher.update(message.role.as_str().as_bytes());
            for part in message.parts.iter().filter(|part| !matches!(part, Part::Reasoning(_))) {
                // A hasher takes everything.
                _ = serde_json::to_writer(&mut hasher, part);
                _ = hasher.write_all(b"\n");
            }
            hasher.update(&[0]);
            hasher.finalize()
        };
        self.messages.iter().map(end).collect()
    }
}

/// What is kept of a request of a conversation.
pub(super) struct Sent {
    /// Number of its messages.
    pub(super) length: usize,
    pub(super) usage: Option<Calls>,
    pub(super) usd: Option<f64>,
    /// The model that answered it.
    pub(super) model: Option<String>,
    pub(super) at: Option<Timestamp>,
}

/// The requests of one conversation so far: each repeats the messages of the one before
/// and adds some.
#[derive(Default)]
struct Chain {
    /// The newest request.
    newest: Request,
    requests: Vec<Sent>,
    /// Position of the newest request in the log.
    last: usize,
    /// How many requests it is made of, repeated ones included.
    taken: usize,
    /// Parts of earlier requests that the newest one does not have.
    unrepeated: u64,
}

/// The requests of a log.
#[derive(Default)]
pub(super) struct Requests {
    chains: Vec<Chain>,
    /// Each conversation by the hash of its newest request's messages.
    by_end: FxHashMap<blake3::Hash, usize>,
    /// The conversation of each response, and its number of messages with it.
    by_response: FxHashMap<String, (usize, usize)>,
    /// Requests that go on from a response that was not read.
    torn_off: u64,
    /// Whether every answer is several items that belong together.
    pub(super) is_itemised: bool,
    count: usize,
}

impl Requests {
    /// Adds the next request, in the order in which they were made.
    pub(super) fn add(&mut self, mut request: Request) {
        let (response, answered) = (request.response.take(), request.answer.len());
        let known = request.previous.take().map(|id| self.by_response.get(&id).copied());
        self.torn_off += u64::from(known == Some(None));
        let mut sent = request.sent();
        let at = match known.flatten() {
            Some((at, before)) => {
                sent.length += before;
                request.follow(&mut self.chains[at].newest, before);
                Some(at)
            }
            None => {
                let ends = request.ends();
                // The longest beginning that an earlier request ended with.
                let known = ends.iter().rev().find_map(|end| self.by_end.remove(end));
                let at = known.unwrap_or(self.chains.len());
                self.by_end.extend(ends.last().map(|end| (*end, at)));
                if let Some(chain) = known.map(|at| &mut self.chains[at]) {
                    chain.unrepeated += lost(&chain.newest, &request);
                }
                known
            }
        };
        let length = sent.length;
        let last = self.count;
        self.count += 1;
        let at = at.unwrap_or_else(|| {
            self.chains.push(Chain::default());
            self.chains.len() - 1
        });
        let chain = &mut self.chains[at];
        // A request that was repeated is one; what a later one undid is gone.
        while chain.requests.pop_if(|own| own.length >= length).is_some() {}
        chain.requests.push(sent);
        (chain.newest, chain.last, chain.taken) = (request, last, chain.taken + 1);
        self.by_response.extend(response.map(|id| (id, (at, length + answered))));
    }

    /// The sessions: of each, the conversation that was extended last (without one, the
    /// last request), in the order of their last requests. Those without a name are named
    /// after the file.
    pub(super) fn sessions(self, source: &mut Source<'_>) -> Result<Vec<Draft>, DatasetError> {
        let Requests { chains, is_itemised, count, torn_off, .. } = self;
        if torn_off > 0 {
            source.warn(format!(
                "of {count} requests, {torn_off} go on from a response that is not here: what was \
                 said before them is missing"
            ));
        }
        let mut named: BTreeMap<Option<String>, Vec<Chain>> = BTreeMap::new();
        for chain in chains {
            let name = chain.newest.session.as_ref().or(chain.newest.group.as_ref()).cloned();
            named.entry(name).or_default().push(chain);
        }
        let mut found: Vec<(Option<String>, Chain, usize)> = named
            .into_iter()
            .filter_map(|(name, chains)| {
                let all: usize = chains.iter().map(|chain| chain.taken).sum();
                let best = |chain: &Chain| (chain.requests.len() > 1, chain.last);
                let best = chains.into_iter().max_by_key(best)?;
                let others = all - best.taken;
                Some((name, best, others))
            })
            .collect();
        found.sort_by_key(|(_, chain, _)| chain.last);
        let others: usize = found.iter().map(|(.., others)| others).sum();
        if others > 0 {
            source.warn(format!(
                "of {count} requests, {others} are no part of the conversation that was extended \
                 last, which is read"
            ));
        }
        let mut drafts = Vec::new();
        for (name, chain, others) in found {
            let mut writer = Writer::new(name.unwrap_or_else(|| source.stem().to_owned()));
            writer.draft.leave_out("request of another conversation", others as u64);
            writer.draft.leave_out(UNREPEATED, chain.unrepeated);
            writer.draft.session.model.clone_from(&chain.newest.model);
            writer.draft.session.totals = written_down(&chain.requests);
            drafts.push(source.whole(writer.chain(chain, is_itemised))?);
        }
        Ok(drafts)
    }
}

impl Request {
    /// Puts what is known of a conversation up to `before` messages in front of its own.
    fn follow(&mut self, known: &mut Request, before: usize) {
        let mut messages = std::mem::take(&mut known.messages);
        messages.append(&mut known.answer);
        messages.truncate(before);
        messages.append(&mut self.messages);
        self.messages = messages;
        self.group = known.group.take();
        self.session = known.session.take().or(self.session.take());
    }
}

/// What each model used in all, where dollars are written down.
fn written_down(requests: &[Sent]) -> Vec<SessionTotal> {
    let mut totals: BTreeMap<Option<&str>, SessionTotal> = BTreeMap::new();
    for sent in requests.iter().filter(|sent| sent.usd.is_some()) {
        let total = totals.entry(sent.model.as_deref()).or_default();
        total.model.clone_from(&sent.model);
        let usage = sent.usage.as_ref().and_then(Calls::last).unwrap_or_default();
        total.add(1, &usage, sent.usd);
    }
    totals.into_values().collect()
}

/// The reason for thoughts and the like of an answer that stand in its response
/// alone: of a conversation its newest request is read.
const UNREPEATED: &str = "part of a response that later requests do not repeat";

/// How many parts of a request are not in the one that repeats it.
fn lost(old: &Request, new: &Request) -> u64 {
    let kept = new.messages.len().min(old.messages.len() + old.answer.len());
    let now = unrepeated(&new.messages[..kept]);
    (unrepeated(&old.messages) + unrepeated(&old.answer)).saturating_sub(now)
}

/// How many parts of messages no later request has to repeat.
fn unrepeated(messages: &[ChatMessage]) -> u64 {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let own = parts.filter(|part| match part {
        Part::Reasoning(text) => !text.is_empty(),
        Part::Other(_) => true,
        _ => false,
    });
    own.count() as u64
}

/// Writes a conversation as a session.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) draft: Draft,
    /// The answer that is being put together.
    open: Option<(Turn, Passes, Option<Calls>)>,
    /// Results that came with the calls of that answer.
    pending: Vec<(String, ResultText)>,
    /// Calls without an id that have no result yet, oldest first.
    unnamed: Vec<(String, String)>,
    prompt: Option<u64>,
}

impl Writer {
    /// Begins the session with this id.
    pub(super) fn new(id: impl Into<String>) -> Writer {
        Writer { draft: Draft::named(id), ..Writer::default() }
    }

    fn chain(mut self, chain: Chain, is_itemised: bool) -> Result<Draft, Problem> {
        let Chain { newest, requests, .. } = chain;
        self.draft.session.preamble = newest.preamble;
        let mut requests = requests.into_iter().peekable();
        for (at, message) in newest.messages.into_iter().chain(newest.answer).enumerate() {
            let sent = requests.next_if(|sent| sent.length == at);
            let compacts = message.parts.iter().any(|part| matches!(part, Part::Compacted));
            if sent.is_some() || !is_itemised || compacts || message.role != Role::Assistant {
                self.close()?;
            }
            let sent = match sent {
                Some(sent) if message.role != Role::Assistant => {
                    self.unanswered(&sent);
                    None
                }
                sent => sent,
            };
            self.message(at, message, sent)?;
        }
        self.close()?;
        requests.for_each(|sent| self.unanswered(&sent));
        self.draft.leading_system_to_preamble();
        Ok(self.draft)
    }

    fn unanswered(&mut self, sent: &Sent) {
        let used = u64::from(sent.usage.is_some());
        self.draft.leave_out("usage of a request without its answer", used);
    }

    /// Takes the next message, the `at`th of the conversation. An answer stays open for
    /// what belongs to it.
    pub(super) fn message(
        &mut self,
        at: usize,
        message: ChatMessage,
        sent: Option<Sent>,
    ) -> Result<(), Problem> {
        let ChatMessage { role, parts, at: time } = message;
        let new = || (Turn::new(role), Passes::new(), None);
        let (mut turn, mut passes, mut calls) = self.open.take().unwrap_or_else(new);
        turn.id.get_or_insert_with(|| format!("message-{}", at + 1));
        turn.at = turn.at.or(time).or(sent.as_ref().and_then(|sent| sent.at));
        if let Some(sent) = sent {
            let last = sent.usage.as_ref().and_then(Calls::last);
            self.prompt = last.map(|usage| usage.prompt()).or(self.prompt);
            (calls, turn.model) = (sent.usage, sent.model);
        }
        for (number, part) in (1..).zip(parts) {
            match part {
                Part::Text(text) if text.is_empty() => {}
                Part::Call { id, name, arguments } => {
                    let own = id.unwrap_or_else(|| {
                        let id = format!("call-{}-{number}", at + 1);
                        self.unnamed.push((name.clone(), id.clone()));
                        id
                    });
                    passes.add(Some(self.draft.call(own, name, arguments)), false);
                }
                Part::Result { call, name, result } => {
                    match call.or_else(|| self.call_of(name.as_deref())) {
                        Some(call) => self.pending.push((call, result)),
                        None => self.draft.leave_out("tool result that names no call", 1),
                    }
                }
                Part::Compacted => self.compacted()?,
                other => passes.take(other, &mut self.draft),
            }
        }
        if role == Role::Assistant {
            self.open = Some((turn, passes, calls));
            return Ok(());
        }
        self.results(turn.at);
        self.write(&turn, passes, None)
    }

    /// The oldest open call of the tool; without a name, of any.
    fn call_of(&mut self, name: Option<&str>) -> Option<String> {
        let is_it = |(own, _): &(String, String)| name.is_none_or(|name| own == name);
        let at = self.unnamed.iter().position(is_it)?;
        Some(self.unnamed.remove(at).1)
    }

    /// Writes the answer that was put together, and the results within it.
    pub(super) fn close(&mut self) -> Result<(), Problem> {
        let Some((turn, passes, calls)) = self.open.take() else { return Ok(()) };
        self.write(&turn, passes, calls)?;
        self.results(turn.at);
        Ok(())
    }

    /// Writes the passes of a message, each with its compaction in front.
    fn write(&mut self, turn: &Turn, passes: Passes, calls: Option<Calls>) -> Result<(), Problem> {
        let (passes, beside) = passes.finish(calls, turn.at);
        self.draft.session.sidechains.extend(beside);
        for mut pass in passes {
            if let Some(compaction) = pass.compaction(&self.draft, turn.at) {
                self.draft.compact(compaction)?;
            }
            if !pass.blocks.is_empty() || pass.usage.is_some() {
                self.draft.turn(Turn { blocks: pass.blocks, usage: pass.usage, ..turn.clone() });
            }
        }
        Ok(())
    }

    fn results(&mut self, at: Option<Timestamp>) {
        for (call, result) in std::mem::take(&mut self.pending) {
            self.draft.result(&call, result, Turn { at, ..Turn::new(Role::Tool) });
        }
    }

    /// What the user said before it, and nothing else, is what a compaction kept
    /// of a conversation that is not in the recording.
    fn compacted(&mut self) -> Result<(), Problem> {
        let draft = &mut self.draft;
        draft.leave_out("encrypted summary", 1);
        if !draft.session.messages.iter().any(|message| message.role == Role::Assistant) {
            return Ok(());
        }
        draft.compact(RecordedCompaction {
            unreadable: Some("the vendor encrypted its summary".to_owned()),
            tokens_before: self.prompt,
            ..draft.compaction()
        })
    }
}

// One response may be several requests to models (`usage.iterations` in Anthropic's
// documentation of server tools, compaction and the advisor).
//
// A server's tool runs within the response, and the model is asked again behind
// its result; the sum of these prompts is no prompt. An advisor is another model,
// and so is one that declined before another took over. A compaction of the
// server's writes a summary, and what stood before it is not sent again.

/// The requests that one response reports.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The response's own model.
    pub(super) model: Option<String>,
    /// Those of that model, in order; never empty.
    pub(super) own: Vec<Usage>,
    pub(super) compactions: Vec<(Option<String>, Usage)>,
    /// Those of other models.
    pub(super) beside: Vec<(Option<String>, Usage)>,
}

impl Calls {
    /// What the request used that wrote the end of the response: the prompt that the next
    /// one extends.
    pub(super) fn last(&self) -> Option<Usage> {
        self.own.last().copied()
    }
}

impl From<Usage> for Calls {
    fn from(usage: Usage) -> Calls {
        Calls { own: vec![usage], ..Calls::default() }
    }
}

/// What a model wrote in one go.
#[derive(Default)]
pub(super) struct Pass {
    /// The summary that took the place of everything before it, with its call.
    summary: Option<(String, Option<RecordedCall>)>,
    pub(super) blocks: Vec<Block>,
    pub(super) usage: Option<Usage>,
}

impl Pass {
    /// The compaction in front of it, behind the messages of a draft.
    pub(super) fn compaction(
        &mut self,
        draft: &Draft,
        at: Option<Timestamp>,
    ) -> Option<RecordedCompaction> {
        let (summary, call) = self.summary.take()?;
        Some(RecordedCompaction {
            summary: Some(summary),
            trigger: RecordedTrigger::Auto,
            tokens_before: call.as_ref().map(|call| call.usage.prompt()),
            call,
            at,
            ..draft.compaction()
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

    /// Takes a part that is no call.
    pub(super) fn take(&mut self, part: Part, draft: &mut Draft) {
        match part {
            Part::Summary(text) => {
                self.passes.pop_if(|pass| pass.blocks.is_empty() && pass.summary.is_none());
                let summary = Some((text, None));
                self.passes.push(Pass { summary, ..Pass::default() });
                self.behind_result = false;
            }
            part => {
                let is_served = matches!(part, Part::Served(_));
                self.add(draft.block(part), is_served);
            }
        }
    }

    /// Takes the next block, which may be what a server's tool gave back.
    pub(super) fn add(&mut self, block: Option<Block>, is_served: bool) {
        let Some(block) = block else { return };
        if self.behind_result && !is_served {
            self.passes.push(Pass::default());
        }
        self.passes.last_mut().expect("one is there from the beginning").blocks.push(block);
        self.behind_result = is_served;
    }

    /// The passes with their usage, and the requests of other models. Where the
    /// usage does not tell as many passes as the parts, the last one has what was
    /// reported last, and the rest is counted beside.
    pub(super) fn finish(
        self,
        calls: Option<Calls>,
        at: Option<Timestamp>,
    ) -> (Vec<Pass>, Vec<SidechainRequest>) {
        let Some(calls) = calls else { return (merged(self.passes), Vec::new()) };
        let Calls { model, mut own, mut compactions, mut beside } = calls;
        let mut passes =
            if own.len() == self.passes.len() { self.passes } else { merged(self.passes) };
        for pass in passes.iter_mut().rev() {
            pass.usage = own.pop();
            let call = pass.summary.as_mut().zip(compactions.pop());
            if let Some(((_, call), (model, usage))) = call {
                *call = Some(RecordedCall { model, usage, latency_ms: None });
            }
        }
        beside.extend(own.into_iter().map(|usage| (model.clone(), usage)));
        beside.extend(compactions);
        let request = |(model, usage)| SidechainRequest { at, model, usage };
        (passes, beside.into_iter().map(request).collect())
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
