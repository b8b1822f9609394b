//! The normal form of a text, in which two spellings of one value are equal.

use super::language::{cardinal, is_unspaced};

/// A text without differences of spelling: case, punctuation, articles, the
/// possessive, number words, thousands separators, trailing zeros of decimals
/// and the endings of ordinals.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Normal(String);

impl Normal {
    /// The normal form of `text`.
    pub fn new(text: &str) -> Normal {
        let mut words = String::from(" ");
        for word in raw_words(text) {
            let word = normal_word(&word);
            if !matches!(word.as_str(), "" | "a" | "an" | "the") {
                words.push_str(&word);
                words.push(' ');
            }
        }
        Normal(words)
    }

    /// Whether nothing remains: the text is only punctuation or articles.
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// Whether it contains `value`, in whole words. An empty value is contained
    /// nowhere.
    pub fn contains(&self, value: &Normal) -> bool {
        !value.is_empty() && self.0.contains(&value.0)
    }

    /// The words, one space between them.
    pub fn as_str(&self) -> &str {
        self.0.trim()
    }
}

/// Maximal runs of letters and digits in lower case. A separator between two
/// digits and an apostrophe between two letters belong to the run; scripts
/// without spaces give one word a character.
fn raw_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let joins = match c {
            '.' | ',' => before.is_ascii_digit() && after.is_ascii_digit(),
            '\'' | '’' => before.is_alphabetic() && after.is_alphabetic(),
            _ => false,
        };
        if is_unspaced(c) {
            words.push(std::mem::take(&mut word));
            words.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else if joins {
            word.push(if c == '’' { '\'' } else { c });
        } else {
            words.push(std::mem::take(&mut word));
        }
        before = c;
    }
    words.push(word);
    words
}

/// Whether the name that begins with `c` has lost the space before it, as in
/// text copied from a page: `onMarch`, but not `iPhone` nor `LeBron`.
#[inline]
pub fn runs_into_name(word: &str, c: char, after: char) -> bool {
    c.is_ascii_uppercase()
        && after.is_ascii_lowercase()
        && word.len() >= 2
        && word.bytes().all(|b| b.is_ascii_lowercase())
}

fn normal_word(word: &str) -> String {
    if let Some(value) = cardinal(word).filter(|value| *value <= 20) {
        return value.to_string();
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return number(word);
    }
    let word = word.strip_suffix("'s").unwrap_or(word);
    word.replace('\'', "")
}

/// `1,000` → `1000`, `3.50` → `3.5`, `2.0` → `2`, `7th` → `7`.
fn number(word: &str) -> String {
    let whole = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    let ordinal = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending));
    let word = ordinal.filter(|digits| whole(&digits.replace(',', ""))).unwrap_or(word);
    if let Some((first, rest)) = word.split_once(',') {
        let grouped =
            first.len() <= 3 && rest.split(',').all(|g| g.split('.').next().is_some_and(is_group));
        if !grouped {
            return word.split(',').map(number).collect::<Vec<_>>().join(" ");
        }
    }
    let word = word.replace(',', "");
    match word.split_once('.') {
        Some((integer, decimals)) if whole(integer) && whole(decimals) => {
            match decimals.trim_end_matches('0') {
                "" => integer.to_owned(),
                decimals => format!("{integer}.{decimals}"),
            }
        }
        _ => word,
    }
}

/// Three digits, as they stand between thousands separators.
fn is_group(digits: &str) -> bool {
    digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        Normal::new(text).as_str().to_owned()
    }

    #[test]
    fn case_punctuation_articles_and_possessives_do_not_count() {
        assert_eq!(normal("The Black-and-White bowl!"), "black and white bowl");
        assert_eq!(normal("Oscar’s pet, isn't it?"), "oscar pet isnt it");
        assert_eq!(normal("  \n"), "");
        assert_eq!(normal("?!… the"), "");
    }

    #[test]
    fn numbers_are_equal_however_they_are_written() {
        assert_eq!(normal("Twenty"), "20");
        assert_eq!(normal("1,000,000 users"), "1000000 users");
        assert_eq!(normal("3.50 and 2.0 and 1,234.50"), "3.5 and 2 and 1234.5");
        assert_eq!(normal("the 7th of May, 2023."), "7 of may 2023");
        assert_eq!(normal("1,2"), "1 2");
        assert_eq!(normal("250ms v1.2.10"), "250ms v1.2.10");
    }

    #[test]
    fn a_value_is_contained_in_whole_words_only() {
        let text = Normal::new("She adopted two dogs at 12,500 Main Street.");
        for value in ["2 dogs", "12500", "Main street", "the dogs"] {
            assert!(text.contains(&Normal::new(value)), "{value}");
        }
        for value in ["dog", "2500", "adopted dogs", "", "..."] {
            assert!(!text.contains(&Normal::new(value)), "{value}");
        }
    }

    #[test]
    fn scripts_without_spaces_are_matched_by_character() {
        assert!(Normal::new("我在南京大学读书").contains(&Normal::new("南京大学")));
        assert!(!Normal::new("我在南京大学读书").contains(&Normal::new("北京")));
    }

    #[test]
    fn a_normal_form_is_its_own_normal_form() {
        for text in ["'", "''s", "1,,2", "1.2.3,4", "9'9", ",1", "1.", "٣,٤", "0th", "1,000th"] {
            let once = Normal::new(text);
            assert_eq!(Normal::new(once.as_str()), once, "{text}");
        }
        assert_eq!(normal("1.2.3"), "1.2.3");
    }
}
