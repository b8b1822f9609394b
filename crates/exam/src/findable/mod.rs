//! Whether a context still states what a question expects, without a model
//! (how-it-works §32).
//!
//! The context is cut into passages, which are ranked by the words of the question
//! (BM25). A question is findable if its three best passages state an accepted
//! value with no former value behind it. A list of names without sentences rarely
//! ranks high, and a value that the context denies or calls former does not count.

mod passages;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::FxHashMap;

use crate::roles::judge::{Haystack, Sought};
pub(crate) use passages::sentences;
use passages::{Passages, Term, terms_of};
use recap_core::model::{MessageIndex, Question, Role, SnapshotPart};
use recap_core::text::language::bm25::{rarity, saturated};

/// Number of passages that are read: as many as a short answer could be drawn from.
const BEST: usize = 3;
/// Length in bytes of what counts of a call for its result.
const LEAD: usize = 600;

/// Looks for the answers to a session's questions in contexts. Each message is read
/// once and searched once for each question, however many contexts there are.
#[derive(Debug)]
pub struct Findable {
    messages: Vec<(Role, Arc<str>)>,
    read: OnceLock<Vec<Arc<Passages>>>,
    /// Texts that strategies wrote, by hash, and the message whose text they replace.
    written: Mutex<WrittenTexts>,
    /// `None` where no value is expected.
    questions: Vec<Option<Asked>>,
}

/// What a question asks for.
#[derive(Debug)]
struct Asked {
    /// Its words, each once.
    terms: Vec<Term>,
    /// The first message that answers it: what says its value before, as a call does that offers
    /// it among others, does not yet say the answer.
    from: MessageIndex,
    values: Vec<Value>,
    former: Vec<Sought>,
    /// Where its words stand in each message.
    hits: OnceLock<Vec<Vec<TermHit>>>,
    /// The parts of values that a passage states, by the place of its text in memory
    /// and its number.
    stated: Mutex<StatedParts>,
}

/// An accepted value: its parts, and how many of them must be stated.
#[derive(Debug)]
struct Value {
    parts: Vec<Sought>,
    needed: usize,
}

/// Texts by hash, with the message whose text they replace.
type WrittenTexts = FxHashMap<(String, Option<MessageIndex>), Arc<Passages>>;

/// The parts of values that each passage states.
type StatedParts = FxHashMap<(usize, u32), Arc<[bool]>>;

/// A passage of a text, and how often it holds a word of the question, by the
/// position of the word.
type TermHit = (u32, usize, u32);

impl Findable {
    /// The questions come with the first message of their evidence. Nothing is read until a
    /// context is looked at.
    pub fn new<'a>(
        messages: Vec<(Role, Arc<str>)>,
        questions: impl IntoIterator<Item = (&'a Question, MessageIndex)>,
    ) -> Self {
        let questions = questions.into_iter().map(|(one, from)| Asked::new(one, from)).collect();
        Self { messages, read: OnceLock::new(), written: Mutex::default(), questions }
    }

    /// Whether the answer to a question is findable in a context; `None` where no
    /// value is expected: a rubric, yes or no, and what cannot be known. The parts of
    /// a list may stand in several of the best passages.
    pub fn is_findable(
        &self,
        question: usize,
        context: &[SnapshotPart],
        texts: &BTreeMap<String, String>,
    ) -> Option<bool> {
        let asked = self.questions[question].as_ref()?;
        let mut stated = vec![false; asked.values.iter().map(|value| value.parts.len()).sum()];
        let best = self.best(asked, context, texts).into_iter();
        for (passages, number, _) in best.filter(|(.., answers)| *answers) {
            let own = asked.stated_in(&passages, number);
            stated.iter_mut().zip(own.iter()).for_each(|(all, own)| *all |= own);
        }
        let mut stated = stated.into_iter();
        Some(asked.values.iter().any(|value| {
            let own = stated.by_ref().take(value.parts.len());
            own.filter(|stated| *stated).count() >= value.needed
        }))
    }

    /// The passages of a context that share most with a question, best first; of two
    /// that score alike the later one, which is newer.
    fn best(
        &self,
        asked: &Asked,
        context: &[SnapshotPart],
        texts: &BTreeMap<String, String>,
    ) -> Vec<(Arc<Passages>, u32, bool)> {
        let mut parts: Vec<Part<'_>> = Vec::new();
        for part in context {
            match part {
                SnapshotPart::Messages { from, to } => {
                    let hits = asked.hits.get_or_init(|| self.hits(asked));
                    parts.extend((*from..*to).map(|message| {
                        let at = message as usize;
                        let hits = Cow::Borrowed(&*hits[at]);
                        (Arc::clone(&self.read()[at]), hits, message >= asked.from)
                    }));
                }
                SnapshotPart::Edited { text, message } => {
                    let (passages, hits) = self.written(asked, &texts[text], text, Some(*message));
                    parts.push((passages, hits, *message >= asked.from));
                }
                SnapshotPart::Written { text, .. } => {
                    let (passages, hits) = self.written(asked, &texts[text], text, None);
                    parts.push((passages, hits, true));
                }
            }
        }
        ranked(asked.terms.len(), &parts)
    }

