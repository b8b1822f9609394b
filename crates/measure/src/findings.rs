//! The findings of a run (reference §6 and §7): problems of the run,
//! observations on its figures, limits of the method. Each fact is found here,
//! against one threshold, and put into words by `wording`.

mod bill;
mod compactor;
mod data;
mod exam;
mod observations;
mod roles;

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
mod tests {
    use crate::measure;
    use crate::testkit::{cell, facts, manifest, warnings};
    use recap_core::model::{Cell, RunResults, SessionFacts};

    pub(super) fn warned(facts: Vec<SessionFacts>, cells: Vec<Cell>) -> Vec<String> {
        let report =
            measure(manifest(&["25%", "200k"]), "d".into(), facts, RunResults::new(cells, []));
        warnings(&report)
    }

    #[track_caller]
    pub(super) fn says(warnings: &[String], words: &str) {
        assert!(warnings.iter().any(|w| w.contains(words)), "{words}: {warnings:#?}");
    }

    #[track_caller]
    pub(super) fn silent(warnings: &[String], words: &str) {
        assert!(!warnings.iter().any(|w| w.contains(words)), "{words}: {warnings:#?}");
    }

    #[test]
    fn run_problems_precede_method_limits() {
        let one = facts("s").requests(&[100]).build();
        let warnings = warned(vec![one], vec![cell("s", "x").sent(&[100]).build()]);
        assert!(warnings[0].starts_with("nothing compacts at 25 %"), "{warnings:#?}");
        let limit = warnings.iter().position(|w| w.starts_with("replay is open loop")).unwrap();
        let later = |w: &String| w.starts_with("1 session:") || w.starts_with("results at");
        assert!(warnings[limit + 1..].iter().all(later), "{warnings:#?}");
    }

    #[test]
    fn calibrated_and_exact_counts_are_distinguished_with_reasons() {
        let of = |id: &str| facts(id).requests(&[100]);
        let mut behind = of("b").calibrated(1.2, Some(0.2)).build();
        behind.calibration.as_mut().unwrap().after_boundary = Some(0.153);
        let all = vec![
            of("a").calibrated(1.2, Some(0.01)).build(),
            behind,
            of("c").reported(Some(0.01)).build(),
            of("f").build(),
            of("g").build(),
        ];
        says(
            &warned(all, Vec::new()),
            "tokens of 2 of 5 sessions are the provider's own count from request to request; \
             counted by the vocabulary alone: 1 as asked, 2 without usage; what strategies write is \
             sized by one factor for the session, whose count was off by up to 20 % in the median \
             ahead of what it was fitted to, 15 % behind recorded compactions",
        );
        silent(&warned(vec![of("f").build()], Vec::new()), "provider's own count");
    }

    #[test]
    fn run_without_compactions_is_reported_with_largest_context() {
        let one = || vec![facts("s").requests(&[100, 700, 300]).build()];
        let idle = || cell("s", "x").window("200k", 200_000).sent(&[100, 700, 300]);
        let warnings = warned(one(), vec![idle().build()]);
        says(&warnings, "nothing compacts at 200k: the largest context seen is 700 tokens");
        let warnings = warned(one(), vec![idle().compaction(700, 300).build()]);
        silent(&warnings, "nothing compacts");
        let control = vec![idle().control().build()];
        silent(&warned(one(), control), "nothing compacts");
    }

    #[test]
    fn sessions_with_thin_exams_are_counted() {
        let thin = facts("s").requests(&[100]).reference(0, 5_000, None).build();
        let cells = vec![cell("s", "x").sent(&[100]).states("k").build()];
        says(&warned(vec![thin], cells), "1 of 1 session asks for fewer than 20 references");
    }

    #[test]
    fn offline_summaries_are_named_with_their_compactor() {
        let one = facts("s").requests(&[100]).build();
        let cells = vec![cell("s", "continuation").offline_summary().sent(&[100]).build()];
        let warnings = warned(vec![one], cells);
        says(
            &warnings,
            "offline summaries, not ranked: continuation. Their summaries come from the offline",
        );
    }

    #[test]
    fn left_out_records_are_summed_by_reason() {
        let one = facts("s").requests(&[100]).left_out("sidechain", 2).build();
        let two = facts("t").requests(&[100]).left_out("sidechain", 3).left_out("hook", 1).build();
        let cells = vec![cell("s", "x").sent(&[100]).build()];
        says(&warned(vec![one, two], cells), "records left out on import: 5 sidechain, 1 hook");
    }

    #[test]
    fn small_windows_are_reported_as_unlike_native_ones() {
        let one = || vec![facts("s").requests(&[100]).build()];
        let at =
            |label: &str, tokens| vec![cell("s", "x").window(label, tokens).sent(&[1]).build()];
        says(&warned(one(), at("25%", 4_000)), "results at 25 % do not predict a native window");
        says(&warned(one(), at("16k", 16_000)), "results at 16k do not predict");
        silent(&warned(one(), at("200k", 200_000)), "do not predict");
        silent(&warned(one(), at("native", 32_000)), "do not predict");
    }

    #[test]
    fn exam_of_unused_content_is_doubted() {
        let of = |did_without: u32| {
            let mut builder = facts("s").requests(&[100; 10]).boundary(did_without);
            for request in 0..10 {
                builder = builder.reference(request, 5_000, None).reference(request, 5_000, None);
            }
            let full = cell("s", "full").control().sent(&[100; 10]).states(&"k".repeat(20));
            warned(vec![builder.build()], vec![full.build()])
        };
        says(&of(5), "did without 20 %");
        silent(&of(1), "did without");
    }
}
