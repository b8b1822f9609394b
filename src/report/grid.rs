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

/// At most `width` columns, with an ellipsis where something is missing and
/// there is room for one.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
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

/// What is done where a table is wider than the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// A column is cut, to eight columns at least.
    Cut(usize),
    /// It is folded into blocks, as on any narrow terminal.
    Fold,
    /// Its lines run over.
    Over,
}

/// A table whose rows are all alike.
pub(super) struct Grid<'a> {
    /// One or two lines for each column.
    pub(super) heads: &'a [[&'static str; 2]],
    /// Whether a column stands against its right edge.
    pub(super) right: fn(usize) -> bool,
    pub(super) fit: Fit,
}

impl Grid<'_> {
    pub(super) fn push(&self, out: &mut String, rows: Vec<Vec<String>>, width: usize, color: bool) {
        let mut widths: Vec<usize> = (self.heads.iter().enumerate())
            .map(|(at, head)| {
                let cells = rows.iter().map(|row| row[at].as_str()).chain(*head);
                cells.map(UnicodeWidthStr::width).max().unwrap_or(0)
            })
            .collect();
        let taken = 1 + widths.iter().sum::<usize>() + GAP.len() * (widths.len() - 1);
        let folds = match self.fit {
            Fit::Fold => taken > width,
            Fit::Cut(_) | Fit::Over => width < NARROWEST,
        };
        if folds {
            let labels: Vec<String> = self.heads.iter().map(joined).collect();
            return push_blocks(out, &labels, rows.into_iter().map(|row| (row, None)), width);
        }
        if let Fit::Cut(at) = self.fit {
            let least = widths[at].min(8);
            widths[at] = widths[at].saturating_sub(taken.saturating_sub(width)).max(least);
        }
        let right: Vec<bool> = (0..self.heads.len()).map(self.right).collect();
        for line in 0..2 {
            let cells: Vec<String> = self.heads.iter().map(|head| head[line].to_owned()).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                push_line(out, &right, &widths, &cells, color.then_some("1"));
            }
        }
        for cells in &rows {
            push_line(out, &right, &widths, cells, None);
        }
    }
}

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
