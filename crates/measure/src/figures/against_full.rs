//! Compares a strategy with `full`: paired differences, intervals, and the
//! verdict that they allow (reference §7). There is no p: against `full` there
//! are intervals only.
//!
//! An interval and a bound on rare losses, from 20 sessions on, are not
//! enough: that rule fails its own bound of 5 %. If few sessions lose a lot,
//! so that the mean lies exactly at the margin, the rule is wrong in 36 % of
//! samples of 20 if every twentieth session loses everything, and in 12 % if
//! every tenth loses half: a sample without any such loss has no spread that
//! would show it. Non-inferior therefore also requires a bound that allows for
//! unseen losses ([`cautious_lower`]), and is provisional until then. At a
//! margin of 0.05 this requires 59 sessions without a loss.

use recap_core::model::AgainstFull;

use crate::statistics::{Bounds, Clusters, cautious_lower, clopper_pearson_upper};

/// Share of sessions that may lose more than twice the margin: the upper
/// Clopper–Pearson bound must stay below it.
const RARE_LOSS: f64 = 0.25;

/// A strategy minus `full`, over the sessions that both finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Mean difference over the sessions.
    pub mean: f64,
    /// Interval of the mean difference, from six clusters on.
    pub interval: Option<Bounds>,
    /// Smallest difference that would be detected with a power of 0.8, from six
    /// clusters on.
    pub minimal_detectable: Option<f64>,
    /// The conclusion that the difference allows.
    pub verdict: AgainstFull,
}

/// The comparison of paired differences; `None` without any pair. `margin` is the loss that still
/// counts as non-inferior, in the measure's own unit, and `most` the largest possible loss of a
/// session; the seed is that of the bootstrap.
pub fn judge(differences: &Clusters, margin: f64, most: f64, seed: u64) -> Option<Difference> {
    if differences.n() == 0 {
        return None;
    }
    let interval = differences.confidence(seed);
    let verdict = match interval {
        None => AgainstFull::Descriptive,
        Some((_, hi)) if hi < -margin => AgainstFull::Inferior,
        // Fewer than 13 clusters never show that losses are rare.
        Some((lo, _)) if lo <= -margin || !loses_rarely(differences, margin) => {
            AgainstFull::Undecided
        }
        Some(_) if differences.n() >= 20 && cautious_lower(differences, most, seed) > -margin => {
            AgainstFull::NonInferior
        }
        Some(_) => AgainstFull::ProvisionalNonInferior,
    };
    Some(Difference {
        mean: differences.mean(),
        interval,
        minimal_detectable: interval.map(|_| differences.minimal_detectable()),
        verdict,
    })
}

