//! One session as `session.js` reads it.

use indexmap::IndexSet;
use serde::Serialize;

use super::session::Cells;
use crate::{Texts, plain};
use recap_core::model::{CellRows, CompactionRow, LossRow, RequestRow, SessionFacts};

/// Points of a line of context size, at most.
const POINTS: usize = 120;

/// Compactions of a cell that are packed, the first of them.
pub(super) const COMPACTIONS: usize = 40;

/// What a script draws of one session.
#[derive(Serialize)]
pub(super) struct Shape {
    roles: Vec<&'static str>,
    tools: Vec<Option<String>>,
    tokens: Vec<u64>,
    ids: Vec<String>,
    /// By request, messages before it; see [`steps`].
    before: Vec<i64>,
    /// Tokens of the whole conversation, thinned; see [`steps`].
    full: Vec<i64>,
    /// Requests after a cut.
    cuts: Vec<u32>,
    /// Mechanisms with their triggers.
    how: IndexSet<String>,
    /// Strategies outermost.
    cells: Vec<Option<PackedCell>>,
}

#[derive(Serialize)]
struct PackedCell {
    window: u64,
    /// Tokens sent, evenly thinned; see [`steps`].
    sent: Vec<i64>,
    /// First and last of each run of requests over the window.
    over: Vec<u32>,
    /// The same of requests that break the provider's cache.
    breaks: Vec<u32>,
    /// Messages that changed their state together; see [`runs`] and [`columns`].
    loss: [Vec<i64>; 4],
    /// How many compactions there are.
    all: usize,
    /// The first of them: request, whether it was made for the questions at the end, tokens before
    /// and after, position in [`Shape::how`]; see [`columns`].
    compactions: [Vec<i64>; 5],
    /// For each of them the positions of the texts that came out.
    texts: Vec<Vec<usize>>,
    /// For each of them a failure or a fallback.
    notes: Vec<Option<String>>,
}

/// The session, and the hashes of its summaries in their order.
pub(super) fn shape(cells: &Cells<'_>, facts: &SessionFacts) -> (Shape, IndexSet<String>) {
    let mut how = IndexSet::new();
    let mut summaries = IndexSet::new();
    let session = cells.session(facts);
    let packed = cells.of(session.as_ref()).into_iter().map(|cell| {
        let rows = cell?.rows()?;
        let first = || rows.compactions.iter().take(COMPACTIONS);
        let compactions = first().map(|row| {
            let trigger = plain::line(&row.trigger);
            let name = format!("{} (trigger: {trigger})", plain::line(&row.mechanism));
            let (before, after) = (row.tokens_before as i64, row.tokens_after as i64);
            let named = how.insert_full(name).0 as i64;
            [row.request.into(), row.at_end.into(), before, after, named]
        });
        let compactions = columns(compactions);
        let texts = first().map(|row| {
            let place = |hash: &String| summaries.insert_full(hash.clone()).0;
            row.texts.iter().map(place).collect()
        });
        Some(PackedCell {
            window: rows.window,
            sent: steps(thinned(rows.requests.iter().map(|r| r.tokens_sent as i64).collect())),
            over: requests(rows, |request| request.overflow),
            breaks: requests(rows, |request| request.cache_break),
            loss: columns(runs(&rows.loss)),
            all: rows.compactions.len(),
            compactions,
            texts: texts.collect(),
            notes: first().map(note).collect(),
        })
    });
    let shape = Shape {
        cells: packed.collect(),
        roles: facts.messages.iter().map(|m| m.role.as_str()).collect(),
        tools: facts.messages.iter().map(|m| m.tool.as_deref().map(plain::line)).collect(),
        tokens: facts.messages.iter().map(|m| m.tokens).collect(),
        ids: facts.messages.iter().map(|m| plain::line(&m.id)).collect(),
        before: steps(facts.requests.iter().map(|r| r.message.into())),
        full: steps(thinned(facts.requests.iter().map(|r| r.tokens_full as i64).collect())),
        cuts: (session.iter()).flat_map(|own| own.cuts().iter().map(|cut| cut.request)).collect(),
        how,
    };
    (shape, summaries)
}

/// What a script shows of the words of a session.
#[derive(Serialize)]
pub(super) struct Words {
    messages: Vec<String>,
    summaries: Vec<String>,
}

/// The beginnings of messages and summaries, of so many characters.
pub(super) fn words(
    texts: &dyn Texts,
    facts: &SessionFacts,
    summaries: &IndexSet<String>,
    limit: usize,
) -> Words {
    let beginning = |hash: &str| {
        let text = texts.get(hash).unwrap_or_default();
        plain::lines(&plain::shortened(text.trim(), limit))
    };
    Words {
        messages: facts.messages.iter().map(|m| beginning(&m.text)).collect(),
        summaries: summaries.iter().map(|hash| beginning(hash)).collect(),
    }
}

/// What failed in a compaction, or what it fell back to.
fn note(row: &CompactionRow) -> Option<String> {
    let failed = row.error.as_ref();
    let note = failed.map(|error| format!("failed, the context stayed as it was: {error}"));
    let note = note.or_else(|| row.fallback.as_ref().map(|why| format!("fell back: {why}")));
    note.map(|note| plain::line(&note))
}

/// Each value as its difference to the one before it, the first as it is: the steps of what goes
/// on alike are small or equal, and pack into less.
fn steps(values: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let mut before = 0;
    values.into_iter().map(|value| value - std::mem::replace(&mut before, value)).collect()
}

