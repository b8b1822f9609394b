//! What an edit repeats of a file. The text that an edit replaces must match the
//! file, so an agent reads the file again before it writes it, whatever a summary
//! says; what the new text repeats of it is copied from there.

use std::ops::Range;

use super::occurrences::TextKind;

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
