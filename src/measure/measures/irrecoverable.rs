//! `irrecoverable`: lost references that never stood in a tool result
//! (measures §4). They were said by the user or worked out, so no tool can
//! bring them back.

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec, Support};
use crate::model::catalogue;

/// Share of the lost references, transcripts that lose nothing left out.
pub const SHARE: Spec = Spec {
    measure: catalogue::IRRECOVERABLE,
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute: Compute::Cell(share),
};

/// Their number.
pub const COUNT: Spec = Spec {
    measure: catalogue::IRRECOVERABLE_REFERENCES,
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: Compute::Cell(|sample| Parts::One(count(sample) as f64)),
};

fn count(sample: &Sample<'_>) -> usize {
    sample.lost().filter(|r| r.refetch.is_none()).count()
}

fn share(sample: &Sample<'_>) -> Parts {
    match sample.lost().count() {
        0 => Parts::Absent("no reference is lost"),
        lost => Parts::One(count(sample) as f64 / lost as f64),
    }
}
