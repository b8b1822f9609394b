//! Mining of references: what the recorded agent used later (reference §4,
//! how-it-works §34 and 35).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::candidates::{Candidates, MiningRules};
use super::occurrences::{block_texts, texts};
use super::place::CutPlace;
use super::rereads::Rereads;
use super::support::{Rarity, SOURCES};
use recap_core::model::{
    Block, Exam, IdentifierClass, MessageIndex, RecordedCompaction, Reference, Role, Session,
};
use recap_core::text::{NeedleSet, Paths, contains_bounded};

/// The exam of a session. `sizes` holds the tokens of each message.
///
/// # Panics
///
/// If `sizes` has not one entry per message.
pub fn mine(session: &Session, sizes: &[u64], rules: &MiningRules) -> Exam {
    Mining::new(session, sizes, rules).exam()
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

/// The messages in which each needle stands, ascending.
fn places(session: &Session, set: &NeedleSet, needles: usize) -> Vec<Vec<MessageIndex>> {
    let mut places: Vec<Vec<MessageIndex>> = vec![Vec::new(); needles];
    for (index, message) in (0u32..).zip(&session.messages) {
        texts(message, &mut |_, text| {
            set.scan(text, |needle, _| {
                let known = &mut places[needle as usize];
                if known.last() != Some(&index) {
                    known.push(index);
                }
            });
        });
    }
    places
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

/// Tokens from the start of the session to the end of each message.
fn ends(sizes: &[u64]) -> Vec<u64> {
    sizes
        .iter()
        .scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        })
        .collect()
}

/// The identifiers of a session's requests and all their occurrences:
/// computed once, for all queries.
pub struct Mining<'a> {
    session: &'a Session,
    sizes: &'a [u64],
    history: History<'a>,
    rereads: Rereads,
    /// The message that answers each call.
    results: FxHashMap<String, MessageIndex>,
    rarity: Rarity,
    known: Vec<bool>,
    places: Vec<Vec<MessageIndex>>,
    ends: Vec<u64>,
    min_distance: u64,
    candidates: Candidates,
}

impl<'a> Mining<'a> {
    /// Reads a session. `sizes` holds the tokens of each message.
    ///
    /// # Panics
    ///
    /// If `sizes` has not one entry per message.
    pub fn new(session: &'a Session, sizes: &'a [u64], rules: &MiningRules) -> Self {
        assert_eq!(sizes.len(), session.messages.len(), "a size per message");
        let paths = paths(session);
        let rarity = Rarity::new(session);
        let candidates = Candidates::collect(session, &paths, rules, &rarity);
        let set = NeedleSet::new(&candidates.needles);
        let places = places(session, &set, candidates.needles.len());
        let mut known = known(session, &set, candidates.needles.len());
        let is_own = |number: usize| is_own(session, candidates.texts[number].1, &places[number]);
        (0..known.len()).for_each(|number| known[number] |= is_own(number));
        Mining {
            session,
            sizes,
            history: History::new(session),
            rereads: Rereads::new(session),
            results: session.results(),
            rarity,
            known,
            places,
            ends: ends(sizes),
            min_distance: rules.min_distance,
            candidates,
        }
    }

    /// Identifiers that were used long after they were last mentioned (reference §4).
    pub fn exam(&self) -> Exam {
        let mut exam = Exam { common: self.common(), ..Exam::default() };
        for &(ordinal, request, number) in &self.candidates.uses {
            let places = &self.places[number as usize];
            let sources = &places[..places.partition_point(|&at| at < request)];
            if self.known[number as usize] || self.is_new(ordinal, number, sources) {
                continue;
            }
            match sources.iter().rfind(|&&at| self.history.held(at, request)) {
                Some(&last) => {
                    exam.references.extend(self.reference(ordinal, request, number, last, sources))
                }
                None if !sources.is_empty() && self.did_without(request, number) => {
                    exam.did_without += 1;
                }
                None => {}
            }
        }
        exam.references = unnested(exam.references);
        exam
    }

    /// The frequent words of the session, which its sentences consist of.
    pub fn common(&self) -> BTreeSet<String> {
        self.rarity.common()
    }

    fn reference(
        &self,
        ordinal: u32,
        request: MessageIndex,
        number: u32,
        last: MessageIndex,
        sources: &[MessageIndex],
    ) -> Option<Reference> {
        let before = self.ends[request as usize] - self.sizes[request as usize];
        let distance_tokens = before - self.ends[last as usize];
        // `pool.drainQueue` need not be remembered if `drainQueue` occurs nearby.
        let hints = &self.candidates.hints[number as usize];
        let near = || hints.iter().any(|&hint| self.is_near(hint, request));
        if distance_tokens < self.min_distance || near() {
            return None;
        }
        let (text, class) = &self.candidates.texts[number as usize];
        Some(Reference {
            request: ordinal,
            text: text.clone(),
            class: *class,
            last_seen: last,
            distance_tokens,
            sources: sources.to_vec(),
            refetch: self.refetch(sources),
            reread: self.rereads.happened(sources, last, request),
            support: self.support(sources, number),
        })
    }