    fn read(&self) -> &[Arc<Passages>] {
        let each = self.messages.iter().enumerate();
        let read = || each.map(|(at, (_, text))| Arc::new(Passages::new(text, self.lead(at))));
        self.read.get_or_init(|| read().collect())
    }

    /// The end of what a message answers, whose words count for it: the call of a
    /// result, or what was said before.
    fn lead(&self, message: usize) -> &str {
        let before = &self.messages[..message];
        let answers = |(role, _): &&(Role, Arc<str>)| *role != Role::Tool;
        match before.iter().rev().find(answers) {
            Some((_, text)) if self.messages[message].0 == Role::Tool => {
                &text[text.ceil_char_boundary(text.len().saturating_sub(LEAD))..]
            }
            _ => "",
        }
    }

    fn hits(&self, asked: &Asked) -> Vec<Vec<TermHit>> {
        self.read().iter().map(|passages| asked.hits_in(passages)).collect()
    }

    /// A text that a strategy wrote, in place of a message or beside them.
    fn written<'a>(
        &self,
        asked: &Asked,
        text: &str,
        hash: &str,
        message: Option<MessageIndex>,
    ) -> (Arc<Passages>, Cow<'a, [TermHit]>) {
        let lead = message.map_or("", |message| self.lead(message as usize));
        let mut known = self.written.lock().expect("no holder panics");
        let passages = known.entry((hash.to_owned(), message));
        let passages =
            Arc::clone(passages.or_insert_with(|| Arc::new(Passages::new(&Arc::from(text), lead))));
        drop(known);
        let hits = asked.hits_in(&passages);
        (passages, Cow::Owned(hits))
    }
}

/// A text of a context, where the words of a question stand in it, and whether it may answer.
type Part<'a> = (Arc<Passages>, Cow<'a, [TermHit]>, bool);

/// The best passages of texts whose places with `terms` words of a question are known.
fn ranked(terms: usize, parts: &[Part<'_>]) -> Vec<(Arc<Passages>, u32, bool)> {
    let all: u64 = parts.iter().map(|(passages, ..)| passages.len()).sum();
    let words: u64 = parts.iter().map(|(passages, ..)| passages.total()).sum();
    let mut holding = vec![0_u32; terms];
    for (_, hits, _) in parts {
        hits.iter().for_each(|(_, term, _)| holding[*term] += 1);
    }
    let rarities: Vec<f64> =
        holding.iter().map(|held| rarity(f64::from(*held), all as f64)).collect();
    let mean = (words as f64 / all.max(1) as f64).max(1.0);
    let mut best: Vec<(f64, &Arc<Passages>, u32, bool)> = Vec::new();
    for (passages, hits, answers) in parts {
        for passage in hits.chunk_by(|a, b| a.0 == b.0) {
            let number = passage[0].0;
            let length = f64::from(passages.length(number)) / mean;
            let score =
                |(_, term, count): &TermHit| rarities[*term] * saturated(f64::from(*count), length);
            let score: f64 = passage.iter().map(score).sum();
            let at = best.partition_point(|(other, ..)| *other > score);
            if at < BEST {
                best.insert(at, (score, passages, number, *answers));
                best.truncate(BEST);
            }
        }
    }
    let best = best.into_iter();
    best.map(|(_, passages, number, answers)| (Arc::clone(passages), number, answers)).collect()
}

impl Asked {
    fn new(question: &Question, from: MessageIndex) -> Option<Asked> {
        let sought = question.expect.alternatives().iter().map(|value| Sought::new(value));
        let values = sought.filter(|value| !value.is_yes_no() && !value.is_empty()).map(|value| {
            let parts = value.parts();
            Value { needed: Sought::needed(parts.len()), parts }
        });
        let values: Vec<Value> = values.collect();
        let mut terms = terms_of(&question.question);
        terms.sort_unstable();
        terms.dedup();
        let former = question.stale.iter().map(|value| Sought::new(value)).collect();
        (!values.is_empty()).then(|| Asked {
            terms,
            from,
            values,
            former,
            hits: OnceLock::new(),
            stated: Mutex::default(),
        })
    }

    /// Where the words of the question stand in a text, in the order of its passages.
    fn hits_in(&self, passages: &Passages) -> Vec<TermHit> {
        let each = self.terms.iter().enumerate().flat_map(|(at, term)| {
            passages.holding(*term).map(move |(passage, count)| (passage, at, count))
        });
        let mut hits: Vec<TermHit> = each.collect();
        hits.sort_unstable();
        hits
    }

    /// Which parts of the values a passage states, with no former value behind them.
    fn stated_in(&self, passages: &Arc<Passages>, number: u32) -> Arc<[bool]> {
        let key = (Arc::as_ptr(passages).addr(), number);
        if let Some(known) = self.stated.lock().expect("no holder panics").get(&key) {
            return Arc::clone(known);
        }
        let passage = Haystack::new(passages.passage(number));
        let former = self.former.iter().filter_map(|value| passage.last(value, false)).max();
        let parts = self.values.iter().flat_map(|value| &value.parts);
        let stated: Arc<[bool]> = parts
            .map(|part| {
                passage.last(part, true).is_some_and(|at| former.is_none_or(|old| old <= at))
            })
            .collect();
        self.stated.lock().expect("no holder panics").insert(key, Arc::clone(&stated));
        stated
    }
}

#[cfg(test)]
mod tests;
