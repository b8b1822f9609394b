//! The bill of the whole session as the agent would have paid it under the
//! preset (measures §2): prompts by bucket, recorded outputs, and the calls
//! of compactions. One column per cache that the same prompts might have met.
//!
//! Rates are those of each request's prompt length and moment, at the standard
//! service class. Outputs stay as recorded: an open-loop assumption.

use crate::measure::money::{AS_BILLED, Cached, known};
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Measure, PromptBill, catalogue};

const fn spec(measure: &'static Measure, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Bill, compute)
}

fn session(sample: &Sample<'_>, cached: Cached) -> Parts {
    known(sample.account().and_then(|mut account| account.session(cached)))
}

/// As billed, what befell the recording's cache included. Ranking uses this one.
pub const COST: Spec = spec(catalogue::COST_USD, |sample| session(sample, AS_BILLED));

/// By the provider's rules alone.
pub const TTL_ONLY: Spec =
    spec(catalogue::COST_TTL_ONLY_USD, |sample| session(sample, PromptBill::rules_only));

/// With the first breakpoint in the other place where agents may set it.
pub const HEAD_BREAKPOINT: Spec = spec(catalogue::COST_HEAD_BREAKPOINT_USD, |sample| {
    session(sample, PromptBill::head_breakpoint)
});

/// With a cache that forgets nothing.
pub const IDEAL: Spec =
    spec(catalogue::COST_IDEAL_CACHE_USD, |sample| session(sample, PromptBill::ideal));

/// Without any cache.
pub const NO_CACHE: Spec =
    spec(catalogue::COST_NO_CACHE_USD, |sample| session(sample, PromptBill::uncached));

/// The part that compactions are billed.
pub const COMPACTIONS: Spec = spec(catalogue::COMPACTION_COST_USD, |sample| {
    known(sample.account().and_then(|mut account| account.compactions(AS_BILLED)))
});
