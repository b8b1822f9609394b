//! What is quoted of a program's words.

use crate::text::is_command;

/// Separates an error from the program's last output, which may quote the
/// conversation.
pub const ITS_WORDS: &str = "; its words: ";

/// Longest quotation of a program's output, in characters.
const EXCERPT: usize = 300;

/// A program's output on one line, without control characters.
pub(super) fn harmless(text: &str) -> String {
    text.trim().chars().map(|c| if is_command(c) { ' ' } else { c }).collect()
}

/// The beginning of a program's output.
pub(super) fn excerpt(text: &str) -> String {
    let text = harmless(text);
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_one_line_of_at_most_three_hundred_characters() {
        assert_eq!(harmless(" a\nb\u{1b}c "), "a b c");
        let whole = "é".repeat(300);
        assert_eq!(excerpt(&whole), whole);
        assert_eq!(excerpt(&format!("{whole}é")), format!("{whole}…"));
    }
}
