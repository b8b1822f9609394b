//! `refetch_tokens`: what it would cost to read the lost references again
//! (measures §4).
//!
//! Per lost reference the smallest tool result that held it, once per result
//! and request; those that the recording read again anyway are left out, for
//! the bill has them already.

use std::collections::BTreeSet;

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, catalogue};

/// See the module.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::REFETCH_TOKENS, Pool::Sum, Basis::Requests, compute);

fn compute(sample: &Sample<'_>) -> Parts {
    if sample.facts.exam.references.is_empty() {
        return Parts::Absent(Absent::NoReferences);
    }
    Parts::One(reads(sample).iter().map(|(_, tokens)| tokens).sum::<u64>() as f64)
}

/// Each result to be read again: the request that needs it, and its tokens.
pub fn reads(sample: &Sample<'_>) -> Vec<(u32, u64)> {
    let reads: BTreeSet<(u32, u32)> =
        sample.lost().filter(|r| !r.reread).filter_map(|r| Some((r.request, r.refetch?))).collect();
    let tokens = |message: u32| sample.facts.messages[message as usize].tokens;
    reads.into_iter().map(|(request, message)| (request, tokens(message))).collect()
}
