//! Reads a text for the offline judge: words by their stems, numbers by their values,
//! and what is denied or called former.

use recap_core::text::language::{cardinal, folded, is_in, is_unspaced, ordinal, plain, stem};
use recap_core::text::normal::runs_into_name;

/// Number of words in its clause that a negation or a word for the past covers.
const REACH: usize = 8;

const DENIES: &str = "cannot instead neither never no none nor not unlike without";
const PAST: &str = "was were used previously previous former formerly originally original initially \
    initial earlier from old before until past replaced had";
const MONTHS: &str =
    "january february march april may june july august september october november december";

/// A word, a number, or a sign that is neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// The stem of a word, `#` and the value of a number, or the sign.
    pub key: String,
    /// The word in lower case and without marks; empty for a number and a sign.
    pub word: String,
    pub is_capital: bool,
    /// Whether a negation earlier in its clause denies it.
    pub is_denied: bool,
    /// Whether its clause calls it past: `it was X`, `X (formerly Y)`.
    pub is_past: bool,
    clause: u32,
}

impl Term {
    pub(super) fn is_number(&self) -> bool {
        self.key.starts_with('#')
    }
}

/// The terms of a text, in order.
pub(super) fn read(text: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut clause = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = piece(rest, first);
        let (raw, after) = rest.split_at(end);
        rest = after;
        if first.is_ascii_digit() {
            // A list of numbers has commas too: `1, 2,3`.
            let values = plain(raw).map_or_else(
                || raw.split(',').map(|part| plain(part).unwrap_or_default()).collect(),
                |value| vec![value],
            );
            terms
                .extend(values.into_iter().map(|value| term(format!("#{value}"), "", raw, clause)));
            rest = ["st", "nd", "rd", "th"]
                .iter()
                .find_map(|end| rest.strip_prefix(end))
                .unwrap_or(rest);
        } else if first.is_alphabetic() {
            let word = bare(folded(raw));
            let key = value(&word, raw).map_or_else(|| stem(&word), |value| format!("#{value}"));
            terms.push(term(key, &word, raw, clause));
        } else if is_sign(first) {
            terms.push(term(first.to_string(), "", raw, clause));
        } else if ends_clause(first, &terms, rest) {
            clause += 1;
        }
    }
    mark(&mut terms);
    terms
}

fn term(key: String, word: &str, raw: &str, clause: u32) -> Term {
    let is_capital = raw.starts_with(char::is_uppercase);
    Term { key, word: word.to_owned(), is_capital, is_denied: false, is_past: false, clause }
}

/// Length in bytes of the word, the number or the mark that a text begins with.
/// `onMarch` is two words, as in text copied from a page.
fn piece(text: &str, first: char) -> usize {
    let mut end = first.len_utf8();
    if !first.is_alphanumeric() || is_unspaced(first) {
        return end;
    }
    let mut before = first;
    let mut chars = text[end..].chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let joins = match c {
            '.' | ',' => before.is_ascii_digit() && after.is_ascii_digit(),
            '\'' | '’' => before.is_alphabetic() && after.is_alphabetic(),
            '\u{300}'..='\u{36f}' => true,
            c => {
                c.is_alphanumeric()
                    && c.is_ascii_digit() == first.is_ascii_digit()
                    && !is_unspaced(c)
                    && !runs_into_name(&text[..end], c, after)
            }
        };
        if !joins {
            break;
        }
        end += c.len_utf8();
        before = c;
    }
    end
}

/// Whether a character is a sign that a value may consist of: `→`.
fn is_sign(c: char) -> bool {
    !c.is_ascii()
        && !c.is_whitespace()
        && !matches!(c, '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{fe00}'..='\u{fe0f}' | '\u{ff00}'..='\u{ff65}')
}

/// Whether a mark ends a clause: not the full stop of an initial (`J. Lund`), nor what
/// stands between two numbers (`20:20`, `May 4, 2008`), nor a hyphen.
fn ends_clause(mark: char, terms: &[Term], rest: &str) -> bool {
    let last = terms.last();
    let is_between = last.is_some_and(Term::is_number)
        && rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
    match mark {
        '.' => !last.is_some_and(|last| last.is_capital && last.word.len() == 1),
        ',' | ':' | '–' if is_between => false,
        mark => ",;:!?()–—\"“”\n，。！？；：".contains(mark),
    }
}

/// A word without the part after an apostrophe; `isn't` becomes `not`.
fn bare(word: String) -> String {
    let Some(at) = word.find(['\'', '’']) else { return word };
    match word.ends_with("n't") || word.ends_with("n’t") {
        true => "not".to_owned(),
        false if at > 1 => word[..at].to_owned(),
        false => word.replace(['\'', '’'], ""),
    }
}

/// The value of a number word, and the number of a month: dates compare by their
/// numbers, `7 May 2023` with `2023-05-07`.
fn value(word: &str, raw: &str) -> Option<u64> {
    let month = || {
        let is_name =
            !matches!(word, "may" | "march" | "august") || raw.starts_with(char::is_uppercase);
        let at = MONTHS.split(' ').position(|month| month == word).filter(|_| is_name)?;
        Some(at as u64 + 1)
    };
    cardinal(word).or_else(|| ordinal(word)).or_else(month)
}

/// Marks what negations deny and what words for the past call former.
fn mark(terms: &mut [Term]) {
    for at in 0..terms.len() {
        let clause = terms[at].clause;
        let (denies, past) = (is_in(DENIES, &terms[at].word), is_in(PAST, &terms[at].word));
        if denies || past {
            let rest = terms[at + 1..].iter_mut().take(REACH);
            rest.take_while(|term| term.clause == clause).for_each(|term| {
                term.is_denied |= denies;
                term.is_past |= past;
            });
        }
    }
}
