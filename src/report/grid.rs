//! Columns of text on a terminal, counted in columns and not in bytes.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

/// Between two columns.
pub(super) const GAP: &str = "  ";

/// One line of cells, each in its width and, where `right` says so, against
/// its right edge.
pub(super) fn push_line(
    out: &mut String,
    right: &[bool],
    widths: &[usize],
    cells: &[String],
    style: Option<&str>,
) {
    let mut line = String::new();
    for ((cell, &right), &width) in cells.iter().zip(right).zip(widths) {
        let cell = cut(cell, width);
        let space = " ".repeat(width - cell.width());
        let gap = if line.is_empty() { " " } else { GAP };
        let (left, right) = if right { (space.as_str(), "") } else { ("", space.as_str()) };
        write!(line, "{gap}{left}{cell}{right}").expect("a string takes everything");
    }
    let line = line.trim_end();
    match style {
        Some(code) => writeln!(out, "\u{1b}[{code}m{line}\u{1b}[0m"),
        None => writeln!(out, "{line}"),
    }
    .expect("a string takes everything");
}

/// At most `width` columns, with an ellipsis where something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        if format!("{out}{c}").width() + 1 > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// Lines of at most `width` columns, broken between words.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

pub(super) fn paragraph(out: &mut String, text: &str, width: usize, indent: &str) {
    for line in wrapped(text, width - indent.len()) {
        writeln!(out, "{indent}{line}").expect("a string takes everything");
    }
}
