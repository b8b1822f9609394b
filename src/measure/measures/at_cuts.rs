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
use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};
use crate::model::ReferenceState;

type Compute = fn(&Sample<'_>, Depth) -> Parts;

/// Both depths of a measure.
macro_rules! at_cuts {
    ($name:ident, $id:literal, $unit:ident, $direction:ident, $pool:ident, $basis:ident,
     $compute:expr, $summary:literal) => {
        #[doc = concat!("`", $id, "`: ", $summary, ".")]
        pub static $name: [Spec; 2] = [
            Spec {
                id: $id,
                unit: Unit::$unit,
                direction: Direction::$direction,
                summary: $summary,
                pool: Pool::$pool,
                basis: Basis::$basis,
                compute: |sample| ($compute as Compute)(sample, Depth::Greatest),
            },
            Spec {
                id: concat!($id, "_first"),
                unit: Unit::$unit,
                direction: Direction::$direction,
                summary: concat!($summary, ", after the first compaction"),
                pool: Pool::$pool,
                basis: Basis::$basis,
                compute: |sample| ($compute as Compute)(sample, Depth::First),
            },
        ];
    };
}

at_cuts!(
    CUTS,
    "cuts",
    Count,
    Neutral,
    Sum,
    Cuts,
    |sample, depth| each(sample, depth, |exams| Parts::One(exams.len() as f64)),
    "places at which a compaction was made to happen"
);
at_cuts!(
    FACTS,
    "facts_at_stake",
    Count,
    Neutral,
    Sum,
    Cuts,
    |sample, depth| each(sample, depth, |exams| Parts::One(facts(exams))),
    "identifiers that the agent used behind a cut and could only know from before it"
);
at_cuts!(
    SESSIONS,
    "sessions_at_stake",
    Count,
    Neutral,
    Sum,
    Cuts,
    |sample, depth| each(sample, depth, |exams| {
        Parts::One(if facts(exams) > 0.0 { 1.0 } else { 0.0 })
    }),
    "sessions with facts at stake"
);
at_cuts!(
    KEPT,
    "kept_at_cut",
    Share,
    Higher,
    AtCuts,
    Cuts,
    |sample, depth| share(sample, depth, |at| at.kept()),
    "share of the facts at stake that the context behind the cut still tells, verbatim or with \
     support in what the strategy wrote"
);
at_cuts!(
    EXPOSED,
    "exposed_share",
    Share,
    Neutral,
    AtCuts,
    Cuts,
    |sample, depth| share(sample, depth, exposed),
    "share of the facts at stake whose recorded text was no longer sent"
);
at_cuts!(
    CARRIED,
    "carried_share",
    Share,
    Higher,
    AtCuts,
    Cuts,
    carried,
    "of the facts whose recorded text was no longer sent, the share that stands in what the \
     strategy wrote, with support"
);
at_cuts!(
    ADDED,
    "added_at_cut",
    Difference,
    Higher,
    AtCuts,
    Cuts,
    added,
    "kept at cuts less what the same preset keeps with an empty text in the place of what its \
     model writes"
);
at_cuts!(
    GAIN,
    "gain_at_cut",
    Difference,
    Higher,
    AtCuts,
    Cuts,
    |sample, depth| share(sample, depth, |at| at.kept() - at.recency()),
    "kept at cuts less what the newest messages of the same size would keep"
);
at_cuts!(
    TOKENS,
    "tokens_at_cut",
    Ratio,
    Lower,
    RatioOfSums,
    Cuts,
    |sample, depth| each(sample, depth, |exams| Parts::Fraction {
        of: sum(exams, |at| at.exam.tokens_after as f64),
        to: sum(exams, |at| at.cut.tokens_before as f64),
    }),
    "tokens of the first prompt behind the cut over those without any compaction"
);
at_cuts!(
    PER_1K,
    "kept_per_1k",
    Ratio,
    Higher,
    RatioOfSums,
    Cuts,
    |sample, depth| each(sample, depth, |exams| Parts::Fraction {
        of: sum(exams, |at| at.kept()),
        to: sum(exams, |at| at.exam.tokens_after as f64) / 1_000.0,
    }),
    "facts kept for each 1,000 tokens of the first prompt behind the cut"
);
at_cuts!(
    FIRST_MISS,
    "first_miss",
    Count,
    Higher,
    WaitMedian,
    Cuts,
    |sample, depth| each(sample, depth, |exams| Parts::Waits(
        exams.iter().filter(|at| !at.cut.facts.is_empty()).map(first_miss).collect()
    )),
    "requests from the cut to the first fact that the context no longer tells, median \
     (Kaplan-Meier: cuts without a miss wait on at the horizon)"
);
at_cuts!(
    IRRECOVERABLE,
    "irrecoverable_at_cut",
    Share,
    Lower,
    AtCuts,
    Cuts,
    |sample, depth| share(
        sample,
        depth,
        |at| lost(at).filter(|fact| fact.refetch.is_none()).count() as f64
    ),
    "share of the facts at stake that are lost and never stood in a tool result"
);
at_cuts!(
    REFETCH,
    "refetch_at_cut",
    Tokens,
    Lower,
    RatioOfSums,
    Cuts,
    |sample, depth| each(sample, depth, |exams| Parts::Fraction {
        of: exams.iter().map(|at| refetch(sample, at)).sum::<u64>() as f64,
        to: exams.len() as f64,
    }),
    "tokens of tool results to be fetched again for what is lost, a cut in the mean"
);
at_cuts!(
    RECOVERED,
    "recovered_at_cut",
    Share,
    Higher,
    AtCuts,
    Cuts,
    |sample, depth| share(sample, depth, |at| at.count(|s| s == ReferenceState::Recovered)),
    "share of the facts at stake that only the preset's own search finds"
);
at_cuts!(
    BARE,
    "bare_at_cut",
    Share,
    Neutral,
    AtCuts,
    Cuts,
    |sample, depth| share(sample, depth, |at| at.count(|s| s == ReferenceState::Bare)),
    "share of the facts at stake that stand in what the strategy wrote without any word that gave \
     them meaning"
);
at_cuts!(
    COST,
    "cut_cost_usd",
    Dollars,
    Lower,
    RatioOfSums,
    Bill,
    cost,
    "dollars of the compaction and of the requests behind the cut, less those of the same requests \
     uncompressed, a cut in the mean"
);
at_cuts!(
    PAYS,
    "pays_after",
    Count,
    Lower,
    WaitMedian,
    Bill,
    pays,
    "requests behind the cut until the compaction has paid for itself, median (Kaplan-Meier: cuts \
     at which it has not wait on at the horizon)"
);
at_cuts!(
    CONTINUITY,
    "continuity_at_cut",
    Points,
    Higher,
    Mean,
    Cuts,
    continuity,
    "of the questions that can be answered uncompressed right before a cut, the part that still \
     can right behind it"
);

/// Kept at cuts by how far behind the cut the fact was used.
macro_rules! behind {
    ($name:ident, $id:literal, $from:literal, $to:literal) => {
        #[doc = concat!("`", $id, "`: kept at cuts, of what was used ", $from, " to ", $to, " requests behind the cut.")]
        pub static $name: Spec = Spec {
            id: $id,
            unit: Unit::Share,
            direction: Direction::Higher,
            summary: concat!(
                "kept at cuts, of what was used at requests ", $from, " to ", $to, " behind the cut"
            ),
            pool: Pool::AtCuts,
            basis: Basis::Cuts,
            compute: |sample| between(sample, $from, $to),
        };
    };
}
behind!(NEAR, "kept_at_cut_1_5", 1, 5);
behind!(MIDDLE, "kept_at_cut_6_20", 6, 20);
behind!(FAR, "kept_at_cut_21_40", 21, 40);
