//! Mining of references: what the recorded agent used later (reference §4,
//! how-it-works §34 and 35).

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use super::candidates::{Candidates, TextKind, block_texts, strings, texts};
use super::place::{CutPlace, tokens_before};
use super::rarity::Rarity;
use recap_core::model::{
    Block, Exam, IdentifierClass, MessageIndex, RecordedCompaction, RecordedContext, Reference,
    Role, Session, UsedAgain,
};
use recap_core::text::{NeedleSet, Paths, contains_bounded};

/// The exam of a session. `sizes` holds the tokens of each message.
///
/// # Panics
///
/// If `sizes` has not one entry per message.
pub fn mine(session: &Session, sizes: &[u64]) -> Exam {
    Mining::new(session, sizes).exam()
}

/// Folders in the recording's metadata: paths below them are also known
/// relative to them.
pub(super) fn roots(session: &Session) -> Vec<&str> {
    let mut roots: Vec<&str> = session
        .metadata
        .iter()
        .map(String::as_str)
        .filter(|value| value.starts_with('/') && value.len() > 1)
        .collect();
    roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
    roots
}

/// The paths of a session, and its working directories.
pub(super) fn paths(session: &Session) -> Paths<'_> {
    let mut paths = Paths::below(roots(session));
    for message in &session.messages {
        texts(message, &mut |_, text| paths.read(text));
    }
    paths
}

/// The needles in the preamble, a tool's schema or the recording's own
/// metadata: no context has to keep them.
fn known(session: &Session, set: &NeedleSet, needles: usize) -> Vec<bool> {
    let mut known = vec![false; needles];
    let mut mark = |text: &str| set.scan(text, |needle, _| known[needle as usize] = true);
    let preamble = &session.preamble;
    preamble.system.iter().for_each(|text| mark(text));
    preamble.pinned.iter().for_each(|text| mark(text));
    for change in &session.preamble_changes {
        change.system.iter().for_each(|text| mark(text));
    }
    for tool in &preamble.tools {
        mark(&tool.name);
        mark(&tool.description);
        mark(&tool.parameters.to_string());
    }
    for call in session.calls() {
        mark(&call.tool);
    }
    session.metadata.iter().for_each(|value| mark(value));
    session.model.iter().for_each(|value| mark(value));
    // The harness tells the agent the current date.
    for at in session.messages.iter().filter_map(|message| message.at) {
        mark(&at.strftime("%Y-%m-%d").to_string());
    }
    known
}

/// Messages in which an identifier stands, ascending.
#[derive(Clone, Debug, Default)]
struct Mentions {
    all: Vec<MessageIndex>,
    /// Without those in which the agent only searched for it.
    stated: Vec<MessageIndex>,
}

/// The messages in which each needle stands.
fn mentions(session: &Session, set: &NeedleSet, needles: usize) -> Vec<Mentions> {
    let mut mentions = vec![Mentions::default(); needles];
    let add = |to: &mut Vec<MessageIndex>, index| {
        if to.last() != Some(&index) {
            to.push(index);
        }
    };
    for (index, message) in (0u32..).zip(&session.messages) {
        texts(message, &mut |place, text| {
            set.scan(text, |needle, range| {
                let known = &mut mentions[needle as usize];
                add(&mut known.all, index);
                if known.stated.last() != Some(&index) && !place.is_searched(text, range.start) {
                    known.stated.push(index);
                }
            });
        });
    }
    mentions
}

/// Whether the agent wrote an address before it stood anywhere else: it knows the
/// address, or made it up.
fn is_own(session: &Session, class: IdentifierClass, places: &[MessageIndex]) -> bool {
    let first = places.first().map(|&at| session.messages[at as usize].role);
    class == IdentifierClass::Url && first == Some(Role::Assistant)
}

/// References in order of their requests and texts, without those that stand
/// inside another of the same request: the longer one asks for them too.
fn unnested(mut references: Vec<Reference>) -> Vec<Reference> {
    references.sort_by(|a, b| (a.request, &a.text).cmp(&(b.request, &b.text)));
    let mut kept = vec![true; references.len()];
    for (at, one) in references.iter().enumerate() {
        let first = references.partition_point(|other| other.request < one.request);
        let same = references[first..].iter().take_while(|other| other.request == one.request);
        let mut longer = same.filter(|other| other.text.len() > one.text.len());
        kept[at] = !longer.any(|other| contains_bounded(&other.text, &one.text, one.class));
    }
    let mut kept = kept.into_iter();
    references.retain(|_| kept.next() == Some(true));
    references
}

/// Fewest tokens between the end of the message that last held an identifier and the request that
/// uses it (reference §4: 4,000, whatever the window).
const LEAST_DISTANCE: u64 = 4_000;

/// The identifiers of a session's requests and all their occurrences:
/// computed once, for all queries.
pub struct Mining<'a> {
    session: &'a Session,
    sizes: &'a [u64],
    context: RecordedContext<'a>,
    rereads: Rereads,
    /// The message that answers each call.
    results: FxHashMap<String, MessageIndex>,
    rarity: Rarity,
    known: Vec<bool>,
    mentions: Vec<Mentions>,
    /// Tokens before each message.
    before: Vec<u64>,
    /// The message of each request.
    requests: Vec<MessageIndex>,
    candidates: Candidates,
}

