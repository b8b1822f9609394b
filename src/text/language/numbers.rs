//! Numbers, however they are written.

const ONES: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen \
    fourteen fifteen sixteen seventeen eighteen nineteen";
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";
/// `second` may be a time.
const ORDINALS: &str = "- first - third fourth fifth sixth seventh eighth ninth tenth eleventh \
    twelfth";

fn place(list: &str, word: &str) -> Option<u64> {
    list.split(' ').position(|name| name == word).map(|at| at as u64)
}

/// The value of a number word below a hundred, in lower case.
pub fn cardinal(word: &str) -> Option<u64> {
    place(ONES, word).or_else(|| Some((place(TENS, word)? + 2) * 10))
}

/// The value of `first` to `twelfth`, and of `once` and `twice`.
pub fn ordinal(word: &str) -> Option<u64> {
    match word {
        "once" => Some(1),
        "twice" => Some(2),
        "-" => None,
        _ => place(ORDINALS, word),
    }
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
