//! The cells and cuts that a complete run has, so that what an interrupted run
//! lacks can be named.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Cell, CellKey, CellOutcome, RowKind, RunResults};

/// Every cell and every cut of a run, as the lists that they are combined from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Strategies that are replayed at every window.
    pub strategies: Vec<PlannedStrategy>,
    /// Strategies that are examined at cuts alone: they have one cell at each
    /// window of a session that is cut.
    pub at_cuts: Vec<String>,
    /// The sessions, in the order of their keys.
    pub sessions: Vec<PlannedSession>,
}

/// A strategy of a planned run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStrategy {
    /// The strategy's id, without markup.
    pub name: String,
    /// Whether its cells are ranked.
    pub row_kind: RowKind,
    /// How often it is replayed, at least once.
    pub replicates: u32,
}

/// A session of a planned run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSession {
    /// Name of its data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// Labels of the windows that it fits, in the order of the cells' keys.
    pub windows: Vec<String>,
    /// The first request after each cut, and whether the recorded agent
    /// compacted there.
    pub cuts: Vec<(u32, bool)>,
}

/// The planned cells and cuts that a run lacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// Cells that are missing.
    pub cells: usize,
    /// Cells that were planned.
    pub planned_cells: usize,
    /// Cuts that are missing.
    pub cuts: usize,
    /// Cuts that were planned.
    pub planned_cuts: usize,
    /// Descriptions of the first hundred missing cells and cuts.
    pub named: Vec<String>,
}

/// Most descriptions that are kept.
const NAMED: usize = 100;

impl Planned {
    /// Number of planned cells.
    pub fn count(&self) -> u64 {
        let replayed = self.strategies.iter().map(|strategy| u64::from(strategy.replicates));
        let replayed = replayed.fold(0, u64::saturating_add);
        let of = |session: &PlannedSession| {
            let without_summaries =
                if session.cuts.is_empty() { 0 } else { self.at_cuts.len() as u64 };
            (session.windows.len() as u64)
                .saturating_mul(replayed.saturating_add(without_summaries))
        };
        self.sessions.iter().map(of).fold(0, u64::saturating_add)
    }

    /// The plans of several parts of a run as one.
    pub fn union(parts: impl IntoIterator<Item = Planned>) -> Self {
        let (mut strategies, mut at_cuts) = (BTreeMap::new(), BTreeSet::new());
        let mut sessions = Vec::new();
        for part in parts {
            for strategy in part.strategies {
                let known =
                    strategies.entry(strategy.name.clone()).or_insert_with(|| strategy.clone());
                known.replicates = known.replicates.max(strategy.replicates);
            }
            at_cuts.extend(part.at_cuts);
            sessions.extend(part.sessions);
        }
        let key = |one: &PlannedSession| (one.dataset.clone(), one.session.clone());
        sessions.sort_by_cached_key(key);
        Self {
            strategies: strategies.into_values().collect(),
            at_cuts: at_cuts.into_iter().collect(),
            sessions,
        }
    }

    /// The key and the standing of every cell.
    pub fn cells(&self) -> impl Iterator<Item = (CellKey, RowKind)> {
        self.sessions.iter().flat_map(|session| self.cells_of(session))
    }

