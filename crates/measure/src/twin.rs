//! The recorded agent's own strategy with offline summaries, beside what the agent really kept:
//! at its recorded compactions alone, since only there both are known.

use super::agent_settings::threshold;
use super::billing_models::BillingModels;
use super::rows;
use super::table::{SeriesHeld, SessionTable};
use recap_core::model::{Cut, Manifest, Primary, RunResults, SessionFacts, StrategyRow};

/// The row of the strategy that does what the recorded agent does; `None` where nothing was
/// compacted or that strategy did not run.
pub(super) fn twin(
    manifest: &Manifest,
    facts: &[SessionFacts],
    results: &RunResults,
    primary: Primary,
) -> Option<StrategyRow> {
    let own = threshold(manifest.agent.as_ref()?)?.strategies.first()?;
    let (mut cells, mut cuts) = (Vec::new(), Vec::new());
    for session in results.iter() {
        cells.extend(session.cells().iter().filter(|cell| cell.key.strategy == *own).cloned());
        let recorded = session.cuts().iter().filter(|cut| cut.recorded);
        cuts.extend(recorded.map(|cut| Cut {
            rows: cut.rows.iter().filter(|row| row.strategy == *own).cloned().collect(),
            ..cut.clone()
        }));
    }
    if cuts.is_empty() {
        return None;
    }
    let results = RunResults::new(cells, cuts);
    let billing_models = BillingModels::of(manifest, &results);
    let held = SeriesHeld::OfIntervals;
    let table = SessionTable::of(manifest, facts, &results, &billing_models, held);
    let rows = rows::rows(&table, primary, manifest, &billing_models);
    rows.into_iter().map(|entry| entry.row).find(|row| row.strategy == *own)
}
