//! Whether a reference survives in a context (reference §4, survival).

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::candidates::texts;
use super::mining::paths;
use recap_core::model::{
    Exam, IdentifierClass, LedgerState, Message, MessageIndex, Reference, ReferenceState, Session,
};
use recap_core::text::bounded::last_component;
use recap_core::text::{IdentifierOptions, Needle, NeedleSet, Paths, identifiers, words};
use recap_strategy::{Context, EntryId};

/// The parts of a context that the search for references needs.
pub trait ContextView {
    /// Whether the message is sent as recorded.
    fn verbatim(&self, message: MessageIndex) -> bool;
    /// The text of a message that is sent with a part replaced or removed.
    fn edited(&self, message: MessageIndex) -> Option<&str>;
    /// Whether a line stands in a message as it was recorded.
    fn was_recorded(&self, message: MessageIndex, line: &str) -> bool;
    /// A message before which no recorded message is sent.
    fn oldest_sent(&self) -> MessageIndex;
    /// Calls `each` with the stable id and the text of every stored synthetic
    /// entry and preamble note that was written since `read`, and moves it on.
    fn written_since(&self, read: &mut Written, each: &mut dyn FnMut(u32, &str));
    /// The state of the text with an id of [`ContextView::written_since`].
    fn carrier(&self, id: u32) -> Carrier<'_>;
}

/// How many texts of each kind have been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Number of synthetic entries that were read.
    pub entries: u32,
    /// Number of texts of preamble notes that were read.
    pub notes: u32,
}

/// The current state of a text that a strategy put into the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier<'a> {
    /// It is sent, with this text; with the recorded message in whose place alone
    /// it stands, if there is one.
    Sent(&'a str, Option<MessageIndex>),
    /// It is stored, but hidden at this request.
    Hidden,
    /// It will not be sent again.
    Gone,
}

/// Looks up the references of an exam in the contexts of one cell.
///
/// A clone shares what was computed from the session; [`Survival::fresh`]
/// gives another cell its own.
#[derive(Clone, Debug)]
pub struct Survival {
    exam: Arc<SearchedFacts>,
    /// The synthetic entries and notes that contain each identifier: each text
    /// is scanned once, so that a query costs only the carriers of its
    /// identifier.
    carriers: FxHashMap<u32, Vec<(u32, Carried)>>,
    read: Written,
}

#[derive(Debug)]
struct SearchedFacts {
    references: Vec<Reference>,
    /// Message of each request.
    requests: Vec<MessageIndex>,
    /// Number of each reference's identifier.
    numbers: Vec<u32>,
    names: Vec<Name>,
    /// Every identifier and last component of one.
    spellings: NeedleSet,
    /// The identifier that each needle of `spellings` stands for, and in which form.
    meaning: Vec<(u32, Carried)>,
}

/// One identifier of the exam.
#[derive(Debug)]
struct Name {
    whole: Needle,
    last: Option<Needle>,
    /// Messages that contain its last component, ascending.
    last_sources: Vec<MessageIndex>,
}

/// The form in which a carrier contains an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Carried {
    Nothing,
    LastComponent,
    Whole,
}

impl Survival {
    /// Prepares the exam of `session`; one pass over its texts.
    pub fn new(session: &Session, exam: &Exam) -> Survival {
        let messages = (0u32..).zip(&session.messages);
        Self::with(session, exam, &LastComponents::new(&exam.references, messages))
    }

    /// Prepares the exam of `session`, of which is known where the last components stand.
    ///
    /// # Panics
    ///
    /// If that is not known of one.
    pub fn with(session: &Session, exam: &Exam, last: &LastComponents) -> Survival {
        let paths = paths(session);
        let mut by_text: FxHashMap<&str, u32> = FxHashMap::default();
        let mut names = Vec::new();
        let mut numbers = Vec::new();
        for reference in &exam.references {
            let number = *by_text.entry(&reference.text).or_insert_with(|| {
                names.push(Name::new(reference, &paths, last));
                names.len() as u32 - 1
            });
            numbers.push(number);
        }
        let (spellings, meaning) = spellings(&names);
        Survival {
            exam: Arc::new(SearchedFacts {
                references: exam.references.clone(),
                requests: session.requests().collect(),
                numbers,
                names,
                spellings,
                meaning,
            }),
            carriers: FxHashMap::default(),
            read: Written::default(),
        }
    }

