//! `irrecoverable`: lost references that never stood in a tool result
//! (measures §4). They were said by the user or worked out, so no tool can
//! bring them back.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Support, Unit};

/// Share of the lost references, transcripts that lose nothing left out.
pub const SHARE: Spec = Spec {
    id: "irrecoverable",
    unit: Unit::Share,
    direction: Direction::Lower,
    summary: "share of the lost references that no tool result ever held",
    pool: Pool::Mean,
    basis: Basis::References(Support::whole),
    compute: share,
};

/// Their number.
pub const COUNT: Spec = Spec {
    id: "irrecoverable_references",
    unit: Unit::Count,
    direction: Direction::Lower,
    summary: "lost references that no tool result ever held",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: |sample| Parts::One(count(sample) as f64),
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
