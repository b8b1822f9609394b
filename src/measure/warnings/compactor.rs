//! Compactions that say nothing of their strategy, or do nothing.

use super::super::idle::longest_run;
use super::super::rows::Entry;
use super::{Run, label};
use crate::model::{CompactionRow, Standing, VoidReplies, is_of_size};
use crate::text::{counted, form_for};

/// Idle compactions in a row from which they are a finding.
const IDLE: u64 = 2;

/// Rows that are not ranked since the compactor's replies were void, each by
/// itself: it stands before everything else.
pub fn unranked_by_void_replies(run: &Run<'_>) -> Vec<String> {
    let void = run.rows.iter().filter(|entry| entry.row.standing == Standing::Void);
    void.map(|entry| {
        let VoidReplies { replies, void, .. } = entry.replies;
        format!(
            "{void} of {} of the compactor {} void for {} ({}): the row is not ranked, whatever \
             its fallback achieved",
            counted(replies, "reply"),
            form_for(void, "was", "were"),
            named(entry),
            reasons(&entry.replies)
        )
    })
    .collect()
}

/// Void replies of all other rows.
pub fn void_replies(run: &Run<'_>) -> Vec<String> {
    let some = |entry: &&&Entry| entry.replies.void > 0 && entry.row.standing != Standing::Void;
    let each = run.rows.iter().filter(some).map(|entry| {
        let VoidReplies { replies, void, .. } = entry.replies;
        format!("{void} of {replies} for {} ({})", named(entry), reasons(&entry.replies))
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() {
        return Vec::new();
    }
    vec![format!("some replies of the compactor were void: {}", each.join(", "))]
}

/// Presets that compact again and again and free next to nothing: first those
/// that wait for a size which they never get below, then those that do not wait.
pub fn idle(run: &Run<'_>) -> Vec<String> {
    let sized = |row: &CompactionRow| is_of_size(&row.trigger);
    let below = [
        "its threshold lies below what it keeps, or hardly above",
        "their thresholds lie below what they keep, or hardly above",
    ];
    let broken = ["each time the cache breaks for next to nothing"; 2];
    let told =
        [told(idle_runs(run, sized), below), told(idle_runs(run, |row| !sized(row)), broken)];
    told.into_iter().flatten().collect()
}

/// What idle runs come to, and what they mean, of one and of several.
fn told(runs: Vec<(String, u64)>, [one, several]: [&str; 2]) -> Option<String> {
    match runs.as_slice() {
        [] => None,
        [(name, times)] => Some(format!(
            "{name} compacted {times} times in a row without freeing 5 % of the context: {one}"
        )),
        runs => {
            let each = runs.iter().map(|(name, times)| format!("{name} {times} times in a row"));
            let each: Vec<String> = each.collect();
            Some(format!(
                "some compacted again and again without freeing 5 % of the context ({}): {several}",
                each.join(", ")
            ))
        }
    }
}

/// Rows with a finding, and the longest run of idle compactions in a cell of
/// theirs, of stages with such a trigger.
fn idle_runs(run: &Run<'_>, counts: impl Fn(&CompactionRow) -> bool) -> Vec<(String, u64)> {
    let longest = |entry: &Entry| {
        let key = (&entry.row.strategy, &entry.row.window);
        let cells = run.cells.iter().filter(|cell| (&cell.key.strategy, &cell.key.window) == key);
        let runs = cells.filter_map(|cell| cell.rows()).map(|rows| {
            longest_run(rows.compactions.iter().filter(|row| !row.at_end && counts(row)))
        });
        runs.max().filter(|longest| *longest >= IDLE)
    };
    let judged = run.rows.iter().filter(|entry| entry.row.standing != Standing::Control);
    judged.filter_map(|entry| Some((named(entry), longest(entry)?))).collect()
}

fn named(entry: &Entry) -> String {
    format!("{} at {}", entry.row.strategy, label(&entry.row.window))
}

/// "8 empty, 4 the same text for different inputs".
fn reasons(found: &VoidReplies) -> String {
    let each = found.reasons.iter().map(|(reason, n)| format!("{n} {}", reason.words()));
    each.collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::measure::testkit::{CellBuilder, cell, facts, reply, run, run_at, void};
    use crate::model::{Cell, ReplyFacts, Void};

    fn warned(cells: Vec<Cell>) -> Vec<String> {
        run(vec![facts("s").requests(&[100]).build()], cells).warnings
    }

    fn replied(name: &str, replies: &[ReplyFacts]) -> CellBuilder {
        cell("s", name).sent(&[100]).compaction(1_000, 100).replies(replies)
    }

    /// Forty replies, of which eight are empty and four say the same.
    fn bad() -> Vec<ReplyFacts> {
        let good = (12..40).map(|at| reply(at, at));
        let same = (8..12).map(|at| reply(at, 99));
        (0..8).map(|at| void(at, Void::Empty)).chain(same).chain(good).collect()
    }

    #[test]
    fn void_replies_that_cost_a_row_its_rank_are_told_before_everything() {
        let warnings = warned(vec![replied("continuation", &bad()).build()]);
        assert_eq!(
            warnings[0],
            "12 of 40 replies of the compactor were void for continuation at 25 % (8 empty, 4 the \
             same text for different inputs): the row is not ranked, whatever its fallback \
             achieved"
        );
        assert!(warnings[1].starts_with("replay is open loop"), "{warnings:#?}");
    }

    #[test]
    fn fewer_void_replies_are_told_with_their_counts() {
        let few: Vec<ReplyFacts> =
            (1..40).map(|at| reply(at, at)).chain([void(0, Void::Refused)]).collect();
        let presets =
            [replied("a", &few).build(), replied("b", &bad()).stand_in().build()].to_vec();
        assert_eq!(
            warned(presets)[0],
            "some replies of the compactor were void: 1 of 40 for a at 25 % (1 refused), 12 of 40 \
             for b at 25 % (8 empty, 4 the same text for different inputs)"
        );
        let sound = warned(vec![replied("a", &[reply(1, 1)]).build()]);
        assert!(!sound.iter().any(|warning| warning.contains("void")), "{sound:#?}");
    }

    #[test]
    fn a_compactor_of_five_fixed_words_is_void_for_two_reasons() {
        let words =
            |input| ReplyFacts { written: 6, void: Some(Void::TooShort), ..reply(input, 5) };
        let replies: Vec<ReplyFacts> = (0..4).map(words).collect();
        let told = warned(vec![replied("continuation", &replies).build()]);
        assert!(
            told[0].starts_with(
                "4 of 4 replies of the compactor were void for continuation at 25 % (4 too short \
                 for what they replace, 4 the same text for different inputs)"
            ),
            "{told:#?}"
        );
    }

    /// A preset with that many compactions in a row that free one per cent.
    fn idling(name: &str, trigger: &str, times: usize) -> CellBuilder {
        (0..times).fold(cell("s", name).sent(&[100]), |cell, _| {
            cell.compaction(100, 99).with_compaction(|row| row.trigger = trigger.to_owned())
        })
    }

    fn idle(cells: Vec<Cell>) -> Vec<String> {
        let told = warned(cells).into_iter();
        told.filter(|warning| warning.contains("without freeing")).collect()
    }

    #[test]
    fn idle_compactions_in_a_row_are_a_finding_with_what_it_means() {
        assert_eq!(
            idle(vec![idling("continuation", "above 0.8 of window", 14).build()]),
            [
                "continuation at 25 % compacted 14 times in a row without freeing 5 % of the context: \
              its threshold lies below what it keeps, or hardly above"
            ]
        );
        assert_eq!(
            idle(vec![idling("mask", "always", 2).build()]),
            [
                "mask at 25 % compacted 2 times in a row without freeing 5 % of the context: each time \
              the cache breaks for next to nothing"
            ]
        );
        assert!(idle(vec![idling("x", "over 9 messages", 1).build()]).is_empty());
        assert!(idle(vec![idling("full", "always", 9).control().build()]).is_empty());
        let view = idling("fifo", "above 0.8 of window", 1).compaction(100, 99);
        assert!(idle(vec![view.with_compaction(|row| row.view = true).build()]).is_empty());
    }

    #[test]
    fn several_that_idle_stand_in_one_warning_with_their_windows() {
        let at = |name: &str, label: &str, times| {
            idling(name, "over 9 messages", times).window(label, 8_000).build()
        };
        let cells = vec![at("a", "8k", 3), at("a", "200k", 1), at("b", "200k", 2)];
        let facts = vec![facts("s").requests(&[100]).build()];
        let told = run_at(&["8k", "200k"], facts, cells).warnings;
        let told: Vec<&String> = told.iter().filter(|w| w.contains("without freeing")).collect();
        assert_eq!(
            told,
            ["some compacted again and again without freeing 5 % of the context (a at 8k 3 times \
              in a row, b at 200k 2 times in a row): their thresholds lie below what they keep, or \
              hardly above"]
        );
    }
}