    /// The same exam for another cell, whose synthetic entries have other ids.
    pub fn fresh(&self) -> Survival {
        Survival {
            exam: Arc::clone(&self.exam),
            carriers: FxHashMap::default(),
            read: Written::default(),
        }
    }

    /// The state of the reference at position `reference` of the exam in the
    /// context of its request.
    ///
    /// # Panics
    ///
    /// If the exam has no such reference.
    pub fn state(&mut self, reference: usize, view: &dyn ContextView) -> ReferenceState {
        let exam = Arc::clone(&self.exam);
        let asked = &exam.references[reference];
        let number = exam.numbers[reference];
        let name = &exam.names[number as usize];
        let sent = from(&asked.sources, view.oldest_sent());
        if sent.iter().rev().any(|&at| view.verbatim(at)) {
            return ReferenceState::Verbatim;
        }
        self.read_on(view);
        match self.carried(asked, number, name, view) {
            Found::Recorded => ReferenceState::Verbatim,
            Found::Stated => ReferenceState::Carried,
            Found::Bare => ReferenceState::Bare,
            Found::LastComponent => ReferenceState::Partial,
            Found::Nothing if name.last_stands(exam.requests[asked.request as usize], view) => {
                ReferenceState::Partial
            }
            Found::Nothing => ReferenceState::Lost,
        }
    }

    /// Whether a text holds the identifier of the reference at a position of the
    /// exam.
    ///
    /// # Panics
    ///
    /// If the exam has no such reference.
    pub fn is_in(&self, reference: usize, text: &str) -> bool {
        self.place_in(reference, text).is_some()
    }

    /// Where a text first holds it, in bytes.
    ///
    /// # Panics
    ///
    /// If the exam has no such reference.
    pub fn place_in(&self, reference: usize, text: &str) -> Option<Range<usize>> {
        self.name(reference).whole.find(text)
    }

    /// Where a text first says something of it, in bytes.
    ///
    /// # Panics
    ///
    /// If the exam has no such reference.
    pub fn stated_in(&self, reference: usize, text: &str) -> Option<Range<usize>> {
        stated(&self.name(reference).whole, text)
    }

    fn name(&self, reference: usize) -> &Name {
        &self.exam.names[self.exam.numbers[reference] as usize]
    }

    /// Records which identifiers the new texts since the last call contain.
    fn read_on(&mut self, view: &dyn ContextView) {
        let Survival { exam, carriers, read } = self;
        view.written_since(read, &mut |id, text| {
            let mut named: BTreeMap<u32, Carried> = BTreeMap::new();
            exam.spellings.scan(text, |needle, _| {
                let (number, carried) = exam.meaning[needle as usize];
                let best = named.entry(number).or_insert(carried);
                *best = carried.max(*best);
            });
            for (number, carried) in named {
                carriers.entry(number).or_default().push((id, carried));
            }
        });
    }

    /// The best state that edited messages and synthetic entries give it.
    fn carried(
        &mut self,
        asked: &Reference,
        number: u32,
        name: &Name,
        view: &dyn ContextView,
    ) -> Found {
        // What an edit left of a message is recorded text, and nothing that was written.
        let is_left = |text: &str, place: &Range<usize>, of: Option<MessageIndex>| {
            of.is_some_and(|message| view.was_recorded(message, line(text, place)))
        };
        let judge = |carried: Carried, text: &str, of: Option<MessageIndex>| match carried {
            Carried::Nothing => Found::Nothing,
            Carried::LastComponent => Found::LastComponent,
            Carried::Whole if name.whole.places(text).any(|place| is_left(text, &place, of)) => {
                Found::Recorded
            }
            Carried::Whole if stated(&name.whole, text).is_some() => Found::Stated,
            Carried::Whole => Found::Bare,
        };
        let mut best = Found::Nothing;
        for &at in from(&asked.sources, view.oldest_sent()).iter().rev() {
            if let Some(text) = view.edited(at) {
                best = best.max(judge(name.carried(text), text, Some(at)));
            }
        }
        if let Some(carriers) = self.carriers.get_mut(&number) {
            carriers.retain(|&(id, carried)| match view.carrier(id) {
                Carrier::Sent(text, of) => {
                    best = best.max(judge(carried, text, of));
                    true
                }
                Carrier::Hidden => true,
                Carrier::Gone => false,
            });
        }
        best
    }
}

