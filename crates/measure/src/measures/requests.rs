//! Sizes of what was sent, and compactions (reference §1): what strategies wait for and get from
//! the compactor's model.
//!
//! Waits (reference §3) are only the latency of that model. Each request before
//! which something was compacted has one wait: the sum over compactions in the
//! foreground, 0 if no model was called. Compactions in the background cause no
//! wait. If the times of a row have different sources,
//! none of these figures is printed (`sources`).
//!
//! Unusable replies (how-it-works §47) are those from which nothing about the strategy can be
//! learnt. Replies in compactions for the questions at the end of a session are
//! included, because the answers depend on them.
//!
//! Idle compactions free almost nothing: each is paid for, breaks the prompt cache and leaves the
//! context almost as large as before (how-it-works §48).

use std::collections::BTreeMap;

use crate::figures::spec::{Basis, CellInput, Contribution, Pool, Spec};
use recap_core::model::{
    Absent, CompactionRow, Fallbacks, Measure, ReplyFacts, UnusableReplies, catalogue,
};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    // How often the recorded agent called its model.
    sum(catalogue::REQUESTS, |input| Contribution::One(input.facts.requests.len() as f64)),
    // What `full` would send on the same sessions.
    sum(catalogue::TOKENS_FULL, |input| Contribution::One(sent_in_full(input))),
    // The sum of every context.
    sum(catalogue::TOKENS_SENT, |input| Contribution::One(sent(input))),
    // `1 − tokens_sent / tokens_full`. It must not be used alone: two strategies
    // with equal savings have differed by 41 % in cost.
    spec(catalogue::TOKEN_SAVINGS, Pool::RatioOfSums, |input| {
        let full = sent_in_full(input);
        Contribution::fraction(full - sent(input), full, Absent::NoRequest)
    }),
    // The largest context sent.
    spec(catalogue::PEAK_TOKENS, Pool::Max, |input| {
        let largest = input.rows.requests.iter().map(|r| r.tokens_sent).max();
        Contribution::one(largest.map(|t| t as f64), Absent::NoRequest)
    }),
    // How often the strategy compacted.
    sum(catalogue::COMPACTIONS, |input| {
        Contribution::One(input.compactions().filter(|c| c.error.is_none()).count() as f64)
    }),
    // Compactions that free less than 5 % of the context that they found (how-it-works §48).
    sum(catalogue::IDLE_COMPACTIONS, |input| {
        Contribution::One(
            input.compactions().filter(|compaction| is_idle(compaction)).count() as f64
        )
    }),
    // Requests that the provider would have refused.
    sum(catalogue::OVERFLOWS, |input| {
        Contribution::One(input.rows.requests.iter().filter(|r| r.overflow).count() as f64)
    }),
    // Number of unusable replies.
    spec(catalogue::UNUSABLE_REPLIES, Pool::Sum, |input| {
        let mut found = UnusableReplies::default();
        input.replies().for_each(|reply| found.add(reply, input.repeated));
        Contribution::One(found.unusable as f64)
    }),
    // 95th percentile of the waits.
    spec(catalogue::BLOCKING_MS_P95, Pool::Percentile(95), listed),
];

const fn spec(
    measure: &'static Measure,
    pool: Pool,
    compute: fn(&CellInput<'_>) -> Contribution,
) -> Spec {
    Spec::of_cell(measure, pool, Basis::Requests, compute)
}

const fn sum(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    spec(measure, Pool::Sum, compute)
}

/// Tokens of all requests.
fn sent(input: &CellInput<'_>) -> f64 {
    input.rows.requests.iter().map(|r| r.tokens_sent as f64).sum()
}

/// Tokens of the same requests under `full`.
fn sent_in_full(input: &CellInput<'_>) -> f64 {
    input.facts.requests.iter().map(|r| r.tokens_full as f64).sum()
}

fn listed(input: &CellInput<'_>) -> Contribution {
    let mut waits: BTreeMap<u32, f64> = BTreeMap::new();
    for compaction in input.compactions() {
        let Some(latency) = latency(compaction) else {
            return Contribution::Unknown(Absent::Latency);
        };
        let wait = waits.entry(compaction.request).or_default();
        *wait += if compaction.background { 0.0 } else { latency };
    }
    if waits.is_empty() {
        return Contribution::Absent(Absent::NoCompaction);
    }
    Contribution::Many(waits.into_values().collect())
}

/// Latency of a compaction; 0 if no model was called.
fn latency(compaction: &CompactionRow) -> Option<f64> {
    compaction.latency_ms.or((compaction.model_calls == 0).then_some(0.0))
}

impl<'a> CellInput<'a> {
    /// The replies of the compactor in the cell and at its cuts.
    pub(crate) fn replies(&self) -> impl Iterator<Item = &'a ReplyFacts> + use<'a> {
        let of_session = self.rows.compactions.iter().flat_map(|compaction| &compaction.replies);
        of_session.chain(self.exams.made().flat_map(|exam| &exam.replies))
    }

    /// The compactions of the cell and of its cuts, by whether they fell back.
    pub(crate) fn fallbacks(&self) -> Fallbacks {
        let mut found = Fallbacks::among(&self.rows.compactions);
        self.exams.made().for_each(|exam| found += exam.fallbacks);
        found
    }
}

/// Share of the context in per cent below which a compaction is idle.
const LEAST_FREED: u64 = 5;

/// Whether a compaction frees less than 5 % of the context. Views do not count:
/// at each request they hide again what they hid before. A compaction that
/// failed or was superseded changed nothing and does not count either.
pub(super) fn is_idle(row: &CompactionRow) -> bool {
    let left = row.tokens_before.saturating_mul(100 - LEAST_FREED);
    !row.view && row.error.is_none() && row.tokens_after.saturating_mul(100) > left
}

#[cfg(test)]
mod idle_tests {
    use super::*;
    use crate::figures::spec::Contribution;
    use crate::measures::MEASURES;
    use crate::testkit::{CellBuilder, cell, facts, input};

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
}
