//! Lines that an agent copies from a text it has before it: code that moves to another file, a
//! pasted log. No summary could hold them, so what they name was not remembered, and who lost the
//! text reads it again.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use rustc_hash::{FxHashSet, FxHasher};

use super::occurrences::texts;
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

#[cfg(test)]
mod tests {
    use recap_core::model::{Block, Role};

    use super::*;

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
}
