//! `irrecoverable`: lost references that never stood in a tool result
//! (measures §4). They were said by the user or worked out, so no tool can
//! bring them back.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, Support, catalogue};

/// Share of the lost references, transcripts that lose nothing left out.
pub const SHARE: Spec =
    Spec::of_cell(catalogue::IRRECOVERABLE, Pool::Mean, Basis::References(Support::whole), share);

/// Their number.
pub const COUNT: Spec =
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
