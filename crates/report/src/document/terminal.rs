//! A document on a terminal, counted in columns and not in bytes.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::{Column, Narrow, Part, Row, Table};
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
            Part::Drawn(_) => {}
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
    let layout = Layout::spared(table, screen);
    let widths = layout.fitted(screen.width);
    if screen.width < NARROWEST || taken(&widths) > screen.width {
        write_blocks(out, table, screen)
    } else {
        layout.write(out, &widths, screen)
    }
}

/// Whether the spreads of a table's figures stand on a screen.
pub(crate) fn shows_spread(table: &Table, screen: Screen) -> bool {
    let layout = Layout::spared(table, screen);
    layout.shown.iter().any(|at| layout.spreads[*at])
}

/// What is shown of a table.
struct Layout<'a> {
    table: &'a Table,
    /// Numbers of the columns that are shown.
    shown: Vec<usize>,
    /// By column, whether spreads stand beside its figures.
    spreads: Vec<bool>,
}

impl<'a> Layout<'a> {
    /// Without what there is no room for on a screen.
    fn spared(table: &'a Table, screen: Screen) -> Self {
        let shown: Vec<usize> = (0..table.columns.len()).collect();
        let has_spread = |at: &usize| table.rows().any(|row| row.cells[*at].spread.is_some());
        let spreads = shown.iter().map(has_spread).collect();
        let mut layout = Self { table, shown, spreads };
        let fits =
            |layout: &Self| screen.width < NARROWEST || taken(&layout.widths()) <= screen.width;
        while !fits(&layout) && layout.spare(screen.wide) {}
        layout
    }

    /// Leaves out a spread or a column; whether anything could be. Who asked for
    /// everything misses a column rather than a spread.
    fn spare(&mut self, wide: bool) -> bool {
        let spread = self.shown.iter().copied().find(|at| self.spreads[*at]);
        let column = self.shown.iter().enumerate().filter_map(|(place, at)| {
            match self.table.columns[*at].narrow {
                Narrow::LeftOut(order) => Some((order, place)),
                _ => None,
            }
        });
        match (column.max(), spread) {
            (Some((_, place)), spread) if wide || spread.is_none() => {
                self.shown.remove(place);
            }
            (_, Some(at)) => self.spreads[at] = false,
            _ => return false,
        }
        true
    }

    fn text(&self, row: &Row, at: usize) -> String {
        let cell = &row.cells[at];
        plain::line(&if self.spreads[at] { cell.whole() } else { cell.text.clone() })
    }

    /// Columns of the longest text in a column.
    fn longest(&self, at: usize) -> usize {
        self.table.rows().map(|row| self.text(row, at).width()).max().unwrap_or(0)
    }

    fn widths(&self) -> Vec<usize> {
        let width = |&at: &usize| {
            let column = &self.table.columns[at];
            let head = column.line(0).width().max(column.line(1).width());
            if column.narrow != Narrow::Wrapped {
                return head.max(self.longest(at));
            }
            // Words stay whole.
            let texts = self.table.rows().map(|row| self.text(row, at));
            let word = texts.flat_map(|text| text.split(' ').map(str::width).max()).max();
            head.max(self.longest(at).min(LEAST_WRAPPED)).max(word.unwrap_or(0))
        };
        self.shown.iter().map(width).collect()
    }

    /// The widths with the column that may be cut as narrow as must be, and the one that is wrapped
    /// as wide as it can be.
    fn fitted(&self, width: usize) -> Vec<usize> {
        let mut widths = self.widths();
        let over = taken(&widths).saturating_sub(width);
        if let Some(place) = self.place(Narrow::Cut) {
            let least = widths[place].min(LEAST);
            widths[place] = widths[place].saturating_sub(over).max(least);
        }
        if let Some(place) = self.place(Narrow::Wrapped) {
            let left = width.saturating_sub(taken(&widths));
            let longest = self.longest(self.shown[place]).max(widths[place]);
            widths[place] = (widths[place] + left).min(longest);
        }
        widths
    }