/// The columns of a table, each in [`steps`].
fn columns<const N: usize>(rows: impl IntoIterator<Item = [i64; N]>) -> [Vec<i64>; N] {
    let rows: Vec<[i64; N]> = rows.into_iter().collect();
    std::array::from_fn(|at| steps(rows.iter().map(|row| row[at])))
}

/// Of each stretch its lowest and highest value in their order, so that no peak
/// and no compaction disappears.
fn thinned(values: Vec<i64>) -> Vec<i64> {
    if values.len() <= POINTS {
        return values;
    }
    let stretches = POINTS / 2;
    let mut out = Vec::with_capacity(POINTS);
    for stretch in 0..stretches {
        let (from, to) =
            (stretch * values.len() / stretches, (stretch + 1) * values.len() / stretches);
        let mine = || values[from..to].iter().enumerate();
        let low = mine().min_by_key(|(_, v)| **v).expect("a stretch has a value");
        let high = mine().rev().max_by_key(|(_, v)| **v).expect("a stretch has a value");
        out.extend(if low.0 <= high.0 { [*low.1, *high.1] } else { [*high.1, *low.1] });
    }
    out
}

/// First and last of each run of requests of which something holds.
fn requests(rows: &CellRows, holds: fn(&RequestRow) -> bool) -> Vec<u32> {
    let mut runs: Vec<u32> = Vec::new();
    for (at, _) in (0u32..).zip(rows.requests.iter()).filter(|(_, r)| holds(r)) {
        match runs.last_mut() {
            Some(last) if *last + 1 == at => *last = at,
            _ => runs.extend([at, at]),
        }
    }
    runs
}

/// Messages that stand together and change to the same state at the same request are one run:
/// request, first message, how many, and the state (0 verbatim to 3 gone).
fn runs(loss: &[LossRow]) -> Vec<[i64; 4]> {
    let mut runs: Vec<[i64; 4]> = Vec::new();
    for row in loss {
        let (at, message, of) = (row.request.into(), row.message.into(), row.state as i64);
        match runs.last_mut() {
            Some([request, first, count, state])
                if (*request, *first + *count, *state) == (at, message, of) =>
            {
                *count += 1;
            }
            _ => runs.push([at, message, 1, of]),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;
    use recap_core::model::LedgerState::{Edited, Gone};

    #[test]
    fn messages_that_go_together_are_one_run() {
        let row = |message, request, state| LossRow { message, request, state };
        let loss = [row(3, 2, Gone), row(4, 2, Gone), row(5, 2, Edited), row(1, 7, Gone)];
        assert_eq!(runs(&loss), [[2, 3, 2, 3], [2, 5, 1, 1], [7, 1, 1, 3]]);
    }

    #[test]
    fn tables_are_packed_by_column_in_steps() {
        assert_eq!(columns([[5, 7], [9, 7], [2, 8]]), [[5, 4, -7], [7, 0, 1]]);
        assert_eq!(columns(Vec::<[i64; 1]>::new()), [Vec::<i64>::new()]);
    }

    #[test]
    fn cuts_and_cache_breaking_requests_are_included() {
        let mut report = crate::testkit::cut(Kit::default().report());
        let facts = report.sessions[0].clone();
        let cell = report.results.cells_mut().find(|cell| cell.key.strategy == "prune").unwrap();
        let recap_core::model::CellOutcome::Done(rows) = &mut cell.outcome else {
            panic!("it ran")
        };
        let requests = std::sync::Arc::make_mut(&mut rows.requests);
        for (at, request) in requests.iter_mut().enumerate() {
            request.cache_break = [2, 3, 7].contains(&at);
        }
        let window = cell.key.window.clone();
        let cells = Cells::new(&report);
        let (shape, _) = shape(&cells, &facts);
        let strategy = cells.strategies.iter().position(|p| p.0 == "prune").unwrap();
        let place = cells.windows.iter().position(|w| *w == window).unwrap();
        let packed = shape.cells[strategy * cells.windows.len() + place].as_ref().unwrap();
        assert_eq!(packed.breaks, [2, 3, 7, 7]);
        let session = cells.session(&facts).unwrap();
        let cuts = session.cuts().iter();
        assert_eq!(shape.cuts, cuts.map(|cut| cut.request).collect::<Vec<u32>>());
        assert!(!shape.cuts.is_empty());
    }

    #[test]
    fn thinning_keeps_the_highest_and_the_lowest() {
        let values: Vec<i64> = (0..1_000).map(|n| if n == 500 { 9_000 } else { n }).collect();
        let thin = thinned(values);
        assert_eq!(thin.len(), POINTS);
        assert!(thin.contains(&9_000) && thin[0] == 0);
    }

    #[test]
    fn first_compactions_have_their_sizes_and_texts() {
        let report = Kit { sessions: 1, ..Kit::default() }.report();
        let cells = Cells::new(&report);
        let (shape, summaries) = shape(&cells, &report.sessions[0]);
        let at = cells.strategies.iter().position(|p| p.0 == "continuation").unwrap();
        let packed = shape.cells[at * 2].as_ref().unwrap();
        let session = cells.session(&report.sessions[0]).unwrap();
        let cell = cells.of(Some(&session))[at * 2].unwrap();
        let rows = &cell.rows().unwrap().compactions;
        let [requests, _, before, ..] = &packed.compactions;
        assert_eq!((packed.all, requests.len()), (rows.len(), rows.len()));
        assert_eq!(requests[..], steps(rows.iter().map(|row| row.request.into())));
        assert_eq!(before[..], steps(rows.iter().map(|row| row.tokens_before as i64)));
        assert_eq!(summaries[packed.texts[1][0]], rows[1].texts[0]);
    }
}
