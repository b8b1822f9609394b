//! Which sessions come to the context limit of their model.

use recap_core::model::{Cut, Headroom, Limits, Manifest, RunResults, SessionFacts};

/// How many sessions stay below their limit; `None` for a run that examined no first
/// compaction, or some at chosen places only: its windows are made for that.
pub(super) fn headroom(
    manifest: &Manifest,
    facts: &[SessionFacts],
    results: &RunResults,
) -> Option<Headroom> {
    if manifest.depth != 1 || matches!(&*manifest.cuts, "none" | "recorded") {
        return None;
    }
    let sessions = facts.len() as u64;
    let mut all = Headroom { sessions, fit: 0, largest_tokens: 0, limits: None };
    for of in facts {
        let session = results.get(&of.dataset, &of.session);
        let cuts = session.as_ref().map_or(&[][..], |session| session.cuts());
        let cells = session.iter().flat_map(|session| session.cells());
        let own = cells.filter_map(|cell| Some(cell.rows()?.window)).max();
        let context = largest_context(of, cuts);
        let compacted = of.recorded_compactions > 0;
        all.fit += u64::from(!compacted && own.is_some_and(|window| context <= window));
        all.largest_tokens = all.largest_tokens.max(context);
        if let Some(own) = own {
            let known = all.limits.unwrap_or(Limits { least: own, most: own });
            all.limits = Some(Limits { least: known.least.min(own), most: known.most.max(own) });
        }
    }
    Some(all)
}

/// Largest context of a session: as the provider counted it, else as the run does
/// where the recorded agent never compacted.
fn largest_context(facts: &SessionFacts, cuts: &[Cut]) -> u64 {
    let whole = facts.recorded_compactions == 0;
    let sent = facts.requests.iter().filter_map(|request| match request.recorded {
        Some(usage) => Some(usage.prompt()),
        None => whole.then_some(request.tokens_full),
    });
    sent.chain(cuts.iter().map(|cut| cut.tokens_before)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{cell, facts, manifest};

    #[test]
    fn sessions_that_were_compacted_or_are_too_large_do_not_fit() {
        let small = facts("a").requests(&[1, 2]).build();
        let compacted = facts("b").requests(&[1, 2]).with(|f| f.recorded_compactions = 1).build();
        let large = facts("c").requests(&[1, 2]).with(|f| f.requests[1].tokens_full = 10_001);
        let sessions = [small, compacted, large.build()];
        let at = |id: &str, window| cell(id, "full").window(&format!("{window}"), window).build();
        let cells = vec![at("a", 10_000), at("b", 10_000), at("c", 10_000), at("a", 400)];
        let results = RunResults::new(cells, []);
        let run = Manifest { cuts: "5".into(), depth: 1, ..manifest(&["native"]) };
        let found = headroom(&run, &sessions, &results).unwrap();
        assert_eq!((found.sessions, found.fit, found.largest_tokens), (3, 1, 10_001));
        assert_eq!(found.limits, Some(Limits { least: 10_000, most: 10_000 }));
        for run in [
            Manifest { depth: 3, ..run.clone() },
            Manifest { cuts: "none".into(), ..run.clone() },
            Manifest { cuts: "recorded".into(), ..run.clone() },
        ] {
            assert_eq!(headroom(&run, &sessions, &results), None);
        }
    }
}
