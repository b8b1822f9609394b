//! What is left of the references of the exam (reference §4): identifiers that
//! the recorded agent used and had from before. Shares are means over requests,
//! then over sessions.
//!
//! `recency_gain` is how much better a strategy is than plain recency of the same
//! size, which sends the preamble and the newest B tokens of messages. B is
//! chosen so that its mean context is as large as the strategy's; it then keeps
//! exactly the references that are nearer than B.

use std::collections::BTreeSet;

use crate::spec::{Basis, CellInput, Contribution, Pool, ReferencingRequest, Spec, mean};
use recap_core::model::{
    Absent, Measure, Reference, ReferenceState, SessionFacts, Support, catalogue,
};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    REFERENCES,
    KEPT,
    RECALL,
    PARTIAL,
    BARE,
    LOST,
    EXPOSED,
    BAND_4K,
    BAND_8K,
    BAND_16K,
    BAND_32K,
    BAND_64K,
    RECENCY_GAIN,
    RECENCY_GAIN_SURVIVAL,
    IRRECOVERABLE,
    IRRECOVERABLE_COUNT,
    REFETCH_TOKENS,
    DID_WITHOUT,
];

/// A mean over sessions.
const fn spec(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::Mean, Basis::References(Support::whole), compute)
}

const fn sum(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Requests, compute)
}

/// A mean over the requests that use a reference.
fn share(sample: &CellInput<'_>, of: impl Fn(&ReferencingRequest<'_>) -> f64) -> Contribution {
    Contribution::one(mean(sample.asked(|_| true).iter().map(of)), Absent::NoReferences)
}

/// How many references the exam asks for.
const REFERENCES: Spec = sum(catalogue::REFERENCES, |sample| {
    Contribution::One(sample.facts.exam.references.len() as f64)
});

/// How many of them are kept at the request that uses them; none at one that was refused.
const KEPT: Spec = sum(catalogue::REFERENCES_KEPT, |sample| {
    let asked = sample.asked(|_| true);
    let kept = asked.iter().map(|one| one.share_kept() * one.references.len() as f64);
    Contribution::One(kept.sum::<f64>().round())
});

/// Share of the references that survive, verbatim or carried.
const RECALL: Spec =
    spec(catalogue::REFERENCE_RECALL, |sample| share(sample, |asked| asked.share_kept()));

/// That share at every request that uses a reference, in order.
pub(super) fn series(sample: &CellInput<'_>) -> Vec<Option<f64>> {
    sample.asked(|_| true).iter().map(|asked| Some(asked.share_kept())).collect()
}

/// Only the last component of the path is left.
const PARTIAL: Spec = spec(catalogue::REFERENCE_PARTIAL, |sample| {
    share(sample, |asked| asked.share_in(ReferenceState::Partial))
});

/// Summaries name it without words about its subject.
const BARE: Spec = spec(catalogue::REFERENCE_BARE, |sample| {
    share(sample, |asked| asked.share_in(ReferenceState::Bare))
});

/// Absent in every form. At a request that the provider would have refused
/// everything is lost, so that recall, partial, bare and lost always add up to 1.
const LOST: Spec = spec(catalogue::REFERENCE_LOST, |sample| {
    share(sample, |asked| match asked.refused {
        true => 1.0,
        false => asked.share_in(ReferenceState::Lost),
    })
});

/// The recorded text is no longer sent. If this is 0, no reference was needed,
/// and reference recall does not measure quality (how-it-works §46).
const EXPOSED: Spec = spec(catalogue::REFERENCE_EXPOSED, |sample| {
    share(sample, |asked| match asked.refused {
        true => 1.0,
        false => asked.share(|_, state| state != ReferenceState::Verbatim),
    })
});

/// References that were last seen at least `FROM` and less than `TO` tokens
/// before.
struct Band<const FROM: u64, const TO: u64>;

impl<const FROM: u64, const TO: u64> Band<FROM, TO> {
    const fn spec(measure: &'static Measure) -> Spec {
        Spec::of_cell(measure, Pool::Mean, Basis::References(Self::support), Self::compute)
    }

    fn holds(reference: &Reference) -> bool {
        (FROM..TO).contains(&reference.distance_tokens)
    }

    fn support(facts: &SessionFacts) -> Support {
        Support::of(facts.exam.references.iter().filter(|r| Self::holds(r)))
    }

    fn compute(sample: &CellInput<'_>) -> Contribution {
        let asked = sample.asked(Self::holds);
        let shares = asked.iter().map(|asked| asked.share_kept());
        Contribution::one(mean(shares), Absent::NoReferencesThere)
    }
}

