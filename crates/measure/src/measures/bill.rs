//! The bill of the whole session as the agent would have paid it under the
//! strategy (reference §2): prompts by bucket, recorded outputs, and the calls of
//! compactions. A second column has the first cache breakpoint at its other
//! position.
//!
//! Rates are those for each request's prompt length and time, at the standard
//! service class. Outputs are the recorded ones: an open-loop assumption.

use std::collections::BTreeMap;

use super::references::reads;
use crate::money::{AS_BILLED, Account, Cached, WITHOUT_STORAGE, bill_of, known};
use crate::spec::{Basis, CellInput, Contribution, Pool, Spec};
use recap_core::model::{
    Absent, Bill, Buckets, Cell, Measure, PromptBill, RECORDED, RequestBill, catalogue,
};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    PREFILL_SAVED,
    COST,
    HEAD_BREAKPOINT,
    COMPACTIONS,
    REFETCH,
    SAVINGS,
    SAVINGS_VS_RECORDED,
    SIDECHAINS,
    CACHE_HIT_RATE,
    CACHE_BREAKS,
    REWRITTEN,
    BUT_STORAGE,
];

const fn spec(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Bill, compute)
}

const fn ratio(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::RatioOfSums, Basis::Bill, compute)
}

fn session(sample: &CellInput<'_>, cached: Cached) -> Contribution {
    known(sample.account(), |mut account| account.session(cached))
}

/// The bill with the events of the recording's cache. Ranking uses this one.
const COST: Spec = spec(catalogue::COST_USD, |sample| session(sample, AS_BILLED));

/// The bill without the storage of explicit caches: what is known of it where
/// that has no price. It is never held against another bill.
const BUT_STORAGE: Spec =
    spec(catalogue::COST_USD_WITHOUT_STORAGE, |sample| session(sample, WITHOUT_STORAGE));

/// The bill with the first breakpoint at the other position where agents may
/// set it.
const HEAD_BREAKPOINT: Spec = spec(catalogue::COST_HEAD_BREAKPOINT_USD, |sample| {
    session(sample, PromptBill::head_breakpoint)
});

/// The part of the bill for the calls of compactions.
const COMPACTIONS: Spec = spec(catalogue::COMPACTION_COST_USD, |sample| {
    known(sample.account(), |mut account| account.compactions(AS_BILLED))
});

/// 1 − the bill / the bill of `full` at the same window under the same agent
/// model. It is negative if compression costs more than it saves, which is
/// frequent. If `full` is larger than the window, its bill is hypothetical, and
/// `cost_savings_vs_recorded` is the relevant figure.
const SAVINGS: Spec =
    ratio(catalogue::COST_SAVINGS, |sample| against(sample, sample.full, Absent::NoBillOfFull));

/// Savings against what the recorded agent really sent.
const SAVINGS_VS_RECORDED: Spec = ratio(catalogue::COST_SAVINGS_VS_RECORDED, |sample| {
    against(sample, sample.recorded, Absent::NoBillOfRecorded)
});

fn against<'a>(sample: &CellInput<'a>, other: Option<&'a Cell>, missing: Absent) -> Contribution {
    let Some(other) = other else { return Contribution::Absent(missing) };
    let both = sample.account().and_then(|own| Ok((own, sample.account_beside(other)?)));
    let (mut own, mut other) = match both {
        Ok(both) => both,
        Err(reason @ Absent::Price(_)) => return Contribution::Absent(reason),
        Err(reason) => return Contribution::Unknown(reason),
    };
    let usd = own.session(AS_BILLED).and_then(|own| Ok((own, other.session(AS_BILLED)?)));
    match usd {
        Ok((_, other)) if other <= 0.0 => Contribution::Absent(Absent::NothingBilled),
        Ok((own, other)) => Contribution::Fraction { of: other - own, to: other },
        Err(reason) => Contribution::Unknown(reason),
    }
}

/// Tokens read from the cache / tokens sent, over the session's requests.
const CACHE_HIT_RATE: Spec = ratio(catalogue::CACHE_HIT_RATE, |sample| {
    let read = of_requests(sample, |request| request.prompt.billed.read);
    let sent = of_requests(sample, |request| request.prompt.billed.prompt());
    match read.and_then(|read| Ok((read, sent?))) {
        Ok((_, 0.0)) => Contribution::Absent(Absent::NothingBilled),
        Ok((read, sent)) => Contribution::Fraction { of: read, to: sent },
        Err(reason) => Contribution::Unknown(reason),
    }
});

