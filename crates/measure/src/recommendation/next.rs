//! The further run that a report proposes, with its price.

use recap_core::model::{CutRow, Finding, RECORDED, RowKind, Source, StrategyRow, catalogue};
use recap_core::wording::number::dollars;

use super::figure;
use crate::agent_settings::threshold;
use crate::findings::Evidence;

/// Number of strategies for which the next run is to have summaries of a model.
const TRIED: usize = 2;

pub(super) const SMALLER_WINDOW: &str =
    "what a smaller limit would lose: add `--window 25%`, a quarter of each session";
const MODEL_ANSWERER: &str = "the same run with `--answerer MODEL --judge MODEL --max-cost USD`: \
                              models answer the questions and grade the answers";
const MODEL_JUDGE: &str = "`recap judge RUN --judge MODEL --max-cost USD`: a model grades the same \
                           answers, and nothing is replayed again";

/// The further run that would answer most of the open questions: its command, and what it would
/// show.
pub(super) fn next(run: &Evidence<'_>, findings: &[Finding]) -> Option<String> {
    if run.missing.is_some() {
        return None;
    }
    if findings.iter().any(|found| found.kind == "nothing_compacts") {
        return Some(SMALLER_WINDOW.to_owned());
    }
    let offline = match (run.manifest.answered_by(), run.manifest.graded_by()) {
        (Source::Lexical, _) => Some(MODEL_ANSWERER),
        (Source::Model, Source::Lexical) => Some(MODEL_JUDGE),
        (Source::Model, Source::Model) => None,
    };
    let offline = offline.filter(|_| run.asks());
    real_summaries(run).or_else(|| offline.map(str::to_owned))
}

/// A run with summaries of a model for the offline summaries that keep most at the first
/// window, beside the recorded agent and the best strategy.
fn real_summaries(run: &Evidence<'_>) -> Option<String> {
    let rows = run.at_windows().next()?;
    let mut offline_summaries: Vec<&StrategyRow> =
        rows.iter().map(|e| &e.row).filter(|row| row.row_kind == RowKind::OfflineSummary).collect();
    offline_summaries.sort_by(|a, b| figure(run, b).total_cmp(&figure(run, a)));
    // What the recorded agent itself does comes first: it is what its owner can change.
    let agent = run.manifest.agent.as_deref();
    let own = agent.and_then(threshold).and_then(|setting| setting.strategies.first());
    let is_own = |row: &&StrategyRow| own.is_some_and(|own| *own == row.strategy);
    match offline_summaries.iter().copied().find(is_own) {
        Some(own) => offline_summaries = vec![own],
        None => offline_summaries.truncate(TRIED),
    }
    if offline_summaries.is_empty() {
        return None;
    }
    let usd: Option<f64> =
        offline_summaries.iter().map(|row| summaries_usd(run, &row.strategy)).sum();
    let price = match usd {
        Some(usd) => format!("about {}", dollars(usd)),
        None => "`--dry-run` tells the price".to_owned(),
    };
    let recorded = rows.iter().find(|e| e.row.strategy == RECORDED);
    let best = rows.iter().find(|e| e.row.rank.is_some());
    let beside = recorded.into_iter().chain(best).map(|e| &e.row);
    let names: Vec<&str> = beside.chain(offline_summaries).map(|row| &*row.strategy).collect();
    Some(format!(
        "what a model's summaries keep ({price}): add `--compactor MODEL --replicates 1 --strategy \
         {}`",
        names.join(",")
    ))
}

/// The bill of all calls that a strategy's compactions made in USD: in the sessions, and
/// for the contexts at cuts. `None` where a price is unknown.
fn summaries_usd(run: &Evidence<'_>, strategy: &str) -> Option<f64> {
    let of_strategy = run.rows.iter().filter(|e| e.row.strategy == strategy);
    let sessions: Option<f64> =
        of_strategy.map(|e| e.row.number(catalogue::COMPACTION_COST_USD)).sum();
    let mut cuts = 0.0;
    for session in run.results.iter() {
        let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
        let exams = rows.filter(|row| row.strategy == strategy).filter_map(CutRow::exam);
        cuts += exams.map(|exam| exam.compactor_usd).sum::<Option<f64>>()?;
    }
    Some(sessions? + cuts)
}
