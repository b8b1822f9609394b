//! What strategies wait for and get from the compactor's model.
//!
//! Waits (reference §3) are only the latency of that model. Each request before
//! which something was compacted has one wait: the sum over compactions in the
//! foreground, 0 if no model was called. Compactions in the background cause no
//! wait and are summed separately. If the times of a row have different sources,
//! none of these figures is printed (`sources`).
//!
//! Unusable replies (how-it-works §47) are those from which nothing about the strategy can be
//! learnt. Replies in compactions for the questions at the end of a session are
//! included, because the answers depend on them.

use std::collections::BTreeMap;

use crate::spec::{Basis, CellInput, Contribution, Pool, Spec};
use recap_core::model::{Absent, CompactionRow, Fallbacks, Measure, UnusableReplies, catalogue};

/// The measures of this subject.
pub(super) const ALL: &[Spec] =
    &[UNUSABLE_REPLIES, UNUSABLE_SHARE, FALLBACK_SHARE, P50, P95, MAX, SUM, BACKGROUND];

const fn spec(
    measure: &'static Measure,
    pool: Pool,
    compute: fn(&CellInput<'_>) -> Contribution,
) -> Spec {
    Spec::of_cell(measure, pool, Basis::Requests, compute)
}

/// Median of the waits.
const P50: Spec = spec(catalogue::BLOCKING_MS_P50, Pool::Percentile(50), listed);

/// 95th percentile of the waits.
const P95: Spec = spec(catalogue::BLOCKING_MS_P95, Pool::Percentile(95), listed);

/// The longest wait of all cells.
const MAX: Spec = spec(catalogue::BLOCKING_MS_MAX, Pool::Max, |sample| match listed(sample) {
    Contribution::Many(waits) => Contribution::One(waits.into_iter().fold(0.0, f64::max)),
    other => other,
});

/// The sum of all waits.
const SUM: Spec = spec(catalogue::BLOCKING_MS_SUM, Pool::Sum, |sample| {
    total(sample, |compaction| !compaction.background)
});

/// Time of compactions in the background.
const BACKGROUND: Spec = spec(catalogue::BACKGROUND_MS, Pool::Sum, |sample| {
    total(sample, |compaction| compaction.background)
});

/// Every column of times that depends on the latency of models.
pub(crate) const WAITS: [&str; 5] =
    [P50.measure.id, P95.measure.id, MAX.measure.id, SUM.measure.id, BACKGROUND.measure.id];

fn listed(sample: &CellInput<'_>) -> Contribution {
    let mut waits: BTreeMap<u32, f64> = BTreeMap::new();
    for compaction in sample.compactions() {
        let Some(latency) = latency(compaction) else { return not_timed() };
        let wait = waits.entry(compaction.request).or_default();
        *wait += if compaction.background { 0.0 } else { latency };
    }
    if waits.is_empty() {
        return Contribution::Absent(Absent::NoCompaction);
    }
    Contribution::Many(waits.into_values().collect())
}

fn total(sample: &CellInput<'_>, counts: fn(&CompactionRow) -> bool) -> Contribution {
    let times: Option<Vec<f64>> =
        sample.compactions().filter(|compaction| counts(compaction)).map(latency).collect();
    times.map_or_else(not_timed, |times| Contribution::One(times.iter().sum()))
}

/// Latency of a compaction; 0 if no model was called.
fn latency(compaction: &CompactionRow) -> Option<f64> {
    compaction.latency_ms.or((compaction.model_calls == 0).then_some(0.0))
}

fn not_timed() -> Contribution {
    Contribution::Unknown(Absent::Latency)
}

/// Number of unusable replies.
const UNUSABLE_REPLIES: Spec = spec(catalogue::UNUSABLE_REPLIES, Pool::Sum, |sample| {
    Contribution::One(replies(sample).unusable as f64)
});

/// Share of unusable replies among all replies.
const UNUSABLE_SHARE: Spec =
    spec(catalogue::UNUSABLE_SHARE, Pool::RatioOfSums, |sample| match replies(sample) {
        UnusableReplies { replies: 0, .. } => Contribution::Absent(Absent::CompactorNotAsked),
        found => Contribution::Fraction { of: found.unusable as f64, to: found.replies as f64 },
    });

fn replies(sample: &CellInput<'_>) -> UnusableReplies {
    let mut found = UnusableReplies::default();
    let replies = sample.rows.compactions.iter().flat_map(|compaction| &compaction.replies);
    let at_cuts = sample.exams.replies(sample.cell);
    replies.chain(at_cuts).for_each(|reply| found.add(reply, sample.repeated));
    found
}

/// Share of the compactions that asked the compactor and fell back.
const FALLBACK_SHARE: Spec =
    spec(catalogue::FALLBACK_SHARE, Pool::RatioOfSums, |sample| match sample.fallbacks() {
        Fallbacks { asked: 0, .. } => Contribution::Absent(Absent::CompactorNotAsked),
        found => Contribution::Fraction { of: found.fell_back as f64, to: found.asked as f64 },
    });

impl CellInput<'_> {
    /// The compactions of the cell and of its cuts, by whether they fell back.
    pub(crate) fn fallbacks(&self) -> Fallbacks {
        let mut found = Fallbacks::among(&self.rows.compactions);
        self.exams.fallbacks(self.cell).for_each(|at_cut| found += at_cut);
        found
    }
}
