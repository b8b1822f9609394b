//! `void_replies`, `void_share`: replies of the compactor from which nothing
//! about the strategy can be learnt (cuts §5).
//!
//! Replies in compactions for the probes at the end of a session are included,
//! because the answers depend on them.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, VoidReplies, catalogue};

/// Number of void replies.
pub const REPLIES: Spec =
    Spec::of_cell(catalogue::VOID_REPLIES, Pool::Sum, Basis::Requests, |sample| {
        Parts::One(counted(sample).void as f64)
    });

/// Share of void replies among all replies.
pub const SHARE: Spec =
    Spec::of_cell(catalogue::VOID_SHARE, Pool::RatioOfSums, Basis::Requests, share);

fn counted(sample: &Sample<'_>) -> VoidReplies {
    let mut found = VoidReplies::default();
    let replies = sample.rows.compactions.iter().flat_map(|compaction| &compaction.replies);
    let at_cuts = sample.exams.replies(sample.cell);
    replies.chain(at_cuts).for_each(|reply| found.add(reply, sample.repeated));
    found
}

fn share(sample: &Sample<'_>) -> Parts {
    match counted(sample) {
        VoidReplies { replies: 0, .. } => Parts::Absent(Absent::CompactorNotAsked),
        found => Parts::Fraction { of: found.void as f64, to: found.replies as f64 },
    }
}
