//! What is left of what the recorded agent used next, at places where a
//! compaction was made to happen (cuts §2). Each at the greatest depth of the
//! run; those of the first compaction end in `_first`.
//!
//! Shares are pooled by cuts §3: within a session or project a ratio of sums,
//! over them a mean weighted by min(facts, 30).

mod figures;

use figures::{
    added, between, carried, continuity, cost, each, exposed, facts, first_miss, lost, pays,
    refetch, share, sum,
};
pub use figures::{added_series, kept_series};

use crate::measure::exams::Depth;
use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::{Measure, ReferenceState, catalogue};

/// A measure at the greatest depth of the run, and the same after the first
/// compaction.
const fn at_cuts(
    [greatest, first]: [&'static Measure; 2],
    pool: Pool,
    basis: Basis,
    compute: fn(&Sample<'_>, Depth) -> Parts,
) -> [Spec; 2] {
    let at_greatest = Compute::AtDepth(compute, Depth::Greatest);
    let at_first = Compute::AtDepth(compute, Depth::First);
    [
        Spec { measure: greatest, pool, basis, compute: at_greatest },
        Spec { measure: first, pool, basis, compute: at_first },
    ]
}

/// `cuts`.
pub const CUTS: [Spec; 2] =
    at_cuts([catalogue::CUTS, catalogue::CUTS_FIRST], Pool::Sum, Basis::Cuts, |sample, depth| {
        each(sample, depth, |exams| Parts::One(exams.len() as f64))
    });
/// `facts_at_stake`.
pub const FACTS: [Spec; 2] = at_cuts(
    [catalogue::FACTS_AT_STAKE, catalogue::FACTS_AT_STAKE_FIRST],
    Pool::Sum,
    Basis::Cuts,
    |sample, depth| each(sample, depth, |exams| Parts::One(facts(exams))),
);
/// `sessions_at_stake`.
pub const SESSIONS: [Spec; 2] = at_cuts(
    [catalogue::SESSIONS_AT_STAKE, catalogue::SESSIONS_AT_STAKE_FIRST],
    Pool::Sum,
    Basis::Cuts,
    |sample, depth| {
        each(sample, depth, |exams| Parts::One(if facts(exams) > 0.0 { 1.0 } else { 0.0 }))
    },
);
/// `kept_at_cut`.
pub const KEPT: [Spec; 2] = at_cuts(
    [catalogue::KEPT_AT_CUT, catalogue::KEPT_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, |at| at.kept()),
);
/// `exposed_share`.
pub const EXPOSED: [Spec; 2] = at_cuts(
    [catalogue::EXPOSED_SHARE, catalogue::EXPOSED_SHARE_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, exposed),
);
/// `carried_share`.
pub const CARRIED: [Spec; 2] = at_cuts(
    [catalogue::CARRIED_SHARE, catalogue::CARRIED_SHARE_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    carried,
);
/// `added_at_cut`.
pub const ADDED: [Spec; 2] = at_cuts(
    [catalogue::ADDED_AT_CUT, catalogue::ADDED_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    added,
);
/// `gain_at_cut`.
pub const GAIN: [Spec; 2] = at_cuts(
    [catalogue::GAIN_AT_CUT, catalogue::GAIN_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, |at| at.kept() - at.recency()),
);
/// `tokens_at_cut`.
pub const TOKENS: [Spec; 2] = at_cuts(
    [catalogue::TOKENS_AT_CUT, catalogue::TOKENS_AT_CUT_FIRST],
    Pool::RatioOfSums,
    Basis::Cuts,
    |sample, depth| {
        each(sample, depth, |exams| Parts::Fraction {
            of: sum(exams, |at| at.exam.tokens_after as f64),
            to: sum(exams, |at| at.cut.tokens_before as f64),
        })
    },
);
/// `kept_per_1k`.
pub const PER_1K: [Spec; 2] = at_cuts(
    [catalogue::KEPT_PER_1K, catalogue::KEPT_PER_1K_FIRST],
    Pool::RatioOfSums,
    Basis::Cuts,
    |sample, depth| {
        each(sample, depth, |exams| Parts::Fraction {
            of: sum(exams, |at| at.kept()),
            to: sum(exams, |at| at.exam.tokens_after as f64) / 1_000.0,
        })
    },
);
/// `first_miss`.
pub const FIRST_MISS: [Spec; 2] = at_cuts(
    [catalogue::FIRST_MISS, catalogue::FIRST_MISS_FIRST],
    Pool::WaitMedian,
    Basis::Cuts,
    |sample, depth| {
        each(sample, depth, |exams| {
            Parts::Waits(
                exams.iter().filter(|at| !at.cut.facts.is_empty()).map(first_miss).collect(),
            )
        })
    },
);
/// `irrecoverable_at_cut`.
pub const IRRECOVERABLE: [Spec; 2] = at_cuts(
    [catalogue::IRRECOVERABLE_AT_CUT, catalogue::IRRECOVERABLE_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| {
        share(sample, depth, |at| lost(at).filter(|fact| fact.refetch.is_none()).count() as f64)
    },
);
/// `refetch_at_cut`.
pub const REFETCH: [Spec; 2] = at_cuts(
    [catalogue::REFETCH_AT_CUT, catalogue::REFETCH_AT_CUT_FIRST],
    Pool::RatioOfSums,
    Basis::Cuts,
    |sample, depth| {
        each(sample, depth, |exams| Parts::Fraction {
            of: exams.iter().map(|at| refetch(sample, at)).sum::<u64>() as f64,
            to: exams.len() as f64,
        })
    },
);
/// `recovered_at_cut`.
pub const RECOVERED: [Spec; 2] = at_cuts(
    [catalogue::RECOVERED_AT_CUT, catalogue::RECOVERED_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, |at| at.count(|s| s == ReferenceState::Recovered)),
);
/// `bare_at_cut`.
pub const BARE: [Spec; 2] = at_cuts(
    [catalogue::BARE_AT_CUT, catalogue::BARE_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, |at| at.count(|s| s == ReferenceState::Bare)),
);
/// `cut_cost_usd`.
pub const COST: [Spec; 2] = at_cuts(
    [catalogue::CUT_COST_USD, catalogue::CUT_COST_USD_FIRST],
    Pool::RatioOfSums,
    Basis::Bill,
    cost,
);
/// `pays_after`.
pub const PAYS: [Spec; 2] = at_cuts(
    [catalogue::PAYS_AFTER, catalogue::PAYS_AFTER_FIRST],
    Pool::WaitMedian,
    Basis::Bill,
    pays,
);
/// `continuity_at_cut`.
pub const CONTINUITY: [Spec; 2] = at_cuts(
    [catalogue::CONTINUITY_AT_CUT, catalogue::CONTINUITY_AT_CUT_FIRST],
    Pool::Mean,
    Basis::Cuts,
    continuity,
);

/// Kept at cuts, of what was used 1 to 5 requests behind the cut.
pub const NEAR: Spec = behind(catalogue::KEPT_AT_CUT_1_5, |sample, _| between(sample, 1, 5));
/// The same of 6 to 20 requests behind it.
pub const MIDDLE: Spec = behind(catalogue::KEPT_AT_CUT_6_20, |sample, _| between(sample, 6, 20));
/// The same of 21 to 40 requests behind it.
pub const FAR: Spec = behind(catalogue::KEPT_AT_CUT_21_40, |sample, _| between(sample, 21, 40));

/// Kept at cuts by how far behind the cut the fact was used.
const fn behind(measure: &'static Measure, compute: fn(&Sample<'_>, Depth) -> Parts) -> Spec {
    let compute = Compute::AtDepth(compute, Depth::Greatest);
    Spec { measure, pool: Pool::AtCuts, basis: Basis::Cuts, compute }
}
