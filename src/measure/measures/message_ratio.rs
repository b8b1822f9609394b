//! `message_ratio`: active over total messages at the last request, GenCode's figure
//! (measures §1).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "message_ratio",
    unit: Unit::Ratio,
    direction: Direction::Lower,
    summary: "messages in the last context over messages recorded until then",
    pool: Pool::Mean,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    let (Some(row), Some(fact)) = (sample.rows.requests.last(), sample.facts.requests.last())
    else {
        return Parts::Absent("no request");
    };
    if fact.message == 0 {
        return Parts::Absent("no message stands before the last request");
    }
    Parts::One(f64::from(row.messages) / f64::from(fact.message))
}
