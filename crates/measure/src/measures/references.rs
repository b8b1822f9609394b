//! What is left of the references of the exam (reference §4): identifiers that
//! the recorded agent used and had from before. Shares are means over requests,
//! then over sessions.
//!
//! `recency_gain` is how much better a strategy is than plain recency of the same
//! size, which sends the preamble and the newest B tokens of messages. B is
//! chosen so that its mean context is as large as the strategy's; it then keeps
//! exactly the references that are nearer than B.

use std::collections::BTreeSet;

use crate::figures::spec::{Basis, CellInput, Contribution, Pool, ReferencingRequest, Spec, mean};
use recap_core::model::{Absent, Measure, ReferenceState, catalogue};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    // How many references the exam asks for.
    sum(catalogue::REFERENCES, |input| Contribution::One(input.facts.exam.references.len() as f64)),
    // How many of them are kept at the request that uses them; none at one that was refused.
    sum(catalogue::REFERENCES_KEPT, |input| {
        let asked = input.asked();
        let kept = asked.iter().map(|one| one.share_kept() * one.references.len() as f64);
        Contribution::One(kept.sum::<f64>().round())
    }),
    // Share of the references that survive, verbatim or carried.
    spec(catalogue::REFERENCE_RECALL, |input| share(input, |asked| asked.share_kept()))
        .with_interval(),
    // The recorded text is no longer sent. If this is 0, no reference was needed,
    // and reference recall does not measure quality (how-it-works §46).
    spec(catalogue::REFERENCE_EXPOSED, |input| {
        share(input, |asked| {
            if asked.refused {
                1.0
            } else {
                asked.share(|_, state| state != ReferenceState::Verbatim)
            }
        })
    }),
    // `reference_recall` minus that of plain recency of the same mean size, so that requests over
    // the window lower it as they lower `reference_recall`.
    spec(catalogue::RECENCY_GAIN, recency_gain),
    // The instrument's own error: identifiers that the recorded agent used after a
    // boundary although they were only before it and not in its summary. The agent
    // did not need them from the context. The exam leaves them out; their share
    // shows how often "used later" does not mean "needed from the context".
    spec(catalogue::DID_WITHOUT, did_without),
];

/// A mean over sessions.
const fn spec(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::Mean, Basis::References, compute)
}

const fn sum(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Requests, compute)
}

/// A mean over the requests that use a reference.
fn share(input: &CellInput<'_>, of: impl Fn(&ReferencingRequest<'_>) -> f64) -> Contribution {
    Contribution::one(mean(input.asked().iter().map(of)), Absent::NoReferences)
}

/// Steps of the bisection: enough for the precision of an `f64` between 0 and
/// any context.
const HALVINGS: u32 = 80;

fn recency_gain(input: &CellInput<'_>) -> Contribution {
    let newest = newest_tokens(input);
    let asked = input.asked();
    let own = mean(asked.iter().map(ReferencingRequest::share_kept));
    // Distances are exact counts, while sizes may be calibrated.
    let far = |distance: u64| distance as f64 * input.facts.factor();
    let plain = mean(asked.iter().map(|a| a.share(|r, _| far(r.distance_tokens) < newest)));
    Contribution::one(own.zip(plain).map(|(own, plain)| own - plain), Absent::NoReferences)
}

/// B with `mean_j min(preamble + B, tokens_full_j) = mean_j tokens_sent_j`; infinite where the
/// strategy sends at least as much as the whole conversation.
fn newest_tokens(input: &CellInput<'_>) -> f64 {
    let full: Vec<f64> = input.facts.requests.iter().map(|r| r.tokens_full as f64).collect();
    let preamble = input.facts.preamble_tokens as f64;
    let sent: f64 = input.rows.requests.iter().map(|r| r.tokens_sent as f64).sum();
    let plain = |newest: f64| full.iter().map(|f| f.min(preamble + newest)).sum::<f64>();
    let (mut low, mut high) = (0.0, full.iter().copied().fold(0.0, f64::max));
    if sent >= plain(high) {
        return f64::INFINITY;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if plain(middle) < sent { low = middle } else { high = middle }
    }
    high
}

