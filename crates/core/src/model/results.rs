//! The cells and cuts of a run, session by session.
//!
//! Those of a large run are held compressed, and made plain one session at a
//! time: a million cells take gigabytes as plain data. Whoever needs all of
//! them goes through the sessions once and keeps what it counts.

use std::cell::OnceCell;
use std::cmp::Ordering;
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
    /// The cells and the cuts of each session, by themselves, since few need both.
    held: BTreeMap<Key, (Held<Cell>, Held<Cut>)>,
    /// The session that results are being added to.
    open: Option<(Key, Vec<Cell>, Vec<Cut>)>,
    /// Number of cells that are held as plain data.
    plain: usize,
}

/// Results of one session.
#[derive(Clone, Debug)]
enum Held<T> {
    Plain(Vec<T>),
    /// As JSON, like the lines of a run folder, and compressed.
    Packed(Box<[u8]>),
}

impl<T: Clone + Serialize + DeserializeOwned> Held<T> {
    fn packed(results: &[T]) -> Self {
        Held::Packed(pack(&serde_json::to_vec(results).expect("plain data serialises")))
    }

    /// The results as plain data, which `unpacked` keeps if they are not.
    fn plain<'a>(&'a self, unpacked: &'a OnceCell<Vec<T>>) -> &'a [T] {
        match self {
            Held::Plain(results) => results,
            Held::Packed(_) => unpacked.get_or_init(|| self.to_vec()),
        }
    }

    fn to_vec(&self) -> Vec<T> {
        match self {
            Held::Plain(results) => results.clone(),
            Held::Packed(bytes) => {
                serde_json::from_slice(&unpack(bytes)).expect("it was serialised here")
            }
        }
    }

    fn into_vec(self) -> Vec<T> {
        match self {
            Held::Plain(results) => results,
            packed => packed.to_vec(),
        }
    }
}

/// The cells and cuts of one session.
#[derive(Clone, Debug)]
pub struct SessionResults<'a> {
    /// Name of the data set.
    pub dataset: &'a str,
    /// Id of the session.
    pub id: &'a str,
    cells: (&'a Held<Cell>, OnceCell<Vec<Cell>>),
    cuts: (&'a Held<Cut>, OnceCell<Vec<Cut>>),
}

impl<'a> SessionResults<'a> {
    fn of(((dataset, id), (cells, cuts)): (&'a Key, &'a (Held<Cell>, Held<Cut>))) -> Self {
        let (cells, cuts) = ((cells, OnceCell::new()), (cuts, OnceCell::new()));
        Self { dataset, id, cells, cuts }
    }

    /// The cells, sorted by key.
    pub fn cells(&self) -> &[Cell] {
        self.cells.0.plain(&self.cells.1)
    }

    /// The cuts, sorted by key.
    pub fn cuts(&self) -> &[Cut] {
        self.cuts.0.plain(&self.cuts.1)
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
        self.opened(&cell.key.dataset, &cell.key.session).0.push(cell);
    }

    /// Adds a cut, like [`RunResults::add_cell`].
    pub fn add_cut(&mut self, cut: Cut) {
        self.opened(&cut.dataset, &cut.session).1.push(cut);
    }

    /// The results of a session, to add to.
    fn opened(&mut self, dataset: &str, session: &str) -> (&mut Vec<Cell>, &mut Vec<Cut>) {
        let is_open = |(key, ..): &(Key, _, _)| (&*key.0, &*key.1) == (dataset, session);
        if !self.open.as_ref().is_some_and(is_open) {
            self.close();
            let key = (dataset.to_owned(), session.to_owned());
            let (cells, cuts) = self.held.remove(&key).unzip();
            if let Some(Held::Plain(cells)) = &cells {
                self.plain -= cells.len();
            }
            let cells = cells.map(Held::into_vec).unwrap_or_default();
            self.open = Some((key, cells, cuts.map(Held::into_vec).unwrap_or_default()));
        }
        let (_, cells, cuts) = self.open.as_mut().expect("it was opened");
        (cells, cuts)
    }

    /// Ends adding: sorts the open session, and compresses it if many cells are
    /// held already. To be called after the last result was added.
    pub fn close(&mut self) {
        let Some((key, mut cells, mut cuts)) = self.open.take() else { return };
        sort_and_keep_last(&mut cells, |a, b| a.key.cmp(&b.key));
        sort_and_keep_last(&mut cuts, |a, b| a.key().cmp(&b.key()));
        let held = if self.plain + cells.len() > PLAIN {
            (Held::packed(&cells), Held::packed(&cuts))
        } else {
            self.plain += cells.len();
            (Held::Plain(cells), Held::Plain(cuts))
        };
        self.held.insert(key, held);
    }

    /// Every session with a result.
    pub fn iter(&self) -> impl Iterator<Item = SessionResults<'_>> {
        debug_assert!(self.open.is_none(), "results are still being added");
        self.held.iter().map(SessionResults::of)
    }

    /// The results of one session, if there are any.
    pub fn get(&self, dataset: &str, session: &str) -> Option<SessionResults<'_>> {
        let key = (dataset.to_owned(), session.to_owned());
        self.held.get_key_value(&key).map(SessionResults::of)
    }

    /// Every cell, sorted by key.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        self.held.values().flat_map(|(cells, _)| cells.to_vec())
    }

    /// Every cut, sorted by key.
    pub fn cuts(&self) -> impl Iterator<Item = Cut> {
        self.held.values().flat_map(|(_, cuts)| cuts.to_vec())
    }

    /// All cells and all cuts as plain data, sorted by key.
    pub fn into_lists(self) -> (Vec<Cell>, Vec<Cut>) {
        let (cells, cuts): (Vec<_>, Vec<_>) = self.into_results().unzip();
        (cells.into_iter().flatten().collect(), cuts.into_iter().flatten().collect())
    }

    /// The results of each session in turn, which are given up.
    pub fn into_results(self) -> impl Iterator<Item = (Vec<Cell>, Vec<Cut>)> {
        self.held.into_values().map(|(cells, cuts)| (cells.into_vec(), cuts.into_vec()))
    }
}

/// Sorts results by their keys; of equal ones the last is kept.
fn sort_and_keep_last<T>(results: &mut Vec<T>, order: impl Fn(&T, &T) -> Ordering) {
    results.sort_by(&order);
    results.dedup_by(|later, earlier| {
        let is_same = order(later, earlier).is_eq();
        if is_same {
            std::mem::swap(later, earlier);
        }
        is_same
    });
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

/// Changes of results that tests make.
#[cfg(any(test, feature = "testkit"))]
#[path = "results_testkit.rs"]
mod testkit;

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
        let outcome = CellOutcome::Done(Box::new(CellRows { window, ..CellRows::default() }));
        Cell { key, row_kind: RowKind::Ranked, outcome }
    }

    fn cut(session: usize, request: u32) -> Cut {
        Cut::bare("d", &format!("s-{session:05}"), request)
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
        let is_packed = |(cells, _): &&(Held<Cell>, _)| matches!(cells, Held::Packed(_));
        assert_eq!(results.held.values().filter(is_packed).count(), 500);
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
