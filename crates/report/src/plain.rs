//! Text from recordings and strategies, made harmless for people to look at.
//!
//! Escaping for HTML is the template's work; what stands here is what escaping
//! leaves: control characters, terminal escapes and characters that turn the
//! reading direction around.

use recap_core::text::{is_command, is_plain};

/// One line: control characters and line breaks become spaces, direction
/// overrides a replacement character.
pub(super) fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { shown(c) }).collect()
}

/// Several lines: line feeds and tabs stay.
pub(super) fn lines(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let kept = text.chars().filter(|&c| c != '\r');
    kept.map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// The first `limit` characters, and an ellipsis where there are more.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    let end = match text.as_bytes().get(..limit) {
        // A character has at least a byte.
        None => None,
        Some(start) if start.is_ascii() => (text.len() > limit).then_some(limit),
        Some(_) => text.char_indices().nth(limit).map(|(end, _)| end),
    };
    end.map_or_else(|| text.to_owned(), |end| format!("{}…", &text[..end]))
}

/// A character as it may be shown: what changes others becomes U+FFFD.
fn shown(c: char) -> char {
    if is_command(c) { '\u{FFFD}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_escape_loses_its_escape() {
        assert_eq!(line("a\u{1b}[31mb\r\nc\u{9b}"), "a [31mb  c ");
    }

    #[test]
    fn a_direction_override_is_shown_and_not_obeyed() {
        assert_eq!(line("x\u{202E}gnp.exe"), "x\u{FFFD}gnp.exe");
        assert_eq!(lines("a\r\n\tb\u{2066}\0"), "a\n\tb\u{FFFD}\u{FFFD}");
    }

    #[test]
    fn shortening_counts_characters_and_not_bytes() {
        assert_eq!(shortened("日本語", 2), "日本…");
        assert_eq!(shortened("日本語", 3), "日本語");
        assert_eq!(shortened("ab日", 2), "ab…");
        assert_eq!(shortened("abc", 2), "ab…");
        assert_eq!(shortened("ab", 2), "ab");
        assert_eq!(shortened("a", 2), "a");
    }
}
