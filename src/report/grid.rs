//! Columns of text on a terminal, counted in columns and not in bytes.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

/// Between two columns.
pub(super) const GAP: &str = "  ";

/// Escapes behind which a line or a word is set apart, without their ESC; no
/// other one reaches a terminal.
pub const STYLES: [&str; 4] = ["[0m", "[1m", "[2m", "[33m"];

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

/// A head of two lines in one: a word that is divided between them is whole.
pub(super) fn joined(head: &[&str; 2]) -> String {
    match (head[0].strip_suffix('-'), head[1]) {
        (Some(begun), rest) => format!("{begun}{rest}"),
        (None, "") => head[0].to_owned(),
        (None, rest) => format!("{} {rest}", head[0]).trim_start().to_owned(),
    }
}

/// Narrower than this the cells of a table would be cut beyond use: it is
/// folded into blocks.
pub(super) const NARROWEST: usize = 80;

/// Columns that a figure has at least beside its label.
const FIGURE: usize = 16;

/// A table for a narrow terminal: a block for each row, with the first cell as
/// its head and a line with label and figure for each other. A figure longer
/// than its place goes on below it, between words.
pub(super) fn push_blocks<'a>(
    out: &mut String,
    labels: &[String],
    rows: impl IntoIterator<Item = (Vec<String>, Option<&'a str>)>,
    width: usize,
) {
    let widest = labels.iter().skip(1).map(|label| label.width()).max().unwrap_or(0);
    let beside = width.saturating_sub(2 + widest + GAP.len()).max(FIGURE);
    for (cells, style) in rows {
        let mut cells = cells.into_iter();
        let right = [false];
        let head = cells.next().unwrap_or_default();
        push_line(out, &right, &[head.width()], &[head], style);
        for (label, cell) in labels.iter().skip(1).zip(cells) {
            let lines = wrapped(&cell, beside);
            for (at, line) in lines.iter().enumerate() {
                let label = if at == 0 { label.as_str() } else { "" };
                let cells = [format!(" {label}"), line.clone()];
                push_line(out, &[false; 2], &[1 + widest, line.width()], &cells, style);
            }
        }
    }
}

pub(super) fn paragraph(out: &mut String, text: &str, width: usize, indent: &str) {
    for line in wrapped(text, width.saturating_sub(indent.len())) {
        writeln!(out, "{indent}{line}").expect("a string takes everything");
    }
}