/// References from 4,000 to below 8,000 tokens back.
const BAND_4K: Spec = Band::<4_000, 8_000>::spec(catalogue::REFERENCE_RECALL_4K_8K);
/// References from 8,000 to below 16,000 tokens back.
const BAND_8K: Spec = Band::<8_000, 16_000>::spec(catalogue::REFERENCE_RECALL_8K_16K);
/// References from 16,000 to below 32,000 tokens back.
const BAND_16K: Spec = Band::<16_000, 32_000>::spec(catalogue::REFERENCE_RECALL_16K_32K);
/// References from 32,000 to below 64,000 tokens back.
const BAND_32K: Spec = Band::<32_000, 64_000>::spec(catalogue::REFERENCE_RECALL_32K_64K);
/// References 64,000 tokens back and more.
const BAND_64K: Spec = Band::<64_000, { u64::MAX }>::spec(catalogue::REFERENCE_RECALL_64K);

/// `reference_recall` minus that of plain recency, so that requests over the
/// window lower it as they lower `reference_recall`.
const RECENCY_GAIN: Spec =
    spec(catalogue::RECENCY_GAIN, |sample| less_plain_recency(sample, |asked| asked.share_kept()));

/// The same without the effect of overflows, which separates requests over the
/// window from losses.
const RECENCY_GAIN_SURVIVAL: Spec = spec(catalogue::RECENCY_GAIN_SURVIVAL, |sample| {
    less_plain_recency(sample, |asked| asked.share(|_, state| state.is_kept()))
});

/// Steps of the bisection: enough for the precision of an `f64` between 0 and
/// any context.
const HALVINGS: u32 = 80;

/// A mean over requests minus the score of plain recency of the same mean size.
fn less_plain_recency(
    sample: &CellInput<'_>,
    own: impl Fn(&ReferencingRequest<'_>) -> f64,
) -> Contribution {
    let newest = newest_tokens(sample);
    let asked = sample.asked(|_| true);
    let own = mean(asked.iter().map(own));
    // Distances are exact counts, while sizes may be calibrated.
    let far = |distance: u64| distance as f64 * sample.facts.factor();
    let plain = mean(asked.iter().map(|a| a.share(|r, _| newest.reaches(far(r.distance_tokens)))));
    Contribution::one(own.zip(plain).map(|(own, plain)| own - plain), Absent::NoReferences)
}

/// The part of the conversation that plain recency of the strategy's size sends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reach {
    /// This many tokens of the newest messages.
    Tokens(f64),
    /// All of it: the strategy sends at least as much as the whole conversation.
    Everything,
}

impl Reach {
    fn reaches(self, distance: f64) -> bool {
        match self {
            Reach::Tokens(tokens) => distance < tokens,
            Reach::Everything => true,
        }
    }
}

/// B with `mean_j min(preamble + B, tokens_full_j) = mean_j tokens_sent_j`.
fn newest_tokens(sample: &CellInput<'_>) -> Reach {
    let full: Vec<f64> = sample.facts.requests.iter().map(|r| r.tokens_full as f64).collect();
    let preamble = sample.facts.preamble_tokens as f64;
    let sent: f64 = sample.rows.requests.iter().map(|r| r.tokens_sent as f64).sum();
    let plain = |newest: f64| full.iter().map(|f| f.min(preamble + newest)).sum::<f64>();
    let (mut low, mut high) = (0.0, full.iter().copied().fold(0.0, f64::max));
    if sent >= plain(high) {
        return Reach::Everything;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if plain(middle) < sent { low = middle } else { high = middle }
    }
    Reach::Tokens(high)
}

/// Lost references that were never in a tool result, as a share of all lost
/// ones: the user mentioned them or the agent derived them, so no tool can fetch
/// them again. Sessions without losses are left out.
const IRRECOVERABLE: Spec = spec(catalogue::IRRECOVERABLE, |sample| match sample.lost().count() {
    0 => Contribution::Absent(Absent::NoneLost),
    lost => Contribution::One(irrecoverable(sample) as f64 / lost as f64),
});

/// Number of irrecoverable references.
const IRRECOVERABLE_COUNT: Spec = sum(catalogue::IRRECOVERABLE_REFERENCES, |sample| {
    Contribution::One(irrecoverable(sample) as f64)
});

fn irrecoverable(sample: &CellInput<'_>) -> usize {
    sample.lost().filter(|r| r.refetch.is_none()).count()
}

/// Tokens that reading the lost references again would take: for each the
/// smallest tool result that contained it, once per result and request. Results
/// that the recording read again are left out, since the bill contains them.
const REFETCH_TOKENS: Spec = sum(catalogue::REFETCH_TOKENS, |sample| {
    if sample.facts.exam.references.is_empty() {
        return Contribution::Absent(Absent::NoReferences);
    }
    Contribution::One(reads(sample).iter().map(|(_, tokens)| tokens).sum::<u64>() as f64)
});

