//! What strategies wait for and get from the compactor's model.
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

use std::collections::BTreeMap;

use crate::spec::{Basis, CellInput, Contribution, Pool, Spec};
use recap_core::model::{
    Absent, CompactionRow, Fallbacks, Measure, ReplyFacts, UnusableReplies, catalogue,
};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[UNUSABLE_REPLIES, P95, SUM];

const fn spec(
    measure: &'static Measure,
    pool: Pool,
    compute: fn(&CellInput<'_>) -> Contribution,
) -> Spec {
    Spec::of_cell(measure, pool, Basis::Requests, compute)
}

/// 95th percentile of the waits.
const P95: Spec = spec(catalogue::BLOCKING_MS_P95, Pool::Percentile(95), listed);

/// The sum of all waits.
const SUM: Spec = spec(catalogue::BLOCKING_MS_SUM, Pool::Sum, |input| {
    let waiting = input.compactions().filter(|compaction| !compaction.background);
    let times: Option<Vec<f64>> = waiting.map(latency).collect();
    times.map_or_else(not_timed, |times| Contribution::One(times.iter().sum()))
});

/// Every column of times that depends on the latency of models.
pub(crate) const WAITS: [&str; 2] = [P95.measure.id, SUM.measure.id];

fn listed(input: &CellInput<'_>) -> Contribution {
    let mut waits: BTreeMap<u32, f64> = BTreeMap::new();
    for compaction in input.compactions() {
        let Some(latency) = latency(compaction) else { return not_timed() };
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

fn not_timed() -> Contribution {
    Contribution::Unknown(Absent::Latency)
}

/// Number of unusable replies.
const UNUSABLE_REPLIES: Spec = spec(catalogue::UNUSABLE_REPLIES, Pool::Sum, |input| {
    let mut found = UnusableReplies::default();
    input.replies().for_each(|reply| found.add(reply, input.repeated));
    Contribution::One(found.unusable as f64)
});

impl<'a> CellInput<'a> {
    /// The replies of the compactor in the cell and at its cuts.
    pub(crate) fn replies(&self) -> impl Iterator<Item = &'a ReplyFacts> + use<'a> {
        let of_session = self.rows.compactions.iter().flat_map(|compaction| &compaction.replies);
        of_session.chain(self.exams.replies(self.cell))
    }

    /// The compactions of the cell and of its cuts, by whether they fell back.
    pub(crate) fn fallbacks(&self) -> Fallbacks {
        let mut found = Fallbacks::among(&self.rows.compactions);
        self.exams.fallbacks(self.cell).for_each(|at_cut| found += at_cut);
        found
    }
}
