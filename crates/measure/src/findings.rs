//! The findings of a run (reference §6 and §7): problems of the run, observations on its figures,
//! limits of the method. Each is found against one threshold and put into words by one function;
//! the functions are listed at the head of the file of their subject, by which equals are ordered.

mod bill;
mod data;
mod exam;
mod observations;
mod run;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use recap_core::model::{
    Cell, Finding, Manifest, Missing, PanelAgreement, Primary, RowKind, RunResults, SessionFacts,
    StrategyRow, catalogue,
};
use recap_core::wording::window;

use crate::ALL;
use crate::figures::rows::Entry;
pub(super) use data::only_described;

/// The findings of each subject, in their order.
const SUBJECTS: [fn(&Evidence<'_>) -> Vec<Finding>; 5] =
    [run::findings, exam::findings, bill::findings, observations::findings, data::findings];

/// The data that findings and recommendations are computed from.
pub struct Evidence<'a> {
    /// The settings of the run.
    pub manifest: &'a Manifest,
    /// The measure that ranks.
    pub primary: Primary,
    /// Rows over all sessions, in printing order, for every agent model.
    pub billed: Vec<&'a Entry>,
    /// The same rows for the first agent model only: a fact that holds for
    /// every billing model is reported once.
    pub rows: Vec<&'a Entry>,
    /// The facts of the sessions.
    pub facts: &'a [SessionFacts],
    /// All cells and cuts of the run.
    pub results: &'a RunResults,
    /// The models whose prices its bills take.
    pub bill_models: BTreeSet<String>,
    /// How far the judges of a panel agree.
    pub panel: Option<&'a PanelAgreement>,
    /// What is missing in an interrupted run.
    pub missing: Option<&'a Missing>,
}

impl<'a> Evidence<'a> {
    /// The evidence of a whole run with a single judge; `table` contains every row in printing
    /// order.
    pub fn of(
        manifest: &'a Manifest,
        primary: Primary,
        table: &'a [Entry],
        facts: &'a [SessionFacts],
        results: &'a RunResults,
    ) -> Self {
        let billed: Vec<&Entry> = table.iter().filter(|e| e.row.dataset == ALL).collect();
        let billing_model = billed.first().map(|e| &e.row.agent_model);
        let rows =
            billed.iter().copied().filter(|e| Some(&e.row.agent_model) == billing_model).collect();
        let bill_models = among_cells(results, |cell| {
            let bills = cell.rows().into_iter().flat_map(|rows| &rows.bills);
            bills.flat_map(|bill| bill.models()).map(str::to_owned).collect::<Vec<_>>()
        });
        let (panel, missing) = (None, None);
        Evidence { manifest, primary, billed, rows, facts, results, bill_models, panel, missing }
    }

    /// Rows of strategies without controls.
    pub(super) fn strategies(&self) -> impl Iterator<Item = &'a Entry> {
        self.rows.iter().copied().filter(|e| e.row.row_kind != RowKind::Control)
    }

    /// The rows of each window, windows as typed.
    pub(super) fn at_windows(&self) -> impl Iterator<Item = &[&'a Entry]> {
        self.rows.chunk_by(|a, b| a.row.window == b.row.window)
    }

    /// Another row at the same window.
    pub fn beside(&self, row: &StrategyRow, strategy: &str) -> Option<&'a StrategyRow> {
        let rows = self.rows.iter().map(|e| &e.row);
        rows.into_iter().find(|r| r.window == row.window && r.strategy == strategy)
    }

    /// The billing model of a row, if there are several.
    pub fn billing_model(&self, row: &StrategyRow) -> Option<String> {
        (self.rows.len() < self.billed.len()).then(|| row.agent_model.clone())
    }

    /// Number of clusters of the row that has most.
    fn clusters(&self) -> u64 {
        let known = self.rows.iter().filter_map(|e| e.row.number(catalogue::N_CLUSTERS));
        known.fold(0.0, f64::max) as u64
    }

    /// Whether nothing but token savers was compared with the controls.
    pub fn has_only_savers(&self) -> bool {
        let savers = &self.manifest.savers;
        !savers.is_empty() && self.strategies().all(|e| savers.contains(&e.row.strategy))
    }

    /// Whether the run has any question.
    pub fn asks(&self) -> bool {
        self.facts.iter().any(|facts| !facts.questions.is_empty())
    }
}

/// What the cells of a run have, each once.
fn among_cells<T: Ord, I: IntoIterator<Item = T>>(
    results: &RunResults,
    of: impl Fn(&Cell) -> I,
) -> BTreeSet<T> {
    let mut found = BTreeSet::new();
    for session in results.iter() {
        found.extend(session.cells().iter().flat_map(&of));
    }
    found
}

/// Reasons with their numbers, the most frequent first, equal ones by the alphabet.
pub(crate) fn most_frequent<T>(reasons: BTreeMap<T, u64>) -> Vec<(T, u64)> {
    let mut reasons = Vec::from_iter(reasons);
    reasons.sort_by_key(|(_, times)| Reverse(*times));
    reasons
}

/// Every finding: problems, then observations, then limits; of each those first that change
/// figures, then those with the largest weight. Of equals the order of the subjects decides.
pub fn findings(run: &Evidence<'_>) -> Vec<Finding> {
    let mut all: Vec<Finding> = SUBJECTS.into_iter().flat_map(|of| of(run)).collect();
    all.sort_by(|a, b| {
        let changes = b.changes_figures.cmp(&a.changes_figures);
        a.severity.cmp(&b.severity).then(changes).then(b.weight.total_cmp(&a.weight))
    });
    all
}

/// Strategy and window of a row: `prune at 25 %`.
pub(super) fn row_name(row: &StrategyRow) -> String {
    format!("{} at {}", row.strategy, window(&row.window))
}

/// Rows with a text of each: "a 3, b 4, at 25 %" if all have one window, else
/// "a at 8k 3, b at 200k 4"; nothing without rows.
fn joined(rows: &[(&StrategyRow, String)]) -> Option<String> {
    let (first, _) = rows.first()?;
    let one = rows.iter().all(|(row, _)| row.window == first.window);
    let named = rows.iter().map(|(row, text)| {
        let name = if one { row.strategy.clone() } else { row_name(row) };
        format!("{name}{text}")
    });
    let at = one.then(|| format!("at {}", window(&first.window)));
    Some(named.chain(at).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
