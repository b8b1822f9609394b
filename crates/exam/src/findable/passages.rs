//! Cuts a text into passages and counts the words of each, to be ranked by BM25.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHasher;

use recap_core::text::language::{is_stop, is_unspaced, with_stem};

/// Approximate length of a passage in bytes, and its most sentences: a paragraph.
const PASSAGE: usize = 1_200;
const SENTENCES: usize = 12;
/// Length in bytes from which a sentence is cut at the next space.
const SENTENCE: usize = 360;

/// How a line with a call begins, and how many of its bytes name the tool and its
/// subject.
const CALL: &str = r#"{"name":""#;
const HEAD: usize = 200;

/// The hash of a stem. 64 bits: two stems of one session share a hash with a
/// chance below one in a billion.
pub(super) type Term = u64;

/// A passage that holds a term: its number, and how often.
pub(super) type Hit = (u32, u32);

/// A text in passages.
#[derive(Debug)]
pub(super) struct Passages {
    text: Arc<str>,
    places: Vec<Range<usize>>,
    /// Number of terms of each passage.
    lengths: Vec<u32>,
    /// Terms in order, each with its passages in order.
    terms: Vec<(Term, Hit)>,
}

impl Passages {
    /// Cuts a text and counts its words. The words of `lead`, which it answers, count
    /// for each of its passages, and those at the head of a call for all of the call.
    pub(super) fn new(text: &Arc<str>, lead: &str) -> Self {
        let (places, lead) = (passages(text), terms_of(lead));
        let mut lengths = Vec::with_capacity(places.len());
        let mut terms: Vec<(Term, Hit)> = Vec::new();
        let (mut line, mut before, mut head) = (0, 0, Vec::new());
        for (number, place) in (0..).zip(&places) {
            if let Some(end) = text[before..place.start].rfind('\n') {
                line = before + end + 1;
                head.clear();
            }
            before = place.start;
            if head.is_empty() && line < place.start && text[line..].starts_with(CALL) {
                head = terms_of(&text[line..text.floor_char_boundary(line + HEAD)]);
            }
            let mut own = terms_of(&text[place.clone()]);
            own.extend(lead.iter().chain(&head));
            lengths.push(own.len() as u32);
            own.sort_unstable();
            let counted =
                own.chunk_by(|a, b| a == b).map(|run| (run[0], (number, run.len() as u32)));
            terms.extend(counted);
        }
        terms.sort_unstable();
        Self { text: Arc::clone(text), places, lengths, terms }
    }

    /// Number of passages.
    pub(super) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    /// Number of terms of a passage.
    pub(super) fn length(&self, passage: u32) -> u32 {
        self.lengths[passage as usize]
    }

    /// Number of terms of all passages.
    pub(super) fn total(&self) -> u64 {
        self.lengths.iter().map(|length| u64::from(*length)).sum()
    }

    /// The text of a passage.
    pub(super) fn passage(&self, number: u32) -> &str {
        &self.text[self.places[number as usize].clone()]
    }

    /// The passages that hold a term.
    pub(super) fn holding(&self, term: Term) -> impl Iterator<Item = Hit> + '_ {
        let first = self.terms.partition_point(|(own, _)| *own < term);
        self.terms[first..].iter().take_while(move |(own, _)| *own == term).map(|(_, hit)| *hit)
    }
}

/// The byte ranges of the passages of a text: sentences that follow each other.
fn passages(text: &str) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    let mut sentences = 0;
    for sentence in self::sentences(text) {
        match places.last_mut() {
            Some(last) if sentences < SENTENCES && sentence.end - last.start <= PASSAGE => {
                last.end = sentence.end;
                sentences += 1;
            }
            _ => {
                places.push(sentence);
                sentences = 1;
            }
        }
    }
    places
}

/// The byte ranges of the sentences of a text, without surrounding space: lines,
/// also those that JSON writes as `\n`, cut behind full stops, and long ones at spaces.
pub(crate) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' | '\r' | '。' | '！' | '？' => true,
            '\\' => next == Some('n'),
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            c if c.is_whitespace() || c == ',' => end - start > SENTENCE,
            _ => end - start > 2 * SENTENCE,
        };
        if ends {
            // An escaped `\n` belongs to neither side.
            let escaped = usize::from(c == '\\');
            push(text, start..end - escaped, &mut found);
            start = end + escaped;
            chars.next_if(|_| escaped == 1);
        }
    }
    push(text, start..text.len(), &mut found);
    found
}

fn push(text: &str, place: Range<usize>, found: &mut Vec<Range<usize>>) {
    let kept = text[place.clone()].trim_end();
    let start = place.start + (kept.len() - kept.trim_start().len());
    if start < place.start + kept.len() {
        found.push(start..place.start + kept.len());
    }
}

/// The terms of a text: the stems of its words that are not function words. The
/// parts of an identifier are words (`retry_policy.rs`, `maxRetries`), and so is
/// each character of scripts without spaces.
pub(super) fn terms_of(text: &str) -> Vec<Term> {
    let mut terms = Vec::with_capacity(text.len() / 6);
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        let joins = c.is_alphanumeric() && !is_unspaced(c) && !is_unspaced(before);
        if !joins || before.is_lowercase() && c.is_uppercase() {
            end(&mut word, &mut terms);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    end(&mut word, &mut terms);
    terms
}

fn end(word: &mut String, terms: &mut Vec<Term>) {
    if !word.is_empty() && !is_stop(word) {
        let mut hasher = FxHasher::default();
        with_stem(word, |stem| stem.hash(&mut hasher));
        terms.push(hasher.finish());
    }
    word.clear();
}