/// The line around a place in a text.
fn line<'a>(text: &'a str, place: &Range<usize>) -> &'a str {
    let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[place.end..].find('\n').map_or(text.len(), |at| place.end + at);
    &text[start..end]
}

/// The messages from `oldest` on; they are in ascending order.
fn from(messages: &[MessageIndex], oldest: MessageIndex) -> &[MessageIndex] {
    &messages[messages.partition_point(|&at| at < oldest)..]
}

/// The state that carriers give a reference, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Nothing,
    LastComponent,
    Bare,
    Stated,
    Recorded,
}

/// The last component of an identifier, and the class by which it is searched for.
fn last_of(reference: &Reference) -> Option<(&str, IdentifierClass)> {
    let class = match reference.class {
        IdentifierClass::Dotted => IdentifierClass::Identifier,
        other => other,
    };
    Some((last_component(&reference.text, reference.class)?, class))
}

fn last_needle((name, class): &(&str, IdentifierClass)) -> Needle {
    Needle::new(name, *class, &Paths::default())
}

impl Name {
    fn new(reference: &Reference, paths: &Paths<'_>, known: &LastComponents) -> Name {
        let last = last_of(reference);
        let sources = last.map(|(name, class)| known.0[&(name.to_owned(), class)].clone());
        Name {
            whole: Needle::new(&reference.text, reference.class, paths),
            last: last.as_ref().map(last_needle),
            last_sources: sources.unwrap_or_default(),
        }
    }

    /// Whether a message before `request` with the last component is sent.
    fn last_stands(&self, request: MessageIndex, view: &dyn ContextView) -> bool {
        let Some(last) = &self.last else {
            return false;
        };
        let past = self.last_sources.partition_point(|&at| at < request);
        from(&self.last_sources[..past], view.oldest_sent()).iter().rev().any(|&at| {
            view.verbatim(at) || view.edited(at).is_some_and(|text| last.find(text).is_some())
        })
    }

    fn carried(&self, text: &str) -> Carried {
        if self.whole.find(text).is_some() {
            return Carried::Whole;
        }
        let last = self.last.as_ref().and_then(|last| last.find(text));
        last.map_or(Carried::Nothing, |_| Carried::LastComponent)
    }
}

/// One set of all spellings that are searched for, and the meaning of each needle.
fn spellings(names: &[Name]) -> (NeedleSet, Vec<(u32, Carried)>) {
    let mut needles = Vec::new();
    let mut meaning = Vec::new();
    for (number, name) in (0u32..).zip(names) {
        needles.push(&name.whole);
        meaning.push((number, Carried::Whole));
        if let Some(last) = &name.last {
            needles.push(last);
            meaning.push((number, Carried::LastComponent));
        }
    }
    (NeedleSet::new(needles), meaning)
}

/// The messages that hold the last component of each identifier, by the component: a session is
/// searched once, for itself and for its parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LastComponents(FxHashMap<(String, IdentifierClass), Vec<MessageIndex>>);

impl LastComponents {
    /// Searches messages, with their positions, for those of references.
    pub fn new<'a>(
        references: impl IntoIterator<Item = &'a Reference>,
        messages: impl IntoIterator<Item = (MessageIndex, &'a Message)>,
    ) -> Self {
        let names: FxHashSet<(&str, IdentifierClass)> =
            references.into_iter().filter_map(last_of).collect();
        let names: Vec<(&str, IdentifierClass)> = names.into_iter().collect();
        let needles: Vec<Needle> = names.iter().map(last_needle).collect();
        let set = LazyCell::new(|| NeedleSet::new(&needles));
        let mut sources = vec![Vec::new(); names.len()];
        for (index, message) in messages {
            texts(message, &mut |_, text| {
                set.scan(text, |needle, _| {
                    let known: &mut Vec<MessageIndex> = &mut sources[needle as usize];
                    if known.last() != Some(&index) {
                        known.push(index);
                    }
                });
            });
        }
        let names = names.into_iter().map(|(name, class)| (name.to_owned(), class));
        Self(names.zip(sources).collect())
    }

