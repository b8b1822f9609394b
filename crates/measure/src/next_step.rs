//! The further run that a report proposes, with its price.

use super::agent_settings::threshold;
use super::findings::Evidence;
use super::recommendation::kept;
use recap_core::model::RECORDED;
use recap_core::model::{
    CutRow, Finding, NextStep, Problem, RowKind, Source, StrategyRow, catalogue,
};

/// Number of strategies for which the next run is to have summaries of a model.
const TRIED: usize = 2;

/// The further run that would answer most of the open questions.
pub(super) fn next(run: &Evidence<'_>, findings: &[Finding]) -> Option<NextStep> {
    let idle =
        |finding: &Finding| matches!(finding, Finding::Problem(Problem::NothingCompacts { .. }));
    if run.missing.is_some() {
        return None;
    }
    if findings.iter().any(idle) {
        return Some(NextStep::SmallerWindow);
    }
    let offline = match (run.manifest.answered_by(), run.manifest.graded_by()) {
        (Source::Lexical, _) => Some(NextStep::ModelAnswerer),
        (Source::Model, Source::Lexical) => Some(NextStep::ModelJudge),
        (Source::Model, Source::Model) => None,
    };
    real_summaries(run).or(offline.filter(|_| run.asks()))
}

/// A run with summaries of a model for the offline summaries that keep most at the first
/// window.
fn real_summaries(run: &Evidence<'_>) -> Option<NextStep> {
    let rows = run.at_windows().next()?;
    let mut offline_summaries: Vec<&StrategyRow> =
        rows.iter().map(|e| &e.row).filter(|row| row.row_kind == RowKind::OfflineSummary).collect();
    offline_summaries.sort_by(|a, b| kept(run, b).total_cmp(&kept(run, a)));
    // What the recorded agent itself does comes first: it is what its owner can change.
    let agent = run.manifest.agent.as_deref();
    let own = agent.and_then(threshold).and_then(|setting| setting.strategies.first());
    let is_own = |row: &&StrategyRow| own.is_some_and(|own| *own == row.strategy);
    match offline_summaries.iter().copied().find(is_own) {
        Some(own) => offline_summaries = vec![own],
        None => offline_summaries.truncate(TRIED),
    }
    let strategies: Vec<String> =
        offline_summaries.iter().map(|row| row.strategy.clone()).collect();
    let recorded = rows.iter().find(|e| e.row.strategy == RECORDED);
    let best = rows.iter().find(|e| e.row.rank.is_some());
    let beside = recorded.into_iter().chain(best).map(|e| e.row.strategy.clone()).collect();
    let usd = strategies.iter().map(|name| summaries_usd(run, name)).sum();
    (!strategies.is_empty()).then_some(NextStep::RealSummaries { strategies, beside, usd })
}

