//! What a text repeats of another: lines that an agent copies, and what an edit repeats of a file.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use rustc_hash::{FxHashSet, FxHasher};

use super::candidates::{TextKind, texts};
use recap_core::model::Message;
use recap_core::text::without_gutter;

/// Fewest characters of a line that tells texts apart: less is a brace or a keyword.
const LEAST_LINE: usize = 8;
/// Fewest such lines in a row that are a copy; of a whole text one less.
const LEAST_LINES: usize = 3;

/// The lines of the messages so far.
#[derive(Default)]
pub(super) struct Copies(FxHashSet<u64>);

impl Copies {
    /// Adds the lines of a message.
    pub(super) fn read(&mut self, message: &Message) {
        texts(message, &mut |_, text| self.0.extend(text.lines().filter_map(key)));
    }

    /// Where a text repeats lines of earlier messages, in bytes, ascending.
    pub(super) fn of(&self, text: &str) -> Vec<Range<usize>> {
        let mut copied = Vec::new();
        let (mut start, mut run, mut lines) = (0, 0..0, 0);
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            match key(line).map(|key| self.0.contains(&key)) {
                Some(true) => {
                    run = if lines == 0 { start..end } else { run.start..end };
                    lines += 1;
                }
                Some(false) => {
                    copied.extend((lines >= LEAST_LINES).then(|| run.clone()));
                    lines = 0;
                }
                None => {}
            }
            start = end;
        }
        let is_whole = copied.is_empty() && run.start == 0 && lines + 1 >= LEAST_LINES;
        copied.extend((lines >= LEAST_LINES || is_whole).then_some(run));
        copied
    }
}

/// A line without its indent, its number and the mark of a patch, as a number; `None` for one that
/// is too short.
fn key(line: &str) -> Option<u64> {
    let line = without_gutter(line).trim().trim_start_matches(['+', '-']).trim_start();
    (line.chars().nth(LEAST_LINE - 1)).map(|_| {
        let mut hasher = FxHasher::default();
        line.hash(&mut hasher);
        hasher.finish()
    })
}

// What an edit repeats of a file. The text that an edit replaces must match the
// file, so an agent reads the file again before it writes it, whatever a summary
// says; what the new text repeats of it is copied from there.

/// The side of an edit that a text stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// What is taken away, or named so that the place is found.
    Old,
    /// What is put in its place.
    New,
}

/// The sides of an edit in a text, ascending.
pub(super) struct Sides(Vec<(Range<usize>, Side)>);

impl Sides {
    /// Arguments with an old and a new text (`old_string`, `newText`), patches of
    /// Codex, and blocks of `SEARCH` and `REPLACE`, wherever they stand.
    pub(super) fn of(place: TextKind<'_>, text: &str) -> Sides {
        if let TextKind::Argument { key, .. } = place {
            let key = key.to_ascii_lowercase();
            let whole = |side| Sides(vec![(0..text.len(), side)]);
            match key {
                _ if key.starts_with("old") => return whole(Side::Old),
                _ if key.starts_with("new") => return whole(Side::New),
                _ => {}
            }
        }
        let is_edit = text.contains("*** Update File") || text.contains("<<<<<<< SEARCH");
        if place == TextKind::Result || !is_edit { Sides(Vec::new()) } else { Sides::lines(text) }
    }

    fn lines(text: &str) -> Sides {
        let mut sides = Vec::new();
        let (mut start, mut patch, mut block) = (0, false, None);
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            let side = match line.as_bytes() {
                [b'*', b'*', b'*', ..] => {
                    patch = line.starts_with("*** Update File") || patch && is_within(line);
                    None
                }
                _ if line.starts_with("<<<<<<< SEARCH") => {
                    block = Some(Side::Old);
                    None
                }
                _ if block.is_some() && line.starts_with("=======") => {
                    block = Some(Side::New);
                    None
                }
                _ if line.starts_with(">>>>>>> REPLACE") => {
                    block = None;
                    None
                }
                [b' ' | b'-' | b'@', ..] if patch => Some(Side::Old),
                [b'+', ..] if patch => Some(Side::New),
                _ => block,
            };
            sides.extend(side.map(|side| (start..end, side)));
            start = end;
        }
        Sides(sides)
    }

    /// The side that the byte `at` stands on; `None` where it is no part of an
    /// edit's text, as the path of the file is.
    pub(super) fn at(&self, at: usize) -> Option<Side> {
        let next = self.0.partition_point(|(range, _)| range.start <= at);
        let (range, side) = self.0.get(next.checked_sub(1)?)?;
        range.contains(&at).then_some(*side)
    }
}

