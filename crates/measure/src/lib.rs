//! From cells to a report: what each strategy keeps, what it saves, and how sure that is.
//!
//! In: the cells of a run. Out: a [`Report`] with a row for each
//! strategy, intervals, tests, findings and one recommendation. `measures` is the table of all
//! measures, `figures` what they come to for sessions and rows, `findings` has a function for each
//! finding, `advice` says what to do, and [`gate`] holds a report against rules.
//!
//! Invariant: pure. The same cells in any order give the same report, byte for byte; a figure
//! that cannot be computed is absent with a reason, and missing scores never change a mean.
//!
//! Next: `recap-report` prints it.

mod advice;
mod comparison;
mod figures;
mod findings;
pub mod gate;
mod measures;
mod receipt;
mod statistics;
#[cfg(test)]
pub(crate) mod testkit;

pub use advice::agent_settings::{AgentSetting, agent_settings, own_strategy};
pub use advice::sizes::SIZES;
pub use comparison::{Run, compare};
pub use measures::{MEASURES, is_at_cuts};
pub use statistics::agreement::{Graded, agreement};

use std::collections::BTreeSet;

use advice::recommendation::recommendation;
use advice::sizes::{curve, recorded_compactions};
use advice::{family, ranking, savers, tuned};
use figures::table::SessionTable;
use figures::{by_session, rows};
use findings::Evidence;
use recap_billing::pricing::PriceList;
use recap_core::model::{
    Cell, Manifest, Primary, RECORDED, Receipt, Report, RunResults, Sender, SessionFacts,
    StrategyRow, catalogue,
};
use recap_core::wording;
use receipt::receipt;
use statistics::agreement;

/// The data set of rows over all sessions of a run.
pub const ALL: &str = "ALL";

/// Measures a run.
///
/// A cell that failed, or that does not fit the facts of its session, is
/// named in [`recap_core::model::StrategyRow::failed`] and contributes nothing else.
pub fn measure(
    manifest: Manifest,
    title: String,
    mut sessions: Vec<SessionFacts>,
    mut results: RunResults,
) -> Report {
    sessions.sort_by(|a, b| (&a.dataset, &a.session).cmp(&(&b.dataset, &b.session)));
    let missing = manifest.planned.missing(&results);
    if missing.is_some() {
        add_missing(&manifest, &sessions, &mut results);
    }
    let primary = rows::primary(&sessions, &results);
    let figures = SessionTable::of(&manifest, &sessions, &results);
    let session_rows = by_session::session_rows(&figures);
    let mut table = rows::rows(&figures, primary, &manifest);
    drop(figures);
    ranking::arrange(&mut table, &manifest, primary);
    let panel = agreement::panel_agreement(&results);
    let evidence = Evidence {
        panel: panel.as_ref(),
        missing: missing.as_ref(),
        ..Evidence::of(&manifest, primary, &table, &sessions, &results)
    };
    let findings = findings::findings(&evidence);
    let family = family::family(&evidence);
    let asked = primary == Primary::Continuity;
    let prices = PriceList::from(&manifest.prices);
    let savers = savers::savers(&manifest, &sessions, &results);
    let tuned = tuned::tuned(&evidence, &session_rows);
    let curve = (!asked && tuned.is_none()).then(|| curve(&manifest, &sessions, &prices));
    let twin = rows::twin(&evidence);
    let of_savers: Vec<&StrategyRow> = table.iter().map(|entry| &entry.row).collect();
    let of_savers = wording::savers(&savers, &of_savers).join(" ");
    let recommendation = recommendation(&evidence, &findings, curve.as_ref(), &of_savers)
        .filter(|_| manifest.grid.is_none());
    let answered_at_cuts = measures::at_cuts::answered_at_cuts(&evidence);
    let rows: Vec<StrategyRow> = table.into_iter().map(|entry| entry.row).collect();
    let own = receipt(&sessions, &prices);
    let estimated = match &curve {
        Some(Ok(curve)) => Some(curve.estimated),
        _ => estimated(&rows, &own).map(|usd| (own.silent_compactions, usd)),
    };
    let estimated = estimated.filter(|(calls, usd)| *usd > 0.0 && *calls > 0);
    Report {
        curve,
        twin,
        recorded_compactions: recorded_compactions(&sessions, &prices),
        receipt: Receipt { estimated, ..own },
        receipts: sessions.iter().map(|facts| receipt([facts], &prices)).collect(),
        savers,
        session_rows,
        tuned,
        manifest,
        title,
        primary,
        rows,
        answered_at_cuts,
        family,
        gate: None,
        recommendation,
        missing,
        findings,
        sessions,
        results,
        calls: Vec::new(),
        panel,
    }
}

/// What the calls of compactions are taken to have cost that are not on record, as the replay of
/// what was sent has them.
fn estimated(rows: &[StrategyRow], own: &Receipt) -> Option<f64> {
    let mut replayed = rows.iter().filter(|row| row.strategy == RECORDED && row.failed.is_empty());
    let whole = |row: &&StrategyRow| row.dataset == ALL || rows.iter().all(|r| r.dataset != ALL);
    let bill = replayed.find(whole)?.number(catalogue::COST_USD)?;
    let reported = [Sender::Main, Sender::Compaction].map(|sender| own.of(sender).total().whole());
    Some(bill - reported.into_iter().sum::<Option<f64>>()?)
}

/// Adds the missing cells of an interrupted run as failed cells, for the
/// sessions that it prepared.
fn add_missing(manifest: &Manifest, facts: &[SessionFacts], results: &mut RunResults) {
    let known: BTreeSet<(&str, &str)> =
        facts.iter().map(|f| (f.dataset.as_str(), f.session.as_str())).collect();
    let is_known = |cell: &Cell| known.contains(&(&*cell.key.dataset, &*cell.key.session));
    let missing: Vec<Cell> = manifest.planned.missing_cells(results).filter(is_known).collect();
    missing.into_iter().for_each(|cell| results.add_cell(cell));
    results.close();
}

#[cfg(test)]
mod tests;