/// Requests whose prompt differs from the previous one before the end of the
/// latter.
const CACHE_BREAKS: Spec =
    Spec::of_cell(catalogue::CACHE_BREAKS, Pool::Sum, Basis::Requests, |sample| {
        Contribution::One(sample.rows.requests.iter().filter(|row| row.cache_break).count() as f64)
    });

/// Tokens that were billed as uncached although they would otherwise have been
/// read.
const REWRITTEN: Spec = spec(catalogue::REWRITTEN_TOKENS, |sample| {
    of_requests(sample, |request| request.rewritten)
        .map_or_else(Contribution::Unknown, Contribution::One)
});

fn of_requests(sample: &CellInput<'_>, tokens: fn(&RequestBill) -> u64) -> Result<f64, Absent> {
    Ok(sample.cached()?.requests.iter().flatten().map(tokens).sum::<u64>() as f64)
}

/// An upper estimate of the bill. The recorded agent does not notice what a
/// strategy lost, so the plain bill contains no cost for fetching it again. Here
/// every loss is fetched again: each request with a lost reference that was in a
/// tool result is followed by one more request, which reads its context again
/// from the cache, receives the smallest such results uncached (as
/// `refetch_tokens` counts) and writes [`ASKING`] tokens to request them.
const REFETCH: Spec = spec(catalogue::COST_USD_REFETCH, |sample| {
    known(sample.account(), |account| with_refetch(sample, account))
});

/// Tokens that the agent writes to fetch a result (reference §2).
const ASKING: u64 = 150;

fn with_refetch(sample: &CellInput<'_>, mut account: Account<'_>) -> Result<f64, Absent> {
    let mut usd = account.session(AS_BILLED)?;
    let mut fetched: BTreeMap<u32, u64> = BTreeMap::new();
    for (request, tokens) in reads(sample) {
        *fetched.entry(request).or_default() += tokens;
    }
    for (request, tokens) in fetched {
        let billed = account.bill.requests[request as usize].as_ref();
        let Some(billed) = billed.filter(|billed| account.is_priced(billed)) else { continue };
        let read = billed.prompt.billed.prompt();
        let prompt = Buckets { read, write: tokens, ..Buckets::default() };
        usd +=
            account.price(billed, &prompt, ASKING, sample.facts.requests[request as usize].at)?;
    }
    Ok(usd)
}

/// The bill of the requests of subagents. Each subagent has a prefix of its own
/// that no strategy changes, so this cost is constant, and not part of `cost_usd`
/// and the savings. It is priced as recorded: by the reported usage, at the model
/// that the request names; if that has no price, at the model that was billed
/// instead, or else at the agent model.
const SIDECHAINS: Spec = spec(catalogue::SIDECHAIN_COST_USD, |sample| {
    sidechains(sample).map_or_else(Contribution::Unknown, Contribution::One)
});

fn sidechains(sample: &CellInput<'_>) -> Result<f64, Absent> {
    let requests = sample.facts.sidechains.iter().map(|(at, named, usage)| {
        let model = match (sample.bill(), named) {
            (Ok(bill), _) if bill.billed_as != RECORDED => &bill.model,
            (_, Some(model)) => model,
            (bill, None) => &bill?.model,
        };
        let prices = sample.terms.prices.priced(model);
        let prices = prices.ok_or_else(|| Absent::Price(model.clone()))?;
        let usd = prices.standard().request_usd(&Buckets::from(usage), usage.output, *at);
        usd.ok_or_else(|| Absent::Price(model.clone()))
    });
    requests.sum()
}

/// Time for reading prompts that providers save compared with `full` (reference
/// §3), modelled from the profile's speed: uncached tokens take time, tokens read
/// from the cache take none. It is negative if cache breaks cost more time than
/// the strategy saves.
const PREFILL_SAVED: Spec = spec(catalogue::PREFILL_MS_SAVED, prefill_saved);

fn prefill_saved(sample: &CellInput<'_>) -> Contribution {
    let Some(full) = sample.full.and_then(Cell::rows) else {
        return Contribution::Absent(Absent::NoBillOfFull);
    };
    let per_second = sample.terms.profile.prefill_per_s;
    if per_second <= 0.0 {
        return Contribution::Absent(Absent::NoReadingSpeed);
    }
    let bills = sample.cached().and_then(|own| Ok((own, bill_of(full, sample.billing_model)?)));
    match bills {
        Ok((own, full)) => Contribution::One((fresh(full) - fresh(own)) / per_second * 1_000.0),
        Err(reason) => Contribution::Unknown(reason),
    }
}

/// Tokens that were not read from a cache.
fn fresh(bill: &Bill) -> f64 {
    let billed = bill.requests.iter().flatten().map(|request| request.prompt.billed);
    billed.map(|prompt| (prompt.uncached + prompt.written()) as f64).sum()
}
