//! What the page itself shows of single sessions, for those who read it without
//! a script: of the longest session what the best strategies did with it. The
//! scripts show the rest; see `details.rs`.

use std::sync::Arc;

use crate::model::{
    Bill, Cell, CellRows, CompactionRow, LedgerState, PresetRow, Report, Standing, TranscriptFacts,
};
use crate::report::html::money::parts::payer;
use crate::report::html::session::context_chart;
use crate::report::html::session::loss_map::{self, LossMap};
use crate::report::{Source, block, number, plain};

/// Points of a line.
const POINTS: usize = 200;
/// Panels of context size.
const PANELS: usize = 6;
/// Bytes of words on hover.
const HOVER_BUDGET: usize = 40_000;
/// Rows of a loss map, at most.
const HOVER_ROWS: usize = 200;
/// Compactions shown of a preset, messages shown of a compaction, characters of
/// a message and of a summary.
const COMPACTIONS: usize = 3;
const MESSAGES: usize = 8;
const MESSAGE: usize = 160;
const SUMMARY: usize = 1_500;

/// A drawing with its heading.
pub(in crate::report::html) struct Figure {
    pub(in crate::report::html) name: String,
    pub(in crate::report::html) class: &'static str,
    pub(in crate::report::html) caption: String,
    pub(in crate::report::html) svg: String,
}

/// Figures of a session at one window.
pub(in crate::report::html) struct Session {
    pub(in crate::report::html) name: String,
    pub(in crate::report::html) window: String,
    pub(in crate::report::html) figures: Vec<Figure>,
}

/// A compaction, side by side.
pub(in crate::report::html) struct Compaction {
    pub(in crate::report::html) heading: String,
    pub(in crate::report::html) went_in: Vec<String>,
    pub(in crate::report::html) more: Option<String>,
    pub(in crate::report::html) came_out: Vec<String>,
    pub(in crate::report::html) note: Option<String>,
    /// After how many requests it had paid for itself.
    pub(in crate::report::html) paid: Option<String>,
}

/// Compactions of one preset.
pub(in crate::report::html) struct Compactions {
    pub(in crate::report::html) name: String,
    pub(in crate::report::html) caption: String,
    pub(in crate::report::html) window: String,
    pub(in crate::report::html) shown: Vec<Compaction>,
    pub(in crate::report::html) more: Option<String>,
}

/// The session with the most tokens: the one that compression is for.
pub(in crate::report::html) fn longest(report: &Report) -> Option<&TranscriptFacts> {
    let size = |t: &TranscriptFacts| t.requests.last().map_or(0, |r| r.tokens_full);
    // Reversed: of equals the first wins.
    report.transcripts.iter().rev().max_by_key(|t| size(t))
}

/// Context size at the first window, under the strategies that come first in
/// the table.
pub(in crate::report::html) fn contexts(
    report: &Report,
    facts: &TranscriptFacts,
) -> Option<Session> {
    let cells = at_first_window(report, facts);
    let shown = || cells.iter().filter(|(cell, _)| cell.standing != Standing::Control).take(PANELS);
    let top = context_chart::top(facts, shown().map(|(_, rows)| *rows));
    let figures = shown().map(|(cell, rows)| {
        let name = name(cell);
        let svg = context_chart::panel(facts, rows, &name, top, POINTS);
        figure(cell, context_chart::caption(rows), svg)
    });
    session(facts, &cells, figures.collect())
}

/// Loss map of the best strategy at the first window. `full` has nothing to
/// show.
pub(in crate::report::html) fn loss(
    source: &Source<'_>,
    facts: &TranscriptFacts,
) -> Option<Session> {
    let cells = at_first_window(source.report, facts);
    let (cell, rows) = best(&cells, |rows| !rows.loss.is_empty())?;
    let map = LossMap::new(facts, rows);
    let bytes = HOVER_BUDGET / facts.messages.len().clamp(1, HOVER_ROWS);
    let svg = map.svg(&name(cell), source.texts, bytes);
    session(facts, &cells, vec![figure(cell, map.caption(), svg)])
}

/// Compactions of the best strategy at the first window.
pub(in crate::report::html) fn compactions(
    source: &Source<'_>,
    facts: &TranscriptFacts,
) -> Option<Compactions> {
    let cells = at_first_window(source.report, facts);
    let (cell, rows) = best(&cells, |rows| !rows.compactions.is_empty())?;
    let all = rows.compactions.len();
    let shown = rows.compactions.iter().enumerate().take(COMPACTIONS);
    let bill = rows.bills.iter().find(|b| b.billed_as == payer(source.report));
    let bill = bill.map(Arc::as_ref);
    Some(Compactions {
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
            format!("{} more in compactions.csv", number::grouped((all - COMPACTIONS) as u64))
        }),
    })
}

/// The first that is ranked and has something to show, else any that has.
fn best<'a>(
    cells: &[(&'a Cell, &'a CellRows)],
    shows: impl Fn(&CellRows) -> bool,
) -> Option<(&'a Cell, &'a CellRows)> {
    let mut showing = cells.iter().filter(|(_, rows)| shows(rows)).copied();
    let ranked = showing.clone().find(|(cell, _)| cell.standing == Standing::Ranked);
    ranked.or_else(|| showing.next())
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
    Figure { name: name(cell), class: class(cell), caption, svg }
}

fn name(cell: &Cell) -> String {
    let name = plain::line(&cell.key.strategy);
    if cell.standing == Standing::StandIn { format!("{name} (stand-in)") } else { name }
}

fn class(cell: &Cell) -> &'static str {
    if cell.standing == Standing::StandIn { "stand-in" } else { "" }
}

fn of(cell: &Cell, facts: &TranscriptFacts) -> bool {
    cell.key.dataset == facts.dataset
        && cell.key.transcript == facts.transcript
        && cell.key.replicate == 0
}

fn session(
    facts: &TranscriptFacts,
    cells: &[(&Cell, &CellRows)],
    figures: Vec<Figure>,
) -> Option<Session> {
    let window = block::window(&cells.first()?.0.key.window);
    let name = plain::line(&facts.transcript);
    (!figures.is_empty()).then_some(Session { name, window, figures })
}

/// The cells of a session at the first window at which any ran through.
fn at_first_window<'a>(
    report: &'a Report,
    facts: &TranscriptFacts,
) -> Vec<(&'a Cell, &'a CellRows)> {
    let mut cells = ordered(report, facts);
    let window = cells.first().map(|(cell, _)| cell.key.window.clone());
    cells.retain(|(cell, _)| Some(&cell.key.window) == window.as_ref());
    cells
}

/// Cells of a session that ran through, in the order of the table's rows.
pub(in crate::report::html) fn ordered<'a>(
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
        .filter(|cell| of(cell, facts) && !block::is_null(&cell.key.strategy))
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