    /// Those of references in a part of the session: its messages, with their positions in the
    /// whole and whether their text was changed.
    ///
    /// # Panics
    ///
    /// If the whole was not searched for one of them.
    pub fn part(
        &self,
        references: &[Reference],
        messages: &[Message],
        taken: &[(MessageIndex, bool)],
    ) -> Self {
        let changed = (0..).zip(messages).zip(taken).filter(|(_, (_, changed))| *changed);
        let mut part = Self::new(references, changed.map(|(message, _)| message));
        for (name, sources) in &mut part.0 {
            let same = self.0[name].iter().filter_map(|&at| taken.binary_search(&(at, false)).ok());
            sources.extend(same.map(|at| at as MessageIndex));
            sources.sort_unstable();
        }
        part
    }
}

// Whether a text says something of an identifier, or only names it. Of the rules compared with 187
// labels on summaries that models wrote this one agreed best and is the simplest (how-it-works
// §45). No rule of words tells whether what is said is true.

/// Fewest names that are a list where they share a line.
const LISTED: usize = 3;
/// Words that join names and say nothing of them.
const JOINS: [&str; 3] = ["and", "or", "etc"];

/// Where `needle` first stands in `text` with a statement about it, in bytes: another word on its
/// line, which is no list of names; or below, where the line opens what stands there.
pub(super) fn stated(needle: &Needle, text: &str) -> Option<Range<usize>> {
    needle.places(text).find(|place| is_stated(text, place))
}

