//! The language kit of the offline seats: which words mean nothing by
//! themselves, stems, numbers in words, scripts without spaces, ranking.
//!
//! Judge and reader compare words by the same stems and leave out the same stop
//! words, so that what one finds the other knows again.

pub mod bm25;
mod numbers;
mod stems;

pub use numbers::{cardinal, ordinal, plain, scale};
pub use stems::stem;

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// Words too common to show what a text is about.
const STOP: &str = "a about after all almost also an and any approximately are around as at be \
    been before being between both by can circa could did do does during each for from get \
    getting got had has have he her him his how i in into is it its just likely lot lots many me \
    might more most much my nearly no not of on or other our out over probably really roughly she \
    should since so some something stuff than that the their them then there these they thing \
    things this those to too under until up very was we were what when where which who whom why \
    will with would you your";

static STOP_WORDS: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| STOP.split_whitespace().collect());

/// Whether a lower-case word says nothing about what a text is about.
pub fn is_stop(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

/// Whether a word is one of a list of words with spaces between.
pub fn is_in(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|listed| listed == word)
}

/// Kana, Han with its extensions, and hangul: scripts whose words are compared
/// by their characters.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Letters with marks and the plain letters they are read as.
const FOLDED: &str = "àáâãäåāăąa çćĉċčc ďđðd èéêëēĕėęěe ĝğġģg ĥħh ìíîïĩīĭįıi ķk ĺļľŀłl ñńņňn \
    òóôõöøōŏőơo ŕŗřr śŝşšșs ţťŧțþt ùúûüũūŭůűųưu ŵw ýÿŷy źżžz";

/// A word in lower case and without marks.
pub fn folded(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(word.len());
    for c in word.chars().flat_map(char::to_lowercase) {
        match c {
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'ß' => out.push_str("ss"),
            '\u{300}'..='\u{36f}' => {}
            c if c.is_ascii() => out.push(c),
            c => {
                let group = FOLDED.split(' ').find(|group| group.contains(c));
                out.push(group.and_then(|group| group.chars().next_back()).unwrap_or(c));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        let forms = [
            ("running", "ran"),
            ("adopted", "adopting"),
            ("hobbies", "hobby"),
            ("bought", "buy"),
            ("left", "leaves"),
            ("children", "kids"),
            ("centre", "center"),
            ("usa", "uk"),
        ];
        for (one, other) in &forms[..7] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        for (one, other) in [("race", "rice"), ("port", "part"), ("1200", "120"), forms[7]] {
            assert_ne!(stem(one), stem(other), "{one} {other}");
        }
    }

    #[test]
    fn marks_are_read_as_plain_letters() {
        assert_eq!(folded("Müller’s Æther e\u{301} Ł 南京"), "muller’s aether e l 南京");
    }

    #[test]
    fn numbers_in_words_have_their_value() {
        assert_eq!((cardinal("zero"), cardinal("nineteen")), (Some(0), Some(19)));
        assert_eq!((cardinal("ninety"), cardinal("hundred")), (Some(90), None));
        assert_eq!((ordinal("third"), ordinal("second")), (Some(3), None));
        assert_eq!(scale("million"), Some(1_000_000));
        let written = ["1,234.50", "007", "0", "2.0", "1,2"].map(plain);
        let expected = [Some("1234.5"), Some("7"), Some("0"), Some("2"), None];
        assert_eq!(written.each_ref().map(Option::as_deref), expected);
    }
}
