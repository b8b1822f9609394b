//! What befell the recording's cache: cold starts, restarts, and prefixes
//! that lived longer than the rules allow (`measures` §2).
//!
//! Found in recorded usage alone, so that it is replayed for every preset.

use super::bill::life;
use crate::model::{Exogenous, RecordedCompaction, RequestFacts};

/// Share of the predicted prefix below which a request started cold.
const COLD: f64 = 0.9;

/// Marks the requests that found the cache otherwise than the requests before
/// let expect. `hidden`: tokens of the hidden preamble; `global`: those of them
/// that outlive a restart.
pub(super) fn mark(
    requests: &mut [RequestFacts],
    compactions: &[RecordedCompaction],
    hidden: u64,
    global: Option<u64>,
) {
    let life = life(requests);
    // What was cached after the last request with usage, and when.
    let mut last: Option<(u64, &RequestFacts)> = None;
    let restarted = |read: u64| match global {
        Some(global) if read as f64 >= COLD * global as f64 && read > 0 => Exogenous::Restart,
        _ => Exogenous::Cold,
    };
    let marked = requests.iter().filter_map(|r| r.recorded).any(|usage| usage.written() > 0);
    let mut found: Vec<Option<Exogenous>> = Vec::with_capacity(requests.len());
    for request in requests.iter() {
        let Some(usage) = request.recorded.filter(|_| request.billed) else {
            found.push(None);
            continue;
        };
        let read = usage.cache_read;
        let edited = |before: &RequestFacts| {
            compactions.iter().any(|c| before.message < c.after && c.after <= request.message)
        };
        found.push(match last {
            // Others may have kept the preamble alive before the session began.
            None => match restarted(read) {
                Exogenous::Restart if read > hidden.midpoint(global.unwrap_or(hidden)) => {
                    Some(Exogenous::Primed)
                }
                Exogenous::Restart => Some(Exogenous::Restart),
                _ => None,
            },
            // Behind the vendor's own compaction nothing but the preamble can
            // be read; that even this was not is no doing of the compaction.
            Some((_, before)) if edited(before) => {
                let known = global.is_some_and(|global| global > 0);
                Some(restarted(read)).filter(|e| known && *e == Exogenous::Cold)
            }
            Some((0, _)) => None,
            Some((cached, _)) if (read as f64) < COLD * cached as f64 => Some(restarted(read)),
            Some((_, before)) => {
                let idle = request.at.duration_since(before.at);
                (idle > life.duration()).then_some(Exogenous::Renewed)
            }
        });
        // A cache that is written without being asked keeps the whole prompt.
        let cached = if marked { read + usage.written() } else { usage.prompt() };
        last = Some((cached, request));
    }
    for (request, found) in requests.iter_mut().zip(found) {
        request.exogenous = found;
    }
}
