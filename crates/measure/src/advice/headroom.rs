//! Which sessions come to the context limit of their model, and what is to be done there.

use crate::findings::Evidence;
use recap_core::model::{Cut, SessionFacts};
use recap_core::text::{counted, form_for, grouped};
use recap_core::wording::number::tokens;
use recap_core::wording::uncapital;

/// How many sessions stay below the context limit, so that nothing has to be compacted
/// in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Headroom {
    /// Sessions that were replayed.
    sessions: u64,
    /// Those that the recorded agent never compacted and whose contexts all fit the
    /// window.
    fit: u64,
    /// Largest context of a session between two recorded compactions, in tokens.
    largest_tokens: u64,
}

impl Headroom {
    /// Whether nothing has to be compacted in any session.
    pub(crate) fn is_whole(&self) -> bool {
        self.fit == self.sessions
    }

    /// What is to be done at the context limit, where `answer` is what the replay at the
    /// window tells: nothing in sessions that never come there.
    pub(crate) fn at_the_limit(&self, answer: &str) -> String {
        if self.is_whole() {
            return format!(
                "No session comes to the limit: the largest context has {} tokens, so nothing has \
                 to be compacted.",
                tokens(self.largest_tokens as f64)
            );
        }
        let rest = match self.fit {
            0 => String::new(),
            fit => format!(
                "{} of {} {} below the limit: change nothing there. ",
                grouped(fit),
                counted(self.sessions, "session"),
                form_for(fit, "stays", "stay")
            ),
        };
        if answer.starts_with("At ") {
            format!("{rest}{answer}")
        } else {
            format!("{rest}At the limit: {}", uncapital(answer))
        }
    }
}

/// How many sessions stay below their limit; `None` for a run that examined no first
/// compaction, or some at chosen places only: its windows are made for that.
pub(crate) fn headroom(run: &Evidence<'_>) -> Option<Headroom> {
    let Evidence { manifest, facts, results, .. } = run;
    if manifest.depth != 1 || matches!(&*manifest.cuts, "none" | "recorded") {
        return None;
    }
    let sessions = facts.len() as u64;
    let mut all = Headroom { sessions, fit: 0, largest_tokens: 0 };
    for of in *facts {
        let session = results.get(&of.dataset, &of.session);
        let cuts = session.as_ref().map_or(&[][..], |session| session.cuts());
        let cells = session.iter().flat_map(|session| session.cells());
        let own = cells.filter_map(|cell| Some(cell.rows()?.window)).max();
        let context = largest_context(of, cuts);
        let compacted = of.recorded_compactions > 0;
        all.fit += u64::from(!compacted && own.is_some_and(|window| context <= window));
        all.largest_tokens = all.largest_tokens.max(context);
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
    use recap_core::model::{Manifest, Primary, RunResults};

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
        let of = |run: &Manifest| {
            headroom(&Evidence::of(run, Primary::FactsKept, &[], &sessions, &results))
        };
        let found = of(&run).unwrap();
        assert_eq!((found.sessions, found.fit, found.largest_tokens), (3, 1, 10_001));
        for run in [
            Manifest { depth: 3, ..run.clone() },
            Manifest { cuts: "none".into(), ..run.clone() },
            Manifest { cuts: "recorded".into(), ..run.clone() },
        ] {
            assert_eq!(of(&run), None);
        }
    }

    #[test]
    fn sessions_below_limit_are_told_to_change_nothing() {
        let at = |fit: u64, answer: &str| {
            Headroom { sessions: 9, fit, largest_tokens: 161_000 }.at_the_limit(answer)
        };
        assert_eq!(
            at(3, "Send the whole conversation."),
            "3 of 9 sessions stay below the limit: change nothing there. At the limit: send the \
             whole conversation."
        );
        assert_eq!(at(0, "At the limit use prune."), "At the limit use prune.");
        assert_eq!(
            at(9, "Use prune."),
            "No session comes to the limit: the largest context has 161k tokens, so nothing has to \
             be compacted."
        );
    }
}
