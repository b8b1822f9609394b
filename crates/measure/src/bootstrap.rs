//! Bootstrap intervals, always from a seed that the caller gives.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::statistics::{Bounds, Clusters, Confidence, quantile, sums};

/// Number of resamples of requests within sessions.
const BLOCK_RESAMPLES: usize = 1_000;
/// Number of resamples of clusters. The tails of BCa need more than a plain
/// percentile does.
pub(super) const BCA_RESAMPLES: usize = 2_000;

impl Clusters {
    /// The interval that the number of clusters allows; `None` below six.
    pub(super) fn confidence(&self, seed: u64) -> Option<Confidence> {
        match self.n() {
            0..6 => None,
            6..20 => Some(Confidence::Student(self.student())),
            _ => {
                let student = self.student();
                let wider = bca(self, seed).filter(|b| b.width() > student.width());
                Some(Confidence::Wider(wider.unwrap_or(student)))
            }
        }
    }
}

/// BCa interval of the weighted mean over sessions by resampling clusters
/// (Efron 1987, "Better bootstrap confidence intervals"). `None` if all
/// resamples are equal.
pub(super) fn bca(clusters: &Clusters, seed: u64) -> Option<Bounds> {
    let mut resampled = cluster_means(clusters, seed);
    resampled.sort_by(f64::total_cmp);
    let (lo, hi) = adjusted_levels(&resampled, clusters.mean(), acceleration(clusters)?)?;
    Some(Bounds { lo: quantile(&resampled, lo), hi: quantile(&resampled, hi) })
}

/// Means of resamples of whole clusters, in the order drawn.
fn cluster_means(clusters: &Clusters, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let parts: Vec<(f64, f64)> = clusters.groups().iter().map(|c| sums(c)).collect();
    let draw = |_| {
        let (mut sum, mut n) = (0.0, 0.0);
        for _ in 0..parts.len() {
            let (part, size) = parts[rng.random_range(0..parts.len())];
            sum += part;
            n += size;
        }
        sum / n
    };
    (0..BCA_RESAMPLES).map(draw).collect()
}

/// The acceleration of the mean, by the jackknife over clusters.
fn acceleration(clusters: &Clusters) -> Option<f64> {
    let parts: Vec<(f64, f64)> = clusters.groups().iter().map(|c| sums(c)).collect();
    // The sum is computed value by value, so that weights of 1 round as a plain
    // sum does.
    let total: f64 = clusters.groups().iter().flatten().map(|v| v.weight * v.value).sum();
    let weight = clusters.weight();
    let left: Vec<f64> = parts.iter().map(|(part, own)| (total - part) / (weight - own)).collect();
    acceleration_of(&left)
}

/// `Σ d³ / (6 (Σ d²)^{3/2})`, where d is the mean of the jackknife values minus
/// each value. `None` if all values are equal.
pub(super) fn acceleration_of(left: &[f64]) -> Option<f64> {
    let centre = left.iter().sum::<f64>() / left.len() as f64;
    let squares: f64 = left.iter().map(|x| (centre - x).powi(2)).sum();
    let cubes: f64 = left.iter().map(|x| (centre - x).powi(3)).sum();
    (squares > 0.0).then(|| cubes / (6.0 * squares.powf(1.5)))
}

/// Levels at which the sorted resamples give the 95 % BCa interval. `None` if
/// every resample is on one side of the estimate.
pub(super) fn adjusted_levels(
    resampled: &[f64],
    estimate: f64,
    acceleration: f64,
) -> Option<(f64, f64)> {
    let normal = Normal::standard();
    let below = resampled.iter().filter(|x| **x < estimate).count() as f64;
    let ties = resampled.iter().filter(|x| **x == estimate).count() as f64;
    // Half of the ties count, so that a discrete distribution is not biased to
    // one side.
    let share = (below + ties / 2.0) / resampled.len() as f64;
    if share <= 0.0 || share >= 1.0 {
        return None;
    }
    let bias = normal.inverse_cdf(share);
    let level = |p: f64| {
        let shifted = bias + normal.inverse_cdf(p);
        normal.cdf(bias + shifted / (1.0 - acceleration * shifted))
    };
    Some((level(0.025), level(0.975)))
}