impl<'a> Mining<'a> {
    /// Reads a session. `sizes` holds the tokens of each message.
    ///
    /// # Panics
    ///
    /// If `sizes` has not one entry per message.
    pub fn new(session: &'a Session, sizes: &'a [u64]) -> Self {
        assert_eq!(sizes.len(), session.messages.len(), "a size per message");
        let paths = paths(session);
        let rarity = Rarity::new(session);
        let candidates = Candidates::collect(session, &paths, &rarity);
        let set = NeedleSet::new(&candidates.needles);
        let mentions = mentions(session, &set, candidates.needles.len());
        let mut known = known(session, &set, candidates.needles.len());
        let is_own =
            |number: usize| is_own(session, candidates.texts[number].1, &mentions[number].all);
        (0..known.len()).for_each(|number| known[number] |= is_own(number));
        Mining {
            session,
            sizes,
            context: RecordedContext::of(session),
            rereads: Rereads::new(session),
            results: session.results(),
            rarity,
            known,
            mentions,
            before: tokens_before(sizes),
            requests: session.requests().collect(),
            candidates,
        }
    }

    /// Identifiers that were used long after they were last mentioned (reference §4).
    pub fn exam(&self) -> Exam {
        let mut exam = Exam::default();
        for &used in &self.candidates.uses {
            let (_, request, number) = used;
            let stated = &self.mentions[number as usize].stated;
            let sources = &stated[..stated.partition_point(|&at| at < request)];
            if self.known[number as usize] {
                continue;
            }
            let made = self.context.made_before(request);
            match sources.iter().rfind(|&&at| self.context.held(at, made)) {
                Some(&last) => {
                    let distance = self.distance(last, request);
                    // `pool.drainQueue` need not be remembered if `drainQueue` occurs nearby.
                    let is_near = |hint: u32| self.is_near(hint, request);
                    if distance >= LEAST_DISTANCE && !self.follows(number, &is_near) {
                        exam.references.push(self.reference(used, sources, last, distance));
                    }
                }
                None => {
                    // The summary in their place may name it.
                    let is_named = |made| self.is_named_by(number, made);
                    let boundary = self.context.boundary(made);
                    let without = !sources.is_empty() && !boundary.is_some_and(is_named);
                    exam.did_without += u32::from(without);
                }
            }
        }
        exam.references = unnested(exam.references);
        exam
    }

    /// A use of an identifier that its sources state, of which the agent had the last one.
    fn reference(
        &self,
        (ordinal, request, number): (u32, MessageIndex, u32),
        sources: &[MessageIndex],
        last: MessageIndex,
        distance_tokens: u64,
    ) -> Reference {
        let (text, class) = &self.candidates.texts[number as usize];
        Reference {
            request: ordinal,
            text: text.clone(),
            class: *class,
            last_seen: last,
            distance_tokens,
            sources: sources.to_vec(),
            refetch: self.refetch(sources),
            reread: self.rereads.happened(sources, last, request),
            near: sources.last().map_or_else(Vec::new, |&at| self.near(at, number)),
        }
    }

    /// The facts at a cut: identifiers that the requests after it use,
    /// that occur in its material, and that were not mentioned again between
    /// the cut and the request (how-it-works §45). Each counts once, at its first use.
    /// The distance is from the message that last held it to the cut.
    pub fn facts_at(&self, place: &CutPlace) -> Vec<Reference> {
        self.used_behind(place, &|number, request| self.is_back(place, number, request))
    }

    /// Where the identifiers were that the agent used again after a compaction, which happened at
    /// `place`.
    pub fn used_again(&self, place: &CutPlace, made: &RecordedCompaction) -> UsedAgain {
        let mut again = UsedAgain::default();
        let mut seen = FxHashSet::default();
        for used in self.used_behind(place, &|_, _| false) {
            let number = self.candidates.numbers[&used.text];
            if !seen.insert(number) {
                continue;
            }
            let request = self.requests[used.request as usize];
            if self.is_named_by(number, made) {
                again.summary += 1;
            } else if used.sources.iter().any(|&source| made.keeps(source)) {
                again.kept += 1;
            } else if self.is_back(place, number, request) {
                again.came_back += 1;
            } else {
                again.nowhere += 1;
            }
        }
        again
    }

    /// Whether a message between a cut and a request mentions an identifier, or what it follows
    /// from.
    fn is_back(&self, place: &CutPlace, number: u32, request: MessageIndex) -> bool {
        let said_since = |number: u32| {
            let places = &self.mentions[number as usize].all;
            let next = places.partition_point(|&at| at < place.from);
            places.get(next).is_some_and(|&at| at < request)
        };
        said_since(number) || self.follows(number, &said_since)
    }