/// The bill of all calls that a strategy's compactions made: in the sessions, and
/// for the contexts at cuts.
fn summaries_usd(run: &Evidence<'_>, strategy: &str) -> Option<f64> {
    let of_strategy = run.rows.iter().filter(|e| e.row.strategy == strategy);
    let sessions: Option<f64> =
        of_strategy.map(|e| e.row.number(catalogue::COMPACTION_COST_USD)).sum();
    let mut cuts = Some(0.0);
    for session in run.results.iter() {
        let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
        let exams = rows.filter(|row| row.strategy == strategy).filter_map(CutRow::exam);
        let usd = exams.map(|exam| exam.compactor_usd);
        cuts = cuts.zip(usd.sum::<Option<f64>>()).map(|(all, own)| all + own);
    }
    Some(sessions? + cuts?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Entry;
    use crate::testkit::{self, cell, entry_at, facts, manifest};
    use recap_core::model::{
        Cut, CutExam, CutOutcome, Manifest, Missing, Primary, QuestionKind, RunResults,
        SessionFacts,
    };

    const SMALL: (&str, f64) = ("25%", 10_000.0);
    const LARGE: (&str, f64) = ("200k", 200_000.0);

    fn proposed(
        table: &[Entry],
        facts: &[SessionFacts],
        results: &RunResults,
        judge: &str,
        (missing, findings): (Option<&Missing>, &[Finding]),
    ) -> Option<NextStep> {
        let manifest = Manifest { judge: judge.into(), ..manifest(&["25%", "200k"]) };
        let primary = Primary::FactsKept;
        next(&Evidence::of(&manifest, primary, table, facts, results, None, missing), findings)
    }

    /// A cut at which each of these strategies spent as much on its compactions.
    fn cut(session: &str, spent: &[(&str, f64)]) -> Cut {
        let row = |(strategy, usd): &(&str, f64)| {
            let mut exam = CutExam::of_states(8_000, 3_000, Vec::new());
            exam.compactor_usd = Some(*usd);
            CutRow {
                strategy: (*strategy).into(),
                replicate: 0,
                row_kind: RowKind::OfflineSummary,
                outcome: CutOutcome::Done(Box::new(exam)),
            }
        };
        testkit::cut(session, Vec::new(), spent.iter().map(row).collect())
    }

    #[test]
    fn best_offline_summaries_are_proposed_with_model_price() {
        let offline_summary = |at, strategy, kept, usd| {
            let values = [("facts_kept", kept), ("compaction_cost_usd", usd)];
            let mut entry = entry_at(at, strategy, None, &values);
            entry.row.row_kind = RowKind::OfflineSummary;
            entry
        };
        let table = [
            entry_at(SMALL, "full", None, &[]),
            entry_at(SMALL, "prune", Some(1), &[("facts_kept", 0.9)]),
            entry_at(SMALL, "fifo", Some(2), &[("facts_kept", 0.8)]),
            offline_summary(SMALL, "x", 0.4, 0.1),
            offline_summary(SMALL, "y", 0.7, 0.2),
            offline_summary(SMALL, "z", 0.6, 0.4),
            entry_at(SMALL, "recorded", None, &[]),
            offline_summary(LARGE, "y", 0.1, 0.3),
            offline_summary(LARGE, "w", 0.99, 0.7),
        ];
        let cuts = [cut("s", &[("y", 0.01), ("x", 5.0)]), cut("t", &[("y", 0.02), ("z", 0.04)])];
        let sessions = RunResults::new([cell("s", "y").build()], cuts);
        let found = proposed(&table, &[], &sessions, "offline", (None, &[]));
        let Some(NextStep::RealSummaries { strategies, beside, usd: Some(usd) }) = found else {
            panic!("{found:?}")
        };
        assert_eq!(strategies, ["y", "z"]);
        assert_eq!(beside, ["recorded", "prune"]);
        // y: 0.2 and 0.3 in sessions, 0.01 and 0.02 at cuts; z: 0.4 and 0.04.
        assert!((usd - 0.97).abs() < 1e-9, "{usd}");
    }

    #[test]
    fn model_answerer_is_proposed_where_nobody_answers() {
        let asking = facts("s").requests(&[1, 2]).question(QuestionKind::Fact, 1, 5).build();
        let silent = facts("s").requests(&[1, 2]).build();
        let table = [entry_at(SMALL, "prune", Some(1), &[])];
        let none = RunResults::default();
        let of = |facts: &SessionFacts, judge| {
            proposed(&table, std::slice::from_ref(facts), &none, judge, (None, &[]))
        };
        assert_eq!(of(&asking, "offline"), Some(NextStep::ModelAnswerer));
        assert_eq!(of(&silent, "offline"), None, "nothing is asked");
    }

    #[test]
    fn smaller_window_is_proposed_first_after_complete_run() {
        let table = [entry_at(SMALL, "prune", Some(1), &[])];
        let none = RunResults::default();
        let idle = Problem::NothingCompacts { window: "25%".into(), largest: 7 };
        let idle = [Finding::from(idle)];
        let lacks =
            Missing { cells: 1, planned_cells: 2, cuts: 0, planned_cuts: 0, named: Vec::new() };
        let of = |missing| proposed(&table, &[], &none, "offline", (missing, &idle));
        assert_eq!(of(None), Some(NextStep::SmallerWindow));
        assert_eq!(of(Some(&lacks)), None);
    }
}
