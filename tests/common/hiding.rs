//! What strangers write that a terminal would obey or hide.

/// An escape that conceals, a line that is written over, backspaces, overrides
/// of the direction, isolates, and characters of no width.
pub const HIDING: &str = "\u{1b}[8mtouch gone\u{1b}[0m\rls\u{8}\u{8}\u{202e}gpj.x\u{202c}\u{2066}y\u{2069}z\u{200b}\u{feff}\u{9b}2J\u{e0041}";

/// Whether a terminal would obey or hide it.
pub fn is_obeyed(c: char) -> bool {
    let hidden = ['\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}', '\u{200b}'..='\u{200f}'];
    c.is_control() && !matches!(c, '\n' | '\t')
        || hidden.iter().any(|range| range.contains(&c))
        || matches!(c, '\u{feff}' | '\u{e0041}')
}
