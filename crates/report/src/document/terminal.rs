//! A document on a terminal, counted in columns and not in bytes.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::{Column, Narrow, Part, Table};
use crate::plain;
use recap_core::text::harmless;

/// Between two columns.
const GAP: &str = "  ";
/// Narrower than this the cells of a table would be cut beyond use: each row becomes a
/// block of lines.
pub(crate) const NARROWEST: usize = 80;
/// Columns that a figure of a block has at least beside its label.
const FIGURE: usize = 16;
/// Columns of a cell that is cut, and of one that is wrapped, so that words stay whole.
const LEAST: usize = 8;
const LEAST_WRAPPED: usize = 14;
/// Columns of a label.
const LABEL: usize = 9;

/// Escapes that set a line or a word apart, without their ESC; no other one reaches a
/// terminal.
pub const STYLES: [&str; 4] = ["[0m", "[1m", "[2m", "[33m"];
const BOLD: &str = "1";
const DIM: &str = "2";
const YELLOW: &str = "33";

/// What a terminal is like, and how much of a report it is to show.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Columns; below 80 each row of a table becomes a block of lines.
    pub width: usize,
    /// Whether text may be set apart.
    pub color: bool,
    /// Every column, note and finding, instead of what an answer needs.
    pub wide: bool,
}