fn is_stated(text: &str, place: &Range<usize>) -> bool {
    let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[place.end..].find('\n').map_or(text.len(), |at| place.end + at);
    let line = &text[start..end];
    if says(line) {
        return !is_list(line, place.start - start);
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let below = text[end..].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let bare = line.trim();
    let is_head = bare.starts_with('#') || bare.ends_with([':', '*']);
    (is_head || indent(below) > indent(line)) && says(below)
}

/// Whether a line lists names after a colon, this place among them.
fn is_list(line: &str, place: usize) -> bool {
    let listed = line.find(": ").filter(|colon| *colon < place).map_or("", |at| &line[at..]);
    names(listed).len() >= LISTED && !says(listed)
}

/// Whether a line has a word outside identifiers.
fn says(line: &str) -> bool {
    let is_word = |word: &str| {
        word.chars().nth(1).is_some()
            && word.contains(char::is_alphabetic)
            && !JOINS.contains(&word)
    };
    let mut from = 0;
    let ends = names(line).into_iter().chain(std::iter::once(line.len()..line.len()));
    ends.into_iter().any(|range| {
        let between = line.get(from..range.start).unwrap_or_default();
        from = from.max(range.end);
        words(between).any(is_word)
    })
}

/// Where identifiers stand.
fn names(line: &str) -> Vec<Range<usize>> {
    let found = identifiers(line, IdentifierOptions { code: true });
    found.into_iter().map(|one| one.range).collect()
}

/// Gives the search for references access to a context.
impl ContextView for Context {
    fn verbatim(&self, message: MessageIndex) -> bool {
        self.state(message) == LedgerState::Verbatim
    }

    fn edited(&self, message: MessageIndex) -> Option<&str> {
        self.edited_text(message)
    }

    fn was_recorded(&self, message: MessageIndex, line: &str) -> bool {
        let original = self.original(EntryId::message(message));
        original.is_some_and(|original| original.sent().contains(line))
    }

    fn oldest_sent(&self) -> MessageIndex {
        Context::oldest_sent(self)
    }

    fn written_since(&self, read: &mut Written, each: &mut dyn FnMut(u32, &str)) {
        self.each_written(read.entries, read.notes, each);
        (read.entries, read.notes) = self.written();
    }

    fn carrier(&self, id: u32) -> Carrier<'_> {
        match self.written_text(id) {
            Some((text, true)) => {
                let of = match self.covered_by(EntryId(id)) {
                    [only] => Some(*only),
                    _ => None,
                };
                Carrier::Sent(text, of)
            }
            Some((_, false)) => Carrier::Hidden,
            None => Carrier::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use recap_core::model::{IdentifierClass, Role};
    use recap_core::text::Paths;
    use recap_strategy::testkit::Talk;
    use recap_strategy::{InsertAt, Op, Recording};

    fn says_of_pool(text: &str) -> bool {
        let path = "src/net/pool.rs";
        stated(&Needle::new(path, IdentifierClass::Path, &Paths::default()), text).is_some()
    }

    #[test]
    fn word_on_its_line_or_below_is_a_statement() {
        for text in [
            "Mended src/net/pool.rs.",
            "- `src/net/pool.rs`: drains the queue",
            "the retry limit in src/net/pool.rs, src/net/queue.rs and src/main_loop.rs is 3",
            "### src/net/pool.rs\n\nDrains the queue.",
            "**src/net/pool.rs**:\n- drains the queue",
            "1. src/net/pool.rs\n   - drains the queue",
            "在 src/net/pool.rs 中修复了队列",
            "Changed: src/net/a_1.rs, src/net/pool.rs (the queue), src/net/b_2.rs",
            "src/net/pool.rs\n\nand: src/net/pool.rs is mended",
        ] {
            assert!(says_of_pool(text), "{text}");
        }
    }

    #[test]
    fn list_of_names_is_no_statement() {
        for text in [
            "",
            "src/net/pool.rs",
            "- src/net/pool.rs\n- src/net/queue.rs\nThe rest is done.",
            "Files: src/net/pool.rs, src/net/queue.rs and src/main_loop.rs",
            "files: [\"src/net/pool.rs\", \"src/net/queue.rs\", \"src/main_loop.rs\"]",
            "\"src/net/pool.rs\",\n\"src/net/queue.rs\"",
            "文件: src/net/pool.rs、src/net/queue.rs、src/main_loop.rs",
            "Read and not modified: src/net/a_1.rs, src/net/pool.rs, src/net/b_2.rs",
            "open src/net/pool.rs…",
            "# src/net/pool.rs\n# src/net/queue.rs",
            "Mended src/net/pool.rs.bak and src/net/pools.rs",
        ] {
            assert!(!says_of_pool(text), "{text}");
        }
    }

    #[test]
    fn written_text_is_sent_until_hidden_or_removed() {
        let talk = (0..4).fold(Talk::new("S"), |talk, _| talk.user("look")).end();
        let mut context = Context::new(Recording::new(Arc::new(talk), Arc::default()));
        (0..4).for_each(|_| context.append());
        let range = vec![EntryId::message(0), EntryId::message(1)];
        let into = vec![(Role::User, "so far".to_owned())];
        let ids = context.apply(Op::Fold { range, into, at: InsertAt::InPlace }).unwrap();
        let mut read = Written::default();
        let mut texts = Vec::new();
        for _ in 0..2 {
            let mut each = |id: u32, text: &str| texts.push((id, text.to_owned()));
            ContextView::written_since(&context, &mut read, &mut each);
        }
        let [(id, text)] = texts.as_slice() else { panic!("{texts:?}") };
        assert_eq!((text.as_str(), read.entries), ("so far", 1));
        assert_eq!(context.carrier(*id), Carrier::Sent("so far", None));
        assert_eq!(ContextView::oldest_sent(&context), 2);
        assert!(context.verbatim(2) && !context.verbatim(1));
        context.apply(Op::Hide { before: 0, also: ids.clone() }).unwrap();
        assert_eq!(context.carrier(*id), Carrier::Hidden);
        context.apply(Op::Evict(ids)).unwrap();
        assert_eq!(context.carrier(*id), Carrier::Gone);
    }
}