    /// The key and the standing of every cell of a session.
    fn cells_of<'a>(
        &'a self,
        session: &'a PlannedSession,
    ) -> impl Iterator<Item = (CellKey, RowKind)> + 'a {
        session.windows.iter().flat_map(move |window| {
            let replayed = self.strategies.iter().flat_map(move |strategy| {
                (0..strategy.replicates).map(move |replicate| {
                    (session.key(&strategy.name, window, replicate), strategy.row_kind)
                })
            });
            let without_summaries = self.at_cuts.iter().filter(|_| !session.cuts.is_empty());
            let without_summaries =
                without_summaries.map(move |name| (session.key(name, window, 0), RowKind::Control));
            replayed.chain(without_summaries)
        })
    }

    /// The missing cells, as failed cells: their rows are no more reliable than
    /// those of a cell that failed.
    pub fn missing_cells<'a>(&'a self, results: &'a RunResults) -> impl Iterator<Item = Cell> + 'a {
        self.by_session(results).flat_map(|(lost, _)| lost)
    }

    /// For each session the missing cells, and the missing cuts in words.
    fn by_session<'a>(
        &'a self,
        results: &'a RunResults,
    ) -> impl Iterator<Item = (Vec<Cell>, Vec<String>)> + 'a {
        self.sessions.iter().map(|session| {
            let results = results.get(&session.dataset, &session.session);
            let (cells, cuts) =
                results.as_ref().map_or((&[][..], &[][..]), |s| (s.cells(), s.cuts()));
            let there: BTreeSet<&CellKey> = cells.iter().map(|cell| &cell.key).collect();
            let missing = self.cells_of(session).filter(|(key, _)| !there.contains(key));
            let there: BTreeSet<_> = cuts.iter().map(|cut| (cut.request, cut.recorded)).collect();
            let uncut = session.cuts.iter().filter(|cut| !there.contains(cut));
            let PlannedSession { dataset, session: id, .. } = session;
            let uncut = uncut
                .map(|(request, _)| format!("the cut before request {request} of {dataset}/{id}"));
            (missing.map(lost).collect(), uncut.collect())
        })
    }

    /// What is missing; `None` if the run is complete.
    pub fn missing(&self, results: &RunResults) -> Option<Missing> {
        let mut missing = Missing {
            cells: 0,
            planned_cells: self.count() as usize,
            cuts: 0,
            planned_cuts: self.sessions.iter().map(|session| session.cuts.len()).sum(),
            named: Vec::new(),
        };
        let mut named_cuts = Vec::new();
        for (cells, cuts) in self.by_session(results) {
            missing.cells += cells.len();
            missing.cuts += cuts.len();
            let room = NAMED - missing.named.len();
            missing.named.extend(cells.iter().map(describe_cell).take(room));
            let room = NAMED - named_cuts.len();
            named_cuts.extend(cuts.into_iter().take(room));
        }
        missing.named.extend(named_cuts);
        missing.named.truncate(NAMED);
        (missing.cells + missing.cuts > 0).then_some(missing)
    }
}

/// A cell that the run ended before.
fn lost((key, row_kind): (CellKey, RowKind)) -> Cell {
    let error = "missing: the run ended before this cell did".to_owned();
    Cell { key, row_kind, outcome: CellOutcome::Failed { error } }
}

fn describe_cell(cell: &Cell) -> String {
    let CellKey { dataset, session, strategy, window, replicate } = &cell.key;
    let repetition = match replicate {
        0 => String::new(),
        n => format!(", repetition {}", n + 1),
    };
    format!("{strategy} at {window} on {dataset}/{session}{repetition}")
}

impl PlannedSession {
    fn key(&self, strategy: &str, window: &str, replicate: u32) -> CellKey {
        CellKey {
            dataset: self.dataset.clone(),
            session: self.session.clone(),
            strategy: strategy.to_owned(),
            window: window.to_owned(),
            replicate,
        }
    }
}

/// One of several parts of a run, written as `3/7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The number of the part, from 1.
    pub index: u32,
    /// The number of parts.
    pub of: u32,
}

