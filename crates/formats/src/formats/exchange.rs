//! Requests to models with what they answered, in one shape for all providers
//! and tracing tools, and the sessions that they make up.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::Serialize;

use super::prelude::*;

/// A part of a message.
#[derive(Clone, Debug, Serialize)]
pub(super) enum Part {
    Text(String),
    /// Thoughts are dropped from later requests.
    Reasoning(String),
    Image(Option<String>),
    Call {
        /// Some providers give none; then the next result of the tool is its.
        id: Option<String>,
        name: String,
        arguments: Json,
    },
    Result {
        call: Option<String>,
        /// The tool's name, where that stands for the call's id.
        name: Option<String>,
        text: String,
        images: u32,
        is_error: bool,
    },
    /// The vendor's own summary of all messages before it, which is encrypted.
    Compacted,
    /// A part that is not imported, with the reason under which it is counted.
    Other(String),
}

/// A message of a request.
#[derive(Clone, Debug)]
pub(super) struct ChatMessage {
    pub(super) role: Role,
    pub(super) parts: Vec<Part>,
}

impl ChatMessage {
    pub(super) fn new(role: Role, parts: Vec<Part>) -> ChatMessage {
        ChatMessage { role, parts }
    }

    /// Writes what later requests repeat.
    fn hash(&self, hasher: &mut blake3::Hasher) {
        hasher.update(self.role.as_str().as_bytes());
        for part in self.parts.iter().filter(|part| !matches!(part, Part::Reasoning(_))) {
            // A hasher takes everything.
            _ = serde_json::to_writer(&mut *hasher, part);
            _ = hasher.write_all(b"\n");
        }
        hasher.update(&[0]);
    }
}

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
    pub(super) usage: Option<Usage>,
    /// USD that the provider or the program wrote down.
    pub(super) usd: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) at: Option<Timestamp>,
}

/// The requests of a log.
#[derive(Default)]
pub(super) struct Requests {
    chains: Chains<Request>,
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
        self.count += 1;
        let (at, length) = match known.flatten() {
            Some((at, length)) => (at, self.follow(at, length, request)),
            None => {
                let length = request.messages.len();
                (self.extend(request), length)
            }
        };
        self.by_response.extend(response.map(|id| (id, (at, length + answered))));
    }

    /// Adds a request to the conversation that it repeats; returns its number.
    fn extend(&mut self, request: Request) -> usize {
        let sent = request.sent();
        let mut first = request.session.clone();
        let ends = ends(&request.messages, |message, hasher| {
            // Sessions may begin with the same words.
            first.take().inspect(|session| _ = hasher.update(session.as_bytes()));
            message.hash(hasher);
        });
        self.chains.add(&ends, request, sent, |old, new| {
            let kept = new.messages.len().min(old.messages.len() + old.answer.len());
            let now = unrepeated(&new.messages[..kept]);
            (unrepeated(&old.messages) + unrepeated(&old.answer)).saturating_sub(now)
        })
    }

    /// Adds a request to a known conversation, of which `before` messages are
    /// left. Its own messages follow them. Returns how many these are together.
    fn follow(&mut self, at: usize, before: usize, mut request: Request) -> usize {
        let mut sent = request.sent();
        sent.length = before + request.messages.len();
        let length = sent.length;
        self.chains.extend(at, sent, |own| {
            own.messages.append(&mut own.answer);
            own.messages.truncate(before);
            own.messages.append(&mut request.messages);
            std::mem::swap(&mut own.messages, &mut request.messages);
            request.group = own.group.take();
            request.session = own.session.take().or(request.session.take());
            *own = request;
        });
        length
    }

    /// The sessions: of each, the conversation that was extended last. Those
    /// without a name are named after the file.
    pub(super) fn sessions(self, source: &mut Source<'_>) -> Result<Vec<Draft>, DatasetError> {
        let Requests { chains, is_itemised, count, torn_off, .. } = self;
        if torn_off > 0 {
            source.warn(format!(
                "of {count} requests, {torn_off} go on from a response that is not here: what was \
                 said before them is missing"
            ));
        }
        let name = |request: &Request| request.session.clone().or_else(|| request.group.clone());
        let found = chains.last_by(name);
        let others: usize = found.iter().map(|(_, others)| others).sum();
        if others > 0 {
            source.warn(format!(
                "of {count} requests, {others} are no part of the conversation that was extended \
                 last, which is read"
            ));
        }
        let mut drafts = Vec::new();
        for (chain, others) in found {
            let id = name(&chain.body).unwrap_or_else(|| source.stem().to_owned());
            let mut writer = Writer { recorder: Recorder::new(id), ..Writer::default() };
            writer.recorder.draft.leave_out("request of another conversation", others as u64);
            writer.recorder.draft.leave_out(UNREPEATED, chain.unrepeated);
            writer.recorder.session().model.clone_from(&chain.body.model);
            writer.recorder.session().totals = written_down(&chain.requests);
            drafts.push(source.whole(writer.chain(chain, is_itemised))?);
        }
        Ok(drafts)
    }
}

