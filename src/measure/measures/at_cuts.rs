//! What is kept of the facts that the recorded agent used next, at places where
//! a compaction is forced (cuts §2). Each measure exists at the greatest depth
//! of the run, and after the first compaction with the suffix `_first`.
//!
//! Shares are pooled by cuts §3: within a session or project as a ratio of
//! sums, over these as a mean weighted by min(facts, 30).

mod figures;

use figures::{
    added, between, carried, continuity, cost, each, exposed, facts, first_miss, lost, pays,
    refetch, share, sum,
};
pub use figures::{added_series, kept_series};

use crate::measure::exams::Depth;
use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec};
use crate::model::{Measure, ReferenceState, catalogue};

/// A measure at the greatest depth of the run, and the same measure after the
/// first compaction.
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

/// `cuts`: how many cuts were examined.
pub const CUTS: [Spec; 2] =
    at_cuts([catalogue::CUTS, catalogue::CUTS_FIRST], Pool::Sum, Basis::Cuts, |sample, depth| {
        each(sample, depth, |exams| Parts::One(exams.len() as f64))
    });
/// `facts_at_stake`: how many facts were at stake.
pub const FACTS: [Spec; 2] = at_cuts(
    [catalogue::FACTS_AT_STAKE, catalogue::FACTS_AT_STAKE_FIRST],
    Pool::Sum,
    Basis::Cuts,
    |sample, depth| each(sample, depth, |exams| Parts::One(facts(exams))),
);
/// `sessions_at_stake`: how many sessions had a fact at stake.
pub const SESSIONS: [Spec; 2] = at_cuts(
    [catalogue::SESSIONS_AT_STAKE, catalogue::SESSIONS_AT_STAKE_FIRST],
    Pool::Sum,
    Basis::Cuts,
    |sample, depth| {
        each(sample, depth, |exams| Parts::One(if facts(exams) > 0.0 { 1.0 } else { 0.0 }))
    },
);
/// `kept_at_cut`: share of the facts that the context still contains.
pub const KEPT: [Spec; 2] = at_cuts(
    [catalogue::KEPT_AT_CUT, catalogue::KEPT_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, |at| at.kept()),
);
/// `exposed_share`: share of the facts whose recorded text is no longer sent.
pub const EXPOSED: [Spec; 2] = at_cuts(
    [catalogue::EXPOSED_SHARE, catalogue::EXPOSED_SHARE_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, exposed),
);
/// `carried_share`: share of the exposed facts that are carried.
pub const CARRIED: [Spec; 2] = at_cuts(
    [catalogue::CARRIED_SHARE, catalogue::CARRIED_SHARE_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    carried,
);
/// `added_at_cut`: what is kept minus what the null keeps.
pub const ADDED: [Spec; 2] = at_cuts(
    [catalogue::ADDED_AT_CUT, catalogue::ADDED_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    added,
);
/// `gain_at_cut`: what is kept minus what the newest messages of the same size
/// keep.
pub const GAIN: [Spec; 2] = at_cuts(
    [catalogue::GAIN_AT_CUT, catalogue::GAIN_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, |at| at.kept() - at.recency()),
);
/// `tokens_at_cut`: tokens after the compaction / tokens before it.
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
/// `kept_per_1k`: kept facts per 1,000 tokens.
pub(super) const PER_1K: [Spec; 2] = at_cuts(
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
/// `first_miss`: median number of requests until the first missing fact.
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
/// `irrecoverable_at_cut`: share of facts that are lost and not in any tool
/// result.
pub const IRRECOVERABLE: [Spec; 2] = at_cuts(
    [catalogue::IRRECOVERABLE_AT_CUT, catalogue::IRRECOVERABLE_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| {
        share(sample, depth, |at| lost(at).filter(|fact| fact.refetch.is_none()).count() as f64)
    },
);
/// `refetch_at_cut`: mean tokens per cut of the tool results to be fetched again
/// for the lost facts.
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
/// `recovered_at_cut`: share of the facts that only the preset's own search
/// finds.
pub(super) const RECOVERED: [Spec; 2] = at_cuts(
    [catalogue::RECOVERED_AT_CUT, catalogue::RECOVERED_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, |at| at.count(|s| s == ReferenceState::Recovered)),
);
/// `bare_at_cut`: share of the facts that are named without support.
pub(super) const BARE: [Spec; 2] = at_cuts(
    [catalogue::BARE_AT_CUT, catalogue::BARE_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    |sample, depth| share(sample, depth, |at| at.count(|s| s == ReferenceState::Bare)),
);
/// `cut_cost_usd`: cost of a cut against no compaction, in USD.
pub const COST: [Spec; 2] = at_cuts(
    [catalogue::CUT_COST_USD, catalogue::CUT_COST_USD_FIRST],
    Pool::RatioOfSums,
    Basis::Bill,
    cost,
);
/// `pays_after`: median number of requests until the compaction has saved its
/// cost.
pub(super) const PAYS: [Spec; 2] = at_cuts(
    [catalogue::PAYS_AFTER, catalogue::PAYS_AFTER_FIRST],
    Pool::WaitMedian,
    Basis::Bill,
    pays,
);
/// `continuity_at_cut`: continuity of the questions at the cuts.
pub const CONTINUITY: [Spec; 2] = at_cuts(
    [catalogue::CONTINUITY_AT_CUT, catalogue::CONTINUITY_AT_CUT_FIRST],
    Pool::AtCuts,
    Basis::Cuts,
    continuity,
);
/// `questions_at_cut`: how many questions are answered right without
/// compression.
pub const QUESTIONS: [Spec; 2] = at_cuts(
    [catalogue::QUESTIONS_AT_CUT, catalogue::QUESTIONS_AT_CUT_FIRST],
    Pool::Sum,
    Basis::Cuts,
    |sample, depth| match continuity(sample, depth) {
        Parts::Fraction { to, .. } => Parts::One(to),
        other => other,
    },
);

/// Kept at cuts, of the facts that were used 1 to 5 requests after the cut.
pub(super) const NEAR: Spec = behind(catalogue::KEPT_AT_CUT_1_5, |sample, _| between(sample, 1, 5));
/// Kept at cuts, of the facts that were used 6 to 20 requests after the cut.
pub const MIDDLE: Spec = behind(catalogue::KEPT_AT_CUT_6_20, |sample, _| between(sample, 6, 20));
/// Kept at cuts, of the facts that were used 21 to 40 requests after the cut.
pub(super) const FAR: Spec =
    behind(catalogue::KEPT_AT_CUT_21_40, |sample, _| between(sample, 21, 40));

/// Kept at cuts, by the number of requests between the cut and the use of the
/// fact.
const fn behind(measure: &'static Measure, compute: fn(&Sample<'_>, Depth) -> Parts) -> Spec {
    let compute = Compute::AtDepth(compute, Depth::Greatest);
    Spec { measure, pool: Pool::AtCuts, basis: Basis::Cuts, compute }
}