/// Lines with stars that do not end the changes of a file.
fn is_within(line: &str) -> bool {
    line.starts_with("*** Move to") || line.starts_with("*** End of File")
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{Block, Role};

    fn copied(before: &str, text: &str) -> Vec<String> {
        let block = Block::Text { text: before.to_owned() };
        let mut copies = Copies::default();
        copies.read(&Message::new("m", Role::User, None, vec![block]));
        copies.of(text).into_iter().map(|range| text[range].to_owned()).collect()
    }

    #[test]
    fn three_lines_in_a_row_are_a_copy() {
        let file = "   7→\tlet pool = Pool::new();\n   8→\t{\n   9→\tpool.drain_queue();\n  10→\t}\n  11→\tpool.close_all();\n";
        let code = "let pool = Pool::new();\n{\n    pool.drain_queue();\n}\npool.close_all();\n";
        let text = format!("fn moved_here() {{\n{code}return pool_size;\n");
        assert_eq!(copied(file, &text), [code]);
        let patch = code.replace('\n', "\n+");
        assert_eq!(copied(file, &patch).len(), 1, "{patch}");
        // Two lines, or three that are no run.
        let own =
            "let pool = Pool::new();\npool.drain_queue();\nsomething_else();\npool.close_all();";
        assert_eq!(copied(file, own), <[&str; 0]>::default());
        assert_eq!(copied("", code), <[&str; 0]>::default());
    }

    #[test]
    fn short_and_strange_lines_are_no_copy() {
        let braces = "}\n}\n}\n}\n}\n";
        assert!(copied(braces, braces).is_empty());
        let wide = "日本語の行がここにある\n".repeat(3);
        assert_eq!(copied(&wide, &wide), vec![wide.clone()]);
        assert_eq!(copied(&wide, wide.trim_end()).len(), 1, "without a line end");
        assert!(copied("", "").is_empty() && copied("\n\n", "\n\n\n").is_empty());
    }

    fn argument(key: &str) -> TextKind<'_> {
        TextKind::Argument { tool: "edit", key, listed: false }
    }

    #[test]
    fn removed_and_unchanged_edit_lines_quote_the_file() {
        let side = |place, text: &str, name: &str| Sides::of(place, text).at(text.find(name)?);
        assert_eq!(side(argument("old_string"), "the initTheme", "initTheme"), Some(Side::Old));
        assert_eq!(side(argument("newText"), "initTheme", "initTheme"), Some(Side::New));
        assert_eq!(side(argument("content"), "- initTheme", "initTheme"), None, "a list");
        let patch = "*** Update File: a.ts\n@@ fn b\n-initTheme\n+openTheme\n loadTheme\n\
                     *** Add File: c.ts\n+newTheme\n*** End Patch";
        for (name, expected) in [
            ("a.ts", None),
            ("fn b", Some(Side::Old)),
            ("initTheme", Some(Side::Old)),
            ("openTheme", Some(Side::New)),
            ("loadTheme", Some(Side::Old)),
            ("newTheme", None),
        ] {
            assert_eq!(side(argument("command"), patch, name), expected, "{name}");
        }
        let block =
            "a.py\n<<<<<<< SEARCH\ninitTheme\n=======\nopenTheme\n>>>>>>> REPLACE\nand endTheme";
        for (name, expected) in [
            ("a.py", None),
            ("initTheme", Some(Side::Old)),
            ("openTheme", Some(Side::New)),
            ("endTheme", None),
        ] {
            assert_eq!(side(TextKind::Said, block, name), expected, "{name}");
            assert_eq!(side(TextKind::Result, block, name), None);
        }
    }

    #[test]
    fn broken_edits_are_read_as_far_as_possible() {
        for text in ["", "<<<<<<< SEARCH", "*** Update File", "*** Update File: a\n", "=======\n-a"]
        {
            let sides = Sides::of(TextKind::Said, text);
            assert!(
                (0..=text.len()).all(|at| sides.at(at).is_none_or(|s| s == Side::Old)),
                "{text}"
            );
        }
    }
}
