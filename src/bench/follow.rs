//! Follows the advice of a run: a saving that is a mean over single compactions is
//! checked by replaying the recommended strategy through the whole sessions.

use std::collections::{BTreeMap, BTreeSet};

use super::BenchError;
use recap_core::model::{
    Cell, Followed, FollowedSession, Manifest, RowKind, RunResults, SessionFacts, SizeFigures,
    catalogue,
};
use recap_measure::{SessionFigures, advice, advises, session_figures};
use recap_replay::run::{Billable, Finished, Prepared};

/// What following needs of the sessions; `None` for a run that gives no advice, or
/// is a part of another one.
pub(super) fn billable(manifest: &Manifest, prepared: &Prepared) -> Option<Billable> {
    let gives = advises(manifest) && manifest.shard.is_none();
    gives.then(|| Billable::of(prepared)).flatten()
}

/// Replays what a finished run advises; `None` if that is nothing, or takes calls of
/// a model that nobody asked for.
pub(super) async fn follow(
    billable: &Billable,
    manifest: &Manifest,
    finished: &Finished,
) -> Result<Option<Followed>, BenchError> {
    let Finished { sessions, results, .. } = finished;
    // Unusable replies take a model, whose strategies are not followed.
    let advice = advice(manifest, sessions, results, &BTreeSet::new());
    let Some((chosen, at @ SizeFigures { window: Some(window), .. })) = advice.chosen() else {
        return Ok(None);
    };
    let ranked = chosen.row_kind == RowKind::Ranked;
    let strategy =
        billable.strategy(&chosen.strategy).filter(|one| ranked && !one.uses_compactor());
    let Some(strategy) = strategy else { return Ok(None) };
    let cells = billable.follow(strategy, *window).await?;
    Ok(Some(Followed {
        strategy: chosen.strategy.clone(),
        from: at.from,
        window: *window,
        sessions: billed(manifest, &billable.facts(), cells),
    }))
}

/// The bill of each session, and how often it was compacted.
fn billed(manifest: &Manifest, facts: &[SessionFacts], cells: Vec<Cell>) -> Vec<FollowedSession> {
    let compactions = |cell: &Cell| {
        let key = (cell.key.dataset.clone(), cell.key.session.clone());
        (key, cell.rows().map_or(0, |rows| rows.compactions.len() as u32))
    };
    let compactions: BTreeMap<(String, String), u32> = cells.iter().map(compactions).collect();
    let sessions = RunResults::new(cells, []);
    let figures = session_figures(manifest, facts, &sessions, catalogue::FACTS_KEPT.id);
    let session = |one: SessionFigures| {
        let key = (one.dataset, one.session);
        let compactions = compactions.get(&key).copied().unwrap_or(0);
        FollowedSession { dataset: key.0, session: key.1, usd: one.usd, compactions }
    };
    figures.into_iter().map(session).collect()
}
