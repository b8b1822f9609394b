//! Numbers, however they are written.

const SMALL: &[&str] = &[
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: &[&str] =
    &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
/// `second` is left out: it may be a time.
const ORDINALS: &[(&str, u64)] = &[
    ("first", 1),
    ("third", 3),
    ("fourth", 4),
    ("fifth", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
    ("eleventh", 11),
    ("twelfth", 12),
    ("once", 1),
    ("twice", 2),
];
/// Those that are not also words or initials.
const ROMAN: &[(&str, u64)] = &[
    ("II", 2),
    ("III", 3),
    ("IV", 4),
    ("VI", 6),
    ("VII", 7),
    ("VIII", 8),
    ("IX", 9),
    ("XI", 11),
    ("XII", 12),
    ("XIII", 13),
    ("XIV", 14),
    ("XV", 15),
    ("XVI", 16),
    ("XVII", 17),
    ("XVIII", 18),
    ("XIX", 19),
    ("XX", 20),
];

/// The value of a number word below a hundred.
pub(super) fn small(word: &str) -> Option<u64> {
    let at = |list: &[&str]| list.iter().position(|name| *name == word).map(|at| at as u64);
    at(SMALL).or_else(|| at(TENS).map(|at| (at + 2) * 10))
}

/// The value of an ordinal, or of a Roman numeral in capitals.
pub(super) fn named(raw: &str, lower: &str) -> Option<u64> {
    let find = |list: &[(&str, u64)], word: &str| {
        list.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
    };
    find(ORDINALS, lower).or_else(|| find(ROMAN, raw))
}

/// What a word multiplies the number before it by.
pub(super) fn scale(word: &str) -> Option<u64> {
    match word {
        "thousand" | "k" => Some(1_000),
        "million" | "mn" => Some(1_000_000),
        "billion" | "bn" => Some(1_000_000_000),
        "trillion" => Some(1_000_000_000_000),
        _ => None,
    }
}

/// `1,234.50` times `scale` as plain digits: `1234.5`. None where the commas
/// group no thousands.
pub(super) fn digits(written: &str, scale: u64) -> Option<String> {
    let (whole, decimals) = written.split_once('.').unwrap_or((written, ""));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or("");
    let grouped = groups.clone().all(|group| group.len() == 3) && first.len() <= 3;
    if whole.contains(',') && !grouped {
        return None;
    }
    let zeros = scale.ilog10() as usize;
    let (up, rest) = decimals.split_at(decimals.len().min(zeros));
    let mut value: String = whole.chars().filter(char::is_ascii_digit).collect();
    value.push_str(up);
    value.extend(std::iter::repeat_n('0', zeros - up.len()));
    let kept = value.trim_start_matches('0');
    let mut value = if kept.is_empty() { "0".to_owned() } else { kept.to_owned() };
    let rest = rest.trim_end_matches('0');
    if !rest.is_empty() {
        value.push('.');
        value.push_str(rest);
    }
    Some(value)
}

/// Whether a word is a unit of time, of which there may be one.
pub(super) fn is_duration(word: &str) -> bool {
    matches!(word, "minute" | "hour" | "day" | "week" | "month" | "year" | "decade" | "century")
}
