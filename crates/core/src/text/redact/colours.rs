//! Texts without the codes that colour them in a terminal: a code may stand inside a name or
//! between a name and its value.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A text without the codes that colour it, and where it stands in the whole text.
pub(super) struct Uncoloured {
    pub text: String,
    /// Of each code: where it was in `text`, and the bytes of all codes up to it.
    codes: Vec<(usize, usize)>,
}

impl Uncoloured {
    /// `None` for a text without such codes (ECMA-48 §5.4), as bytes or written as escapes.
    pub fn of(whole: &str) -> Option<Self> {
        static CODE: LazyLock<Regex> = LazyLock::new(|| {
            let escape = r"(?:\x1b|\^\[|\\{1,4}(?:x1[bB]|u001[bB]|033|e))";
            Regex::new(&format!(r"{escape}\[[0-9;?]{{0,24}}[A-Za-z]")).expect("it is valid")
        });
        // Most texts have none.
        if !CODE.is_match(whole) {
            return None;
        }
        let (mut text, mut codes) = (String::with_capacity(whole.len()), Vec::new());
        let (mut done, mut left_out) = (0, 0);
        for code in CODE.find_iter(whole) {
            text.push_str(&whole[done..code.start()]);
            done = code.end();
            left_out += code.len();
            codes.push((text.len(), left_out));
        }
        text.push_str(&whole[done..]);
        Some(Self { text, codes })
    }

    /// Where a range of the text stands in the whole text, codes inside it included.
    pub fn place(&self, range: &Range<usize>) -> Range<usize> {
        let left_out = |codes: usize| codes.checked_sub(1).map_or(0, |last| self.codes[last].1);
        let before_start = self.codes.partition_point(|(at, _)| *at <= range.start);
        let before_end = self.codes.partition_point(|(at, _)| *at < range.end);
        range.start + left_out(before_start)..range.end + left_out(before_end)
    }
}