impl Screen {
    fn styled(self, style: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The parts in order, with an empty line before a heading.
pub fn terminal(parts: &[Part], screen: Screen) -> String {
    let mut out = String::new();
    write_parts(&mut out, parts, screen);
    out
}

fn write_parts(out: &mut String, parts: &[Part], screen: Screen) {
    for part in parts {
        match part {
            Part::Title(text) => paragraph(out, text, screen.width, ""),
            Part::Heading(text) => heading(out, text, screen),
            Part::Folded(text, inside) => {
                heading(out, text, screen);
                write_parts(out, inside, screen);
            }
            Part::Text(text) => paragraph(out, text, screen.width, " "),
            Part::Labelled(label, text) => labelled(out, label, text, screen),
            Part::List(items) => {
                for item in items {
                    let mut lines = String::new();
                    paragraph(&mut lines, item, screen.width, "   ");
                    *out += &lines.replacen("   ", " - ", 1);
                }
            }
            Part::Table(table) => write_table(out, table, screen),
            Part::Quoted(head, text) => {
                let text = if screen.color { harmless(text) } else { text.into() };
                heading(out, &format!("=== {head}"), screen);
                writeln!(out, "{text}").expect("a string takes everything");
            }
        }
    }
}

/// A line that is set apart from what stands above it.
fn heading(out: &mut String, text: &str, screen: Screen) {
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    let mut lines = String::new();
    paragraph(&mut lines, text, screen.width, " ");
    for line in lines.lines() {
        *out += &(screen.styled(YELLOW, line) + "\n");
    }
}

fn paragraph(out: &mut String, text: &str, width: usize, indent: &str) {
    for line in wrapped(&plain::line(text), width.saturating_sub(indent.len())) {
        writeln!(out, "{indent}{line}").expect("a string takes everything");
    }
}

fn labelled(out: &mut String, label: &str, text: &str, screen: Screen) {
    let label = format!("{label:<LABEL$}");
    let lines = wrapped(&plain::line(text), screen.width.saturating_sub(LABEL + 1));
    for (at, line) in lines.iter().enumerate() {
        let head = if at == 0 { screen.styled(BOLD, &label) } else { " ".repeat(LABEL) };
        writeln!(out, " {head}{line}").expect("a string takes everything");
    }
}

/// Lines of at most `width` columns, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
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

fn write_table(out: &mut String, table: &Table, screen: Screen) {
    let mut lines = Lines::spared(table, screen);
    lines.fit(screen.width);
    if screen.width < NARROWEST || lines.taken() > screen.width {
        Lines::new(table).write_blocks(out, screen)
    } else {
        lines.write(out, screen)
    }
}

/// Whether the spreads of a table's figures stand on a screen.
pub(crate) fn shows_spread(table: &Table, screen: Screen) -> bool {
    let lines = Lines::spared(table, screen);
    lines.shown.iter().any(|at| lines.has_spread(*at))
}

/// A table as texts, on its way to a width.
struct Lines<'a> {
    table: &'a Table,
    /// Numbers of the columns that are shown.
    shown: Vec<usize>,
    /// By row and column.
    cells: Vec<Vec<String>>,
    /// Of the columns that are shown.
    widths: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(table: &'a Table) -> Self {
        let texts = |cells: &[super::Cell]| cells.iter().map(|c| plain::line(&c.whole())).collect();
        let mut new = Self {
            table,
            shown: (0..table.columns.len()).collect(),
            cells: table.rows().map(|row| texts(&row.cells)).collect(),
            widths: Vec::new(),
        };
        new.measure();
        new
    }

    /// Without what there is no room for on a screen.
    fn spared(table: &'a Table, screen: Screen) -> Self {
        let mut lines = Self::new(table);
        let fits = |lines: &Self| screen.width < NARROWEST || lines.taken() <= screen.width;
        while !fits(&lines) && lines.spare(screen.wide) {}
        lines
    }

    fn measure(&mut self) {
        let width = |&at: &usize| {
            let head = self.table.columns[at].words.iter().map(|w| w.width()).max().unwrap_or(0);
            let longest = self.cells.iter().map(|row| row[at].width()).max().unwrap_or(0);
            if self.table.columns[at].narrow != Narrow::Wrapped {
                return head.max(longest);
            }
            // Words stay whole.
            let words = self.cells.iter().flat_map(|row| row[at].split(' '));
            let word = words.map(UnicodeWidthStr::width).max().unwrap_or(0);
            head.max(longest.min(LEAST_WRAPPED)).max(word)
        };
        self.widths = self.shown.iter().map(width).collect();
    }

    fn taken(&self) -> usize {
        1 + self.widths.iter().sum::<usize>() + GAP.len() * self.widths.len().saturating_sub(1)
    }

    /// Leaves out a spread or a column; whether anything could be. Who asked for
    /// everything misses a column rather than a spread.
    fn spare(&mut self, wide: bool) -> bool {
        let spread = self.shown.iter().copied().find(|at| self.has_spread(*at));
        let column = (0..self.shown.len()).filter_map(|at| {
            match self.table.columns[self.shown[at]].narrow {
                Narrow::LeftOut(order) => Some((order, at)),
                _ => None,
            }
        });
        match (column.max(), spread) {
            (Some((_, at)), spread) if wide || spread.is_none() => drop(self.shown.remove(at)),
            (_, Some(at)) => {
                for (row, texts) in self.table.rows().zip(&mut self.cells) {
                    texts[at] = plain::line(&row.cells[at].text);
                }
            }
            _ => return false,
        }
        self.measure();
        true
    }

    /// Cuts the column that may be cut, and gives the one that is wrapped what is left.
    fn fit(&mut self, width: usize) {
        let over = self.taken().saturating_sub(width);
        if let Some(at) = self.position(Narrow::Cut) {
            let least = self.widths[at].min(LEAST);
            self.widths[at] = self.widths[at].saturating_sub(over).max(least);
        }
        if let Some(at) = self.position(Narrow::Wrapped) {
            let longest = self.cells.iter().map(|row| row[self.shown[at]].width()).max();
            let left = width.saturating_sub(self.taken());
            self.widths[at] =
                (self.widths[at] + left).min(longest.unwrap_or(0).max(self.widths[at]));
        }
    }

    fn position(&self, narrow: Narrow) -> Option<usize> {
        self.shown.iter().position(|at| self.table.columns[*at].narrow == narrow)
    }

    /// Whether spreads stand in a column.
    fn has_spread(&self, at: usize) -> bool {
        let mut rows = self.table.rows().zip(&self.cells);
        rows.any(|(row, texts)| {
            row.cells[at].spread.is_some() && texts[at] != plain::line(&row.cells[at].text)
        })
    }

    /// Whether a column stands against its right edge: figures of one length do, figures
    /// with their spreads begin at one place.
    fn right(&self, at: usize) -> bool {
        self.table.columns[at].right && !self.has_spread(at)
    }

    fn write(&self, out: &mut String, screen: Screen) {
        for line in 0..2 {
            let heads: Vec<String> = self
                .shown
                .iter()
                .map(|at| self.table.columns[*at].words[line].to_owned())
                .collect();
            if heads.iter().any(|head| !head.is_empty()) {
                self.push(out, &heads, screen, Some(BOLD));
            }
        }
        let mut cells = self.cells.iter();
        for group in &self.table.groups {
            if !group.title.is_empty() && !group.rows.is_empty() {
                let rule = format!("── {} ", group.title);
                let rest = self.taken().min(screen.width).saturating_sub(1 + rule.width());
                let rule = format!(" {rule}{}", "─".repeat(rest));
                *out += &(screen.styled(DIM, rule.trim_end()) + "\n");
            }
            for (row, cells) in group.rows.iter().zip(cells.by_ref()) {
                let cells = self.shown.iter().map(|at| cells[*at].clone()).collect();
                self.push_row(out, cells, screen, row.dim.then_some(DIM));
            }
        }
    }

    /// A row with a cell that runs over several lines where it must.
    fn push_row(
        &self,
        out: &mut String,
        mut cells: Vec<String>,
        screen: Screen,
        style: Option<&str>,
    ) {
        let Some(at) = self.position(Narrow::Wrapped) else {
            return self.push(out, &cells, screen, style);
        };
        let mut lines = wrapped(&cells[at], self.widths[at]).into_iter();
        cells[at] = lines.next().unwrap_or_default();
        self.push(out, &cells, screen, style);
        for line in lines {
            let mut below = vec![String::new(); cells.len()];
            below[at] = line;
            self.push(out, &below, screen, style);
        }
    }

    fn push(&self, out: &mut String, cells: &[String], screen: Screen, style: Option<&str>) {
        let right: Vec<bool> = self.shown.iter().map(|at| self.right(*at)).collect();
        push_line(out, &right, &self.widths, cells, screen, style);
    }

    /// A block for each row: its first cell as head, and a line with label and figure for
    /// each other. A figure longer than its place goes on below it.
    fn write_blocks(&self, out: &mut String, screen: Screen) {
        let labels: Vec<String> = self.table.columns.iter().map(Column::label).collect();
        let widest = labels.iter().skip(1).map(|label| label.width()).max().unwrap_or(0);
        let beside = screen.width.saturating_sub(2 + widest + GAP.len()).max(FIGURE);
        for (row, cells) in self.table.rows().zip(&self.cells) {
            let style = row.dim.then_some(DIM);
            let head = cells.first().cloned().unwrap_or_default();
            push_line(out, &[false], &[head.width()], &[head], screen, style);
            for (label, cell) in labels.iter().zip(cells).skip(1) {
                for (at, line) in wrapped(cell, beside).into_iter().enumerate() {
                    let label = if at == 0 { label.as_str() } else { "" };
                    let widths = [1 + widest, line.width()];
                    let cells = [format!(" {label}"), line];
                    push_line(out, &[false; 2], &widths, &cells, screen, style);
                }
            }
        }
    }
}

/// One line of cells, each in its width and, where `right` says so, against its right edge.
fn push_line(
    out: &mut String,
    right: &[bool],
    widths: &[usize],
    cells: &[String],
    screen: Screen,
    style: Option<&str>,
) {
    let mut line = String::new();
    for ((cell, &right), &width) in cells.iter().zip(right).zip(widths) {
        let cell = cut(cell, width);
        let space = " ".repeat(width.saturating_sub(cell.width()));
        let gap = if line.is_empty() { " " } else { GAP };
        let (left, right) = if right { (space.as_str(), "") } else { ("", space.as_str()) };
        write!(line, "{gap}{left}{cell}{right}").expect("a string takes everything");
    }
    let line = line.trim_end();
    *out += &style.map_or_else(|| line.to_owned(), |style| screen.styled(style, line));
    out.push('\n');
}

/// At most `width` columns, with an ellipsis where something is missing and there is room
/// for one.
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
