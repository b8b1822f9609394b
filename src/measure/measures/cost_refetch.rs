//! `cost_usd_refetch`: an upper estimate of the bill (measures §2).
//!
//! The recorded agent does not notice what a preset lost, so the plain bill
//! contains no cost for fetching it again. Here every loss is fetched again:
//! each request with a lost reference that was in a tool result is followed by
//! one more request, which reads its context again from the cache, receives the
//! smallest such results uncached (once per source, without those that the
//! recording read again anyway, as `refetch_tokens` counts) and writes 150
//! tokens to request them.

use std::collections::BTreeMap;

use super::refetch_tokens;
use crate::measure::money::{AS_BILLED, known};
use crate::measure::spec::{Basis, Pool, Sample, Spec};
use crate::model::{Absent, Buckets, catalogue};

/// Tokens that the agent writes to fetch a result (measures §2).
const ASKING: u64 = 150;

/// `cost_usd_refetch`, summed over transcripts.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::COST_USD_REFETCH, Pool::Sum, Basis::Bill, |sample| {
        known(cost(sample))
    });

fn cost(sample: &Sample<'_>) -> Result<f64, Absent> {
    let mut account = sample.account()?;
    let mut usd = account.session(AS_BILLED)?;
    let mut fetched: BTreeMap<u32, u64> = BTreeMap::new();
    for (request, tokens) in refetch_tokens::reads(sample) {
        *fetched.entry(request).or_default() += tokens;
    }
    for (request, tokens) in fetched {
        let Some(billed) = &account.bill.requests[request as usize] else { continue };
        let read = billed.prompt.billed.prompt();
        let prompt = Buckets { read, write: tokens, ..Buckets::default() };
        usd +=
            account.price(billed, &prompt, ASKING, sample.facts.requests[request as usize].at)?;
    }
    Ok(usd)
}