/// Largest number of parts.
pub const MOST_SHARDS: u32 = 100_000;

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let read = |(index, of): (&str, &str)| {
            Some(Shard { index: index.parse().ok()?, of: of.parse().ok()? })
        };
        let shard = typed.split_once('/').and_then(read).ok_or_else(|| {
            format!("`{typed}` is not a shard: write its number and how many there are, as in 3/7")
        })?;
        if shard.index == 0 || shard.index > shard.of {
            return Err(format!(
                "there is no shard {typed}: shards are numbered from 1 to {}",
                shard.of
            ));
        }
        if shard.of > MOST_SHARDS {
            return Err(format!("at most {MOST_SHARDS} shards can be merged"));
        }
        Ok(shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Cut;

    fn planned() -> Planned {
        let strategy = |name: &str, row_kind, replicates| PlannedStrategy {
            name: name.to_owned(),
            row_kind,
            replicates,
        };
        let session = |name: &str, windows: &[&str], cuts: &[(u32, bool)]| PlannedSession {
            dataset: "d".to_owned(),
            session: name.to_owned(),
            windows: windows.iter().map(|w| (*w).to_owned()).collect(),
            cuts: cuts.to_vec(),
        };
        Planned {
            strategies: vec![
                strategy("full", RowKind::Control, 1),
                strategy("continuation", RowKind::OfflineSummary, 2),
            ],
            at_cuts: vec!["no-summary:continuation".to_owned()],
            sessions: vec![
                session("s", &["25%", "8k"], &[(3, false), (7, true)]),
                session("t", &["8k"], &[]),
            ],
        }
    }

    fn cell(key: CellKey) -> Cell {
        let outcome = CellOutcome::Failed { error: "for a reason of its own".to_owned() };
        Cell { key, row_kind: RowKind::Ranked, outcome }
    }

    fn cut(request: u32, recorded: bool) -> Cut {
        Cut { recorded, ..Cut::bare("d", "s", request) }
    }

    fn of(cells: &[Cell], cuts: &[Cut]) -> RunResults {
        RunResults::new(cells.to_vec(), cuts.to_vec())
    }

    #[test]
    fn strategies_run_everywhere_and_without_summaries_at_cuts() {
        let keys: Vec<String> = planned()
            .cells()
            .map(|(k, _)| format!("{} {} {} {}", k.session, k.window, k.strategy, k.replicate))
            .collect();
        assert_eq!(
            keys,
            [
                "s 25% full 0",
                "s 25% continuation 0",
                "s 25% continuation 1",
                "s 25% no-summary:continuation 0",
                "s 8k full 0",
                "s 8k continuation 0",
                "s 8k continuation 1",
                "s 8k no-summary:continuation 0",
                "t 8k full 0",
                "t 8k continuation 0",
                "t 8k continuation 1",
            ]
        );
    }

    #[test]
    fn what_is_missing_is_counted_and_named() {
        let planned = planned();
        let mut cells: Vec<Cell> = planned.cells().map(|(key, _)| cell(key)).collect();
        let mut cuts = vec![cut(3, false), cut(7, true)];
        assert_eq!(planned.missing(&of(&cells, &cuts)), None, "a cell that failed is there");
        cells.remove(10);
        // Another cut at the same request is not the planned one.
        cuts[1].recorded = false;
        let missing = planned.missing(&of(&cells, &cuts)).unwrap();
        assert_eq!((missing.cells, missing.planned_cells), (1, 11));
        assert_eq!((missing.cuts, missing.planned_cuts), (1, 2));
        assert_eq!(
            missing.to_string(),
            "this run is incomplete: 1 of 11 cells and 1 of 2 cuts are missing (continuation at \
             8k on d/t, repetition 2; the cut before request 7 of d/s). `recap bench` with the \
             same options, --out and --resume finishes it"
        );
        let none = planned.missing(&of(&[], &cuts)).unwrap();
        assert!(none.to_string().contains("; and 9 more)"), "{}", none.to_string());
    }

    #[test]
    fn a_missing_cell_counts_as_one_that_failed() {
        let (planned, none) = (planned(), RunResults::default());
        let missing: Vec<Cell> = planned.missing_cells(&none).collect();
        assert_eq!(missing.len(), 11);
        assert_eq!(missing[1].row_kind, RowKind::OfflineSummary);
        assert!(missing.iter().all(|cell| cell.rows().is_none()));
    }
}

#[cfg(test)]
mod shard_tests {
    use super::*;

    #[test]
    fn shard_index_lies_within_shard_count() {
        assert_eq!("3/7".parse(), Ok(Shard { index: 3, of: 7 }));
        assert_eq!("7/7".parse::<Shard>().unwrap().to_string(), "7/7");
        for wrong in ["0/7", "8/7", "3", "/7", "3/", "-1/7", "1/0", "a/b", "1/2/3", "1/100001", ""]
        {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
