//! Parses a text for the offline judge: words by their stems, numbers by their
//! values, clauses, and what is denied.

use std::ops::Range;

use recap_core::text::language::{
    self, cardinal, folded, is_in, is_unspaced, ordinal, plain, stem,
};
use recap_core::text::normal::{is_word, runs_into_name};

/// Number of words in its clause that a negation denies.
const REACH: usize = 8;

/// Abbreviations whose full stop does not end a sentence: `St. Louis`.
const TITLES: &str = "Dr Jr Mr Mrs Ms Mt Prof Sr St";
/// Units of time for which `a` means one: `a week`.
const DURATIONS: &str = "minute hour day week month year decade century";

/// A word or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// The stem of a word, or the value of a number.
    pub text: String,
    /// The word as written, in lower case and without marks.
    pub word: String,
    pub is_number: bool,
    pub is_capital: bool,
    /// Whether a negation earlier in its clause denies it.
    pub is_denied: bool,
    /// Whether the text calls it former.
    pub is_former: bool,
    pub clause: u32,
    pub sentence: u32,
    pub span: Range<usize>,
}

/// The terms of `text`, in order.
pub(super) fn read(text: &str) -> Vec<Term> {
    let pieces = pieces(text);
    let mut terms = Vec::with_capacity(pieces.len());
    let mut at = 0;
    while at < pieces.len() {
        at = Reader { text, pieces: &pieces }.push(at, &mut terms);
    }
    deny(&mut terms);
    terms
}

#[derive(Clone, Debug)]
struct Piece {
    span: Range<usize>,
    is_number: bool,
    clause: u32,
    sentence: u32,
}

/// Sequences of letters and sequences of digits, with their clause and
/// sentence. Marks inside a number and an apostrophe inside a word belong to
/// them; `onMarch` is two words, and so is `2016by`.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut clause, mut sentence) = (0, 0);
    let (mut before, mut open) = (' ', false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map_or(' ', |(_, c)| *c);
        let end = at + c.len_utf8();
        let word = open.then(|| pieces.last_mut()).flatten();
        let joins = match c {
            '.' | ',' => before.is_ascii_digit() && after.is_ascii_digit(),
            '\'' | '’' => before.is_alphabetic() && after.is_alphabetic(),
            _ => false,
        };
        if is_word(c) || ('\u{300}'..='\u{36f}').contains(&c) {
            let is_number = c.is_ascii_digit();
            let goes_on = |word: &&mut Piece| {
                word.is_number == is_number
                    && !is_unspaced(c)
                    && !is_unspaced(before)
                    && !runs_into_name(&text[word.span.clone()], c, after)
            };
            match word.filter(goes_on) {
                Some(word) => word.span.end = end,
                None => pieces.push(Piece { span: at..end, is_number, clause, sentence }),
            }
            open = true;
        } else if joins {
            word.into_iter().for_each(|word| word.span.end = end);
        } else {
            open = false;
            match c {
                '.' if pieces.last().is_some_and(|last| is_short(text, last, at)) => {}
                '.' | '!' | '?' | ';' | '\n' | '。' | '！' | '？' => {
                    sentence += 1;
                    clause += 1;
                }
                // Marks inside `20:20` and `1961–62`.
                ':' | '–' if before.is_ascii_digit() && after.is_ascii_digit() => {}
                ',' | ':' | '(' | ')' | '–' | '—' | '"' | '“' | '”' | '，' => clause += 1,
                _ => {}
            }
        }
        before = c;
    }
    pieces
}

/// Whether a full stop belongs to the word before it: `J.`, `U.S.`, `St.`.
fn is_short(text: &str, last: &Piece, stop: usize) -> bool {
    let word = &text[last.span.clone()];
    let initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    last.span.end == stop && (initial || is_in(TITLES, word))
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a str,
    pieces: &'a [Piece],
}

