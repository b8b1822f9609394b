//! What the page shows of single sessions: context size, loss map, and what went
//! into and came out of compactions.
//!
//! Invariant: the page stays under its size whatever the run. Lines and maps
//! have a finest grid, texts share a budget, and the sessions that are folded away
//! have a largest number; nothing is left out of the CSVs.

use std::collections::BTreeSet;

use super::bills::payer;
use super::context_chart;
use super::loss_map::{self, LossMap};
use crate::model::{
    Bill, Cell, CellRows, CompactionRow, LedgerState, PresetRow, Report, Standing, TranscriptFacts,
};
use crate::report::{Source, block, number, plain};

/// Points of a line for the session that is open.
const POINTS: usize = 400;
/// Points of a line for the others, which are folded away.
const POINTS_FOLDED: usize = 120;
/// Bytes of words on hover, all loss maps together.
const HOVER_BUDGET: usize = 600_000;
/// Rows of a loss map, at most.
const HOVER_ROWS: usize = 200;
/// Bytes on hover per row at least: which message it is.
const HOVER_LEAST: usize = 90;
/// Panels of context size of the sessions that are folded away; fewer where
/// questions take their room.
const PANELS_FOLDED: usize = 280;
const PANELS_FOLDED_PROBED: usize = 80;
/// Compactions shown of a preset, messages shown of a compaction, characters of
/// a message and of a summary.
const COMPACTIONS: usize = 3;
const MESSAGES: usize = 8;
const MESSAGE: usize = 160;
const SUMMARY: usize = 1_500;

/// A drawing with its heading.
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) class: &'static str,
    pub(super) caption: String,
    pub(super) svg: String,
    /// Shown before anybody asks: the best ranked one.
    pub(super) open: bool,
}

/// The figures of a session at one window.
pub(super) struct Session {
    pub(super) name: String,
    pub(super) window: String,
    pub(super) figures: Vec<Figure>,
}

/// A compaction, side by side.
pub(super) struct Compaction {
    pub(super) heading: String,
    pub(super) went_in: Vec<String>,
    pub(super) more: Option<String>,
    pub(super) came_out: Vec<String>,
    pub(super) note: Option<String>,
    /// After how many requests it had paid for itself.
    pub(super) paid: Option<String>,
}

/// Compactions of one preset.
pub(super) struct Compactions {
    pub(super) name: String,
    pub(super) caption: String,
    pub(super) window: String,
    pub(super) shown: Vec<Compaction>,
    pub(super) more: Option<String>,
}

/// The session with the most tokens: the one that compression is for.
pub(super) fn longest(report: &Report) -> Option<&TranscriptFacts> {
    let size = |t: &TranscriptFacts| t.requests.last().map_or(0, |r| r.tokens_full);
    // Reversed: of equals the first wins.
    report.transcripts.iter().rev().max_by_key(|t| size(t))
}

/// Context size at every window, for one session.
pub(super) fn contexts(report: &Report, facts: &TranscriptFacts, open: bool) -> Vec<Session> {
    let points = if open { POINTS } else { POINTS_FOLDED };
    each_window(report, facts, |cells| {
        let top = context_chart::top(facts, cells.iter().map(|(_, rows)| *rows));
        cells
            .iter()
            .map(|(cell, rows)| {
                let name = name(cell);
                let svg = context_chart::panel(facts, rows, &name, top, points);
                figure(cell, context_chart::caption(rows), svg)
            })
            .collect()
    })
}

/// Context size of the other sessions, as many as there is room for, and how
/// many there are more.
pub(super) fn other_contexts<'a>(
    report: &Report,
    others: impl Iterator<Item = &'a TranscriptFacts>,
) -> (Vec<Session>, usize) {
    let probed = report.transcripts.iter().any(|t| !t.probes.is_empty());
    let room = if probed { PANELS_FOLDED_PROBED } else { PANELS_FOLDED };
    let (mut shown, mut panels, mut more) = (Vec::new(), 0, 0);
    for facts in others {
        panels += report.cells.iter().filter(|cell| of(cell, facts)).count();
        if panels > room {
            more += 1;
        } else {
            shown.extend(contexts(report, facts, false));
        }
    }
    (shown, more)
}