/// What each model used in all, where dollars are written down.
fn written_down(requests: &[Sent]) -> Vec<SessionTotal> {
    let mut totals: BTreeMap<Option<&str>, SessionTotal> = BTreeMap::new();
    for sent in requests.iter().filter(|sent| sent.usd.is_some()) {
        let total = totals.entry(sent.model.as_deref()).or_default();
        total.model.clone_from(&sent.model);
        total.add(1, &sent.usage.unwrap_or_default(), sent.usd);
    }
    totals.into_values().collect()
}

/// The reason for thoughts and the like of an answer that stand in its response
/// alone: of a conversation its newest request is read.
pub(super) const UNREPEATED: &str = "part of a response that later requests do not repeat";

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

impl Request {
    /// Whether nothing of what was said is recorded.
    pub(super) fn is_silent(&self) -> bool {
        self.messages.is_empty() && self.answer.is_empty()
    }

    fn sent(&self) -> Sent {
        let (length, usage, usd, at) = (self.messages.len(), self.usage, self.usd, self.at);
        Sent { length, usage, usd, model: self.model.clone(), at }
    }
}

/// Writes a conversation as a session.
#[derive(Default)]
struct Writer {
    recorder: Recorder,
    /// The answer that is being put together.
    open: Option<Turn>,
    /// Results that came with the calls of that answer.
    pending: Vec<(String, ResultText, bool)>,
    /// Calls without an id that have no result yet, oldest first.
    unnamed: Vec<(String, String)>,
    prompt: Option<u64>,
}

