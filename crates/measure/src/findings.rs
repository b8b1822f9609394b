//! The findings of a run (reference §6 and §7): problems of the run,
//! observations on its figures, limits of the method. Each fact is found here,
//! against one threshold, and put into words by `wording`.

mod bill;
mod compactor;
mod data;
mod exam;
mod observations;
mod roles;
mod run;

use std::collections::BTreeSet;

use recap_core::model::{
    Cell, Finding, Limit, Manifest, Missing, PanelAgreement, Primary, Problem, RowKind, RowName,
    RunResults, SessionFacts, StrategyRow,
};

use super::ALL;
use super::rows::Entry;

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
    /// The evidence of a run; `table` contains every row in printing order.
    pub fn of(
        manifest: &'a Manifest,
        primary: Primary,
        table: &'a [Entry],
        facts: &'a [SessionFacts],
        results: &'a RunResults,
        panel: Option<&'a PanelAgreement>,
        missing: Option<&'a Missing>,
    ) -> Self {
        let billed: Vec<&Entry> = table.iter().filter(|e| e.row.dataset == ALL).collect();
        let billing_model = billed.first().map(|e| &e.row.agent_model);
        let rows =
            billed.iter().copied().filter(|e| Some(&e.row.agent_model) == billing_model).collect();
        let bill_models = among_cells(results, |cell| {
            let bills = cell.rows().into_iter().flat_map(|rows| &rows.bills);
            bills.flat_map(|bill| bill.models()).map(str::to_owned).collect()
        });
        Evidence { manifest, primary, billed, rows, facts, results, bill_models, panel, missing }
    }

    /// Rows of strategies without controls.
    fn strategies(&self) -> impl Iterator<Item = &'a Entry> {
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

    /// Whether the run has any question.
    pub fn asks(&self) -> bool {
        self.facts.iter().any(|facts| !facts.questions.is_empty())
    }
}

/// What the cells of a run have, each once.
fn among_cells<T: Ord>(results: &RunResults, of: impl Fn(&Cell) -> Vec<T>) -> BTreeSet<T> {
    let mut found = BTreeSet::new();
    for session in results.iter() {
        found.extend(session.cells().iter().flat_map(&of));
    }
    found
}

/// Every finding: problems, those that change figures first, then observations, the most
/// important first, then limits.
pub fn findings(run: &Evidence<'_>) -> Vec<Finding> {
    let missing = run.missing.cloned().map(Problem::Incomplete);
    let problems = missing.into_iter().chain(PROBLEMS.iter().flat_map(|check| check(run)));
    let mut problems: Vec<Problem> = problems.collect();
    problems.sort_by_key(|problem| match problem {
        problem if problem.changes_figures() => 0,
        Problem::Notice(_) => 1,
        _ => 2,
    });
    let limits = LIMITS.iter().flat_map(|check| check(run));
    (problems.into_iter().map(Finding::from))
        .chain(observations::choose(run).into_iter().map(Finding::from))
        .chain(limits.map(Finding::from))
        .collect()
}

/// The functions that find problems, in the order of the report.
const PROBLEMS: &[fn(&Evidence<'_>) -> Vec<Problem>] = &[
    compactor::unusable_replies,
    failed_cells,
    |run| roles::at_odds(run).into_iter().collect(),
    exam::nothing_compacts,
    |run| run.manifest.warnings.iter().cloned().map(Problem::Notice).collect(),
    compactor::idle,
    exam::narrow_scale,
    |run| exam::in_doubt(run).into_iter().collect(),
    |run| exam::names_suffice(run).into_iter().collect(),
    |run| exam::size_matters(run).into_iter().collect(),
    roles::ungraded,
    roles::unrecovered,
    |run| exam::thin(run).into_iter().collect(),
    |run| exam::not_cut(run).into_iter().collect(),
    |run| bill::simulation_off(run).into_iter().collect(),
    |run| bill::unpriced(run).into_iter().collect(),
    |run| bill::storage_unpriced(run).into_iter().collect(),
    |run| bill::default_model(run).into_iter().collect(),
    |run| bill::first_breakpoint(run).into_iter().collect(),
    |run| bill::unbilled_summaries(run).into_iter().collect(),
];

/// The functions that find limits, in the order of the report.
const LIMITS: &[fn(&Evidence<'_>) -> Option<Limit>] = &[
    |_| Some(Limit::OpenLoop),
    compactor::offline_summaries,
    roles::offline,
    roles::uncalibrated,
    roles::paraphrased,
    data::few_clusters,
    data::one_project,
    exam::small_windows,
    exam::identifiers_only,
    roles::sentences_unread,
    data::counts,
    bill::what_bills_assume,
    bill::modelled_clock,
    bill::modelled_waits,
    data::left_out,
];

fn failed_cells(run: &Evidence<'_>) -> Vec<Problem> {
    let failed: usize = run.rows.iter().map(|e| e.row.failed.len()).sum();
    let rows = run.rows.iter().filter(|e| !e.row.failed.is_empty());
    let strategies: BTreeSet<&str> = rows.map(|e| e.row.strategy.as_str()).collect();
    let strategies = owned(strategies);
    let cells = run.results.iter().map(|session| session.cells().len()).sum();
    let failed = Problem::FailedCells { failed, cells, strategies };
    if run.rows.iter().all(|e| e.row.failed.is_empty()) { Vec::new() } else { vec![failed] }
}

fn place(entry: &Entry) -> RowName {
    place_of(&entry.row)
}

/// Strategy and window of a row.
pub fn place_of(row: &StrategyRow) -> RowName {
    RowName { strategy: row.strategy.clone(), window: row.window.clone() }
}

fn owned<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
