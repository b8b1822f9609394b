//! `message_ratio`: active messages / all messages at the last request, as
//! GenCode computes it (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, catalogue};

/// `message_ratio`, the mean over transcripts.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::MESSAGE_RATIO, Pool::Mean, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    let (Some(row), Some(fact)) = (sample.rows.requests.last(), sample.facts.requests.last())
    else {
        return Parts::Absent(Absent::NoRequest);
    };
    if fact.message == 0 {
        return Parts::Absent(Absent::NoMessageBefore);
    }
    Parts::One(f64::from(row.messages) / f64::from(fact.message))
}
