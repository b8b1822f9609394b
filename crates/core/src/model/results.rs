//! The cells and cuts of a run, session by session.
//!
//! Those of a large run are held compressed, and made plain one session at a
//! time: a million cells take gigabytes as plain data. Whoever needs all of
//! them goes through the sessions once and keeps what it counts.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Cell, Cut};
use crate::packed::{pack, unpack};

/// Number of cells that are held as plain data. The sessions behind them are
/// compressed.
const PLAIN: usize = 4_000;

/// Data set and id of a session.
type Key = (String, String);

/// The results of a run by session, in the order of their data sets and ids.
#[derive(Clone, Debug, Default)]
pub struct RunResults {
    held: BTreeMap<Key, StoredResults>,
    /// The session that results are being added to.
    open: Option<(Key, Results)>,
    /// Number of cells that are held as plain data.
    plain: usize,
}

/// The results of a session.
#[derive(Clone, Debug, Default, PartialEq)]
struct Results {
    cells: Vec<Cell>,
    cuts: Vec<Cut>,
}

#[derive(Clone, Debug)]
enum StoredResults {
    Plain(Results),
    Packed(Packed),
}

/// Compressed results: the cells, and by themselves the cuts, since few need
/// both.
#[derive(Clone, Debug)]
struct Packed {
    cells: Box<[u8]>,
    cuts: Box<[u8]>,
}

/// The cells and cuts of one session.
#[derive(Clone, Debug)]
pub struct SessionResults<'a> {
    /// Name of the data set.
    pub dataset: &'a str,
    /// Id of the session.
    pub id: &'a str,
    held: &'a StoredResults,
    /// What was made plain.
    cells: OnceCell<Vec<Cell>>,
    cuts: OnceCell<Vec<Cut>>,
}

impl SessionResults<'_> {
    /// The cells, sorted by key.
    pub fn cells(&self) -> &[Cell] {
        match self.held {
            StoredResults::Plain(results) => &results.cells,
            StoredResults::Packed(packed) => self.cells.get_or_init(|| unpacked(&packed.cells)),
        }
    }

    /// The cuts, sorted by key.
    pub fn cuts(&self) -> &[Cut] {
        match self.held {
            StoredResults::Plain(results) => &results.cuts,
            StoredResults::Packed(packed) => self.cuts.get_or_init(|| unpacked(&packed.cuts)),
        }
    }
}

impl StoredResults {
    fn into_results(self) -> Results {
        match self {
            StoredResults::Plain(results) => results,
            StoredResults::Packed(Packed { cells, cuts }) => {
                Results { cells: unpacked(&cells), cuts: unpacked(&cuts) }
            }
        }
    }
}

impl RunResults {
    /// Groups results, which may come in any order. Of two results with the same
    /// key the later one counts.
    pub fn new(cells: impl IntoIterator<Item = Cell>, cuts: impl IntoIterator<Item = Cut>) -> Self {
        let mut results = Self::default();
        cells.into_iter().for_each(|cell| results.add_cell(cell));
        cuts.into_iter().for_each(|cut| results.add_cut(cut));
        results.close();
        results
    }

    /// Adds a cell. Quick if the one before was of the same session.
    pub fn add_cell(&mut self, cell: Cell) {
        self.opened(&cell.key.dataset, &cell.key.session).cells.push(cell);
    }

    /// Adds a cut, like [`RunResults::add_cell`].
    pub fn add_cut(&mut self, cut: Cut) {
        self.opened(&cut.dataset, &cut.session).cuts.push(cut);
    }

    /// The results of a session, to add to.
    fn opened(&mut self, dataset: &str, session: &str) -> &mut Results {
        let is_open = |key: &Key| (key.0.as_str(), key.1.as_str()) == (dataset, session);
        if !self.open.as_ref().is_some_and(|(key, _)| is_open(key)) {
            self.close();
            let key = (dataset.to_owned(), session.to_owned());
            let there = self.held.remove(&key);
            if let Some(StoredResults::Plain(results)) = &there {
                self.plain -= results.cells.len();
            }
            self.open = Some((key, there.map(StoredResults::into_results).unwrap_or_default()));
        }
        &mut self.open.as_mut().expect("it was opened").1
    }

    /// Ends adding: sorts the open session, and compresses it if many cells are
    /// held already. To be called after the last result was added.
    pub fn close(&mut self) {
        let Some((key, mut results)) = self.open.take() else { return };
        // The sort is stable, and of equal keys the last one is kept.
        results.cells.sort_by(|a, b| a.key.cmp(&b.key));
        results.cells.dedup_by(|later, earlier| {
            let same = later.key == earlier.key;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        results.cuts.sort_by(|a, b| a.key().cmp(&b.key()));
        results.cuts.dedup_by(|later, earlier| {
            let same = later.key() == earlier.key();
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        let held = if self.plain + results.cells.len() > PLAIN {
            StoredResults::Packed(Packed {
                cells: packed(&results.cells),
                cuts: packed(&results.cuts),
            })
        } else {
            self.plain += results.cells.len();
            StoredResults::Plain(results)
        };
        self.held.insert(key, held);
    }

    /// Every session with a result.
    pub fn iter(&self) -> impl Iterator<Item = SessionResults<'_>> {
        debug_assert!(self.open.is_none(), "results are still being added");
        self.held.iter().map(|(key, held)| results_of(key, held))
    }

    /// The results of one session, if there are any.
    pub fn get(&self, dataset: &str, session: &str) -> Option<SessionResults<'_>> {
        let key = (dataset.to_owned(), session.to_owned());
        self.held.get_key_value(&key).map(|(key, held)| results_of(key, held))
    }

    /// Whether there is no result.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.open.is_none()
    }

    /// Every cell, sorted by key.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        self.iter().flat_map(|session| match session.held {
            StoredResults::Plain(results) => results.cells.clone(),
            StoredResults::Packed(packed) => unpacked(&packed.cells),
        })
    }

    /// Every cut, sorted by key.
    pub fn cuts(&self) -> impl Iterator<Item = Cut> {
        self.iter().flat_map(|session| match session.held {
            StoredResults::Plain(results) => results.cuts.clone(),
            StoredResults::Packed(packed) => unpacked(&packed.cuts),
        })
    }

    /// All cells and all cuts as plain data, sorted by key.
    pub fn into_lists(self) -> (Vec<Cell>, Vec<Cut>) {
        let (mut cells, mut cuts) = (Vec::new(), Vec::new());
        for (own_cells, own_cuts) in self.into_results() {
            cells.extend(own_cells);
            cuts.extend(own_cuts);
        }
        (cells, cuts)
    }

    /// The results of each session in turn, which are given up.
    pub fn into_results(self) -> impl Iterator<Item = (Vec<Cell>, Vec<Cut>)> {
        self.held.into_values().map(|held| {
            let Results { cells, cuts } = held.into_results();
            (cells, cuts)
        })
    }
}