/// Loss maps at every window, for one session. `full` has nothing to show.
pub(super) fn losses(source: &Source<'_>, facts: &TranscriptFacts) -> Vec<Session> {
    let maps: Vec<&Cell> =
        source.report.cells.iter().filter(|c| of(c, facts) && loses(c)).collect();
    let windows: BTreeSet<&str> = maps.iter().map(|c| c.key.window.as_str()).collect();
    let rows = facts.messages.len().min(HOVER_ROWS);
    let bytes = |maps: usize| HOVER_BUDGET / (maps * rows).max(1);
    // Where there is no room for all of them, the open ones have their words.
    let everywhere = bytes(maps.len()) >= HOVER_LEAST;
    let bytes = if everywhere { bytes(maps.len()) } else { bytes(windows.len()).max(HOVER_LEAST) };
    each_window(source.report, facts, |cells| {
        let mine: Vec<_> = cells.iter().filter(|(cell, _)| loses(cell)).collect();
        let best = mine.iter().position(|(cell, _)| cell.standing == Standing::Ranked).unwrap_or(0);
        let figures = mine.iter().enumerate().map(|(at, (cell, rows))| {
            let map = LossMap::new(facts, rows);
            let bytes = (everywhere || at == best).then_some(bytes);
            let svg = map.svg(&name(cell), source.texts, bytes);
            Figure { open: at == best, ..figure(cell, map.caption(), svg) }
        });
        figures.collect()
    })
}

/// Compactions of every preset and window, for one session.
pub(super) fn compactions(source: &Source<'_>, facts: &TranscriptFacts) -> Vec<Compactions> {
    let cells = ordered(source.report, facts);
    cells
        .into_iter()
        .filter(|(_, rows)| !rows.compactions.is_empty())
        .map(|(cell, rows)| {
            let all = rows.compactions.len();
            let shown = rows.compactions.iter().enumerate().take(COMPACTIONS);
            let bill = rows.bills.iter().find(|b| b.billed_as == payer(source.report));
            Compactions {
                name: name(cell),
                caption: format!("{}{}", block::counted(all, "compaction"), paid(bill)),
                window: block::window(&cell.key.window),
                shown: shown
                    .map(|(at, row)| Compaction {
                        paid: bill.and_then(|bill| paid_for_itself(bill, at)),
                        ..compaction(source, facts, rows, row)
                    })
                    .collect(),
                more: (all > COMPACTIONS).then(|| {
                    format!(
                        "{} more in compactions.csv",
                        number::grouped((all - COMPACTIONS) as u64)
                    )
                }),
            }
        })
        .collect()
}

fn compaction(
    source: &Source<'_>,
    facts: &TranscriptFacts,
    rows: &CellRows,
    row: &CompactionRow,
) -> Compaction {
    let touched: Vec<(usize, LedgerState)> = rows
        .loss
        .iter()
        .filter(|l| l.request == row.request && l.state != LedgerState::Verbatim)
        .map(|l| (l.message as usize, l.state))
        .collect();
    let went_in = touched.iter().take(MESSAGES);
    Compaction {
        heading: format!(
            "before request {}: {} → {} tokens, {} (trigger: {})",
            row.request + 1,
            number::grouped(row.tokens_before),
            number::grouped(row.tokens_after),
            plain::line(&row.mechanism),
            plain::line(&row.trigger),
        ),
        went_in: went_in
            .filter_map(|&(at, state)| went_in_words(source, facts, at, state))
            .collect(),
        more: touched
            .len()
            .checked_sub(MESSAGES + 1)
            .map(|n| format!("and {}", block::counted(n + 1, "more message"))),
        came_out: row.texts.iter().filter_map(|hash| excerpt(source, hash, SUMMARY)).collect(),
        note: note(source, row, &touched),
        paid: None,
    }
}

/// How many compactions of a preset paid for themselves.
fn paid(bill: Option<&Bill>) -> String {
    let Some(bill) = bill.filter(|bill| !bill.break_even.is_empty()) else { return String::new() };
    let paid = bill.break_even.iter().filter(|even| even.requests.is_some()).count();
    let all = bill.break_even.len();
    format!(
        ", {} of {} paid for themselves",
        number::grouped(paid as u64),
        number::grouped(all as u64)
    )
}

/// When the bill with a compaction was first no higher than without.
fn paid_for_itself(bill: &Bill, at: usize) -> Option<String> {
    let even = bill.break_even.iter().find(|even| even.compaction as usize == at)?;
    let formula = match even.formula {
        Some(n) => format!("formula: {n:.1}"),
        None => "formula: never".to_owned(),
    };
    Some(match even.requests {
        Some(n) => {
            format!("paid for itself after {} ({formula})", block::counted(n as usize, "request"))
        }
        None => format!(
            "not paid for before the session ended ({} left; {formula})",
            block::counted(even.left as usize, "request"),
        ),
    })
}

fn went_in_words(
    source: &Source<'_>,
    facts: &TranscriptFacts,
    at: usize,
    state: LedgerState,
) -> Option<String> {
    let message = facts.messages.get(at)?;
    let state = state.as_str();
    let mut words = format!("{state}: message {}, {}", at + 1, loss_map::described(message));
    if let Some(text) = excerpt(source, &message.text, MESSAGE) {
        words.push('\n');
        words.push_str(&text);
    }
    Some(words)
}

