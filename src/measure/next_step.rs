//! The further run that a report proposes, with its price.

use super::findings::Evidence;
use super::names::RECORDED;
use super::recommendation::kept;
use crate::model::{CutRow, Finding, NextStep, PresetRow, Problem, Source, Standing, catalogue};

/// Number of presets for which the next run is to have summaries of a model.
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
    let offline = run.asks() && run.manifest.graded_by() == Source::Lexical;
    real_summaries(run).or(offline.then_some(NextStep::ModelJudge))
}

/// A run with summaries of a model for the stand-ins that keep most at the first
/// window.
fn real_summaries(run: &Evidence<'_>) -> Option<NextStep> {
    let rows = run.at_windows().next()?;
    let mut stand_ins: Vec<&PresetRow> =
        rows.iter().map(|e| &e.row).filter(|row| row.standing == Standing::StandIn).collect();
    stand_ins.sort_by(|a, b| kept(run, b).total_cmp(&kept(run, a)));
    stand_ins.truncate(TRIED);
    let strategies: Vec<String> = stand_ins.iter().map(|row| row.strategy.clone()).collect();
    let recorded = rows.iter().find(|e| e.row.strategy == RECORDED);
    let best = rows.iter().find(|e| e.row.rank.is_some());
    let beside = recorded.into_iter().chain(best).map(|e| e.row.strategy.clone()).collect();
    let usd = strategies.iter().map(|name| summaries_usd(run, name)).sum();
    (!strategies.is_empty()).then_some(NextStep::RealSummaries { strategies, beside, usd })
}

/// The bill of all calls that a preset's compactions made: in the sessions, and
/// for the contexts at cuts.
fn summaries_usd(run: &Evidence<'_>, strategy: &str) -> Option<f64> {
    let of_preset = run.rows.iter().filter(|e| e.row.strategy == strategy);
    let sessions: Option<f64> =
        of_preset.map(|e| e.row.number(catalogue::COMPACTION_COST_USD)).sum();
    let mut cuts = Some(0.0);
    for session in run.sessions.iter() {
        let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
        let exams = rows.filter(|row| row.strategy == strategy).filter_map(CutRow::exam);
        let usd = exams.map(|exam| exam.bills.first()?.compactions_usd);
        cuts = cuts.zip(usd.sum::<Option<f64>>()).map(|(all, own)| all + own);
    }
    Some(sessions? + cuts?)
}
