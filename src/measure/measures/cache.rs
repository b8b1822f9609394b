//! What a preset makes of the prompt cache (measures §2).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};
use crate::model::RequestBill;

/// Tokens read from the cache / tokens sent, over the session's requests.
pub const HIT_RATE: Spec = Spec {
    id: "cache_hit_rate",
    unit: Unit::Share,
    direction: Direction::Higher,
    summary: "share of the tokens sent that is read from the prompt cache",
    pool: Pool::RatioOfSums,
    basis: Basis::Bill,
    compute: |sample| {
        let read = of_requests(sample, |request| request.prompt.billed.read);
        let sent = of_requests(sample, |request| request.prompt.billed.prompt());
        match read.and_then(|read| Ok((read, sent?))) {
            Ok((_, 0.0)) => Parts::Absent("nothing was billed"),
            Ok((read, sent)) => Parts::Fraction { of: read, to: sent },
            Err(reason) => Parts::Unknown(reason),
        }
    },
};

/// Requests whose prompt parts from the one before it before that one's end.
pub const BREAKS: Spec = Spec {
    id: "cache_breaks",
    unit: Unit::Count,
    direction: Direction::Lower,
    summary: "requests at which something sent before was edited or removed, so that the prompt cache ends early",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute: |sample| {
        Parts::One(sample.rows.requests.iter().filter(|row| row.cache_break).count() as f64)
    },
};

/// Tokens billed as new though they would have been read.
pub const REWRITTEN: Spec = Spec {
    id: "rewritten_tokens",
    unit: Unit::Tokens,
    direction: Direction::Lower,
    summary: "tokens sent before that are billed as new, because something before them was edited or removed while the cache was warm",
    pool: Pool::Sum,
    basis: Basis::Bill,
    compute: |sample| {
        of_requests(sample, |request| request.rewritten).map_or_else(Parts::Unknown, Parts::One)
    },
};

fn of_requests(sample: &Sample<'_>, tokens: fn(&RequestBill) -> u64) -> Result<f64, String> {
    Ok(sample.cached()?.requests.iter().flatten().map(tokens).sum::<u64>() as f64)
}