    /// The facts at a cut: identifiers that the requests after it use,
    /// that occur in its material, and that were not mentioned again between
    /// the cut and the request (how-it-works §45). Each counts once, at its first use.
    /// The distance is from the message that last held it to the cut.
    pub fn facts_at(&self, place: &CutPlace) -> Vec<Reference> {
        let uses = &self.candidates.uses;
        let last = place.request + place.requests;
        let from = uses.partition_point(|(ordinal, ..)| *ordinal < place.request);
        let asked = uses[from..].iter().take_while(|(ordinal, ..)| *ordinal < last);
        let mut facts = Vec::new();
        for &(ordinal, request, number) in asked {
            let said_since = |number: u32| {
                let places = &self.places[number as usize];
                let next = places.partition_point(|&at| at < place.from);
                places.get(next).is_some_and(|&at| at < request)
            };
            let hints = &self.candidates.hints[number as usize];
            if self.known[number as usize]
                || said_since(number)
                || hints.iter().any(|&hint| said_since(hint))
            {
                continue;
            }
            let places = &self.places[number as usize];
            let sources: Vec<MessageIndex> =
                places.iter().copied().filter(|&at| place.holds(at)).collect();
            let Some(&last) = sources.last() else { continue };
            if self.is_new(ordinal, number, &sources) {
                continue;
            }
            let (text, class) = &self.candidates.texts[number as usize];
            facts.push(Reference {
                request: ordinal,
                text: text.clone(),
                class: *class,
                last_seen: last,
                distance_tokens: place.behind(last, self.sizes),
                refetch: self.refetch(&sources),
                reread: self.rereads.happened(&sources, last, request),
                support: self.support(&sources, number),
                sources,
            });
        }
        unnested(facts)
    }

    /// Whether a request itself defines the name, on a line that no source has:
    /// then it is a new name.
    fn is_new(&self, request: u32, number: u32, sources: &[MessageIndex]) -> bool {
        self.candidates.bound.get(&(request, number)).is_some_and(|line| {
            !sources.iter().any(|&source| {
                let mut stands = false;
                texts(&self.session.messages[source as usize], &mut |_, text| {
                    stands |= text.contains(line.as_str());
                });
                stands
            })
        })
    }

    /// Whether an identifier stands nearer to the request than a reference may.
    fn is_near(&self, number: u32, request: MessageIndex) -> bool {
        let places = &self.places[number as usize];
        let past = &places[..places.partition_point(|&at| at < request)];
        let last = past.iter().rfind(|&&at| self.history.held(at, request));
        let before = self.ends[request as usize] - self.sizes[request as usize];
        last.is_some_and(|&last| before - self.ends[last as usize] < self.min_distance)
    }

    /// The smallest tool result among the sources, the earliest of equals.
    fn refetch(&self, sources: &[MessageIndex]) -> Option<MessageIndex> {
        sources
            .iter()
            .copied()
            .filter(|&at| self.session.messages[at as usize].role == Role::Tool)
            .min_by_key(|&at| self.sizes[at as usize])
    }

    /// The words around its sources that show what the identifier means, those
    /// of the newest source first.
    fn support(&self, sources: &[MessageIndex], number: u32) -> Vec<String> {
        let mut support: Vec<String> = Vec::new();
        for &source in sources.iter().rev().take(SOURCES) {
            for word in self.support_of(source, number) {
                if !support.contains(&word) {
                    support.push(word);
                }
            }
        }
        support
    }

    fn support_of(&self, source: MessageIndex, number: u32) -> Vec<String> {
        let needle = &self.candidates.needles[number as usize];
        let mut support = Vec::new();
        for block in &self.session.messages[source as usize].blocks {
            let answer = self.answer(block);
            block_texts(block, &mut |_, text| {
                if let Some(place) = needle.find_last(text) {
                    support = self.rarity.support(text, &place, answer);
                }
            });
        }
        support
    }

    /// The result of a call, which shows what the call's arguments mean.
    fn answer(&self, block: &Block) -> &str {
        let Block::ToolCall { id, .. } = block else { return "" };
        let result = self.results.get(id);
        let result = result.and_then(|&at| self.session.messages[at as usize].tool_result());
        result.map_or("", |(_, text)| text)
    }

    /// Whether the agent used at `request` something whose sources had all left
    /// its recorded context, and that the summary in their place does not name.
    fn did_without(&self, request: MessageIndex, number: u32) -> bool {
        let needle = &self.candidates.needles[number as usize];
        let summarised = self
            .history
            .boundary(request)
            .is_some_and(|boundary| boundary.texts().any(|(_, text)| needle.find(text).is_some()));
        !summarised
    }
}

/// The recorded boundaries of a session, indexed for queries about requests.
pub(super) struct History<'a> {
    compactions: &'a [RecordedCompaction],
    /// For each result that was ever cleared, when (messages recorded by then).
    cleared: FxHashMap<MessageIndex, MessageIndex>,
}

impl<'a> History<'a> {
    pub(super) fn new(session: &'a Session) -> History<'a> {
        let results = session.results();
        let mut cleared = FxHashMap::default();
        for compaction in &session.compactions {
            for id in &compaction.cleared {
                if let Some(&result) = results.get(id) {
                    cleared.entry(result).or_insert(compaction.after);
                }
            }
        }
        History { compactions: &session.compactions, cleared }
    }

    /// The last boundary before `request` that removed messages; one that only
    /// cleared results does not.
    pub(super) fn boundary(&self, request: MessageIndex) -> Option<&'a RecordedCompaction> {
        self.compactions.iter().rfind(|c| c.after <= request && c.folds())
    }

    /// Whether the recorded agent still had `message`, which comes before
    /// `request`, at it.
    pub(super) fn held(&self, message: MessageIndex, request: MessageIndex) -> bool {
        let kept = self.boundary(request).is_none_or(|boundary| boundary.keeps(message));
        let gone = self.cleared.get(&message).is_some_and(|&at| at <= request);
        kept && !gone
    }
}
