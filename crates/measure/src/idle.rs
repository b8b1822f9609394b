//! Idle compactions, which free almost nothing: each is paid for, breaks the
//! prompt cache and leaves the context almost as large as before (how-it-works §48).

use std::collections::BTreeMap;

use recap_core::model::CompactionRow;

/// Share of the context in per cent below which a compaction is idle.
const LEAST_FREED: u64 = 5;

/// Whether a compaction frees less than 5 % of the context. Views do not count:
/// at each request they hide again what they hid before. A compaction that
/// failed or was superseded changed nothing and does not count either.
pub(super) fn is_idle(row: &CompactionRow) -> bool {
    let left = row.tokens_before.saturating_mul(100 - LEAST_FREED);
    !row.view && row.error.is_none() && row.tokens_after.saturating_mul(100) > left
}

/// The largest number of successive idle compactions of one stage in one cell.
pub fn longest_run<'a>(compactions: impl IntoIterator<Item = &'a CompactionRow>) -> u64 {
    let mut runs: BTreeMap<u32, u64> = BTreeMap::new();
    let mut longest = 0;
    for row in compactions {
        let run = runs.entry(row.stage).or_default();
        *run = if is_idle(row) { *run + 1 } else { 0 };
        longest = longest.max(*run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::MEASURES;
    use crate::spec::Contribution;
    use crate::testkit::{CellBuilder, cell, facts, input};

    fn at(stage: u32) -> impl FnOnce(&mut CompactionRow) {
        move |row| row.stage = stage
    }

    fn longest(cell: CellBuilder) -> u64 {
        longest_run(&cell.build().rows().unwrap().compactions)
    }

    #[test]
    fn compaction_freeing_under_five_percent_is_idle() {
        let idle = |before, after, change: fn(&mut CompactionRow)| {
            let cell = cell("s", "x").compaction(before, after).with_compaction(change).build();
            is_idle(&cell.rows().unwrap().compactions[0])
        };
        assert!(idle(1_000, 951, |_| {}));
        assert!(!idle(1_000, 950, |_| {}), "exactly five per cent");
        assert!(idle(1_000, 1_000, |_| {}));
        assert!(idle(1_000, 1_200, |_| {}), "it made the context longer");
        assert!(!idle(1_000, 1_000, |row| row.view = true));
        assert!(!idle(1_000, 1_000, |row| row.error = Some("the session ended".into())));
        assert!(!idle(0, 0, |_| {}));
    }

    #[test]
    fn idle_compactions_of_a_session_are_counted() {
        let facts = facts("s").requests(&[100]).build();
        let of = |cell: CellBuilder| {
            let spec = MEASURES.iter().find(|spec| spec.id() == "idle_compactions").unwrap();
            spec.of(&input(&facts, &cell.sent(&[100]).build()))
        };
        let cell = || cell("s", "x").compaction(100, 99).compaction(100, 50).compaction(100, 98);
        assert_eq!(of(cell()), Contribution::One(2.0));
        let at_end = cell().with_compaction(|row| row.at_end = true);
        assert_eq!(of(at_end), Contribution::One(1.0), "the session made one of them");
    }

    #[test]
    fn only_idle_compactions_of_one_stage_are_successive() {
        let idle = |cell: CellBuilder, stage| cell.compaction(100, 99).with_compaction(at(stage));
        let busy = |cell: CellBuilder, stage| cell.compaction(100, 50).with_compaction(at(stage));
        assert_eq!(longest(cell("s", "x")), 0);
        let three = [1, 1, 1].into_iter().fold(cell("s", "x"), idle);
        assert_eq!(longest(three), 3);
        // A compaction of another stage between them does not separate them.
        let apart = idle(busy(idle(cell("s", "x"), 0), 1), 0);
        assert_eq!(longest(apart), 2);
        let parted = idle(idle(busy(idle(cell("s", "x"), 0), 0), 1), 0);
        assert_eq!(longest(parted), 1);
    }
}
