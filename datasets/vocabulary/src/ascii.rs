//! The first piece of a text by [`super::PATTERN`], where only ASCII decides it:
//! most pieces are words of plain letters, and to step over their bytes takes a
//! fraction of what an automaton for all of Unicode does.

/// The length of the first piece of a text; `None` if a character beyond ASCII
/// has a say, or if there is none.
pub(super) fn piece(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (first, next) = (*bytes.first()?, bytes.get(1).copied().unwrap_or(b' '));
    if first.is_ascii_alphabetic() {
        return word(bytes, 0);
    }
    if first.is_ascii_digit() {
        let digits = bytes.iter().take(3).take_while(|b| b.is_ascii_digit()).count();
        return (digits == 3 || ends(bytes, digits)).then_some(digits);
    }
    if !first.is_ascii() || !next.is_ascii() {
        return None;
    }
    // What stands before a word belongs to it, if it is one character.
    if next.is_ascii_alphabetic() && !is_break(first) {
        return word(bytes, 1);
    }
    if is_mark(first) || first == b' ' && is_mark(next) {
        return marks(bytes);
    }
    spaces(bytes)
}

/// Capitals, then small letters, and the ending of a contraction.
fn word(bytes: &[u8], from: usize) -> Option<usize> {
    let small = run(bytes, from, |b| b.is_ascii_uppercase());
    let end = run(bytes, small, |b| b.is_ascii_lowercase());
    let ending = match bytes.get(end..) {
        Some([b'\'', b, ..]) if !b.is_ascii() => return None,
        Some([b'\'', b, ..]) if matches!(b | 0x20, b's' | b't' | b'm' | b'd') => 2,
        Some([b'\'', a, b, ..]) if matches!(&[a | 0x20, b | 0x20], b"re" | b"ve" | b"ll") => 3,
        _ => 0,
    };
    ends(bytes, end).then_some(end + ending)
}

/// Marks, perhaps behind a space, and the ends of lines and slashes after them.
fn marks(bytes: &[u8]) -> Option<usize> {
    let end = run(bytes, 1, is_mark);
    ends(bytes, end).then(|| run(bytes, end, |b| is_break(b) || b == b'/'))
}

/// White space: through its last line, else without its last character, which
/// belongs to what follows.
fn spaces(bytes: &[u8]) -> Option<usize> {
    let end = run(bytes, 0, is_space);
    let lines = bytes[..end].iter().rposition(|b| is_break(*b));
    let behind = if end == bytes.len() || end == 1 { end } else { end - 1 };
    ends(bytes, end).then(|| lines.map_or(behind, |last| last + 1))
}

/// Where the bytes that `is` holds for end.
fn run(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|b| !is(*b)).map_or(bytes.len(), |length| from + length)
}

/// Whether a run that ends here does so in Unicode, too.
fn ends(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(u8::is_ascii)
}

fn is_break(b: u8) -> bool {
    matches!(b, b'\r' | b'\n')
}

fn is_space(b: u8) -> bool {
    matches!(b, b'\t'..=b'\r' | b' ')
}

fn is_mark(b: u8) -> bool {
    b.is_ascii() && !b.is_ascii_alphanumeric() && !is_space(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece_by_patterns;

    /// Every text of five characters, one of each kind that the patterns know.
    #[test]
    fn a_piece_is_that_of_the_patterns() {
        let kinds = ["a", "s", "B", "LL", "'", "7", " ", "\t", "\n", "/", "-", "é", "ſ"];
        let (count, mut decided) = (kinds.len().pow(5), 0);
        for number in 0..count {
            let kind = |place| kinds[number / kinds.len().pow(place) % kinds.len()];
            let text: String = (0..5).map(kind).collect();
            let expected = piece_by_patterns(&text);
            if let Some(found) = piece(&text) {
                decided += 1;
                assert_eq!(Some(found), expected, "{text:?}");
            }
        }
        assert!(decided > count / 2, "{decided}");
        assert_eq!(piece(""), None);
    }

    #[test]
    fn piece_at_text_end_matches_the_patterns() {
        let ends =
            ["  ", "\t", "ab", "a'", "a'l", "12", " -", "-\n/", " \n ", "\u{b}\u{c}", "\0\u{1c}"];
        for end in ends {
            assert_eq!(piece(end), piece_by_patterns(end), "{end:?}");
        }
    }
}
