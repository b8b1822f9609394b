//! Analyses a passage: its speaker, its sentences and their terms.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jiff::civil::Date;

use super::calls::rendered;
use super::cut::pieces;
use super::sought::{Forms, Value, values};
use super::words::{Numbers, Term, Word, term, words};
use crate::calendar::dates;
use crate::calendar::relative::{is_relative, relative};
use recap_core::text::language::{cardinal, is_stop, ordinal};

/// Largest number of sentences in a block, which is the unit of retrieval.
const BLOCK_SENTENCES: usize = 12;

/// Approximate largest size of a block in bytes.
const BLOCK: usize = 1200;

/// Length in bytes of the longest label of a speaker.
const LABEL: usize = 40;

/// A term of a sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub term: Term,
    /// Its number among the terms of all texts.
    pub number: u32,
    /// Number of its occurrences.
    pub count: u32,
}

/// A term of a passage.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassageTerm {
    term: Term,
    /// Its number among the terms of all texts.
    pub number: u32,
    /// Number of blocks that contain it.
    pub blocks: u32,
    /// Position of the first of its places.
    from: u32,
}

/// Successive sentences, which is the unit of retrieval.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub sentences: Range<usize>,
    /// Forms of the values in them.
    pub forms: Forms,
    /// Number of their words that are not function words.
    pub length: u32,
}

/// A sentence, a line, or a window of a long line.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    /// Byte range in the passage, without surrounding space.
    pub place: Range<usize>,
    /// Terms, ordered.
    pub terms: Vec<Counted>,
    /// Number of words that are not function words.
    pub length: u32,
    /// Whether it contains a digit or a number word.
    pub has_number: bool,
    /// Whether a word after the first begins with a capital.
    pub has_name: bool,
    /// Whether the sentence is a question.
    pub asks: bool,
    /// Whether it is prose: not code, a table or a log.
    pub prose: bool,
    /// Values in the sentence.
    pub values: Vec<Value>,
    /// Whether it names a date, and whether it may name one from another day;
    /// read when a question asks for it.
    dated: OnceLock<(bool, bool)>,
}

impl Sentence {
    /// Whether a text, which is this sentence's, names a date, or one told from
    /// the day on which it was said.
    pub(super) fn is_dated(&self, text: &str, said: Option<Date>) -> bool {
        let read = || (!dates(text).is_empty(), is_relative(text));
        let (named, is_relative) = *self.dated.get_or_init(read);
        named || is_relative && said.is_some_and(|said| !relative(text, said).is_empty())
    }
}

/// A passage with its speaker, sentences and terms.
#[derive(Clone, Debug)]
pub(super) struct Analysed {
    /// Text of the passage, with its calls as lines.
    pub text: Arc<str>,
    /// Whether it has calls.
    pub calls: bool,
    /// Byte range of the text before the first colon, if it may be a name.
    pub label: Option<Range<usize>>,
    /// Sentences of the passage, in order.
    pub sentences: Vec<Sentence>,
    pub blocks: Vec<Run>,
    /// Terms of the passage, ordered.
    pub terms: Vec<PassageTerm>,
    /// The sentences of each term, with its number of occurrences in them.
    places: Vec<(u32, u32)>,
    /// A bit for each term, so that most of those that are not here are not looked for.
    bits: u128,
}

impl Analysed {
    /// Analyses the text of a passage. Its terms are to be numbered.
    pub(super) fn new(text: &Arc<str>) -> Self {
        let (text, calls): (Arc<str>, bool) = match rendered(text) {
            Cow::Borrowed(_) => (Arc::clone(text), false),
            Cow::Owned(lines) => (Arc::from(lines), true),
        };
        let text = &text;
        let label = label(text);
        let body = label.as_ref().map_or(0, |label| label.end + 1);
        let mut sentences = Vec::new();
        for piece in pieces(text) {
            let sentence = sentence(text, piece, body);
            if sentence.length > 0 {
                sentences.push(sentence);
            }
        }
        let blocks = blocks(&sentences);
        let (terms, places) = (Vec::new(), Vec::new());
        Self { text: Arc::clone(text), calls, label, sentences, blocks, terms, places, bits: 0 }
    }

    /// Numbers the terms.
    pub(super) fn number(&mut self, numbers: &mut Numbers) {
        let terms = self.sentences.iter_mut().flat_map(|sentence| &mut sentence.terms);
        terms.for_each(|term| term.number = numbers.of(term.term));
    }

    /// Collects where each term stands.
    pub(super) fn collected(mut self) -> Self {
        let blocks = (0..).zip(&self.blocks);
        let blocks =
            blocks.flat_map(|(block, run)| run.sentences.clone().map(move |at| (block, at)));
        let stand = blocks.flat_map(|(block, at)| {
            self.sentences[at].terms.iter().map(move |term| (term.term, at as u32, block, term))
        });
        let mut stand: Vec<(Term, u32, u32, &Counted)> = stand.collect();
        stand.sort_unstable_by_key(|(term, at, ..)| (*term, *at));
        let mut last = None;
        for (term, at, block, counted) in stand {
            match self.terms.last_mut().filter(|held| held.term == term) {
                Some(held) => held.blocks += u32::from(last != Some(block)),
                None => {
                    let from = self.places.len() as u32;
                    self.terms.push(PassageTerm { term, number: counted.number, blocks: 1, from });
                    self.bits |= bit(term);
                }
            }
            last = Some(block);
            self.places.push((at, counted.count));
        }
        self.terms.shrink_to_fit();
        self.places.shrink_to_fit();
        self
    }