/// Whether few sessions lose much: a mean within the margin may hide such
/// sessions, so their share of the weight is bounded too. All sessions of
/// one cluster are assumed to lose together, as if there were as many of them
/// as clusters, and fewer if some weigh more than others (Korn and Graubard's
/// effective sample size).
fn loses_rarely(differences: &Clusters, margin: f64) -> bool {
    let all = differences.groups().iter().flatten();
    let heavy = all.filter(|d| d.value < -2.0 * margin);
    let share = heavy.map(|d| d.weight).sum::<f64>() / differences.weight();
    let n = differences.effective();
    clopper_pearson_upper(share * n, n) < RARE_LOSS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Weighted;

    fn verdict(values: &[f64]) -> AgainstFull {
        let clusters = Clusters::new(values.iter().map(|v| vec![*v]).collect());
        judge(&clusters, 0.05, 1.0, 1).unwrap().verdict
    }

    fn near_zero(n: usize) -> Vec<f64> {
        (0..n).map(|i| if i % 2 == 0 { 0.001 } else { -0.001 }).collect()
    }

    #[test]
    fn below_six_sessions_nothing_is_decided() {
        assert_eq!(verdict(&[0.0; 5]), AgainstFull::Descriptive);
        assert_eq!(verdict(&[-0.9; 2]), AgainstFull::Descriptive);
    }

    #[test]
    fn six_to_nine_sessions_are_never_non_inferior() {
        assert_eq!(verdict(&near_zero(9)), AgainstFull::Undecided);
        assert_eq!(verdict(&[-0.3, -0.31, -0.29, -0.3, -0.32, -0.28]), AgainstFull::Inferior);
    }

    #[test]
    fn ten_to_nineteen_sessions_are_provisional() {
        assert_eq!(verdict(&near_zero(19)), AgainstFull::ProvisionalNonInferior);
    }

    #[test]
    fn non_inferior_needs_a_bound_on_rare_losses() {
        // 12 without a loss: 1 − 0.025^(1/12) = 0.265 ≥ 0.25; 13: 0.247.
        assert_eq!(verdict(&near_zero(12)), AgainstFull::Undecided);
        assert_eq!(verdict(&near_zero(13)), AgainstFull::ProvisionalNonInferior);
    }

    #[test]
    fn non_inferior_needs_sessions_to_detect_total_loss() {
        // 1 − 0.05^(1/n) is 0.0530 at 55 and 0.0487 at 60.
        assert_eq!(verdict(&[0.0; 55]), AgainstFull::ProvisionalNonInferior);
        assert_eq!(verdict(&[0.0; 60]), AgainstFull::NonInferior);
    }

    #[test]
    fn sessions_of_one_project_lose_together() {
        // Five projects of twelve sessions each count as five, whatever the
        // number of sessions.
        let of = |projects: usize| {
            Clusters::new((0..projects).map(|_| vec![0.0; 60 / projects]).collect())
        };
        let verdict = |projects| judge(&of(projects), 0.05, 1.0, 1).unwrap().verdict;
        assert_eq!(verdict(12), AgainstFull::Undecided);
        assert_eq!(verdict(15), AgainstFull::ProvisionalNonInferior);
        assert_eq!(verdict(60), AgainstFull::NonInferior);
    }

    #[test]
    fn heavy_losses_prevent_non_inferior_despite_good_mean() {
        // 56 gains of 0.05 and 12 losses of 0.15: the mean is +0.015 and its
        // interval stays above −0.05, yet every sixth session loses a lot.
        let mut values = vec![0.05; 56];
        values.extend([-0.15; 12]);
        let clusters = Clusters::new(values.iter().map(|v| vec![*v]).collect());
        let judged = judge(&clusters, 0.05, 1.0, 1).unwrap();
        assert!(judged.interval.unwrap().0 > -0.05, "{judged:?}");
        assert_eq!(judged.verdict, AgainstFull::Undecided);
    }

    #[test]
    fn a_heavy_loss_counts_by_its_weight() {
        let of = |loser: f64| {
            let value = |at| match at {
                0 => Weighted { value: -0.11, weight: loser },
                _ => Weighted { value: 0.001, weight: 1.0 },
            };
            let clusters = Clusters::weighted((0..30).map(|at| vec![value(at)]).collect());
            loses_rarely(&clusters, 0.05)
        };
        // One of thirty: the upper bound is 0.17. With the weight of nine others
        // it is 9 of 38, and 13.1 clusters count.
        assert!(of(1.0));
        assert!(!of(9.0));
    }

    #[test]
    fn an_interval_across_the_margin_is_undecided() {
        let values = [-0.2, 0.1, -0.1, 0.0, -0.2, 0.1, -0.1, 0.0, -0.2, 0.1, 0.0, -0.1, 0.0];
        assert_eq!(verdict(&values), AgainstFull::Undecided);
    }

    #[test]
    fn loss_of_twice_the_margin_is_not_heavy() {
        let rarely = |loss: f64| {
            let clusters = (0..30).map(|at| vec![if at < 4 { loss } else { 0.0 }]).collect();
            loses_rarely(&Clusters::new(clusters), 0.05)
        };
        // 4 of 30 would have the upper bound 0.31.
        assert!(rarely(-0.1) && !rarely(-0.11));
    }

    #[test]
    fn loss_of_exactly_the_margin_is_undecided() {
        // Binary fractions, so that the interval of equal values is exact.
        let of = |value: f64| {
            judge(&Clusters::new(vec![vec![value]; 16]), 0.0625, 1.0, 1).unwrap().verdict
        };
        assert_eq!(of(-0.0625), AgainstFull::Undecided);
        assert_eq!(of(-0.125), AgainstFull::Inferior);
        assert_eq!(of(-0.03125), AgainstFull::ProvisionalNonInferior);
    }
}
