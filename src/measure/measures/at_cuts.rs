//! What is left of what the recorded agent used next, at places where a
//! compaction was made to happen (`cuts` §2). Each at the greatest depth of the
//! run; those of the first compaction end in `_first`.
//!
//! Shares are pooled by `cuts` §3: within a session or project a ratio of sums,
//! over them a mean weighted by min(facts, 30).

use std::collections::BTreeSet;

use crate::measure::exams::{AtCut, Depth};
use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};
use crate::model::{
    Agreement, CutBill, FactAtStake, MessageIndex, ProbeRow, RIGHT, ReferenceState, Standing,
};

/// Why there is no figure where a session was not cut.
const NO_CUT: &str = "no session of it was cut: `--cuts none`, or too short";
/// Why there is no figure where cuts put nothing at stake.
const NO_FACTS: &str = "nothing that the agent used behind a cut came from before it";
/// Why a preset has no figure of what its summaries add.
const NO_NULL: &str = "no model writes text for this preset";

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

/// 1 for each fact that is kept and 0 for each that is not, in the order of the
/// session.
pub fn kept_series(sample: &Sample<'_>, depth: Depth) -> Vec<Option<f64>> {
    let exams = sample.exams.at(sample.cell, depth);
    let states = exams.iter().flat_map(|at| &at.exam.states);
    states.map(|state| Some(kept(*state))).collect()
}

/// The same less that of the null.
pub fn added_series(sample: &Sample<'_>, depth: Depth) -> Vec<Option<f64>> {
    let (own, null) = (sample.exams.at(sample.cell, depth), sample.exams.null(sample.cell, depth));
    let states = |exams: &[AtCut<'_>]| {
        let states = exams.iter().flat_map(|at| at.exam.states.clone());
        states.map(kept).collect::<Vec<f64>>()
    };
    let (own, null) = (states(&own), states(&null));
    if own.len() != null.len() {
        return Vec::new();
    }
    own.iter().zip(null).map(|(own, null)| Some(own - null)).collect()
}

fn kept(state: ReferenceState) -> f64 {
    if state.is_kept() { 1.0 } else { 0.0 }
}

/// What the exams of a cell give; nothing where it has none.
fn each(sample: &Sample<'_>, depth: Depth, of: impl Fn(&[AtCut<'_>]) -> Parts) -> Parts {
    let exams = sample.exams.at(sample.cell, depth);
    if exams.is_empty() { Parts::Absent(NO_CUT) } else { of(&exams) }
}

/// A share of the facts at stake.
fn share(sample: &Sample<'_>, depth: Depth, of: impl Fn(&AtCut<'_>) -> f64) -> Parts {
    each(sample, depth, |exams| match facts(exams) {
        0.0 => Parts::Absent(NO_FACTS),
        to => Parts::Fraction { of: sum(exams, &of), to },
    })
}

fn sum(exams: &[AtCut<'_>], of: impl Fn(&AtCut<'_>) -> f64) -> f64 {
    exams.iter().map(of).sum()
}

fn facts(exams: &[AtCut<'_>]) -> f64 {
    sum(exams, |at| at.cut.facts.len() as f64)
}

fn exposed(at: &AtCut<'_>) -> f64 {
    at.count(|state| state != ReferenceState::Verbatim)
}

fn carried(sample: &Sample<'_>, depth: Depth) -> Parts {
    each(sample, depth, |exams| match sum(exams, exposed) {
        0.0 => Parts::Absent("every fact at stake was still sent as it was recorded"),
        to => {
            let of = sum(exams, |at| at.count(|state| state == ReferenceState::Carried));
            Parts::Fraction { of, to }
        }
    })
}

fn added(sample: &Sample<'_>, depth: Depth) -> Parts {
    let null = sample.exams.null(sample.cell, depth);
    each(sample, depth, |exams| {
        // A null that failed at some cut sat another exam.
        let same = null.iter().map(|at| at.cut.key()).eq(exams.iter().map(|at| at.cut.key()));
        match facts(exams) {
            _ if null.is_empty() => Parts::Absent(NO_NULL),
            _ if !same => Parts::Absent("its null failed at some cut"),
            0.0 => Parts::Absent(NO_FACTS),
            to => {
                Parts::Fraction { of: sum(exams, |at| at.kept()) - sum(&null, |at| at.kept()), to }
            }
        }
    })
}

/// Requests to the first fact that is missed, and whether one is.
fn first_miss(at: &AtCut<'_>) -> (f64, bool) {
    let facts = at.cut.facts.iter().zip(&at.exam.states);
    let missed = facts.filter(|(_, state)| !state.is_kept()).map(|(fact, _)| fact.request);
    match missed.min() {
        Some(request) => (f64::from(request - at.cut.request + 1), true),
        None => (f64::from(at.cut.requests), false),
    }
}

fn lost<'a>(at: &AtCut<'a>) -> impl Iterator<Item = &'a FactAtStake> {
    let facts = at.cut.facts.iter().zip(&at.exam.states);
    facts.filter(|(_, state)| **state == ReferenceState::Lost).map(|(fact, _)| fact)
}