    /// Number of blocks with a term, and its sentences, in order, each with its
    /// number of occurrences.
    pub(super) fn places(&self, term: Term) -> Option<(u32, &[(u32, u32)])> {
        if self.bits & bit(term) == 0 {
            return None;
        }
        let at = self.terms.binary_search_by_key(&term, |held| held.term).ok()?;
        let end = self.terms.get(at + 1).map_or(self.places.len(), |next| next.from as usize);
        let PassageTerm { blocks, from, .. } = self.terms[at];
        Some((blocks, &self.places[from as usize..end]))
    }

    /// The speaker's name at the beginning of the passage.
    pub(super) fn speaker(&self) -> Option<&str> {
        self.label.clone().map(|label| &self.text[label])
    }
}

/// The bit of a term.
fn bit(term: Term) -> u128 {
    1 << (term >> (Term::BITS - u128::BITS.ilog2()))
}

/// A label such as `Ann: ` at the beginning: at most three words, the first
/// with a capital or of a script without spaces.
fn label(text: &str) -> Option<Range<usize>> {
    let mut end = text.len().min(LABEL);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let colon = text[..end].find([':', '：'])?;
    let name = &text[..colon];
    let after = text[colon..].chars().nth(1);
    let fits =
        name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '\'' | '_'))
            && name.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase())
            && name.split(' ').count() <= 3
            && after.is_none_or(char::is_whitespace);
    fits.then_some(0..colon)
}

fn blocks(sentences: &[Sentence]) -> Vec<Run> {
    let mut blocks = Vec::new();
    let run = |range: Range<usize>| {
        let own = &sentences[range.clone()];
        let values = own.iter().flat_map(|sentence| &sentence.values);
        Run {
            forms: values.fold(0, |all, value| all | value.forms),
            length: own.iter().map(|sentence| sentence.length).sum(),
            sentences: range,
        }
    };
    let mut start = 0;
    for at in 0..sentences.len() {
        let bytes = sentences[at].place.end - sentences[start].place.start;
        if at > start && (at - start >= BLOCK_SENTENCES || bytes > BLOCK) {
            blocks.push(run(start..at));
            start = at;
        }
    }
    if start < sentences.len() {
        blocks.push(run(start..sentences.len()));
    }
    blocks
}

fn sentence(text: &str, place: Range<usize>, body: usize) -> Sentence {
    let spelt = &text[place.clone()];
    let found = words(spelt);
    let mut terms: Vec<Term> = Vec::with_capacity(found.len());
    let (mut seen_word, mut has_number, mut has_name) = (false, false, false);
    for Word { place: within, lower } in &found {
        let word = &spelt[within.clone()];
        has_number |= word.contains(|c: char| c.is_numeric()) || is_number_word(lower);
        has_name |= seen_word
            && word != "I"
            && !word.starts_with("I'")
            && word.starts_with(char::is_uppercase);
        seen_word |= place.start + within.start >= body;
        if !is_stop(lower) {
            terms.push(term(lower));
        }
    }
    let length = terms.len() as u32;
    terms.sort_unstable();
    let alike = terms.chunk_by(|a, b| a == b);
    let counted = alike.map(|run| Counted { term: run[0], number: 0, count: run.len() as u32 });
    let counted = counted.collect();
    let functional = found.len() - terms.len();
    Sentence {
        asks: spelt.ends_with(['?', '？']),
        values: values(spelt),
        dated: OnceLock::new(),
        prose: is_prose(spelt, found.len(), functional),
        place,
        terms: counted,
        length,
        has_number,
        has_name,
    }
}

/// Whether a sentence is prose: it begins with a letter, one of eight words is
/// a function word, and few characters are neither letters, digits, space nor
/// common punctuation.
fn is_prose(text: &str, words: usize, functional: usize) -> bool {
    let odd = text.chars().filter(|c| {
        !c.is_alphanumeric()
            && !c.is_whitespace()
            && !matches!(c, '.' | ',' | '?' | '!' | '\'' | '’' | '-' | ':' | '`' | '"')
    });
    let begins = text.trim_start_matches(['-', '*', '#', '`', '"', '>', ' ']);
    begins.starts_with(char::is_alphabetic)
        && functional * 8 >= words
        && odd.count() * 16 <= text.len()
}

/// Whether a lower-case word is a number word, or one like `dozen`.
fn is_number_word(lower: &str) -> bool {
    matches!(lower, "dozen" | "hundred" | "thousand" | "second" | "couple" | "few")
        || cardinal(lower).or_else(|| ordinal(lower)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_name_before_colon_is_label() {
        let name = |text: &str| label(text).map(|place| text[place].to_owned());
        assert_eq!(name("Ann Lee: Hi."), Some("Ann Lee".to_owned()));
        for text in ["https://x", "note: later", "A b c d: e", "Ann", "", ": x", "Ann:x"] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
