//! `irrecoverable`: lost references that were never in a tool result (measures
//! §4). The user mentioned them or the agent derived them, so no tool can fetch
//! them again.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, Support, catalogue};

/// Share of the lost references; transcripts without losses are left out.
pub const SHARE: Spec =
    Spec::of_cell(catalogue::IRRECOVERABLE, Pool::Mean, Basis::References(Support::whole), share);

/// Number of irrecoverable references.
pub(super) const COUNT: Spec =
    Spec::of_cell(catalogue::IRRECOVERABLE_REFERENCES, Pool::Sum, Basis::Requests, |sample| {
        Parts::One(count(sample) as f64)
    });

fn count(sample: &Sample<'_>) -> usize {
    sample.lost().filter(|r| r.refetch.is_none()).count()
}

fn share(sample: &Sample<'_>) -> Parts {
    match sample.lost().count() {
        0 => Parts::Absent(Absent::NoneLost),
        lost => Parts::One(count(sample) as f64 / lost as f64),
    }
}
