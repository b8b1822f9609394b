//! Whether a text says something of an identifier, or only names it. Of the rules compared with 187
//! labels on summaries that models wrote this one agreed best and is the simplest (how-it-works
//! §45). No rule of words tells whether what is said is true.

use std::ops::Range;

use recap_core::text::{IdentifierOptions, Needle, identifiers, words};

/// Fewest names that are a list where they share a line.
const LISTED: usize = 3;
/// Words that join names and say nothing of them.
const JOINS: [&str; 3] = ["and", "or", "etc"];

/// Where `needle` first stands in `text` with a statement about it, in bytes: another word on its
/// line, which is no list of names; or below, where the line opens what stands there.
pub(super) fn stated(needle: &Needle, text: &str) -> Option<Range<usize>> {
    needle.places(text).find(|place| is_stated(text, place))
}

fn is_stated(text: &str, place: &Range<usize>) -> bool {
    let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[place.end..].find('\n').map_or(text.len(), |at| place.end + at);
    let line = &text[start..end];
    if says(line) {
        return !is_list(line, place.start - start);
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let below = text[end..].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let bare = line.trim();
    let is_head = bare.starts_with('#') || bare.ends_with([':', '*']);
    (is_head || indent(below) > indent(line)) && says(below)
}

/// Whether a line lists names behind a colon, this place among them.
fn is_list(line: &str, place: usize) -> bool {
    let listed = line.find(": ").filter(|colon| *colon < place).map_or("", |at| &line[at..]);
    names(listed).len() >= LISTED && !says(listed)
}

/// Whether a line has a word outside identifiers.
fn says(line: &str) -> bool {
    let is_word = |word: &str| {
        word.chars().nth(1).is_some()
            && word.contains(char::is_alphabetic)
            && !JOINS.contains(&word)
    };
    let mut from = 0;
    let ends = names(line).into_iter().chain(std::iter::once(line.len()..line.len()));
    ends.into_iter().any(|range| {
        let between = line.get(from..range.start).unwrap_or_default();
        from = from.max(range.end);
        words(between).any(is_word)
    })
}

/// Where identifiers stand.
fn names(line: &str) -> Vec<Range<usize>> {
    let found = identifiers(line, IdentifierOptions { code: true });
    found.into_iter().map(|one| one.range).collect()
}

#[cfg(test)]
mod tests {
    use recap_core::model::IdentifierClass;
    use recap_core::text::Paths;

    use super::*;

    fn says_of_pool(text: &str) -> bool {
        let path = "src/net/pool.rs";
        stated(&Needle::new(path, IdentifierClass::Path, &Paths::default()), text).is_some()
    }

    #[test]
    fn word_on_its_line_or_below_is_a_statement() {
        for text in [
            "Mended src/net/pool.rs.",
            "- `src/net/pool.rs`: drains the queue",
            "the retry limit in src/net/pool.rs, src/net/queue.rs and src/main_loop.rs is 3",
            "### src/net/pool.rs\n\nDrains the queue.",
            "**src/net/pool.rs**:\n- drains the queue",
            "1. src/net/pool.rs\n   - drains the queue",
            "在 src/net/pool.rs 中修复了队列",
            "Changed: src/net/a_1.rs, src/net/pool.rs (the queue), src/net/b_2.rs",
            "src/net/pool.rs\n\nand: src/net/pool.rs is mended",
        ] {
            assert!(says_of_pool(text), "{text}");
        }
    }

    #[test]
    fn list_of_names_is_no_statement() {
        for text in [
            "",
            "src/net/pool.rs",
            "- src/net/pool.rs\n- src/net/queue.rs\nThe rest is done.",
            "Files: src/net/pool.rs, src/net/queue.rs and src/main_loop.rs",
            "files: [\"src/net/pool.rs\", \"src/net/queue.rs\", \"src/main_loop.rs\"]",
            "\"src/net/pool.rs\",\n\"src/net/queue.rs\"",
            "文件: src/net/pool.rs、src/net/queue.rs、src/main_loop.rs",
            "Read and not modified: src/net/a_1.rs, src/net/pool.rs, src/net/b_2.rs",
            "open src/net/pool.rs…",
            "# src/net/pool.rs\n# src/net/queue.rs",
            "Mended src/net/pool.rs.bak and src/net/pools.rs",
        ] {
            assert!(!says_of_pool(text), "{text}");
        }
    }
}