/// Each result to be read again: the request that needs it, and its tokens.
pub(super) fn reads(sample: &CellInput<'_>) -> Vec<(u32, u64)> {
    let reads: BTreeSet<(u32, u32)> =
        sample.lost().filter(|r| !r.reread).filter_map(|r| Some((r.request, r.refetch?))).collect();
    let tokens = |message: u32| sample.facts.messages[message as usize].tokens;
    reads.into_iter().map(|(request, message)| (request, tokens(message))).collect()
}

/// The instrument's own error: identifiers that the recorded agent used after a
/// boundary although they were only before it and not in its summary. The agent
/// did not need them from the context. The exam leaves them out; their share
/// shows how often "used later" does not mean "needed from the context".
const DID_WITHOUT: Spec = Spec::of_cell(
    catalogue::DID_WITHOUT,
    Pool::Mean,
    Basis::References(support_without),
    did_without,
);

fn support_without(facts: &SessionFacts) -> Support {
    if facts.recorded_compactions == 0 {
        return Support::default();
    }
    let mut support = Support::whole(facts);
    support.references += u64::from(facts.exam.did_without);
    support
}

fn did_without(sample: &CellInput<'_>) -> Contribution {
    let facts = sample.facts;
    if facts.recorded_compactions == 0 {
        return Contribution::Absent(Absent::NoRecordedBoundary);
    }
    let without = f64::from(facts.exam.did_without);
    let all = without + facts.exam.references.len() as f64;
    Contribution::one((all > 0.0).then(|| without / all), Absent::NoReferences)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{cell, facts, sample};

    fn gain_of(sample: &CellInput<'_>) -> Contribution {
        less_plain_recency(sample, |asked| asked.share_kept())
    }

    #[test]
    fn plain_recency_has_the_strategys_mean_size() {
        // Preamble 100; full sends 1,100, 2,100 and 3,100. With B = 1,500 plain
        // recency sends 1,100 + 1,600 + 1,600 = 4,300.
        let facts = facts("s").preamble(100).requests(&[1_100, 2_100, 3_100]).build();
        let cell = cell("s", "x").sent(&[1_400, 1_400, 1_500]).build();
        let sample = sample(&facts, &cell);
        let Reach::Tokens(tokens) = newest_tokens(&sample) else { panic!("bounded") };
        assert!((tokens - 1_500.0).abs() < 1e-6, "{tokens}");
    }

    #[test]
    fn strategy_sending_everything_is_compared_with_everything() {
        let facts = facts("s").preamble(100).requests(&[1_100, 2_100]).build();
        let cell = cell("s", "x").sent(&[1_100, 2_100]).build();
        let sample = sample(&facts, &cell);
        assert_eq!(newest_tokens(&sample), Reach::Everything);
    }

    #[test]
    fn strategy_below_its_preamble_is_compared_without_messages() {
        let facts = facts("s").preamble(1_000).requests(&[1_100, 2_100]).build();
        let cell = cell("s", "x").sent(&[900, 900]).build();
        let sample = sample(&facts, &cell);
        let reach = newest_tokens(&sample);
        assert!(!reach.reaches(1.0), "{reach:?}");
    }

    #[test]
    fn distances_are_converted_to_calibrated_size_units() {
        // B = 1,500 as above. The only reference is 1,300 exact tokens back,
        // which is within B; if the provider counts 1.2 tokens for one of ours,
        // it is 1,560 back, which is beyond B.
        let gain = |factor| {
            let facts = facts("s").preamble(100).requests(&[1_100, 2_100, 3_100]);
            let facts = facts.reference(2, 1_300, None).calibrated(factor, Some(0.01)).build();
            let cell = cell("s", "x").sent(&[1_400, 1_400, 1_500]).states("k").build();
            gain_of(&sample(&facts, &cell))
        };
        assert_eq!((gain(1.0), gain(1.2)), (Contribution::One(0.0), Contribution::One(1.0)));
    }

    #[test]
    fn reference_within_plain_recency_reach_gains_nothing() {
        // B is exactly 1,024 of 4,096 tokens.
        let gain = |distance| {
            let facts = facts("s").requests(&[4_096]).reference(0, distance, None).build();
            let cell = cell("s", "x").sent(&[1_024]).states("k").build();
            gain_of(&sample(&facts, &cell))
        };
        assert_eq!((gain(1_023), gain(1_024)), (Contribution::One(0.0), Contribution::One(1.0)));
    }
}
