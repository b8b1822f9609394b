//! Findings on compactions with unusable replies or without effect.

use std::collections::BTreeMap;

use recap_core::model::{CompactionRow, Fallbacks, Finding, RowKind, StrategyRow, is_of_size};
use recap_core::text::grouped;

use super::{Check, Evidence, joined};
use crate::idle::longest_run;
use crate::rows::Entry;

pub(super) const FINDINGS: &[Check] = &[unusable_replies, idle_compactions];

/// Number of successive idle compactions from which they are a finding.
const IDLE: u64 = 2;

/// Unusable replies of the compactor: first those that leave rows without a rank.
fn unusable_replies(run: &Evidence<'_>) -> Vec<Finding> {
    let bad = run.rows.iter().filter(|entry| entry.replies.unusable > 0);
    let (unranked, ranked): (Vec<&Entry>, Vec<&Entry>) =
        bad.partition(|entry| entry.row.row_kind == RowKind::Unusable);
    let found = |rows: Vec<&Entry>, says: &str| {
        let each: Vec<_> = rows.iter().map(|entry| (&entry.row, replies(entry))).collect();
        let text = format!("{says}: {}", joined(&each));
        (!rows.is_empty()).then(|| Finding::problem("unusable_replies", text))
    };
    let too_many = "too many replies of the compactor were unusable, so these rows are not ranked, \
                    whatever their fallback kept";
    let unranked = found(unranked, too_many).map(|found| found.changing_figures(true));
    let ranked = found(ranked, "some replies of the compactor were unusable");
    [unranked, ranked].into_iter().flatten().collect()
}

/// For example " 3 of 40 (2 empty, 1 refused), falling back 1 of 9 times".
fn replies(entry: &Entry) -> String {
    let found = &entry.replies;
    let reasons = found.reasons.iter();
    let reasons = reasons.map(|(reason, n)| format!("{} {}", grouped(*n), reason.words()));
    let reasons = reasons.collect::<Vec<String>>().join(", ");
    let Fallbacks { asked, fell_back } = found.fallbacks;
    let fell_back = match fell_back {
        0 => String::new(),
        times => format!(", falling back {} of {} times", grouped(times), grouped(asked)),
    };
    let (unusable, replies) = (grouped(found.unusable), grouped(found.replies));
    format!(" {unusable} of {replies} ({reasons}){fell_back}")
}

/// Strategies that compact repeatedly and free almost nothing: first those whose
/// trigger is a size that they never get below, then the others.
fn idle_compactions(run: &Evidence<'_>) -> Vec<Finding> {
    let found = |by_size: bool| {
        let rows = idle_runs(run, |row| is_of_size(&row.trigger) == by_size);
        let why = match (by_size, rows.len()) {
            (_, 0) => return None,
            (true, 1) => "it triggers again at once and frees almost nothing",
            (true, _) => "they trigger again at once and free almost nothing",
            (false, _) => "each time the cache breaks for next to nothing",
        };
        let each = joined(&rows);
        let text = format!("compactions freed less than 5 % of the context: {each}; {why}");
        Some(Finding::problem("idle_compactions", text))
    };
    [found(true), found(false)].into_iter().flatten().collect()
}

/// The rows concerned, each with the largest number of successive idle
/// compactions in a cell, of stages with such a trigger.
fn idle_runs<'a>(
    run: &Evidence<'a>,
    counts: impl Fn(&CompactionRow) -> bool,
) -> Vec<(&'a StrategyRow, String)> {
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
    let of = |entry: &'a Entry| {
        let times = longest.get(&(entry.row.strategy.clone(), entry.row.window.clone()))?;
        Some((&entry.row, format!(" {times} times in a row")))
    };
    run.strategies().filter_map(of).collect()
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
