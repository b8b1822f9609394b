//! The loss map: messages × requests, each cell verbatim, edited, folded or
//! gone (measures §4).

use std::fmt::Write as _;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::model::{CellRows, LedgerState, MessageFacts, TranscriptFacts};
use crate::report::svg::{self, Area, DRAWS};
use crate::report::{Texts, block, number, plain};

/// Finest grid; longer sessions are binned.
const ROWS: usize = 200;
const COLUMNS: usize = 120;
/// The field of cells in units, at most.
const FIELD: (usize, usize) = (640, 400);
const LEFT: i32 = 84;
const TOP: i32 = 8;
const FONT: f64 = 13.0;

/// Characters of a message on hover.
const EXCERPT: usize = 200;

/// Colours apart in lightness and not only in hue, so that they stay apart for
/// colour-blind readers and on paper. The style sheet's legend names them too.
fn color(state: LedgerState) -> RGBColor {
    match state {
        LedgerState::Verbatim => RGBColor(0x1B, 0x5E, 0x91),
        LedgerState::Edited => RGBColor(0xF0, 0xA2, 0x02),
        LedgerState::Folded => RGBColor(0xB0, 0x82, 0xC4),
        LedgerState::Gone => RGBColor(0xE4, 0xE6, 0xE9),
    }
}

/// A session under one preset, binned.
pub(in crate::report::html) struct LossMap<'a> {
    facts: &'a TranscriptFacts,
    /// First message of each row, and the end.
    rows: Vec<usize>,
    /// Last request of each column.
    columns: Vec<usize>,
    /// By row, then column; `None` before the message was said.
    cells: Vec<Vec<Option<LedgerState>>>,
    /// Tokens by state at the last request, best first.
    last: [u64; 4],
}

const STATES: [LedgerState; 4] =
    [LedgerState::Verbatim, LedgerState::Edited, LedgerState::Folded, LedgerState::Gone];

