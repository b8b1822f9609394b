//! Makes foreign texts safe to display.
//!
//! A recording, a strategy, a file's name and a model's reply may contain
//! characters that control a terminal, that change the reading direction or
//! that are invisible. Each becomes U+FFFD, so that it has no effect but shows
//! that there was something.

use std::borrow::Cow;

/// The replacement of such a character.
const MARK: char = '\u{FFFD}';

/// Characters that change how others are displayed: controls (the escape and
/// the backspace among them), direction marks, overrides and isolates (Unicode
/// annex 9), line separators, annotations, and the noncharacters that HTML
/// forbids.
pub fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061C}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
                | '\u{206A}'..='\u{206F}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{FFFE}'
                | '\u{FFFF}'
        )
}

/// Invisible characters, which hide in a word or spell words of their own:
/// spaces and joiners of no width, fillers, tags (U+E0000 and the following)
/// and the selectors after them.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}'
            | '\u{034F}'
            | '\u{115F}'
            | '\u{1160}'
            | '\u{17B4}'
            | '\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200D}'
            | '\u{2060}'..='\u{2065}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// Several lines for a terminal: line feeds and tabs stay, also the line feed
/// of CR LF.
pub fn harmless(text: &str) -> Cow<'_, str> {
    without(text, |c| is_command(c) || is_unseen(c))
}

/// Several lines for a data file: invisible characters stay, since words of
/// many languages, and emoji, are spelled with them.
pub fn harmless_data(text: &str) -> Cow<'_, str> {
    without(text, is_command)
}

/// One line for a terminal: line feeds and tabs are replaced too.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if is_command(c) || is_unseen(c) { MARK } else { c }).collect()
}

/// Whether a text is printable ASCII in lines, as most are: nothing in it commands
/// anything. All bytes at once are seen many times faster than one character after another.
pub fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

fn without(text: &str, taken: fn(char) -> bool) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let taken = |c: char| taken(c) && c != '\n' && c != '\t';
    if !text.contains(taken) {
        return Cow::Borrowed(text);
    }
    let lines = text.replace("\r\n", "\n");
    Cow::Owned(lines.chars().map(|c| if taken(c) { MARK } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_lose_their_power_and_lines_stay() {
        assert_eq!(harmless("a\u{1b}[31m\r\n\tb\u{9b}"), "a\u{FFFD}[31m\n\tb\u{FFFD}");
        assert_eq!(harmless("rm -rf /\rls\u{8}\u{8}"), "rm -rf /\u{FFFD}ls\u{FFFD}\u{FFFD}");
        assert_eq!(one_line("a\nb\tc"), "a\u{FFFD}b\u{FFFD}c");
    }

    #[test]
    fn direction_and_invisible_characters_are_made_visible() {
        for c in "\u{202A}\u{202E}\u{2066}\u{2069}\u{200B}\u{200D}\u{2060}\u{FEFF}\u{E0041}".chars()
        {
            let text = format!("x{c}y");
            assert_eq!(harmless(&text), "x\u{FFFD}y", "{:x}", u32::from(c));
            assert_eq!(one_line(&text), "x\u{FFFD}y", "{:x}", u32::from(c));
        }
    }

    #[test]
    fn data_keep_what_words_are_spelled_with() {
        let emoji = "👩\u{200D}💻";
        assert_eq!(harmless_data(emoji), emoji);
        assert_eq!(harmless_data("a\u{202E}b\u{7}c\n"), "a\u{FFFD}b\u{FFFD}c\n");
        assert!(matches!(harmless("日本語 plain\n"), Cow::Borrowed(_)));
    }
}