/// Each source is fetched once; what the recording fetched anyway costs
/// nothing.
fn refetch(sample: &Sample<'_>, at: &AtCut<'_>) -> u64 {
    let sources: BTreeSet<MessageIndex> =
        lost(at).filter(|fact| !fact.reread).filter_map(|fact| fact.refetch).collect();
    let tokens = |source: MessageIndex| sample.facts.messages.get(source as usize);
    sources.into_iter().filter_map(tokens).map(|message| message.tokens).sum()
}

fn between(sample: &Sample<'_>, from: u32, to: u32) -> Parts {
    each(sample, Depth::Greatest, |exams| {
        let (mut kept, mut all) = (0.0, 0.0);
        for at in exams {
            for (fact, state) in at.cut.facts.iter().zip(&at.exam.states) {
                if (from..=to).contains(&(fact.request - at.cut.request + 1)) {
                    all += 1.0;
                    kept += self::kept(*state);
                }
            }
        }
        if all == 0.0 { Parts::Absent(NO_FACTS) } else { Parts::Fraction { of: kept, to: all } }
    })
}

/// The payer's bill of a cut.
fn bill<'a>(sample: &Sample<'_>, at: &AtCut<'a>) -> Option<&'a CutBill> {
    at.exam.bills.iter().find(|bill| bill.billed_as == sample.payer)
}

fn cost(sample: &Sample<'_>, depth: Depth) -> Parts {
    each(sample, depth, |exams| {
        let usd = exams.iter().map(|at| {
            let bill = bill(sample, at)?;
            Some(bill.compactions_usd? + bill.with_usd? - bill.without_usd?)
        });
        match usd.sum::<Option<f64>>() {
            Some(of) => Parts::Fraction { of, to: exams.len() as f64 },
            None => Parts::Unknown("a price is unknown".to_owned()),
        }
    })
}

fn pays(sample: &Sample<'_>, depth: Depth) -> Parts {
    each(sample, depth, |exams| {
        let compacted = exams.iter().filter(|at| at.exam.compactions > 0);
        let wait = |at: &AtCut<'_>| {
            let bill = bill(sample, at)?;
            bill.with_usd?;
            Some(match bill.pays_after {
                Some(request) => (f64::from(request), true),
                None => (f64::from(at.cut.requests), false),
            })
        };
        match compacted.map(wait).collect::<Option<Vec<(f64, bool)>>>() {
            Some(waits) if waits.is_empty() => Parts::Absent("it compacted at no cut"),
            Some(waits) => Parts::Waits(waits),
            None => Parts::Unknown("a price is unknown".to_owned()),
        }
    })
}

/// 100 × kept / (kept + lost) over the questions put at the cuts of a session.
fn continuity(sample: &Sample<'_>, depth: Depth) -> Parts {
    let full = sample.exams.beside(sample.cell, "full", depth);
    // At a first compaction the window is made for the cut.
    let deep = sample.exams.depth(depth).is_some_and(|depth| depth > 1);
    let answers = deep && sample.cell.standing != Standing::Control;
    each(sample, depth, |exams| {
        let (mut kept, mut before) = (0.0, 0.0);
        for at in exams {
            let Some(whole) = full.iter().find(|other| other.cut.key() == at.cut.key()) else {
                continue;
            };
            let overflow = at.exam.snapshot.as_ref().is_some_and(|snapshot| snapshot.overflow);
            let refused = answers && overflow;
            for (pre, post) in pairs(&whole.exam.probes, &at.exam.probes) {
                match Agreement::of(pre, post && !refused) {
                    Agreement::Kept => (kept, before) = (kept + 1.0, before + 1.0),
                    Agreement::Lost => before += 1.0,
                    Agreement::Gained | Agreement::Neither => {}
                }
            }
        }
        match before {
            0.0 => Parts::Absent("no question that can be answered uncompressed stands at a cut"),
            _ => Parts::One(100.0 * kept / before),
        }
    })
}

/// Whether each probe is right uncompressed, and under the preset; those that
/// stand alone or have no score are left out.
fn pairs<'a>(
    full: &'a [ProbeRow],
    own: &'a [ProbeRow],
) -> impl Iterator<Item = (bool, bool)> + use<'a> {
    own.iter().filter_map(|row| {
        let pre = full.iter().find(|other| other.probe == row.probe)?;
        let right = |row: &ProbeRow| Some(row.judgement.score? >= RIGHT);
        Some((right(pre)?, right(row)?))
    })
}
