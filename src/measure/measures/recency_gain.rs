//! `recency_gain`: how much better a preset is than plain recency of the same
//! size (measures §4).
//!
//! Plain recency sends the preamble and the newest B tokens of messages. B is
//! chosen so that its mean context is as large as the preset's; it then keeps
//! exactly the references that are nearer than B.
//!
//! The measure is `reference_recall` minus that share, so requests over the
//! window lower it as they lower `reference_recall`. `recency_gain_survival`
//! leaves them out.

use crate::measure::spec::{Asked, Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, Support, catalogue};

/// `recency_gain`, the mean over transcripts.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::RECENCY_GAIN, Pool::Mean, Basis::References(Support::whole), compute);

/// Steps of the bisection: enough for the precision of an `f64` between 0 and
/// any context.
const HALVINGS: u32 = 80;

fn compute(sample: &Sample<'_>) -> Parts {
    less_plain_recency(sample, |asked| asked.share_kept())
}

/// A mean over requests minus the score of plain recency of the same mean size.
pub(super) fn less_plain_recency(sample: &Sample<'_>, own: impl Fn(&Asked<'_>) -> f64) -> Parts {
    let newest = newest_tokens(sample);
    let asked = sample.asked(|_| true);
    let own = mean(asked.iter().map(own));
    // Distances are exact counts, while sizes may be calibrated.
    let far = |distance: u64| distance as f64 * sample.facts.factor();
    let plain = mean(asked.iter().map(|a| a.share(|r, _| newest.reaches(far(r.distance_tokens)))));
    Parts::one(own.zip(plain).map(|(own, plain)| own - plain), Absent::NoReferences)
}

/// The part of the conversation that plain recency of the preset's size sends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reach {
    /// This many tokens of the newest messages.
    Tokens(f64),
    /// All of it: the preset sends at least as much as the whole conversation.
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
fn newest_tokens(sample: &Sample<'_>) -> Reach {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::testkit::{cell, facts, sample};

    #[test]
    fn plain_recency_has_the_mean_size_of_the_preset() {
        // Preamble 100; full sends 1,100, 2,100 and 3,100. With B = 1,500 plain
        // recency sends 1,100 + 1,600 + 1,600 = 4,300.
        let facts = facts("s").preamble(100).requests(&[1_100, 2_100, 3_100]).build();
        let cell = cell("s", "x").sent(&[1_400, 1_400, 1_500]).build();
        let sample = sample(&facts, &cell);
        let Reach::Tokens(tokens) = newest_tokens(&sample) else { panic!("bounded") };
        assert!((tokens - 1_500.0).abs() < 1e-6, "{tokens}");
    }

    #[test]
    fn a_preset_that_sends_everything_is_compared_with_everything() {
        let facts = facts("s").preamble(100).requests(&[1_100, 2_100]).build();
        let cell = cell("s", "x").sent(&[1_100, 2_100]).build();
        let sample = sample(&facts, &cell);
        assert_eq!(newest_tokens(&sample), Reach::Everything);
    }

    #[test]
    fn a_preset_below_its_preamble_is_compared_with_no_message() {
        let facts = facts("s").preamble(1_000).requests(&[1_100, 2_100]).build();
        let cell = cell("s", "x").sent(&[900, 900]).build();
        let sample = sample(&facts, &cell);
        let reach = newest_tokens(&sample);
        assert!(!reach.reaches(1.0), "{reach:?}");
    }

    #[test]
    fn distances_are_converted_to_the_unit_of_calibrated_sizes() {
        // B = 1,500 as above. The only reference is 1,300 exact tokens back,
        // which is within B; if the provider counts 1.2 tokens for one of ours,
        // it is 1,560 back, which is beyond B.
        let gain = |factor| {
            let facts = facts("s").preamble(100).requests(&[1_100, 2_100, 3_100]);
            let facts = facts.reference(2, 1_300, None).calibrated(factor, Some(0.01)).build();
            let cell = cell("s", "x").sent(&[1_400, 1_400, 1_500]).states("k").build();
            compute(&sample(&facts, &cell))
        };
        assert_eq!((gain(1.0), gain(1.2)), (Parts::One(0.0), Parts::One(1.0)));
    }

    #[test]
    fn a_reference_as_far_back_as_plain_recency_reaches_is_not_kept() {
        // B is exactly 1,024 of 4,096 tokens.
        let gain = |distance| {
            let facts = facts("s").requests(&[4_096]).reference(0, distance, None).build();
            let cell = cell("s", "x").sent(&[1_024]).states("k").build();
            compute(&sample(&facts, &cell))
        };
        assert_eq!((gain(1_023), gain(1_024)), (Parts::One(0.0), Parts::One(1.0)));
    }
}
