//! `message_ratio`: active over total messages at the last request, GenCode's figure
//! (measures §1).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::MESSAGE_RATIO,
    pool: Pool::Mean,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
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
