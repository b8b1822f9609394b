//! What a preset makes of the prompt cache (measures §2).

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::{RequestBill, catalogue};

/// Tokens read from the cache / tokens sent, over the session's requests.
pub const HIT_RATE: Spec = Spec {
    measure: catalogue::CACHE_HIT_RATE,
    pool: Pool::RatioOfSums,
    basis: Basis::Bill,
    compute: Compute::Cell(|sample| {
        let read = of_requests(sample, |request| request.prompt.billed.read);
        let sent = of_requests(sample, |request| request.prompt.billed.prompt());
        match read.and_then(|read| Ok((read, sent?))) {
            Ok((_, 0.0)) => Parts::Absent("nothing was billed"),
            Ok((read, sent)) => Parts::Fraction { of: read, to: sent },
            Err(reason) => Parts::Unknown(reason),
        }
    }),
};

/// Requests whose prompt parts from the one before it before that one's end.
pub const BREAKS: Spec = Spec {
    measure: catalogue::CACHE_BREAKS,
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: Compute::Cell(|sample| {
        Parts::One(sample.rows.requests.iter().filter(|row| row.cache_break).count() as f64)
    }),
};

/// Tokens billed as new though they would have been read.
pub const REWRITTEN: Spec = Spec {
    measure: catalogue::REWRITTEN_TOKENS,
    pool: Pool::Sum,
    basis: Basis::Bill,
    compute: Compute::Cell(|sample| {
        of_requests(sample, |request| request.rewritten).map_or_else(Parts::Unknown, Parts::One)
    }),
};

fn of_requests(sample: &Sample<'_>, tokens: fn(&RequestBill) -> u64) -> Result<f64, String> {
    Ok(sample.cached()?.requests.iter().flatten().map(tokens).sum::<u64>() as f64)
}
