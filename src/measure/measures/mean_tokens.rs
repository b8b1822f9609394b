//! `mean_tokens`: the mean context over all requests (measures §1).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::catalogue;

/// See the module.
pub const SPEC: Spec = Spec {
    measure: catalogue::MEAN_TOKENS,
    pool: Pool::RatioOfSums,
    basis: Basis::Requests,
    compute: Compute::Cell(compute),
};

fn compute(sample: &Sample<'_>) -> Parts {
    let requests = sample.rows.requests.len();
    if requests == 0 {
        return Parts::Absent("no request");
    }
    Parts::Fraction {
        of: sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum(),
        to: requests as f64,
    }
}