/// The beginning of a text, where texts are shown at all.
fn excerpt(source: &Source<'_>, hash: &str, limit: usize) -> Option<String> {
    let text = source.texts?.get(hash)?;
    Some(plain::lines(&plain::shortened(text.trim(), limit)))
}

fn note(
    source: &Source<'_>,
    row: &CompactionRow,
    touched: &[(usize, LedgerState)],
) -> Option<String> {
    if let Some(error) = &row.error {
        return Some(format!("failed, the context stayed as it was: {}", plain::line(error)));
    }
    if let Some(fallback) = &row.fallback {
        return Some(format!("fell back: {}", plain::line(fallback)));
    }
    match (row.texts.is_empty(), source.texts.is_none()) {
        (true, _) if touched.iter().any(|(_, state)| *state == LedgerState::Gone) => {
            Some("nothing: they are no longer sent".to_owned())
        }
        (true, _) if !touched.is_empty() => {
            Some("the same messages, each with a part cut or replaced by a marker".to_owned())
        }
        (true, _) => Some("the same: no message changed".to_owned()),
        (false, true) => Some("a summary, whose text this report leaves out".to_owned()),
        (false, false) => None,
    }
}

fn figure(cell: &Cell, caption: String, svg: String) -> Figure {
    Figure { name: name(cell), class: class(cell), caption, svg, open: false }
}

fn name(cell: &Cell) -> String {
    let name = plain::line(&cell.key.strategy);
    if cell.standing == Standing::StandIn { format!("{name} (stand-in)") } else { name }
}

fn class(cell: &Cell) -> &'static str {
    if cell.standing == Standing::StandIn { "stand-in" } else { "" }
}

fn loses(cell: &Cell) -> bool {
    cell.rows().is_some_and(|rows| !rows.loss.is_empty())
}

fn of(cell: &Cell, facts: &TranscriptFacts) -> bool {
    cell.key.dataset == facts.dataset
        && cell.key.transcript == facts.transcript
        && cell.key.replicate == 0
}

fn each_window(
    report: &Report,
    facts: &TranscriptFacts,
    figures: impl Fn(&[(&Cell, &CellRows)]) -> Vec<Figure>,
) -> Vec<Session> {
    let cells = ordered(report, facts);
    let mut windows: Vec<&str> = Vec::new();
    for (cell, _) in &cells {
        if !windows.contains(&cell.key.window.as_str()) {
            windows.push(&cell.key.window);
        }
    }
    windows
        .into_iter()
        .map(|window| {
            let mine: Vec<(&Cell, &CellRows)> =
                cells.iter().filter(|(c, _)| c.key.window == window).copied().collect();
            Session {
                name: plain::line(&facts.transcript),
                window: block::window(window),
                figures: figures(&mine),
            }
        })
        .filter(|session| !session.figures.is_empty())
        .collect()
}

/// Cells of a session that ran through, in the order of the table's rows.
pub(super) fn ordered<'a>(
    report: &'a Report,
    facts: &TranscriptFacts,
) -> Vec<(&'a Cell, &'a CellRows)> {
    let place = |cell: &Cell| {
        let same = |row: &PresetRow| {
            row.strategy == cell.key.strategy
                && row.window == cell.key.window
                && row.dataset == cell.key.dataset
        };
        report.rows.iter().position(same).unwrap_or(usize::MAX)
    };
    let mut cells: Vec<(usize, &Cell, &CellRows)> = report
        .cells
        .iter()
        .filter(|cell| of(cell, facts))
        .filter_map(|cell| Some((place(cell), cell, cell.rows()?)))
        .collect();
    cells.sort_by(|a, b| (a.0, &a.1.key).cmp(&(b.0, &b.1.key)));
    cells.into_iter().map(|(_, cell, rows)| (cell, rows)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::Kit;

    #[test]
    fn a_compaction_says_when_it_had_paid_for_itself() {
        let report = Kit::default().report();
        let rows = report.cells.iter().filter(|c| c.key.strategy == "prune").find_map(Cell::rows);
        let bill = &rows.unwrap().bills[0];
        let words = |at| paid_for_itself(bill, at);
        assert_eq!(words(0).as_deref(), Some("paid for itself after 3 requests (formula: 2.5)"));
        let left = bill.break_even[1].left;
        assert_eq!(
            words(1),
            Some(format!(
                "not paid for before the session ended ({left} requests left; formula: 2.5)"
            ))
        );
        assert_eq!(words(99), None);
        assert!(paid(Some(bill)).starts_with(", 1 of "), "{}", paid(Some(bill)));
    }
}
