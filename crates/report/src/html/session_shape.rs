//! One session as `session.js` reads it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::session::Cells;
use crate::{Texts, plain};
use recap_core::model::{CellRows, LossRow, RequestRow, SessionFacts};

/// Points of a line of context size, at most.
const POINTS: usize = 120;

/// How much of a session is packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    /// Compactions of a cell, the first of them.
    pub(super) compactions: usize,
    /// Strategies, the first of the table.
    pub(super) strategies: usize,
}

/// What a script draws of one session.
#[derive(Serialize)]
pub(super) struct Shape {
    roles: Vec<&'static str>,
    tools: Vec<Option<String>>,
    tokens: Vec<u64>,
    ids: Vec<String>,
    /// By request, messages before it.
    before: Vec<u32>,
    /// Tokens of the whole conversation, thinned.
    full: Vec<u64>,
    /// Requests after a cut.
    cuts: Vec<u32>,
    /// Mechanisms with their triggers.
    how: Vec<String>,
    /// Strategies outermost.
    cells: Vec<Option<PackedCell>>,
}

#[derive(Serialize)]
struct PackedCell {
    window: u64,
    /// Tokens sent, evenly thinned.
    sent: Vec<u64>,
    /// First and last of each run of requests over the window.
    over: Vec<u32>,
    /// The same of requests that break the provider's cache.
    breaks: Vec<u32>,
    /// Messages that changed their state together; see [`runs`].
    loss: Vec<[u32; 4]>,
    /// How many compactions there are, and the first of them.
    all: usize,
    compactions: Vec<PackedCompaction>,
}

#[derive(Serialize)]
struct PackedCompaction {
    request: u32,
    /// Whether it was made for the questions at the end.
    at_end: bool,
    before: u64,
    after: u64,
    /// Position in [`Shape::how`].
    how: usize,
    /// Positions of the texts that came out.
    texts: Vec<usize>,
    /// A failure or a fallback.
    note: Option<String>,
}

/// The session, and the hashes of its summaries in their order.
pub(super) fn shape(cells: &Cells<'_>, facts: &SessionFacts, level: Level) -> (Shape, Vec<String>) {
    let mut how = Numbered::default();
    let mut summaries = Numbered::default();
    let shown = cells.windows.len() * level.strategies.min(cells.strategies.len());
    let session = cells.session(facts);
    let packed = cells.of(session.as_ref()).into_iter().take(shown).map(|cell| {
        let rows = cell?.rows()?;
        Some(PackedCell {
            window: rows.window,
            sent: thinned(rows.requests.iter().map(|r| r.tokens_sent).collect()),
            over: requests(rows, |request| request.overflow),
            breaks: requests(rows, |request| request.cache_break),
            loss: runs(&rows.loss),
            all: rows.compactions.len(),
            compactions: compactions(rows, level.compactions, &mut how, &mut summaries),
        })
    });
    let shape = Shape {
        cells: packed.collect(),
        roles: facts.messages.iter().map(|m| m.role.as_str()).collect(),
        tools: facts.messages.iter().map(|m| m.tool.as_deref().map(plain::line)).collect(),
        tokens: facts.messages.iter().map(|m| m.tokens).collect(),
        ids: facts.messages.iter().map(|m| plain::line(&m.id)).collect(),
        before: facts.requests.iter().map(|r| r.message).collect(),
        full: thinned(facts.requests.iter().map(|r| r.tokens_full).collect()),
        cuts: (session.iter()).flat_map(|own| own.cuts().iter().map(|cut| cut.request)).collect(),
        how: how.names,
    };
    (shape, summaries.names)
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
    summaries: &[String],
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

/// Things by the order in which they were first named.
struct Numbered<T> {
    names: Vec<T>,
    places: BTreeMap<T, usize>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { names: Vec::new(), places: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Numbered<T> {
    fn place(&mut self, name: T) -> usize {
        if let Some(&place) = self.places.get(&name) {
            return place;
        }
        self.names.push(name.clone());
        self.places.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }
}

fn compactions(
    rows: &CellRows,
    limit: usize,
    how: &mut Numbered<String>,
    summaries: &mut Numbered<String>,
) -> Vec<PackedCompaction> {
    let packed = rows.compactions.iter().take(limit).map(|row| {
        let failed = row.error.as_ref();
        let note = failed.map(|error| format!("failed, the context stayed as it was: {error}"));
        let note = note.or_else(|| row.fallback.as_ref().map(|why| format!("fell back: {why}")));
        let trigger = plain::line(&row.trigger);
        PackedCompaction {
            request: row.request,
            at_end: row.at_end,
            before: row.tokens_before,
            after: row.tokens_after,
            how: how.place(format!("{} (trigger: {trigger})", plain::line(&row.mechanism))),
            texts: row.texts.iter().map(|hash| summaries.place(hash.clone())).collect(),
            note: note.map(|note| plain::line(&note)),
        }
    });
    packed.collect()
}

/// Of each stretch its lowest and highest value in their order, so that no peak
/// and no compaction disappears.
fn thinned(values: Vec<u64>) -> Vec<u64> {
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
fn runs(loss: &[LossRow]) -> Vec<[u32; 4]> {
    let mut runs: Vec<[u32; 4]> = Vec::new();
    for row in loss {
        match runs.last_mut() {
            Some([request, first, count, state])
                if (*request, *first + *count, *state)
                    == (row.request, row.message, row.state as u32) =>
            {
                *count += 1;
            }
            _ => runs.push([row.request, row.message, 1, row.state as u32]),
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
        let level = Level { compactions: 1, strategies: usize::MAX };
        let (shape, _) = shape(&cells, &facts, level);
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
        let values: Vec<u64> = (0..1_000).map(|n| if n == 500 { 9_000 } else { n }).collect();
        let thin = thinned(values);
        assert_eq!(thin.len(), POINTS);
        assert!(thin.contains(&9_000) && thin[0] == 0);
    }

    #[test]
    fn first_compactions_have_their_sizes_and_texts() {
        let report = Kit { sessions: 1, ..Kit::default() }.report();
        let cells = Cells::new(&report);
        let level = Level { compactions: 2, strategies: usize::MAX };
        let (shape, summaries) = shape(&cells, &report.sessions[0], level);
        let at = cells.strategies.iter().position(|p| p.0 == "continuation").unwrap();
        let packed = shape.cells[at * 2].as_ref().unwrap();
        let session = cells.session(&report.sessions[0]).unwrap();
        let cell = cells.of(Some(&session))[at * 2].unwrap();
        let rows = &cell.rows().unwrap().compactions;
        assert_eq!((packed.all, packed.compactions.len()), (rows.len(), 2));
        let second = &packed.compactions[1];
        assert_eq!((second.request, second.before), (rows[1].request, rows[1].tokens_before));
        assert_eq!(summaries[second.texts[0]], rows[1].texts[0]);
    }
}