impl Writer {
    fn chain(mut self, chain: Chain<Request>, is_itemised: bool) -> Result<Draft, Problem> {
        let Chain { body, requests, .. } = chain;
        self.recorder.session().preamble = body.preamble;
        let mut requests = requests.into_iter().peekable();
        for (at, message) in body.messages.into_iter().chain(body.answer).enumerate() {
            let sent = requests.next_if(|sent| sent.length == at);
            let compacts = message.parts.iter().any(|part| matches!(part, Part::Compacted));
            if sent.is_some() || !is_itemised || compacts || message.role != Role::Assistant {
                self.close();
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
        self.close();
        requests.for_each(|sent| self.unanswered(&sent));
        Ok(self.recorder.finish())
    }

    fn unanswered(&mut self, sent: &Sent) {
        let used = u64::from(sent.usage.is_some());
        self.recorder.draft.leave_out("usage of a request without its answer", used);
    }

    fn message(
        &mut self,
        at: usize,
        message: ChatMessage,
        sent: Option<Sent>,
    ) -> Result<(), Problem> {
        let ChatMessage { role, parts } = message;
        let is_answer = role == Role::Assistant;
        let mut turn = self.open.take().unwrap_or_else(|| Turn::new(role));
        turn.id.get_or_insert_with(|| format!("message-{}", at + 1));
        turn.at = turn.at.or(sent.as_ref().and_then(|sent| sent.at));
        if let Some(sent) = sent {
            self.prompt = sent.usage.map(|usage| usage.prompt()).or(self.prompt);
            (turn.usage, turn.model) = (sent.usage, sent.model);
        }
        for (number, part) in (1..).zip(parts) {
            match part {
                Part::Text(text) => turn.text(text),
                Part::Reasoning(text) => turn.blocks.push(Block::Reasoning { text }),
                Part::Image(media_type) => turn.blocks.push(Block::Image { media_type }),
                Part::Call { id, name, arguments } => {
                    let own = id.is_some();
                    let id = id.unwrap_or_else(|| format!("call-{}-{number}", at + 1));
                    if !own {
                        self.unnamed.push((name.clone(), id.clone()));
                    }
                    turn.blocks.push(self.recorder.call(id, name, arguments));
                }
                Part::Result { call, name, text, images, is_error } => {
                    let Some(call) = call.or_else(|| self.call_of(name.as_deref())) else {
                        let reason = "tool result that names no call";
                        self.recorder.draft.leave_out(reason, 1);
                        continue;
                    };
                    self.pending.push((call, ResultText { text, images }, is_error));
                }
                Part::Compacted => self.compacted()?,
                Part::Other(reason) => self.recorder.draft.leave_out(reason, 1),
            }
        }
        if is_answer {
            self.open = Some(turn);
        } else {
            self.results(turn.at);
            if !turn.blocks.is_empty() {
                self.recorder.turn(turn);
            }
        }
        Ok(())
    }

    /// The oldest open call of the tool; without a name, of any.
    fn call_of(&mut self, name: Option<&str>) -> Option<String> {
        let is_it = |(own, _): &(String, String)| name.is_none_or(|name| own == name);
        let at = self.unnamed.iter().position(is_it)?;
        Some(self.unnamed.remove(at).1)
    }

    /// Writes the answer that was put together, and the results within it.
    fn close(&mut self) {
        let Some(turn) = self.open.take() else { return };
        let at = turn.at;
        if !turn.blocks.is_empty() || turn.usage.is_some() {
            self.recorder.turn(turn);
        }
        self.results(at);
    }

    fn results(&mut self, at: Option<Timestamp>) {
        for (call, text, is_error) in std::mem::take(&mut self.pending) {
            self.recorder.result(&call, text, Outcome { id: None, is_error, at, line: None });
        }
    }

    /// What the user said before it, and nothing else, is what a compaction kept
    /// of a conversation that is not in the recording.
    fn compacted(&mut self) -> Result<(), Problem> {
        let draft = &mut self.recorder.draft;
        draft.leave_out("encrypted summary", 1);
        let after = draft.next_index();
        if !draft.session.messages.iter().any(|message| message.role == Role::Assistant) {
            return Ok(());
        }
        draft.compact(RecordedCompaction {
            after,
            kept_from: after,
            unreadable: Some("the vendor encrypted its summary".to_owned()),
            tokens_before: self.prompt,
            ..RecordedCompaction::default()
        })
    }
}

// Which requests of a log belong to one conversation: each repeats the
// messages of the one before and adds some.

/// A request of a conversation.
pub(super) struct Sent<U = Usage> {
    /// Number of its messages.
    pub(super) length: usize,
    pub(super) usage: Option<U>,
    pub(super) usd: Option<f64>,
    /// The model that answered it.
    pub(super) model: Option<String>,
    pub(super) at: Option<Timestamp>,
}

/// The requests of one conversation so far.
pub(super) struct Chain<B, U = Usage> {
    /// The newest request.
    pub(super) body: B,
    pub(super) requests: Vec<Sent<U>>,
    /// Position of the newest request in the log.
    last: usize,
    /// How many requests it is made of, repeated ones included.
    taken: usize,
    /// Parts of earlier requests that the newest one does not have.
    pub(super) unrepeated: u64,
}

/// All conversations of a log.
pub(super) struct Chains<B, U = Usage> {
    chains: Vec<Chain<B, U>>,
    /// Each chain by the hash of its newest request's messages.
    by_end: FxHashMap<blake3::Hash, usize>,
    count: usize,
}

impl<B, U> Default for Chains<B, U> {
    fn default() -> Self {
        Chains { chains: Vec::new(), by_end: FxHashMap::default(), count: 0 }
    }
}

impl<B, U> Chains<B, U> {
    /// Adds the next request of the log; `ends` are the hashes of all its
    /// messages up to each, and `lost` says how many parts of the request before are
    /// not in it. Returns the number of its conversation.
    pub(super) fn add(
        &mut self,
        ends: &[blake3::Hash],
        body: B,
        sent: Sent<U>,
        lost: impl FnOnce(&B, &B) -> u64,
    ) -> usize {
        // The longest beginning that an earlier request ended with.
        let known = ends.iter().rev().find_map(|end| self.by_end.remove(end));
        let at = match known {
            Some(at) => {
                let chain = &mut self.chains[at];
                chain.unrepeated += lost(&chain.body, &body);
                self.extend(at, sent, |own| *own = body);
                at
            }
            None => {
                let last = self.count;
                self.count += 1;
                let requests = vec![sent];
                self.chains.push(Chain { body, requests, last, taken: 1, unrepeated: 0 });
                self.chains.len() - 1
            }
        };
        self.by_end.extend(ends.last().map(|end| (*end, at)));
        at
    }

    /// Adds a request to a known conversation.
    pub(super) fn extend(&mut self, at: usize, sent: Sent<U>, change: impl FnOnce(&mut B)) {
        let Some(chain) = self.chains.get_mut(at) else { return };
        // A request that was repeated is one; what a later one undid is gone.
        while chain.requests.pop_if(|own| own.length >= sent.length).is_some() {}
        change(&mut chain.body);
        chain.requests.push(sent);
        chain.last = self.count;
        chain.taken += 1;
        self.count += 1;
    }

    /// The conversation that was extended last (without one, the last request)
    /// of all with the same name, in the order of their last requests, and the
    /// number of requests that are no part of it.
    pub(super) fn last_by<K: Ord>(self, name: impl Fn(&B) -> K) -> Vec<(Chain<B, U>, usize)> {
        let extended = |chain: &Chain<B, U>| (chain.requests.len() > 1, chain.last);
        let mut named: BTreeMap<K, Vec<Chain<B, U>>> = BTreeMap::new();
        for chain in self.chains {
            named.entry(name(&chain.body)).or_default().push(chain);
        }
        let best = |chains: Vec<Chain<B, U>>| {
            let all: usize = chains.iter().map(|chain| chain.taken).sum();
            let best = chains.into_iter().max_by_key(extended)?;
            let others = all - best.taken;
            Some((best, others))
        };
        let mut found: Vec<_> = named.into_values().filter_map(best).collect();
        found.sort_by_key(|(chain, _)| chain.last);
        found
    }

    /// The conversation that was extended last (without one, the last request),
    /// and the number of requests that are no part of it.
    pub(super) fn last(self) -> Option<(Chain<B, U>, usize)> {
        self.last_by(|_| ()).pop()
    }
}

/// The hash of all messages up to each; `write` writes what a message says.
pub(super) fn ends<T>(
    messages: &[T],
    mut write: impl FnMut(&T, &mut blake3::Hasher),
) -> Vec<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let end = |message: &T| {
        write(message, &mut hasher);
        hasher.finalize()
    };
    messages.iter().map(end).collect()
}
