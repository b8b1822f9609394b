//! `prefill_ms_saved`: time for reading prompts that providers save compared
//! with `full` (measures §3), modelled from the profile's speed: uncached
//! tokens take time, tokens read from the cache take none. It is negative if
//! cache breaks cost more time than the preset saves.

use crate::measure::money::bill_of;
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, Bill, Cell, catalogue};

/// `prefill_ms_saved`, summed over transcripts.
pub const SPEC: Spec = Spec::of_cell(catalogue::PREFILL_MS_SAVED, Pool::Sum, Basis::Bill, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    let Some(full) = sample.full.and_then(Cell::rows) else {
        return Parts::Absent(Absent::NoBillOfFull);
    };
    let per_second = sample.terms.profile.prefill_per_s;
    if per_second <= 0.0 {
        return Parts::Absent(Absent::NoReadingSpeed);
    }
    let bills = sample.cached().and_then(|own| Ok((own, bill_of(full, sample.payer)?)));
    match bills {
        Ok((own, full)) => Parts::One((fresh(full) - fresh(own)) / per_second * 1_000.0),
        Err(reason) => Parts::Unknown(reason),
    }
}

/// Tokens that were not read from a cache.
fn fresh(bill: &Bill) -> f64 {
    let billed = bill.requests.iter().flatten().map(|request| request.prompt.billed);
    billed.map(|prompt| (prompt.uncached + prompt.written()) as f64).sum()
}
