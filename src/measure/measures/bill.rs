//! The bill of the whole session as the agent would have paid it under the
//! preset (measures §2): prompts by bucket, recorded outputs, and the calls of
//! compactions. A second column has the first cache breakpoint at its other
//! position.
//!
//! Rates are those for each request's prompt length and time, at the standard
//! service class. Outputs are the recorded ones: an open-loop assumption.

use crate::measure::money::{AS_BILLED, Cached, known};
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Measure, PromptBill, catalogue};

const fn spec(measure: &'static Measure, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Bill, compute)
}

fn session(sample: &Sample<'_>, cached: Cached) -> Parts {
    known(sample.account().and_then(|mut account| account.session(cached)))
}

/// The bill with the events of the recording's cache. Ranking uses this one.
pub const COST: Spec = spec(catalogue::COST_USD, |sample| session(sample, AS_BILLED));

/// The bill with the first breakpoint at the other position where agents may
/// set it.
pub(super) const HEAD_BREAKPOINT: Spec = spec(catalogue::COST_HEAD_BREAKPOINT_USD, |sample| {
    session(sample, PromptBill::head_breakpoint)
});

/// The part of the bill for the calls of compactions.
pub const COMPACTIONS: Spec = spec(catalogue::COMPACTION_COST_USD, |sample| {
    known(sample.account().and_then(|mut account| account.compactions(AS_BILLED)))
});