    fn place(&self, narrow: Narrow) -> Option<usize> {
        self.shown.iter().position(|at| self.table.columns[*at].narrow == narrow)
    }

    fn write(&self, out: &mut String, widths: &[usize], screen: Screen) {
        // Figures of one length stand against their right edge, figures with their spreads begin at
        // one place.
        let line = |cells: &[String]| -> String {
            let padded = self.shown.iter().zip(cells).zip(widths).map(|((&at, cell), &width)| {
                padded(cell, width, self.table.columns[at].right && !self.spreads[at])
            });
            padded.collect::<Vec<_>>().join(GAP)
        };
        for at in 0..2 {
            let heads: Vec<String> =
                self.shown.iter().map(|column| self.table.columns[*column].line(at)).collect();
            if heads.iter().any(|head| !head.is_empty()) {
                push_line(out, &line(&heads), screen, Some(BOLD));
            }
        }
        for group in &self.table.groups {
            if !group.title.is_empty() && !group.rows.is_empty() {
                let rule = format!("── {} ", group.title);
                let rest = taken(widths).min(screen.width).saturating_sub(1 + rule.width());
                push_line(out, &format!("{rule}{}", "─".repeat(rest)), screen, Some(DIM));
            }
            for row in &group.rows {
                for cells in self.lines_of(row, widths) {
                    push_line(out, &line(&cells), screen, row.dim.then_some(DIM));
                }
            }
        }
    }

    /// The cells of a row, and below them what is left of the one that is wrapped.
    fn lines_of(&self, row: &Row, widths: &[usize]) -> Vec<Vec<String>> {
        let mut cells: Vec<String> = self.shown.iter().map(|at| self.text(row, *at)).collect();
        let Some(place) = self.place(Narrow::Wrapped) else { return vec![cells] };
        let mut lines = wrapped(&cells[place], widths[place]).into_iter();
        cells[place] = lines.next().unwrap_or_default();
        let below = lines.map(|line| {
            let mut below = vec![String::new(); self.shown.len()];
            below[place] = line;
            below
        });
        [cells].into_iter().chain(below).collect()
    }
}

/// Columns that a table of these widths takes.
fn taken(widths: &[usize]) -> usize {
    1 + widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// A block for each row: its first cell as head, and a line with label and figure for
/// each other. A figure longer than its place goes on below it.
fn write_blocks(out: &mut String, table: &Table, screen: Screen) {
    let labels: Vec<String> = table.columns.iter().map(Column::label).collect();
    let widest = labels.iter().skip(1).map(|label| label.width()).max().unwrap_or(0);
    let beside = screen.width.saturating_sub(2 + widest + GAP.len()).max(FIGURE);
    for row in table.rows() {
        let style = row.dim.then_some(DIM);
        let mut cells = row.cells.iter().map(|cell| plain::line(&cell.whole()));
        push_line(out, &cells.next().unwrap_or_default(), screen, style);
        for (label, cell) in labels.iter().skip(1).zip(cells) {
            for (at, line) in wrapped(&cell, beside).iter().enumerate() {
                let label = padded(if at == 0 { label } else { "" }, widest, false);
                push_line(out, &format!(" {label}{GAP}{line}"), screen, style);
            }
        }
    }
}

/// A line of a table, set apart by a style.
fn push_line(out: &mut String, text: &str, screen: Screen, style: Option<&str>) {
    let line = format!(" {text}");
    let line = line.trim_end();
    *out += &style.map_or_else(|| line.to_owned(), |style| screen.styled(style, line));
    out.push('\n');
}

/// A text in so many columns, at the left or at the right; cut where it is longer.
fn padded(text: &str, width: usize, right: bool) -> String {
    let text = cut(text, width);
    let space = " ".repeat(width.saturating_sub(text.width()));
    if right { space + &text } else { text + &space }
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
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| text[..*end].width() < width).last().unwrap_or(0);
    format!("{}…", &text[..end])
}
