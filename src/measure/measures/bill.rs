//! The bill of the whole session as the agent would have paid it under the
//! preset (measures §2): prompts by bucket, recorded outputs, and the calls
//! of compactions. One column per cache that the same prompts might have met.
//!
//! Rates are those of each request's prompt length and moment, at the standard
//! service class. Outputs stay as recorded: an open-loop assumption.

use crate::measure::money::{AS_BILLED, Cached, known};
use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};
use crate::model::PromptBill;

const fn spec(id: &'static str, summary: &'static str, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec {
        id,
        unit: Unit::Dollars,
        direction: Direction::Lower,
        summary,
        pool: Pool::Sum,
        basis: Basis::Bill,
        compute,
    }
}

fn session(sample: &Sample<'_>, cached: Cached) -> Parts {
    known(sample.account().and_then(|mut account| account.session(cached)))
}

/// As billed, what befell the recording's cache included. Ranking uses this one.
pub const COST: Spec = spec(
    "cost_usd",
    "what the whole session is billed: prompts, recorded outputs and compactions, cold starts of the recording included",
    |sample| session(sample, AS_BILLED),
);

/// By the provider's rules alone.
pub const TTL_ONLY: Spec = spec(
    "cost_ttl_only_usd",
    "the same bill by the provider's cache rules alone, without what befell the recording's cache",
    |sample| session(sample, PromptBill::rules_only),
);

/// With the first breakpoint in the other place where agents may set it.
pub const HEAD_BREAKPOINT: Spec = spec(
    "cost_head_breakpoint_usd",
    "the same bill with the preamble's cache breakpoint behind everything in front of the conversation",
    |sample| session(sample, PromptBill::head_breakpoint),
);

/// With a cache that forgets nothing.
pub const IDEAL: Spec = spec(
    "cost_ideal_cache_usd",
    "the same bill under a cache that keeps every earlier prefix and takes nothing for writing",
    |sample| session(sample, PromptBill::ideal),
);

/// Without any cache.
pub const NO_CACHE: Spec =
    spec("cost_no_cache_usd", "the same bill without any prompt cache", |sample| {
        session(sample, PromptBill::uncached)
    });

/// The part that compactions are billed.
pub const COMPACTIONS: Spec =
    spec("compaction_cost_usd", "what the calls of compactions are billed", |sample| {
        known(sample.account().and_then(|mut account| account.compactions(AS_BILLED)))
    });
