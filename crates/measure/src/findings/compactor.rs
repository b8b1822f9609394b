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
    use crate::testkit::{CellBuilder, cell, facts, reply, run, run_at, unusable, warnings};
    use recap_core::model::{Cell, ReplyFacts, Unusable};

    fn warned(cells: Vec<Cell>) -> Vec<String> {
        warnings(&run(vec![facts("s").requests(&[100]).build()], cells))
    }

    fn replied(name: &str, replies: &[ReplyFacts]) -> CellBuilder {
        cell("s", name).sent(&[100]).compaction(1_000, 100).replies(replies)
    }

    /// Forty replies, of which eight are empty and four are equal.
    fn bad() -> Vec<ReplyFacts> {
        let good = (12..40).map(|at| reply(at, at));
        let same = (8..12).map(|at| reply(at, 99));
        (0..8).map(|at| unusable(at, Unusable::Empty)).chain(same).chain(good).collect()
    }

    #[test]
    fn unusable_replies_that_leave_row_unranked_come_first() {
        let warnings = warned(vec![replied("continuation", &bad()).build()]);
        assert_eq!(
            warnings[0],
            "too many replies of the compactor were unusable, so these rows are not ranked, whatever \
             their fallback kept: continuation 12 of 40 (8 empty, 4 the same text for different \
             inputs), at 25 %"
        );
    }

    #[test]
    fn few_unusable_replies_are_reported_with_counts() {
        let few: Vec<ReplyFacts> =
            (1..40).map(|at| reply(at, at)).chain([unusable(0, Unusable::Refused)]).collect();
        let strategies =
            [replied("a", &few).build(), replied("b", &bad()).offline_summary().build()].to_vec();
        assert_eq!(
            warned(strategies)[0],
            "some replies of the compactor were unusable: a 1 of 40 (1 refused), b 12 of 40 (8 empty, 4 \
             the same text for different inputs), at 25 %"
        );
        let sound = warned(vec![replied("a", &[reply(1, 1)]).build()]);
        assert!(!sound.iter().any(|warning| warning.contains("unusable")), "{sound:#?}");
    }

    #[test]
    fn five_fixed_words_are_unusable_for_two_reasons() {
        let words = |input| ReplyFacts {
            written: 6,
            unusable: Some(Unusable::TooShort),
            ..reply(input, 5)
        };
        let replies: Vec<ReplyFacts> = (0..4).map(words).collect();
        let actual = warned(vec![replied("continuation", &replies).build()]);
        assert!(
            actual[0].ends_with(
                "continuation 4 of 4 (4 too short for what they replace, 4 the same text for \
                 different inputs), at 25 %"
            ),
            "{actual:#?}"
        );
    }

    /// A strategy with that many successive compactions that free one per cent.
    fn idling(name: &str, trigger: &str, times: usize) -> CellBuilder {
        (0..times).fold(cell("s", name).sent(&[100]), |cell, _| {
            cell.compaction(100, 99).with_compaction(|row| row.trigger = trigger.into())
        })
    }

    fn idle(cells: Vec<Cell>) -> Vec<String> {
        let actual = warned(cells).into_iter();
        actual.filter(|warning| warning.contains("freed less than")).collect()
    }

    #[test]
    fn successive_idle_compactions_are_reported_with_their_meaning() {
        assert_eq!(
            idle(vec![idling("continuation", "above 0.8 of window", 14).build()]),
            ["compactions freed less than 5 % of the context: continuation 14 times in a row, at \
                 25 %; it triggers again at once and frees almost nothing"]
        );
        assert_eq!(
            idle(vec![idling("mask", "always", 2).build()]),
            [
                "compactions freed less than 5 % of the context: mask 2 times in a row, at 25 %; each \
                 time the cache breaks for next to nothing"
            ]
        );
        assert!(idle(vec![idling("x", "over 9 messages", 1).build()]).is_empty());
        assert!(idle(vec![idling("full", "always", 9).control().build()]).is_empty());
        let view = idling("fifo", "above 0.8 of window", 1).compaction(100, 99);
        assert!(idle(vec![view.with_compaction(|row| row.view = true).build()]).is_empty());
    }

    #[test]
    fn idle_strategies_are_reported_together_with_their_windows() {
        let at = |name: &str, label: &str, times| {
            idling(name, "over 9 messages", times).window(label, 8_000).build()
        };
        let cells = vec![at("a", "8k", 3), at("a", "200k", 1), at("b", "200k", 2)];
        let facts = vec![facts("s").requests(&[100]).build()];
        let actual = warnings(&run_at(&["8k", "200k"], facts, cells));
        let actual: Vec<&String> =
            actual.iter().filter(|w| w.contains("freed less than")).collect();
        assert_eq!(
            actual,
            [
                "compactions freed less than 5 % of the context: a at 8k 3 times in a row, b at 200k 2 \
              times in a row; they trigger again at once and free almost nothing"
            ]
        );
    }

    #[test]
    fn idle_compactions_for_final_questions_are_not_counted() {
        let cell = (0..3).fold(cell("s", "x").sent(&[100]), |cell, _| {
            cell.compaction(100, 99).with_compaction(|row| row.at_end = true)
        });
        assert!(idle(vec![cell.build()]).is_empty());
    }
}
