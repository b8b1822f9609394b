//! The plain words of a text, and those around a place in it.

use std::ops::Range;

/// Fewest characters of a word: shorter ones are not specific (reference §4).
const SHORTEST: usize = 3;
/// Most characters of a word: longer runs are data (reference §4).
const LONGEST: usize = 64;

/// Runs of letters, digits and underscores that hold a letter and are neither
/// too short nor too long, as they are written.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c)).filter(|word| {
        word.len() >= SHORTEST
            && (SHORTEST..=LONGEST).contains(&word.chars().take(LONGEST + 1).count())
            && word.chars().any(char::is_alphabetic)
    })
}

/// The text within `radius` characters before and after the bytes `place`,
/// whole words only.
pub fn around<'a>(text: &'a str, place: &Range<usize>, radius: usize) -> (&'a str, &'a str) {
    let before = &text[..place.start];
    let after = &text[place.end..];
    let from = before.char_indices().rev().nth(radius.saturating_sub(1)).map_or(0, |(at, _)| at);
    let to = after.char_indices().nth(radius).map_or(after.len(), |(at, _)| at);
    let cut_left = from > 0 && before[..from].chars().next_back().is_some_and(is_word);
    let cut_right = after[to..].chars().next().is_some_and(is_word);
    let mut head = &before[from..];
    let mut tail = &after[..to];
    if cut_left {
        head = head.trim_start_matches(is_word);
    }
    if cut_right {
        tail = tail.trim_end_matches(is_word);
    }
    (head, tail)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
