//! `mean_tokens`: the mean context over all requests (measures §1).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, catalogue};

/// `mean_tokens`, a ratio of sums over all requests.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::MEAN_TOKENS, Pool::RatioOfSums, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    let requests = sample.rows.requests.len();
    if requests == 0 {
        return Parts::Absent(Absent::NoRequest);
    }
    Parts::Fraction {
        of: sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum(),
        to: requests as f64,
    }
}