impl<'a> Reader<'a> {
    fn raw(self, at: usize) -> &'a str {
        self.pieces.get(at).map_or("", |piece| &self.text[piece.span.clone()])
    }

    fn lower(self, at: usize) -> String {
        folded(self.raw(at))
    }

    /// The text between a piece and the previous one.
    fn gap(self, at: usize) -> &'a str {
        let start = || self.pieces[at - 1].span.end;
        self.pieces.get(at).map_or("\n", |piece| &self.text[start()..piece.span.start])
    }

    /// Adds the term at a piece and returns the position of the next piece.
    fn push(self, at: usize, terms: &mut Vec<Term>) -> usize {
        let (piece, raw) = (&self.pieces[at], self.raw(at));
        let mut term = Term {
            text: String::new(),
            word: String::new(),
            is_number: true,
            is_capital: raw.starts_with(char::is_uppercase),
            is_denied: false,
            is_former: false,
            clause: piece.clause,
            sentence: piece.sentence,
            span: piece.span.clone(),
        };
        if piece.is_number {
            match plain(raw) {
                Some(value) => terms.push(Term { text: value, ..term }),
                None => terms.extend(
                    raw.split(',')
                        .map(|part| Term { text: plain(part).unwrap_or_default(), ..term.clone() }),
                ),
            }
            let ends = self.gap(at + 1).is_empty() && is_in("st nd rd th", &self.lower(at + 1));
            return at + 1 + usize::from(ends);
        }
        let lower = self.lower(at);
        let cardinal = cardinal(&lower);
        term.word = bare(lower);
        // In `a week` the article means one.
        let one = || matches!(&*term.word, "a" | "an") && is_in(DURATIONS, &self.lower(at + 1));
        let number = cardinal
            .map(|value| self.spelled(at, value))
            .or_else(|| Some((ordinal(&term.word)?, at + 1)))
            .or_else(|| one().then_some((1, at + 1)));
        let (text, end) = match number {
            Some((value, end)) => (value.to_string(), end),
            None => (stem(&term.word), at + 1),
        };
        term.is_number = number.is_some();
        terms.push(Term { text, ..term });
        end
    }

    /// A spelled number like `twenty-five` or `two hundred and five thousand`,
    /// whose first word has a value, and the position of the next piece.
    fn spelled(self, at: usize, first: u64) -> (u64, usize) {
        let (mut total, mut current) = (0_u64, first);
        let mut end = at + 1;
        while matches!(self.gap(end), " " | "-") {
            let word = self.lower(end);
            let open = current % 100 == 0 && (current > 0 || total > 0);
            if word == "hundred" && current > 0 && current < 100 {
                current *= 100;
            } else if let Some(scale) = language::scale(&word) {
                total = total.saturating_add(current.saturating_mul(scale));
                current = 0;
            } else if let Some(value) = cardinal(&word).filter(|value| {
                open || current >= 20 && current % 10 == 0 && (1..10).contains(value)
            }) {
                current += value;
            } else if !(word == "and" && open && cardinal(&self.lower(end + 1)).is_some()) {
                break;
            }
            end += 1;
        }
        (total.saturating_add(current), end)
    }
}

/// A word without the part after an apostrophe; `isn't` becomes `not`.
fn bare(word: String) -> String {
    if !word.contains(['\'', '’']) {
        return word;
    }
    let word = word.replace('’', "'");
    if word.ends_with("n't") {
        return "not".to_owned();
    }
    match word.split_once('\'') {
        Some((before, _)) if before.len() > 1 => before.to_owned(),
        Some(_) => word.replace('\'', ""),
        None => word,
    }
}

/// Marks the terms that negations deny: the next words of their clause.
fn deny(terms: &mut [Term]) {
    for at in 0..terms.len() {
        if denies(&terms[at]) {
            let clause = terms[at].clause;
            let rest = terms[at + 1..].iter_mut().take(REACH);
            rest.take_while(|t| t.clause == clause).for_each(|term| term.is_denied = true);
        }
    }
}

/// Whether a word denies the following words, also beyond the end of its
/// clause.
pub(super) fn denies(term: &Term) -> bool {
    let denies = matches!(
        term.word.as_str(),
        "cannot"
            | "instead"
            | "neither"
            | "never"
            | "no"
            | "none"
            | "nor"
            | "not"
            | "unlike"
            | "without"
    );
    denies && !term.is_number
}
