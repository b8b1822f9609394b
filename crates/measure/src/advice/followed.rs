//! What a recommended strategy costs when it is followed through whole sessions,
//! beside what they cost today: a saving that is a mean over single compactions
//! may be lost where one compaction follows another.

use std::collections::BTreeMap;

use super::Inputs;
use crate::session_figures::session_figures;
use recap_core::model::{
    Cell, CostlySession, Followed, FollowedSession, RunResults, Through, catalogue,
};
use recap_core::model::{FULL, RECORDED};

/// Fewest sessions of which one can stand out.
const FEWEST: usize = 4;
/// Share of the difference from which on a session is named.
const LARGE: f64 = 1.0 / 3.0;

/// Data set and id of a session.
type Key = (String, String);

/// What following this strategy from contexts of this size on costs; `None` where
/// the run did not follow it, or a bill is not known.
pub(super) fn through(inputs: Inputs<'_>, strategy: &str, from: u64) -> Option<Through> {
    let followed = inputs.manifest.followed.as_ref()?;
    if (&*followed.strategy, followed.from) != (strategy, from) {
        return None;
    }
    let as_recorded = has(inputs, RECORDED);
    let today = bills(inputs, if as_recorded { RECORDED } else { FULL })?;
    let usd = |of: &BTreeMap<Key, f64>| of.values().sum::<f64>();
    let own = own_bills(followed)?;
    if !today.keys().eq(own.keys()) {
        return None;
    }
    Some(Through {
        usd: usd(&own),
        today_usd: usd(&today),
        as_recorded,
        window: followed.window,
        sessions: own.len() as u64,
        most: most(followed, &today),
    })
}

fn own_bills(followed: &Followed) -> Option<BTreeMap<Key, f64>> {
    let of = |one: &FollowedSession| Some(((one.dataset.clone(), one.session.clone()), one.usd?));
    followed.sessions.iter().map(of).collect()
}

fn has(inputs: Inputs<'_>, strategy: &str) -> bool {
    inputs
        .results
        .iter()
        .next()
        .is_some_and(|session| session.cells().iter().any(|cell| cell.key.strategy == strategy))
}

/// The bill of a control by session; `None` if one is unknown, or if a provider
/// would have refused one of its requests.
fn bills(inputs: Inputs<'_>, strategy: &str) -> Option<BTreeMap<Key, f64>> {
    let mut cells: Vec<Cell> = Vec::new();
    for session in inputs.results.iter() {
        let mut own = session.cells().iter().filter(|cell| cell.key.strategy == strategy);
        cells.push(own.next()?.clone());
    }
    let refused = |cell: &Cell| {
        let mut requests = cell.rows().into_iter().flat_map(|rows| rows.requests.iter());
        requests.any(|request| request.overflow)
    };
    if strategy == FULL && cells.iter().any(refused) {
        return None;
    }
    let sessions = RunResults::new(cells, []);
    let id = catalogue::FACTS_KEPT.id;
    let figures = session_figures(inputs.manifest, inputs.facts, &sessions, id);
    figures.into_iter().map(|one| Some(((one.dataset, one.session), one.usd?))).collect()
}

/// The session that more than a third of the difference comes from.
fn most(followed: &Followed, today: &BTreeMap<Key, f64>) -> Option<CostlySession> {
    let difference = |one: &FollowedSession| {
        let key = (one.dataset.clone(), one.session.clone());
        Some(one.usd? - today.get(&key)?)
    };
    let all: Option<f64> = followed.sessions.iter().map(difference).sum();
    let all = all.filter(|all| *all != 0.0 && followed.sessions.len() >= FEWEST)?;
    let share = |one: &FollowedSession| difference(one).map_or(0.0, |own| own / all);
    let most = followed.sessions.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    (share(most) > LARGE).then(|| CostlySession {
        session: most.session.clone(),
        difference_usd: share(most) * all,
        compactions: u64::from(most.compactions),
    })
}
