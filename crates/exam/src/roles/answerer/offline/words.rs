//! The words of a text, compared by their stems.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};

use recap_core::text::language::{is_unspaced, with_stem};

/// A term: the hash of a stem. 64 bits, so that two stems of one context
/// share a hash with a chance below one in a billion.
pub(super) type Term = u64;

/// Numbers of terms, in the order in which they came: figures of terms are kept
/// by number, which is much faster than by term.
#[derive(Debug, Default)]
pub(super) struct Numbers(FxHashMap<Term, u32>);

impl Numbers {
    /// The number of a term.
    pub(super) fn of(&mut self, term: Term) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(term).or_insert(next)
    }

    /// Number of terms that have a number.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A word and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Byte range of the word in the text.
    pub place: Range<usize>,
    /// The word in lower case, without a possessive; two characters in scripts
    /// without spaces.
    pub lower: String,
}

/// The term of a word in lower case.
pub(super) fn term(lower: &str) -> Term {
    let mut hasher = FxHasher::default();
    with_stem(lower, |stem| stem.hash(&mut hasher));
    hasher.finish()
}

/// Every word of a text. An identifier yields itself and its parts
/// (`retry_policy.rs` → itself, `retry`, `policy`, `rs`); scripts without
/// spaces yield every pair of characters.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut out = Vec::with_capacity(text.len() / 5);
    let mut chars = text.char_indices().peekable();
    while let Some(&(start, c)) = chars.peek() {
        if is_unspaced(c) {
            unspaced(text, start, &mut chars, &mut out);
        } else if c.is_alphanumeric() {
            let mut end = start;
            while let Some(&(at, c)) = chars.peek() {
                if !continues(text, at, c) {
                    break;
                }
                end = at + c.len_utf8();
                chars.next();
            }
            word(text, start..end, &mut out);
        } else {
            chars.next();
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::CharIndices<'a>>;

fn unspaced(text: &str, start: usize, chars: &mut Chars<'_>, out: &mut Vec<Word>) {
    let mut places = Vec::new();
    while let Some((at, c)) = chars.next_if(|(_, c)| is_unspaced(*c)) {
        places.push((at, at + c.len_utf8()));
    }
    let pairs = places.windows(2).map(|pair| pair[0].0..pair[1].1);
    let single = (places.len() == 1).then(|| start..places[0].1);
    for place in pairs.chain(single) {
        out.push(Word { lower: text[place.clone()].to_owned(), place });
    }
}

/// Whether a word continues at this character: letters and digits, and a
/// joining mark between two of them.
fn continues(text: &str, at: usize, c: char) -> bool {
    if is_unspaced(c) {
        return false;
    }
    if c.is_alphanumeric() {
        return true;
    }
    matches!(c, '_' | '\'' | '’' | '.' | ',') && {
        let before = text[..at].chars().next_back();
        let after = text[at + c.len_utf8()..].chars().next();
        let digits = before.zip(after).is_some_and(|(b, a)| b.is_numeric() && a.is_numeric());
        let letters =
            before.zip(after).is_some_and(|(b, a)| b.is_alphanumeric() && a.is_alphanumeric());
        // A full stop joins `file.rs` and `3.5`; a comma joins only digits.
        if c == ',' {
            digits
        } else {
            letters || c == '_' && after.is_some_and(char::is_alphanumeric)
        }
    }
}

fn word(text: &str, place: Range<usize>, out: &mut Vec<Word>) {
    let spelt = &text[place.clone()];
    out.push(Word { place: place.clone(), lower: lower(spelt) });
    // A plain word has no parts.
    if spelt.bytes().skip(1).all(|b| b.is_ascii_lowercase()) {
        return;
    }
    let parts = parts(spelt);
    if parts.len() > 1 {
        for part in parts {
            let at = place.start + part.start..place.start + part.end;
            out.push(Word { lower: text[at.clone()].to_lowercase(), place: at });
        }
    }
}

/// A word in lower case, without a possessive or the commas of a number.
fn lower(spelt: &str) -> String {
    if spelt.bytes().all(|b| b.is_ascii() && !matches!(b, b'\'' | b',')) {
        return spelt.to_ascii_lowercase();
    }
    let lower = spelt.to_lowercase().replace('’', "'");
    let lower = ["'s", "'re", "'ve", "'ll", "'d", "'m"]
        .iter()
        .find_map(|ending| lower.strip_suffix(ending))
        .unwrap_or(&lower);
    lower.replace(',', "")
}

/// The parts of an identifier: split at `_` and `.` between letters, and where
/// a capital follows a small letter. A number has no parts.
fn parts(spelt: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    if !spelt.contains(|c: char| c.is_alphabetic()) || spelt.contains(['\'', '’']) {
        return parts;
    }
    let (mut start, mut was_small) = (0, false);
    for (at, c) in spelt.char_indices() {
        let cut = !c.is_alphanumeric();
        if cut || was_small && c.is_uppercase() {
            if at > start {
                parts.push(start..at);
            }
            start = if cut { at + c.len_utf8() } else { at };
        }
        was_small = c.is_lowercase();
    }
    if start < spelt.len() {
        parts.push(start..spelt.len());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.lower).collect()
    }

    #[test]
    fn identifiers_are_words_and_their_parts() {
        assert_eq!(
            spelt("src/retry_policy.rs"),
            ["src", "retry_policy.rs", "retry", "policy", "rs"]
        );
        assert_eq!(spelt("maxRetries = 1,200.5"), ["maxretries", "max", "retries", "1200.5"]);
        assert_eq!(spelt("Ann's dog. It isn’t"), ["ann", "dog", "it", "isn't"]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs_of_characters() {
        assert_eq!(spelt("南京大学 x 中"), ["南京", "京大", "大学", "x", "中"]);
    }
}