/// Number of resamples of the cautious bound, which is read at one level far
/// from the tails.
const CAUTIOUS_RESAMPLES: usize = 4_000;
/// Level of the cautious bound: how often it may be above the true mean.
const CAUTIOUS_LEVEL: f64 = 0.05;

/// Lower 95 % bound of the mean over sessions that allows for unseen losses:
/// one more cluster of average weight is added that loses `most`, the largest
/// possible loss, and the clusters are weighted at random (Rubin 1981, "The
/// Bayesian Bootstrap"). The weights are the gaps between n ordered uniforms,
/// which makes it the bound of Gaffke (2005) as described by Learned-Miller and
/// Thomas (2020, "A New Confidence Interval for the Mean of a Bounded Random
/// Variable"): without assumptions on the distribution, and equal to that of
/// Clopper and Pearson for losses of all or nothing. Clusters of unequal weight
/// are weighted at random in addition, for which the bound is an approximation.
pub(super) fn cautious_lower(clusters: &Clusters, most: f64, seed: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut parts: Vec<(f64, f64)> = clusters.groups().iter().map(|c| sums(c)).collect();
    let size = clusters.weight() / clusters.n() as f64;
    parts.push((-most * size, size));
    let draw = |_| {
        let (mut sum, mut n) = (0.0, 0.0);
        for (part, size) in &parts {
            // 1 − u instead of u, because u may be 0.
            let weight = -(1.0 - rng.random::<f64>()).ln();
            sum += weight * part;
            n += weight * size;
        }
        sum / n
    };
    let mut means: Vec<f64> = (0..CAUTIOUS_RESAMPLES).map(draw).collect();
    means.sort_by(f64::total_cmp);
    quantile(&means, CAUTIOUS_LEVEL)
}

/// [`weighted_blocks`] with sessions of equal weight.
pub fn blocks(sessions: &[Vec<f64>], seed: u64) -> Option<Bounds> {
    let sessions: Vec<(f64, &[f64])> = sessions.iter().map(|s| (1.0, s.as_slice())).collect();
    weighted_blocks(&sessions, seed)
}

/// Percentile interval of the mean over sessions, each with its weight, if only
/// the requests within each session can be resampled: it describes these
/// sessions only. The values are in the order of the session: one for each
/// request, question or fact.
///
/// Moving blocks (Künsch 1989) are used, since neighbouring requests need the
/// same things; the block length ⌈R^(1/3)⌉ is the order that Hall, Horowitz and
/// Jing (1995) find best for a variance. If requests stay similar for longer
/// than a block, the interval is too narrow: in simulations of 120 requests,
/// similar for five in a row on average, it covered 72 %. `None` without any
/// value.
pub(super) fn weighted_blocks(sessions: &[(f64, &[f64])], seed: u64) -> Option<Bounds> {
    let sessions: Vec<&(f64, &[f64])> = sessions.iter().filter(|(_, s)| !s.is_empty()).collect();
    let weight: f64 = sessions.iter().map(|(weight, _)| weight).sum();
    if weight <= 0.0 {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut means: Vec<f64> = (0..BLOCK_RESAMPLES)
        .map(|_| {
            let parts = sessions.iter().map(|(own, s)| own * resampled_mean(s, &mut rng));
            parts.sum::<f64>() / weight
        })
        .collect();
    means.sort_by(f64::total_cmp);
    Some(Bounds { lo: quantile(&means, 0.025), hi: quantile(&means, 0.975) })
}

/// Mean of one moving-block resample as long as the session.
fn resampled_mean(session: &[f64], rng: &mut ChaCha8Rng) -> f64 {
    let requests = session.len();
    let block = ((requests as f64).cbrt().ceil() as usize).clamp(1, requests);
    let (mut sum, mut taken) = (0.0, 0);
    while taken < requests {
        let start = rng.random_range(0..=requests - block);
        let length = block.min(requests - taken);
        sum += session[start..start + length].iter().sum::<f64>();
        taken += length;
    }
    sum / requests as f64
}

#[cfg(test)]
#[path = "bootstrap_tests.rs"]
mod tests;
