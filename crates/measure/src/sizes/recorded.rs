//! The compactions on record, each with the prompts around it.

use super::walk::{Step, Track};
use recap_core::model::{AROUND, RecordedRow};

/// The compactions of a session that removed messages; copies are left to the session that counts
/// them.
pub(super) fn recorded(track: &Track<'_>) -> Vec<RecordedRow> {
    let steps = &track.steps;
    let growth = |from: usize, to: usize| -> Option<i64> {
        let among = steps.get(from + 1..=to)?.iter().any(|step| step.compaction.is_some());
        (!among).then(|| steps[to].prompt as i64 - steps[from].prompt as i64)
    };
    let row = |(at, step): (usize, &Step<'_>)| {
        let facts = step.compaction.filter(|made| !made.copied)?.clone();
        let before = at.checked_sub(1);
        let read = (!step.usage.cache_unknown).then_some(step.usage.cache_read);
        Some(RecordedRow {
            session: track.session,
            request: at,
            facts,
            first: track.first().map(|tokens| tokens as u64),
            before: before.map(|before| steps[before].prompt),
            behind: step.prompt,
            read,
            growth_before: before.and_then(|to| growth(to.checked_sub(AROUND)?, to)),
            growth_behind: growth(at, at + AROUND),
        })
    };
    steps.iter().enumerate().filter_map(row).collect()
}
