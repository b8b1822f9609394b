//! Words as the reader compares them: lower case, without endings, common
//! irregular forms brought together.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

/// A term: the hash of a stem. 64 bits, so that two stems of one context
/// share a hash with a chance below one in a billion.
pub(super) type Term = u64;

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Bytes of the text.
    pub place: Range<usize>,
    /// Lower case, without a possessive; two characters for unspaced scripts.
    pub lower: String,
}

/// Words of the lists below, one line a group: the first stands for all.
const FORMS: &str = include_str!("forms.txt");
const FUNCTION_WORDS: &str = include_str!("function_words.txt");

/// Characters of Chinese and Japanese that ask, point or join: a pair with one
/// of them is no word.
const FUNCTION_CHARACTERS: &[char] = &[
    '的', '了', '是', '在', '吗', '呢', '吧', '哪', '里', '什', '么', '谁', '几', '怎', '何', '我',
    '你', '您', '他', '她', '它', '们', '这', '那', '和', '与', '就', '也', '都', 'は', 'が', 'を',
    'に', 'の', 'で', 'と', 'も', 'か',
];

static GROUPS: LazyLock<FxHashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut groups = FxHashMap::default();
    for line in FORMS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        if let Some(first) = words.next() {
            words.for_each(|word| _ = groups.insert(word, first));
        }
    }
    groups
});

static FUNCTION: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| FUNCTION_WORDS.split_whitespace().collect());

/// Whether a lower-case word says nothing about what a text is about.
pub(super) fn is_function_word(lower: &str) -> bool {
    FUNCTION.contains(lower) || lower.contains(FUNCTION_CHARACTERS)
}

/// The term of a lower-case word.
pub(super) fn term(lower: &str) -> Term {
    let stem = stem(lower);
    let stem = GROUPS.get(stem.as_str()).copied().unwrap_or(&stem);
    let mut hasher = FxHasher::default();
    stem.hash(&mut hasher);
    hasher.finish()
}

/// The stem of a lower-case word: its irregular form's base, then steps 1a to
/// 1c and 5a of Porter's algorithm (Program 14(3), 1980), its commonest
/// derivational endings, and six letters at most, so that `organizer` and
/// `organization` meet.
pub(super) fn stem(lower: &str) -> String {
    let base = GROUPS.get(lower).copied().unwrap_or(lower);
    if base.len() < 4 || !base.bytes().all(|b| b.is_ascii_lowercase()) {
        return base.to_owned();
    }
    let mut word = base.to_owned();
    plural(&mut word);
    past(&mut word);
    for ending in ["ational", "ations", "ation", "ness", "ment", "ity", "ful", "ally", "ly"] {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= 4
        {
            word.truncate(rest.len());
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    if word.len() > 6 {
        word.truncate(6);
    }
    if word.len() > 2 && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
    word
}

fn plural(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") && word.len() > 4 {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
        word.pop();
    }
}

fn past(word: &mut String) {
    let rest = ["ing", "ed"].iter().find_map(|ending| word.strip_suffix(ending));
    let Some(rest) = rest.filter(|rest| rest.len() > 1 && rest.bytes().any(is_vowel)) else {
        return;
    };
    let length = rest.len();
    word.truncate(length);
    let mut back = word.bytes().rev();
    let (last, before) = (back.next(), back.next());
    if last == before && !matches!(last, Some(b'l' | b's' | b'z') | None) {
        word.pop();
    }
}

fn is_vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Every word of a text. An identifier gives itself and its parts
/// (`retry_policy.rs` → itself, `retry`, `policy`, `rs`); scripts without
/// spaces give every pair of characters.
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

/// Whether a word goes on at this character: letters and digits, and a joint
/// between two of them.
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
        // A full stop joins `file.rs` and `3.5`; a comma only digits.
        if c == ',' {
            digits
        } else {
            letters || c == '_' && after.is_some_and(char::is_alphanumeric)
        }
    }
}

fn word(text: &str, place: Range<usize>, out: &mut Vec<Word>) {
    let spelt = &text[place.clone()];
    let lower = spelt.to_lowercase().replace('’', "'");
    let lower = ["'s", "'re", "'ve", "'ll", "'d", "'m"]
        .iter()
        .find_map(|ending| lower.strip_suffix(ending))
        .unwrap_or(&lower);
    let lower = lower.replace(',', "");
    out.push(Word { place: place.clone(), lower });
    let parts = parts(spelt);
    if parts.len() > 1 {
        for part in parts {
            let at = place.start + part.start..place.start + part.end;
            out.push(Word { lower: text[at.clone()].to_lowercase(), place: at });
        }
    }
}

/// The parts of an identifier: at `_` and `.` between letters, and where a
/// capital follows a small letter. A number has no parts.
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

/// Han, hiragana, katakana, hangul: runs are compared by pairs of characters.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3134f}')
}

/// Every two neighbouring terms as one.
pub(super) fn pairs(terms: &[Term]) -> Vec<Term> {
    terms.windows(2).map(|pair| pair[0].rotate_left(21) ^ pair[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.lower).collect()
    }

    #[test]
    fn forms_of_a_word_are_one_term() {
        let forms = [
            ("running", "ran"),
            ("adopted", "adopting"),
            ("hobbies", "hobby"),
            ("bought", "buy"),
            ("organizers", "organization"),
            ("children", "kids"),
            ("decided", "chose"),
        ];
        for (one, other) in forms {
            assert_eq!(term(one), term(other), "{one} {other}");
        }
        for (one, other) in [("race", "rice"), ("port", "part"), ("1200", "120")] {
            assert_ne!(term(one), term(other), "{one} {other}");
        }
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