/// Each result to be read again: the request that needs it, and its tokens. For each lost
/// reference it is the smallest tool result that contained it, once per result and request.
/// Results that the recording read again are left out, since the bill contains them.
pub(super) fn reads(input: &CellInput<'_>) -> Vec<(u32, u64)> {
    let reads: BTreeSet<(u32, u32)> =
        input.lost().filter(|r| !r.reread).filter_map(|r| Some((r.request, r.refetch?))).collect();
    let tokens = |message: u32| input.facts.messages[message as usize].tokens;
    reads.into_iter().map(|(request, message)| (request, tokens(message))).collect()
}

fn did_without(input: &CellInput<'_>) -> Contribution {
    let facts = input.facts;
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
    use crate::testkit::{cell, facts, input};

    #[test]
    fn plain_recency_has_the_strategys_mean_size() {
        // Preamble 100; full sends 1,100, 2,100 and 3,100. With B = 1,500 plain
        // recency sends 1,100 + 1,600 + 1,600 = 4,300.
        let facts = facts("s").preamble(100).requests(&[1_100, 2_100, 3_100]).build();
        let cell = cell("s", "x").sent(&[1_400, 1_400, 1_500]).build();
        let input = input(&facts, &cell);
        let tokens = newest_tokens(&input);
        assert!((tokens - 1_500.0).abs() < 1e-6, "{tokens}");
    }

    #[test]
    fn strategy_sending_everything_is_compared_with_everything() {
        let facts = facts("s").preamble(100).requests(&[1_100, 2_100]).build();
        let cell = cell("s", "x").sent(&[1_100, 2_100]).build();
        let input = input(&facts, &cell);
        assert_eq!(newest_tokens(&input), f64::INFINITY);
    }

    #[test]
    fn strategy_below_its_preamble_is_compared_without_messages() {
        let facts = facts("s").preamble(1_000).requests(&[1_100, 2_100]).build();
        let cell = cell("s", "x").sent(&[900, 900]).build();
        let input = input(&facts, &cell);
        let tokens = newest_tokens(&input);
        assert!(tokens < 1.0, "{tokens}");
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
            recency_gain(&input(&facts, &cell))
        };
        assert_eq!((gain(1.0), gain(1.2)), (Contribution::One(0.0), Contribution::One(1.0)));
    }

    #[test]
    fn reference_within_plain_recency_reach_gains_nothing() {
        // B is exactly 1,024 of 4,096 tokens.
        let gain = |distance| {
            let facts = facts("s").requests(&[4_096]).reference(0, distance, None).build();
            let cell = cell("s", "x").sent(&[1_024]).states("k").build();
            recency_gain(&input(&facts, &cell))
        };
        assert_eq!((gain(1_023), gain(1_024)), (Contribution::One(0.0), Contribution::One(1.0)));
    }

    #[test]
    fn each_lost_result_is_read_once_per_request() {
        // Message m has 10 × (m + 1) tokens. Request 0 loses two references that
        // are in message 2 (30 tokens, once) and one in message 0 (10); request 1
        // loses one in message 2 (30) and one that the recording read again.
        let facts = facts("s")
            .requests(&[1_000, 2_000])
            .reference(0, 5_000, Some(2))
            .reference(0, 5_000, Some(2))
            .reference(0, 5_000, Some(0))
            .reference(1, 5_000, Some(2))
            .reference(1, 5_000, Some(3))
            .reread()
            .reference(1, 5_000, None)
            .build();
        let of = |states: &str| {
            reads(&input(&facts, &cell("s", "x").sent(&[10, 10]).states(states).build()))
        };
        assert_eq!(of("llllll"), [(0, 10), (0, 30), (1, 30)]);
        assert_eq!(of("kkkklp"), []);
    }
}