    /// The uses after a cut of identifiers that stand in its material, without those to `skip`.
    fn used_behind(
        &self,
        place: &CutPlace,
        skip: &dyn Fn(u32, MessageIndex) -> bool,
    ) -> Vec<Reference> {
        let uses = &self.candidates.uses;
        let last = place.request + place.requests;
        let from = uses.partition_point(|(ordinal, ..)| *ordinal < place.request);
        let asked = uses[from..].iter().take_while(|(ordinal, ..)| *ordinal < last);
        let mut found = Vec::new();
        for &used in asked {
            let (_, request, number) = used;
            if self.known[number as usize] || skip(number, request) {
                continue;
            }
            let stated = &self.mentions[number as usize].stated;
            let sources: Vec<MessageIndex> =
                stated.iter().copied().filter(|&at| place.holds(at)).collect();
            let Some(&last) = sources.last() else { continue };
            let distance = place.tokens_after(last, self.sizes);
            found.push(self.reference(used, &sources, last, distance));
        }
        unnested(found)
    }

    /// Whether an identifier follows from others that are `seen`.
    fn follows(&self, number: u32, seen: &dyn Fn(u32) -> bool) -> bool {
        let groups = &self.candidates.hints[number as usize];
        groups.iter().any(|all| all.iter().all(|&hint| seen(hint)))
    }

    /// Whether an identifier stands nearer to the request than a reference may.
    fn is_near(&self, number: u32, request: MessageIndex) -> bool {
        let places = &self.mentions[number as usize].all;
        let past = &places[..places.partition_point(|&at| at < request)];
        let made = self.context.made_before(request);
        let last = past.iter().rfind(|&&at| self.context.held(at, made));
        last.is_some_and(|&last| self.distance(last, request) < LEAST_DISTANCE)
    }

    /// Tokens between the end of a message and a request.
    fn distance(&self, from: MessageIndex, request: MessageIndex) -> u64 {
        self.before[request as usize] - self.before[from as usize + 1]
    }

    /// The smallest tool result among the sources, the earliest of equals.
    fn refetch(&self, sources: &[MessageIndex]) -> Option<MessageIndex> {
        sources
            .iter()
            .copied()
            .filter(|&at| self.session.messages[at as usize].role == Role::Tool)
            .min_by_key(|&at| self.sizes[at as usize])
    }

    /// The rarest words near its newest source.
    fn near(&self, source: MessageIndex, number: u32) -> Vec<String> {
        let needle = &self.candidates.needles[number as usize];
        let mut near = Vec::new();
        for block in &self.session.messages[source as usize].blocks {
            let answer = self.answer(block);
            block_texts(block, &mut |_, text| {
                if let Some(place) = needle.find_last(text) {
                    near = self.rarity.near(text, &place, answer);
                }
            });
        }
        near
    }

    /// The result of a call, which shows what the call's arguments mean.
    fn answer(&self, block: &Block) -> &str {
        let Block::ToolCall { id, .. } = block else { return "" };
        let result = self.results.get(id);
        let result = result.and_then(|&at| self.session.messages[at as usize].tool_result());
        result.map_or("", |(_, text)| text)
    }

    /// Whether what a compaction put in the place of messages names an identifier.
    fn is_named_by(&self, number: u32, made: &RecordedCompaction) -> bool {
        let needle = &self.candidates.needles[number as usize];
        made.texts().any(|(_, text)| needle.find(text).is_some())
    }
}

// Results that the recording itself fetched more than once.

/// Groups of calls that ask for the same thing.
pub(super) struct Rereads {
    /// The group of the call that each tool result answers.
    kinds: FxHashMap<MessageIndex, u32>,
    /// The messages with calls of each group, ascending.
    calls: Vec<Vec<MessageIndex>>,
}

impl Rereads {
    pub(super) fn new(session: &Session) -> Rereads {
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        let mut kinds = FxHashMap::default();
        let mut calls: Vec<Vec<MessageIndex>> = Vec::new();
        for call in session.calls() {
            let target = target(&call.tool, session.arguments(&call));
            let kind = *numbers.entry(target).or_insert_with(|| {
                calls.push(Vec::new());
                calls.len() as u32 - 1
            });
            calls[kind as usize].push(call.message);
            if let Some(result) = call.result {
                kinds.insert(result, kind);
            }
        }
        Rereads { kinds, calls }
    }

    /// Whether a call that gave one of `sources` was made again after `last`,
    /// up to the calls of `request` itself.
    fn happened(
        &self,
        sources: &[MessageIndex],
        last: MessageIndex,
        request: MessageIndex,
    ) -> bool {
        sources.iter().any(|source| {
            self.kinds.get(source).is_some_and(|&kind| {
                let calls = &self.calls[kind as usize];
                let next = calls.partition_point(|&at| at <= last);
                calls.get(next).is_some_and(|&at| at <= request)
            })
        })
    }
}

/// The key of a call's group: the tool and its string arguments. Numbers are
/// ignored, since they select a part of the same source (offset, limit).
fn target(tool: &str, arguments: &Json) -> String {
    let mut target = tool.to_owned();
    strings(tool, "", false, arguments, &mut |place, text| {
        if !matches!(place, TextKind::Argument { key: "description", .. }) {
            target.extend(["\0", text]);
        }
    });
    target
}
