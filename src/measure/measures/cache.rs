//! The effects of a preset on the prompt cache (measures §2).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, RequestBill, catalogue};

/// Tokens read from the cache / tokens sent, over the session's requests.
pub(super) const HIT_RATE: Spec =
    Spec::of_cell(catalogue::CACHE_HIT_RATE, Pool::RatioOfSums, Basis::Bill, |sample| {
        let read = of_requests(sample, |request| request.prompt.billed.read);
        let sent = of_requests(sample, |request| request.prompt.billed.prompt());
        match read.and_then(|read| Ok((read, sent?))) {
            Ok((_, 0.0)) => Parts::Absent(Absent::NothingBilled),
            Ok((read, sent)) => Parts::Fraction { of: read, to: sent },
            Err(reason) => Parts::Unknown(reason),
        }
    });

/// Requests whose prompt differs from the previous one before the end of the
/// latter.
pub(super) const BREAKS: Spec =
    Spec::of_cell(catalogue::CACHE_BREAKS, Pool::Sum, Basis::Requests, |sample| {
        Parts::One(sample.rows.requests.iter().filter(|row| row.cache_break).count() as f64)
    });

/// Tokens that were billed as uncached although they would otherwise have been
/// read.
pub(super) const REWRITTEN: Spec =
    Spec::of_cell(catalogue::REWRITTEN_TOKENS, Pool::Sum, Basis::Bill, |sample| {
        of_requests(sample, |request| request.rewritten).map_or_else(Parts::Unknown, Parts::One)
    });

fn of_requests(sample: &Sample<'_>, tokens: fn(&RequestBill) -> u64) -> Result<f64, Absent> {
    Ok(sample.cached()?.requests.iter().flatten().map(tokens).sum::<u64>() as f64)
}
