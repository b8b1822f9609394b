//! How a preset stands against `full`: paired differences, intervals, and
//! what they allow to be said (`measures` §7). No p: against `full` there are
//! intervals only.

use crate::model::AgainstFull;

use super::statistics::{Clusters, Confidence, clopper_pearson_upper};

/// Share of transcripts that may lose more than twice the margin: the upper
/// Clopper–Pearson bound must stay below it.
const RARE_LOSS: f64 = 0.25;

/// A preset less `full`, over the transcripts that both finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Mean difference.
    pub mean: f64,
    /// Its interval, from six clusters on.
    pub interval: Option<Confidence>,
    /// Smallest difference that would be found with a power of 0.8, from six
    /// clusters on.
    pub minimal_detectable: Option<f64>,
    /// What may be said.
    pub verdict: AgainstFull,
}

/// Judges paired differences against the margin; `None` without any pair.
pub fn judge(differences: &Clusters, margin: f64, seed: u64) -> Option<Difference> {
    if differences.n() == 0 {
        return None;
    }
    let interval = differences.confidence(seed);
    let verdict = match interval {
        None => AgainstFull::Descriptive,
        Some(interval) => decide(differences, interval, margin),
    };
    Some(Difference {
        mean: differences.mean(),
        interval,
        minimal_detectable: interval.map(|_| differences.minimal_detectable()),
        verdict,
    })
}

/// The verdict on six clusters or more.
fn decide(differences: &Clusters, interval: Confidence, margin: f64) -> AgainstFull {
    let bounds = interval.bounds();
    if bounds.hi < -margin {
        return AgainstFull::Inferior;
    }
    // A mean within the margin may hide transcripts that lose a lot; their
    // share is bounded too.
    let losses = differences.values().filter(|d| *d < -2.0 * margin).count();
    let rare = clopper_pearson_upper(losses, differences.transcripts()) < RARE_LOSS;
    match differences.n() {
        0..10 => AgainstFull::Undecided,
        n if bounds.lo > -margin && rare => {
            if n < 20 {
                AgainstFull::ProvisionalNonInferior
            } else {
                AgainstFull::NonInferior
            }
        }
        _ => AgainstFull::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(values: &[f64]) -> AgainstFull {
        let clusters = Clusters::new(values.iter().map(|v| vec![*v]).collect());
        judge(&clusters, 0.05, 1).unwrap().verdict
    }

    fn near_zero(n: usize) -> Vec<f64> {
        (0..n).map(|i| if i % 2 == 0 { 0.001 } else { -0.001 }).collect()
    }

    #[test]
    fn below_six_transcripts_nothing_is_decided() {
        assert_eq!(verdict(&[0.0; 5]), AgainstFull::Descriptive);
        assert_eq!(verdict(&[-0.9; 2]), AgainstFull::Descriptive);
    }

    #[test]
    fn six_to_nine_transcripts_are_never_non_inferior() {
        assert_eq!(verdict(&near_zero(9)), AgainstFull::Undecided);
        assert_eq!(verdict(&[-0.3, -0.31, -0.29, -0.3, -0.32, -0.28]), AgainstFull::Inferior);
    }

    #[test]
    fn ten_to_nineteen_transcripts_are_provisional() {
        assert_eq!(verdict(&near_zero(19)), AgainstFull::ProvisionalNonInferior);
    }

    #[test]
    fn non_inferior_needs_a_bound_on_rare_losses() {
        assert_eq!(verdict(&near_zero(20)), AgainstFull::NonInferior);
        // 12 without a loss: 1 − 0.025^(1/12) = 0.265 ≥ 0.25; 13: 0.247.
        assert_eq!(verdict(&near_zero(12)), AgainstFull::Undecided);
        assert_eq!(verdict(&near_zero(13)), AgainstFull::ProvisionalNonInferior);
    }

    #[test]
    fn a_few_heavy_losses_keep_a_good_mean_from_being_non_inferior() {
        // 56 gains of 0.05 and 12 losses of 0.15: the mean is +0.015 and its
        // interval stays above −0.05, yet every sixth transcript loses a lot.
        let mut values = vec![0.05; 56];
        values.extend([-0.15; 12]);
        let clusters = Clusters::new(values.iter().map(|v| vec![*v]).collect());
        let judged = judge(&clusters, 0.05, 1).unwrap();
        assert!(judged.interval.unwrap().bounds().lo > -0.05, "{judged:?}");
        assert_eq!(judged.verdict, AgainstFull::Undecided);
    }

    #[test]
    fn an_interval_across_the_margin_is_undecided() {
        let values = [-0.2, 0.1, -0.1, 0.0, -0.2, 0.1, -0.1, 0.0, -0.2, 0.1, 0.0, -0.1, 0.0];
        assert_eq!(verdict(&values), AgainstFull::Undecided);
    }
}
