//! The bill of the whole session as the agent would have paid it under the
//! strategy (reference §2): prompts by bucket, recorded outputs, and the calls of
//! compactions.
//!
//! Rates are those for each request's prompt length and time, at the standard
//! service class. Outputs are the recorded ones: an open-loop assumption.

use std::collections::BTreeMap;

use super::references::reads;
use crate::figures::money::{Account, known};
use crate::figures::spec::{Basis, CellInput, Contribution, Pool, Spec};
use recap_core::model::{Absent, Buckets, Cell, Measure, RequestBill, catalogue};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    // The bill with the events of the recording's cache. Ranking uses this one.
    spec(catalogue::COST_USD, |input| known(input.account(), |account| account.session())),
    // The part of the bill for the calls of compactions.
    spec(catalogue::COMPACTION_COST_USD, |input| {
        known(input.account(), |account| account.compactions())
    }),
    // An upper estimate of the bill. The recorded agent does not notice what a
    // strategy lost, so the plain bill contains no cost for fetching it again. Here
    // every loss is fetched again: each request with a lost reference that was in a
    // tool result is followed by one more request, which reads its context again
    // from the cache, receives the smallest such results uncached and
    // writes [`ASKING`] tokens to request them.
    spec(catalogue::COST_USD_REFETCH, |input| {
        known(input.account(), |account| with_refetch(input, account))
    }),
    // 1 − the bill / the bill of `full` at the same window under the same agent
    // model. It is negative if compression costs more than it saves, which is
    // frequent. If `full` is larger than the window, its bill is hypothetical, and
    // `cost_savings_vs_recorded` is the relevant figure.
    ratio(catalogue::COST_SAVINGS, |input| against(input, input.full, Absent::NoBillOfFull)),
    // Savings against what the recorded agent really sent.
    ratio(catalogue::COST_SAVINGS_VS_RECORDED, |input| {
        against(input, input.recorded, Absent::NoBillOfRecorded)
    }),
    // Tokens read from the cache / tokens sent, over the session's requests.
    ratio(catalogue::CACHE_HIT_RATE, |input| {
        let read = of_requests(input, |request| request.prompt.billed.read);
        let sent = of_requests(input, |request| request.prompt.billed.prompt());
        match read.and_then(|read| Ok((read, sent?))) {
            Ok((read, sent)) => Contribution::fraction(read, sent, Absent::NothingBilled),
            Err(reason) => Contribution::Unknown(reason),
        }
    }),
    // Requests whose prompt differs from the previous one before the end of the
    // latter.
    Spec::of_cell(catalogue::CACHE_BREAKS, Pool::Sum, Basis::Requests, |input| {
        Contribution::One(input.rows.requests.iter().filter(|row| row.cache_break).count() as f64)
    }),
];

const fn spec(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Bill, compute)
}

const fn ratio(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::RatioOfSums, Basis::Bill, compute)
}

fn against<'a>(input: &CellInput<'a>, other: Option<&'a Cell>, missing: Absent) -> Contribution {
    let Some(other) = other else { return Contribution::Absent(missing) };
    let beside = || input.account_of(other.rows().ok_or(Absent::NoBill)?);
    let both = input.account().and_then(|own| Ok((own, beside()?)));
    let (own, other) = match both {
        Ok(both) => both,
        Err(reason @ Absent::Price(_)) => return Contribution::Absent(reason),
        Err(reason) => return Contribution::Unknown(reason),
    };
    let usd = own.session().and_then(|own| Ok((own, other.session()?)));
    match usd {
        Ok((_, other)) if other <= 0.0 => Contribution::Absent(Absent::NothingBilled),
        Ok((own, other)) => Contribution::Fraction { of: other - own, to: other },
        Err(reason) => Contribution::Unknown(reason),
    }
}

fn of_requests(input: &CellInput<'_>, tokens: fn(&RequestBill) -> u64) -> Result<f64, Absent> {
    Ok(input.cached()?.requests.iter().flatten().map(tokens).sum::<u64>() as f64)
}

/// Tokens that the agent writes to fetch a result (reference §2).
const ASKING: u64 = 150;

fn with_refetch(input: &CellInput<'_>, account: Account<'_>) -> Result<f64, Absent> {
    let mut usd = account.session()?;
    let mut fetched: BTreeMap<u32, u64> = BTreeMap::new();
    for (request, tokens) in reads(input) {
        *fetched.entry(request).or_default() += tokens;
    }
    for (request, tokens) in fetched {
        let billed = account.bill.requests[request as usize].as_ref();
        let Some(billed) = billed.filter(|billed| account.is_priced(billed)) else { continue };
        let read = billed.prompt.billed.prompt();
        let prompt = Buckets { read, write: tokens, ..Buckets::default() };
        usd += account.price(billed, &prompt, ASKING, input.facts.requests[request as usize].at)?;
    }
    Ok(usd)
}