#[cfg(any(test, feature = "testkit"))]
impl RunResults {
    fn results_mut(&mut self) -> impl Iterator<Item = &mut Results> {
        self.held.values_mut().map(|held| match held {
            StoredResults::Plain(results) => results,
            StoredResults::Packed(_) => panic!("few cells are held as plain data"),
        })
    }

    /// Every cell, to be changed.
    pub fn cells_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.results_mut().flat_map(|results| &mut results.cells)
    }

    /// Every cut, to be changed.
    pub fn cuts_mut(&mut self) -> impl Iterator<Item = &mut Cut> {
        self.results_mut().flat_map(|results| &mut results.cuts)
    }

    /// The same cells with other cuts.
    pub fn with_cuts(self, cuts: impl IntoIterator<Item = Cut>) -> Self {
        Self::new(self.into_lists().0, cuts)
    }
}

/// Equal results are equal however they are held.
impl PartialEq for RunResults {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (SessionResults<'_>, SessionResults<'_>)| {
            (a.dataset, a.id, a.cells(), a.cuts()) == (b.dataset, b.id, b.cells(), b.cuts())
        };
        self.held.len() == other.held.len() && self.iter().zip(other.iter()).all(same)
    }
}

fn results_of<'a>((dataset, id): &'a Key, held: &'a StoredResults) -> SessionResults<'a> {
    SessionResults { dataset, id, held, cells: OnceCell::new(), cuts: OnceCell::new() }
}

/// Results as JSON, like the lines of a run folder, and compressed.
fn packed<T: Serialize>(results: &[T]) -> Box<[u8]> {
    let bytes = serde_json::to_vec(results).expect("plain data serialises");
    pack(&bytes)
}

fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> Vec<T> {
    serde_json::from_slice(&unpack(bytes)).expect("it was serialised here")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CellKey, CellOutcome, CellRows, RowKind};

    fn cell(session: usize, strategy: &str, window: u64) -> Cell {
        let key = CellKey {
            dataset: "d".to_owned(),
            session: format!("s-{session:05}"),
            strategy: strategy.to_owned(),
            window: "25%".to_owned(),
            replicate: 0,
        };
        let outcome = CellOutcome::Done(Box::new(CellRows::unsent(window)));
        Cell { key, row_kind: RowKind::Ranked, outcome }
    }

    fn cut(session: usize, request: u32) -> Cut {
        Cut {
            dataset: "d".to_owned(),
            session: format!("s-{session:05}"),
            request,
            recorded: false,
            requests: 1,
            left: None,
            messages: 1,
            tokens_before: 1,
            preamble_tokens: 0,
            facts: Vec::new(),
            rows: Vec::new(),
        }
    }

    #[test]
    fn results_are_sorted_and_last_duplicate_key_wins() {
        let cells = [cell(2, "b", 1), cell(1, "z", 1), cell(2, "a", 1), cell(2, "b", 7)];
        let results = RunResults::new(cells, [cut(2, 9), cut(1, 3), cut(2, 4), cut(2, 9)]);
        let (cells, cuts) = results.clone().into_lists();
        assert_eq!(cells, [cell(1, "z", 1), cell(2, "a", 1), cell(2, "b", 7)]);
        assert_eq!(cuts, [cut(1, 3), cut(2, 4), cut(2, 9)]);
        let second = results.get("d", "s-00002").unwrap();
        assert_eq!((second.cells().len(), second.cuts().len()), (2, 2));
        assert!(results.get("e", "s-00002").is_none());
    }

    #[test]
    fn later_sessions_are_compressed_and_restored_unchanged() {
        let all = PLAIN + 500;
        let mut results = RunResults::default();
        // Cells, then cuts, as a journal has them.
        (0..all).for_each(|at| results.add_cell(cell(at, "prune", at as u64)));
        (0..all).step_by(100).for_each(|at| results.add_cut(cut(at, 3)));
        results.close();
        let packed =
            results.held.values().filter(|held| matches!(held, StoredResults::Packed(_))).count();
        assert_eq!(packed, 500);
        assert!(results.cells().eq((0..all).map(|at| cell(at, "prune", at as u64))));
        assert!(results.cuts().eq((0..all).step_by(100).map(|at| cut(at, 3))));
        // A late result opens a compressed session again.
        let late = all - 1;
        results.add_cell(cell(late, "fifo", 1));
        results.close();
        let (dataset, session) = ("d", format!("s-{late:05}"));
        let cells = results.get(dataset, &session).unwrap().cells().to_vec();
        assert_eq!(cells, [cell(late, "fifo", 1), cell(late, "prune", late as u64)]);
    }
}
