//! The language kit of the offline roles: which words mean nothing by
//! themselves, stems, numbers in words, scripts without spaces, ranking.
//!
//! The offline judge and the search for findable answers (`recap-exam`) compare words by the same
//! stems and leave out the same stop words, so that what one finds the other knows again.

pub mod bm25;

use std::cell::RefCell;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};
use rustc_hash::{FxHashMap, FxHashSet};

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
    list.split(' ').any(|listed| listed == word)
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

/// One line a group: the first word stands for all.
const FORMS: &str = include_str!("forms.txt");

static BASES: LazyLock<FxHashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let groups = FORMS.lines().filter_map(|line| line.split_once(' '));
    let pairs = groups.flat_map(|(first, others)| others.split(' ').map(move |word| (word, first)));
    pairs.collect()
});

static SNOWBALL: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

thread_local! {
    static STEMS: RefCell<FxHashMap<Box<str>, Box<str>>> = RefCell::default();
}

/// Most words whose stems are remembered, and the longest of them in bytes:
/// longer ones are names that hardly come again.
const REMEMBERED: usize = 1 << 14;
const LONGEST: usize = 24;

/// The stem of a lower-case word.
pub fn stem(word: &str) -> String {
    with_stem(word, str::to_owned)
}

/// Hands out the stem of a lower-case word. Texts repeat their words, so that
/// those that came last are looked up.
pub fn with_stem<T>(word: &str, read: impl FnOnce(&str) -> T) -> T {
    let word = BASES.get(word).copied().unwrap_or(word);
    // Such a word is its own stem.
    if word.len() <= 3 || !word.is_ascii() {
        return read(word);
    }
    if word.len() > LONGEST {
        return read(&SNOWBALL.stem(word));
    }
    STEMS.with_borrow_mut(|stems| {
        if let Some(known) = stems.get(word) {
            return read(known);
        }
        if stems.len() >= REMEMBERED {
            stems.clear();
        }
        read(stems.entry(word.into()).or_insert(SNOWBALL.stem(word).into()))
    })
}

/// The number words below twenty, in order, and those of tens from twenty.
const UNITS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen \
    fourteen fifteen sixteen seventeen eighteen nineteen";
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";
/// `first` to `twelfth`, in order. `second` may be a time.
const ORDINALS: &str =
    "first - third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth";

const MONTHS: &str =
    "january february march april may june july august september october november december";

/// Values by their words.
type Values = LazyLock<FxHashMap<&'static str, u64>>;

static CARDINAL_VALUES: Values = LazyLock::new(|| {
    let tens = (20..).step_by(10).zip(TENS.split(' '));
    (0..).zip(UNITS.split(' ')).chain(tens).map(|(value, word)| (word, value)).collect()
});

static ORDINAL_VALUES: Values = LazyLock::new(|| {
    let lists = [ORDINALS, MONTHS, "once twice"];
    let values = lists.into_iter().flat_map(|list| (1..).zip(list.split(' ')));
    values.filter(|(_, word)| *word != "-").map(|(value, word)| (word, value)).collect()
});

/// The value of a number word below a hundred, in lower case.
pub fn cardinal(word: &str) -> Option<u64> {
    CARDINAL_VALUES.get(word).copied()
}

/// The value of `first` to `twelfth`, of a month, and of `once` and `twice`.
pub fn ordinal(word: &str) -> Option<u64> {
    ORDINAL_VALUES.get(word).copied()
}

/// What a word multiplies the number word before it by.
pub fn scale(word: &str) -> Option<u64> {
    match word {
        "thousand" => Some(1_000),
        "million" => Some(1_000_000),
        "billion" => Some(1_000_000_000),
        "trillion" => Some(1_000_000_000_000),
        _ => None,
    }
}

/// `1,234.50` as plain digits: `1234.5`. None where the commas group no
/// thousands.
pub fn plain(written: &str) -> Option<String> {
    let (whole, decimals) = written.split_once('.').unwrap_or((written, ""));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or("");
    if whole.contains(',') && (first.len() > 3 || groups.any(|group| group.len() != 3)) {
        return None;
    }
    let digits = whole.replace(',', "");
    let digits = Some(digits.trim_start_matches('0')).filter(|d| !d.is_empty()).unwrap_or("0");
    match decimals.trim_end_matches('0') {
        "" => Some(digits.to_owned()),
        decimals => Some(format!("{digits}.{decimals}")),
    }
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
    fn cached_stem_equals_computed_stem() {
        for word in ["adopting", "acknowledgements", "ran", "été", "retry_policies_of_services"] {
            let computed =
                if word.is_ascii() { SNOWBALL.stem(word).into_owned() } else { word.into() };
            let expected = if word == "ran" { "run".to_owned() } else { computed };
            assert_eq!([stem(word), stem(word)], [expected.clone(), expected], "{word}");
        }
        assert_eq!(with_stem("hobbies", |stem| stem.len()), stem("hobbies").len());
    }

    #[test]
    fn word_list_matches_only_whole_words() {
        let list = "in of the other";
        assert!(["in", "of", "the", "other"].iter().all(|word| is_in(list, word)));
        assert!(
            !["", " ", "i", "he", "her", "in of", "o", "others"].iter().any(|w| is_in(list, w))
        );
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
        assert_eq!((ordinal("twelfth"), ordinal("-")), (Some(12), None));
        assert_eq!((ordinal("twice"), ordinal("december")), (Some(2), Some(12)));
        assert_eq!(scale("million"), Some(1_000_000));
        let written = ["1,234.50", "007", "0", "2.0", "1,2"].map(plain);
        let expected = [Some("1234.5"), Some("7"), Some("0"), Some("2"), None];
        assert_eq!(written.each_ref().map(Option::as_deref), expected);
    }
}
