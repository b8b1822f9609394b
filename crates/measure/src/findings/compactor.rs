//! Findings on compactions with unusable replies or without effect.

use std::collections::{BTreeMap, BTreeSet};

use super::{Evidence, owned, place};
use crate::idle::longest_run;
use crate::rows::Entry;
use recap_core::model::{CompactionRow, Limit, Problem, RowKind, RowName, is_of_size};

/// Number of successive idle compactions from which they are a finding.
const IDLE: u64 = 2;

/// Unusable replies of the compactor: first those that leave rows without a rank.
pub fn unusable_replies(run: &Evidence<'_>) -> Vec<Problem> {
    let of = |ranked: bool| {
        let those = run.rows.iter().filter(|entry| {
            entry.replies.unusable > 0 && ranked == (entry.row.row_kind != RowKind::Unusable)
        });
        let rows: Vec<_> = those.map(|entry| (place(entry), entry.replies.clone())).collect();
        (!rows.is_empty()).then_some(Problem::UnusableReplies { rows, ranked })
    };
    [of(false), of(true)].into_iter().flatten().collect()
}

/// Strategies that compact repeatedly and free almost nothing: first those whose
/// trigger is a size that they never get below, then the others.
pub fn idle(run: &Evidence<'_>) -> Vec<Problem> {
    let found = |by_size: bool| {
        let rows = idle_runs(run, |row| is_of_size(&row.trigger) == by_size);
        (!rows.is_empty()).then_some(Problem::IdleCompactions { rows, by_size })
    };
    [found(true), found(false)].into_iter().flatten().collect()
}

/// The rows concerned, each with the largest number of successive idle
/// compactions in a cell, of stages with such a trigger.
fn idle_runs(run: &Evidence<'_>, counts: impl Fn(&CompactionRow) -> bool) -> Vec<(RowName, u64)> {
    let mut longest: BTreeMap<(String, String), u64> = BTreeMap::new();
    for session in run.results.iter() {
        for cell in session.cells() {
            let rows = cell.rows().into_iter().flat_map(|rows| &rows.compactions);
            let own = longest_run(rows.filter(|row| !row.at_end && counts(row)));
            if own >= IDLE {
                let key = (cell.key.strategy.clone(), cell.key.window.clone());
                let known = longest.entry(key).or_default();
                *known = own.max(*known);
            }
        }
    }
    let of = |entry: &Entry| {
        let key = (entry.row.strategy.clone(), entry.row.window.clone());
        Some((place(entry), *longest.get(&key)?))
    };
    run.strategies().filter_map(of).collect()
}

/// Strategies whose summaries a model should write, if the offline summary wrote
/// them.
pub fn offline_summaries(run: &Evidence<'_>) -> Option<Limit> {
    let rows = run.rows.iter().filter(|e| e.row.row_kind == RowKind::OfflineSummary);
    let names: BTreeSet<&str> = rows.map(|e| e.row.strategy.as_str()).collect();
    let (strategies, compactor) = (owned(names), run.manifest.compactor.clone());
    (!strategies.is_empty()).then_some(Limit::OfflineSummaries { strategies, compactor })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use crate::testkit::{CellBuilder, cell, facts, reply, run, run_at, unusable};
    use recap_core::model::{Finding, ReplyFacts, Unusable};

    fn found(cells: Vec<CellBuilder>) -> Vec<Finding> {
        let cells = cells.into_iter().map(CellBuilder::build).collect();
        run(vec![facts("s").requests(&[100]).build()], cells).findings
    }

    fn replied(name: &str, replies: &[ReplyFacts]) -> CellBuilder {
        cell("s", name).sent(&[100]).compaction(1_000, 100).replies(replies)
    }

    #[test]
    fn unusable_replies() {
        // Forty replies, of which eight are empty and four are equal.
        let empty = (0..8).map(|at| unusable(at, Unusable::Empty));
        let same = (8..12).map(|at| reply(at, 99));
        let bad: Vec<_> = empty.chain(same).chain((12..40).map(|at| reply(at, at))).collect();
        let one: Vec<_> =
            (1..40).map(|at| reply(at, at)).chain([unusable(0, Unusable::Refused)]).collect();
        let five_words = |input| ReplyFacts {
            written: 6,
            unusable: Some(Unusable::TooShort),
            ..reply(input, 5)
        };
        let short: Vec<_> = (0..4).map(five_words).collect();
        check(
            "unusable_replies",
            [
                ("12 of 40", found(vec![replied("continuation", &bad)])),
                (
                    "1 of 40, and of an offline summary 12 of 40",
                    found(vec![replied("a", &one), replied("b", &bad).offline_summary()]),
                ),
                ("the same five words each time", found(vec![replied("continuation", &short)])),
                ("none", found(vec![replied("a", &[reply(1, 1)])])),
            ],
        );
    }

    /// A strategy with that many successive compactions that free one per cent.
    fn idling(name: &str, trigger: &str, times: usize) -> CellBuilder {
        (0..times).fold(cell("s", name).sent(&[100]), |cell, _| {
            cell.compaction(100, 99).with_compaction(|row| row.trigger = trigger.into())
        })
    }

    #[test]
    fn idle_compactions() {
        let at = |name: &str, label: &str, times| {
            idling(name, "over 9 messages", times).window(label, 8_000).build()
        };
        let session = vec![facts("s").requests(&[100]).build()];
        let windows = vec![at("a", "8k", 3), at("a", "200k", 1), at("b", "200k", 2)];
        let final_ones = (0..3).fold(cell("s", "x").sent(&[100]), |cell, _| {
            cell.compaction(100, 99).with_compaction(|row| row.at_end = true)
        });
        let view = idling("fifo", "always", 1).compaction(100, 99);
        check(
            "idle_compactions",
            [
                ("by size", found(vec![idling("continuation", "above 0.8 of window", 14)])),
                ("at two windows", run_at(&["8k", "200k"], session, windows).findings),
                ("at each request", found(vec![idling("mask", "always", 2)])),
                ("once", found(vec![idling("x", "over 9 messages", 1)])),
                ("of a control", found(vec![idling("full", "always", 9).control()])),
                ("of a view", found(vec![view.with_compaction(|row| row.view = true)])),
                ("for final questions", found(vec![final_ones])),
            ],
        );
    }
}
