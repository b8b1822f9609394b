//! Text from recordings and presets, made harmless for people to look at.
//!
//! Escaping for HTML is the template's work; what stands here is what escaping
//! leaves: control characters, terminal escapes and characters that turn the
//! reading direction around.

use crate::text::is_command;

/// One line: control characters and line breaks become spaces, direction
/// overrides a replacement character.
pub(super) fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { shown(c) }).collect()
}

/// Several lines: line feeds and tabs stay.
pub(super) fn lines(text: &str) -> String {
    let kept = text.chars().filter(|&c| c != '\r');
    kept.map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// The first `limit` characters, and an ellipsis where there are more.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Text for an attribute that no template escapes: what a chart's own code
/// writes around plotters.
pub(super) fn attribute(text: &str) -> String {
    content(text, usize::MAX).replace('"', "&quot;").replace('\'', "&#39;")
}

/// Text for an element that no template escapes, cut where it would take more
/// than `bytes` bytes.
pub(super) fn content(text: &str, bytes: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let before = out.len();
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
        if out.len() > bytes {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
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
    }

    #[test]
    fn every_character_with_a_meaning_in_markup_is_escaped() {
        assert_eq!(
            attribute("<a href=\"x\" b='&'>]]>"),
            "&lt;a href=&quot;x&quot; b=&#39;&amp;&#39;&gt;]]&gt;"
        );
        assert_eq!(content("<b>&</b>", 100), "&lt;b&gt;&amp;&lt;/b&gt;");
    }

    #[test]
    fn content_is_never_cut_inside_an_escape_or_a_character() {
        assert_eq!(content("a<b", 3), "a…");
        assert_eq!(content("日本", 4), "日…");
        assert_eq!(content("日本", 6), "日本");
    }
}
