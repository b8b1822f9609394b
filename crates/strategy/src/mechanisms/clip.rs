//! Shortens a long text to its two ends.

use serde::Deserialize;

/// How much of a text stays at either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Clip {
    /// The unit of both lengths.
    pub unit: Unit,
    /// Length of the beginning that is kept.
    #[serde(default)]
    pub head: usize,
    /// Length of the end that is kept.
    #[serde(default)]
    pub tail: usize,
}

impl Clip {
    /// Whether a text of this many UTF-16 units is certainly short enough: it
    /// cannot have more characters.
    pub(super) fn is_surely_short(self, units: u64) -> bool {
        self.unit == Unit::Characters && units <= (self.head + self.tail) as u64
    }
}

/// The unit in which a text is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unit {
    /// Unicode scalar values.
    Characters,
    /// Lines of the text.
    Lines,
}

/// The two ends with a marker between them; `None` where they cover the whole text.
pub(super) fn clipped(text: &str, clip: Clip, marker: &str) -> Option<String> {
    let (head, tail) = match clip.unit {
        Unit::Characters => {
            let starts = || text.char_indices().map(|(at, _)| at);
            let count = text.chars().count();
            ends((starts(), starts().rev(), count), clip, text.len())?
        }
        Unit::Lines => {
            let ends_of_lines = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
            let starts = std::iter::once(0).chain(ends_of_lines).filter(|&at| at < text.len());
            let starts: Vec<usize> = starts.collect();
            let known = starts.iter().copied();
            ends((known.clone(), known.rev(), starts.len()), clip, text.len())?
        }
    };
    let (head, tail) = (text[..head].trim_end_matches('\n'), &text[tail..]);
    let parts = [head, marker, tail].into_iter().filter(|part| !part.is_empty());
    Some(parts.collect::<Vec<_>>().join("\n"))
}

/// Where the beginning ends and where the end begins, of a text with so many
/// pieces that start there, from either side.
fn ends(
    (mut starts, mut from_behind, count): (
        impl Iterator<Item = usize>,
        impl Iterator<Item = usize>,
        usize,
    ),
    clip: Clip,
    length: usize,
) -> Option<(usize, usize)> {
    count.checked_sub(clip.tail).filter(|&at| at > clip.head)?;
    let tail = clip.tail.checked_sub(1).map_or(Some(length), |before| from_behind.nth(before));
    Some((starts.nth(clip.head)?, tail?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(unit: Unit, head: usize, tail: usize) -> Clip {
        Clip { unit, head, tail }
    }

    #[test]
    fn text_ends_are_counted_in_lines() {
        let cut = |head, tail| clipped("a\nb\nc\nd\n", clip(Unit::Lines, head, tail), "[cut]");
        assert_eq!(cut(0, 2).as_deref(), Some("[cut]\nc\nd\n"));
        assert_eq!(cut(1, 1).as_deref(), Some("a\n[cut]\nd\n"));
        assert_eq!(cut(1, 0).as_deref(), Some("a\n[cut]"));
        assert_eq!(cut(1, 3), None, "both ends are all of it");
        assert_eq!(cut(9, 0), None);
    }

    #[test]
    fn text_ends_are_counted_in_whole_characters() {
        let cut = |head, tail| clipped("äbcdü", clip(Unit::Characters, head, tail), "…");
        assert_eq!(cut(1, 1).as_deref(), Some("ä\n…\nü"));
        assert_eq!(cut(0, 2).as_deref(), Some("…\ndü"));
        assert_eq!(cut(2, 0).as_deref(), Some("äb\n…"));
        assert_eq!(cut(2, 3), None);
        assert_eq!(clipped("", clip(Unit::Lines, 0, 0), "…"), None);
    }

    #[test]
    fn text_of_few_enough_units_is_surely_short() {
        let ends = clip(Unit::Characters, 2, 3);
        assert!(ends.is_surely_short(5) && !ends.is_surely_short(6));
        assert!(!clip(Unit::Lines, 2, 3).is_surely_short(5), "lines are counted in the text");
    }
}