impl<'a> LossMap<'a> {
    /// Reads a cell's ledger. A cell of the map that stands for several messages
    /// shows the state that covers most of their tokens at its last request.
    pub(in crate::report::html) fn new(facts: &'a TranscriptFacts, rows: &CellRows) -> LossMap<'a> {
        let messages = facts.messages.len();
        let requests = facts.requests.len();
        let row_count = messages.min(ROWS);
        let column_count = requests.min(COLUMNS);
        let starts: Vec<usize> = (0..=row_count).map(|r| r * messages / row_count.max(1)).collect();
        let columns: Vec<usize> =
            (0..column_count).map(|c| (c + 1) * requests / column_count - 1).collect();
        let mut map = LossMap {
            facts,
            cells: vec![Vec::with_capacity(columns.len()); row_count],
            rows: starts,
            columns,
            last: [0; 4],
        };
        let mut states = vec![LedgerState::Verbatim; messages];
        let mut changes = rows.loss.iter().peekable();
        for column in 0..map.columns.len() {
            let request = map.columns[column];
            while let Some(change) = changes.next_if(|c| c.request as usize <= request) {
                if let Some(state) = states.get_mut(change.message as usize) {
                    *state = change.state;
                }
            }
            map.push_column(request, &states);
        }
        map
    }

    fn push_column(&mut self, request: usize, states: &[LedgerState]) {
        let said = self.facts.requests[request].message as usize;
        self.last = [0; 4];
        for row in 0..self.cells.len() {
            let mut tokens = [0u64; 4];
            for message in self.rows[row]..self.rows[row + 1].min(said).max(self.rows[row]) {
                // A message of no tokens still has a state.
                tokens[states[message] as usize] += self.facts.messages[message].tokens.max(1);
            }
            let most = (0..4).rev().max_by_key(|&s| tokens[s]).filter(|&s| tokens[s] > 0);
            self.cells[row].push(most.map(|s| STATES[s]));
            for (sum, tokens) in self.last.iter_mut().zip(tokens) {
                *sum += tokens;
            }
        }
    }

    /// What is left at the last request, in words.
    pub(in crate::report::html) fn caption(&self) -> String {
        let all: u64 = self.last.iter().sum();
        let names = ["verbatim", "edited", "folded", "gone"];
        let parts = names.iter().zip(self.last).filter(|(_, tokens)| *tokens > 0);
        let parts: Vec<String> = parts
            .map(|(name, tokens)| match tokens as f64 / all as f64 * 100.0 {
                share if share < 0.5 => format!("under 1 % {name}"),
                share => format!("{share:.0} % {name}"),
            })
            .collect();
        if parts.is_empty() { "nothing was said".to_owned() } else { parts.join(", ") }
    }

    /// The map as SVG, with at most `bytes` bytes of words on hover per row.
    pub(in crate::report::html) fn svg(
        &self,
        name: &str,
        texts: Option<&dyn Texts>,
        bytes: usize,
    ) -> String {
        let cell = self.cell_size();
        let field = ((self.columns.len() as i32) * cell.0, (self.cells.len() as i32) * cell.1);
        let size = ((LEFT + FIELD.0 as i32 + 14) as u32, (TOP + field.1 + 46) as u32);
        let label = format!("Loss map of {name}: at the last request {}", self.caption());
        let mut svg = svg::draw(size, &label, |area| self.draw(area, cell, field));
        let hover = self.hover(cell, field.0, texts, bytes);
        svg.truncate(svg.rfind("</svg>").expect("plotters closes its drawing"));
        svg.push_str(&hover);
        svg.push_str("</svg>");
        svg
    }

    fn cell_size(&self) -> (i32, i32) {
        let width = FIELD.0 / self.columns.len().max(1);
        let height = (FIELD.1 / self.cells.len().max(1)).min(14);
        (width as i32, height as i32)
    }

    fn draw(&self, area: &Area<'_>, cell: (i32, i32), field: (i32, i32)) {
        for (top, left, bottom, right, state) in rectangles(&self.cells) {
            let corner = |row: usize, column: usize| {
                (LEFT + column as i32 * cell.0, TOP + row as i32 * cell.1)
            };
            let shape = [corner(top, left), corner(bottom, right)];
            area.draw(&plotters::element::Rectangle::new(shape, color(state).filled()))
                .expect(DRAWS);
        }
        let style = |h, v| svg::font(FONT, svg::MUTED).pos(Pos::new(h, v));
        let text = |words: String, at, h, v| {
            area.draw(&Text::new(words, at, style(h, v))).expect(DRAWS);
        };
        let (bottom, right) = (TOP + field.1, LEFT + field.0);
        let count = |n: usize| number::grouped(n as u64);
        text("message 1".into(), (LEFT - 6, TOP), HPos::Right, VPos::Top);
        let last = count(self.facts.messages.len());
        text(last, (LEFT - 6, bottom), HPos::Right, VPos::Bottom);
        text("request 1".into(), (LEFT, bottom + 6), HPos::Left, VPos::Top);
        let last = count(self.facts.requests.len());
        text(last, (right, bottom + 6), HPos::Right, VPos::Top);
        text("time →".into(), (LEFT + field.0 / 2, bottom + 6), HPos::Center, VPos::Top);
    }

    /// Invisible bands that say which messages a row stands for.
    fn hover(
        &self,
        cell: (i32, i32),
        width: i32,
        texts: Option<&dyn Texts>,
        bytes: usize,
    ) -> String {
        let mut out = String::from("<g class=\"hover\">");
        for row in 0..self.cells.len() {
            let messages = self.rows[row]..self.rows[row + 1];
            let words = words(self.facts, messages, texts);
            let top = TOP + row as i32 * cell.1;
            write!(
                out,
                "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{}\"><title>{}</title></rect>",
                cell.1,
                plain::content(&words, bytes)
            )
            .expect("a string takes everything");
        }
        out.push_str("</g>");
        out
    }
}

fn words(
    facts: &TranscriptFacts,
    messages: std::ops::Range<usize>,
    texts: Option<&dyn Texts>,
) -> String {
    let first = &facts.messages[messages.start];
    let mut words = if messages.len() == 1 {
        format!("message {}: {}", messages.start + 1, described(first))
    } else {
        format!("messages {}–{}, the first: {}", messages.start + 1, messages.end, described(first))
    };
    if let Some(text) = texts.and_then(|t| t.get(&first.text)) {
        words.push('\n');
        words.push_str(&plain::line(&plain::shortened(text, EXCERPT)));
    }
    words
}

/// Role, tool, size and id of a message.
pub(in crate::report::html) fn described(message: &MessageFacts) -> String {
    let tool = message.tool.as_deref().map_or(String::new(), |t| format!(" {}", plain::line(t)));
    let tokens = block::counted(message.tokens as usize, "token");
    format!("{}{tool}, {tokens}, id {}", message.role.as_str(), plain::line(&message.id))
}

/// Covers the cells with few rectangles of one state: (top, left, bottom, right).
fn rectangles(
    cells: &[Vec<Option<LedgerState>>],
) -> Vec<(usize, usize, usize, usize, LedgerState)> {
    let width = cells.first().map_or(0, Vec::len);
    let mut done = vec![vec![false; width]; cells.len()];
    let mut out = Vec::new();
    for top in 0..cells.len() {
        for left in 0..width {
            let Some(state) = cells[top][left].filter(|_| !done[top][left]) else { continue };
            let free =
                |row: usize, column: usize| cells[row][column] == Some(state) && !done[row][column];
            let wide = (left..width).take_while(|&c| free(top, c)).count();
            let tall = (top..cells.len()).take_while(|&r| free(r, left)).count();
            let under_wide =
                (top..cells.len()).take_while(|&r| (left..left + wide).all(|c| free(r, c))).count();
            let beside_tall =
                (left..width).take_while(|&c| (top..top + tall).all(|r| free(r, c))).count();
            let (height, length) = if wide * under_wide >= tall * beside_tall {
                (under_wide, wide)
            } else {
                (tall, beside_tall)
            };
            for row in &mut done[top..top + height] {
                row[left..left + length].fill(true);
            }
            out.push((top, left, top + height, left + length, state));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::Kit;

    #[test]
    fn a_message_is_verbatim_from_its_first_request_until_a_row_says_otherwise() {
        let report = Kit { sessions: 1, requests: 6, ..Kit::default() }.report();
        let cell = report.cells.iter().find(|c| c.key.strategy == "prune").unwrap();
        let map = LossMap::new(&report.transcripts[0], cell.rows().unwrap());
        use LedgerState::{Edited, Verbatim};
        // Messages 0–2 are edited from request 4 on; message 2 is said before request 1.
        let v = Some(Verbatim);
        assert_eq!(map.cells[0], [v, v, v, v, Some(Edited), Some(Edited)]);
        assert_eq!(map.cells[2], [None, v, v, v, Some(Edited), Some(Edited)]);
        assert_eq!(map.cells[3], [None, None, v, v, v, v]);
        assert_eq!(map.cells[11], [None; 6], "the last answer is in no context");
        // 400 + 437 + 474 of 6435 tokens.
        assert_eq!(map.caption(), "80 % verbatim, 20 % edited");
    }

    #[test]
    fn rectangles_cover_every_cell_once_with_its_state() {
        let states = [None, Some(LedgerState::Gone), Some(LedgerState::Verbatim)];
        let cells: Vec<Vec<Option<LedgerState>>> = (0..13)
            .map(|r| (0..17).map(|c| states[(r * c / 5 + r * r / 7) % 3]).collect())
            .collect();
        let mut painted = vec![vec![None; 17]; 13];
        for (top, left, bottom, right, state) in rectangles(&cells) {
            for row in &mut painted[top..bottom] {
                for cell in &mut row[left..right] {
                    assert_eq!(cell.replace(state), None, "painted twice");
                }
            }
        }
        assert_eq!(painted, cells);
    }

    #[test]
    fn a_long_session_is_binned_to_the_finest_grid() {
        let report =
            Kit { sessions: 1, requests: 900, windows: vec!["25%"], ..Kit::default() }.report();
        let cell = report.cells.iter().find(|c| c.key.strategy == "fifo").unwrap();
        let map = LossMap::new(&report.transcripts[0], cell.rows().unwrap());
        assert_eq!((map.cells.len(), map.cells[0].len()), (ROWS, COLUMNS));
        assert_eq!(*map.columns.last().unwrap(), 899);
    }
}
