//! `refetch_tokens`: tokens that reading the lost references again would take
//! (measures §4).
//!
//! For each lost reference the smallest tool result that contained it, once per
//! result and request; results that the recording read again are left out,
//! since the bill already contains them.

use std::collections::BTreeSet;

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, catalogue};

/// `refetch_tokens`, summed over transcripts.
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
