//! Tests of paired differences over clusters (reference §7), in plain Rust.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::statistics::{Clusters, sums};

/// Largest number of clusters for which all 2ⁿ patterns of signs are
/// enumerated.
const EXACT_UP_TO: usize = 16;
/// Number of patterns drawn for more clusters.
const SIGN_FLIPS: u32 = 100_000;

/// Two-sided p of the sign-flip test: the share of patterns of signs over
/// clusters at which the weighted sum of differences is at least as far from
/// zero as the observed sum (Fisher 1935, "The Design of Experiments", 21). Up
/// to sixteen clusters all 2ⁿ patterns are used; beyond, patterns are drawn
/// from the seed, and the observed one is added (Phipson and Smyth 2010,
/// "Permutation P-values Should Never Be Zero").
pub(super) fn sign_flip(differences: &Clusters, seed: u64) -> f64 {
    let sums: Vec<f64> = differences.groups().iter().map(|c| sums(c).0).collect();
    let seen = sums.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order may differ in the last digits.
    let least = seen - 1e-12 * sums.iter().map(|s| s.abs()).sum::<f64>();
    let far = |flip: &dyn Fn(usize) -> bool| {
        let sum: f64 = sums.iter().enumerate().map(|(at, s)| if flip(at) { -s } else { *s }).sum();
        sum.abs() >= least
    };
    if sums.len() <= EXACT_UP_TO {
        let patterns = 1_u32 << sums.len();
        let hits = (0..patterns).filter(|pattern| far(&|at| pattern >> at & 1 == 1)).count();
        return hits as f64 / f64::from(patterns);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let hits = (0..SIGN_FLIPS)
        .filter(|_| {
            let flips: Vec<bool> = sums.iter().map(|_| rng.random()).collect();
            far(&|at| flips[at])
        })
        .count();
    (hits as f64 + 1.0) / (f64::from(SIGN_FLIPS) + 1.0)
}

/// Holm's step-down correction (1979, "A Simple Sequentially Rejective Multiple
/// Test Procedure"): each p adjusted for the family, in the given order.
pub(super) fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut adjusted = vec![0.0; ps.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(((ps.len() - rank) as f64 * ps[at]).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Weighted;
    use super::*;

    fn clusters(values: &[f64]) -> Clusters {
        Clusters::new(values.iter().map(|v| vec![*v]).collect())
    }

    #[test]
    fn all_patterns_of_few_clusters_are_enumerated() {
        // Of the eight patterns of 1, 2, 3 only +++ and −−− reach 6.
        assert_eq!(sign_flip(&clusters(&[1.0, 2.0, 3.0]), 1), 0.25);
        // 3 − 1 − 1 = 1: every pattern reaches it, since |±3±1±1| ≥ 1.
        assert_eq!(sign_flip(&clusters(&[3.0, -1.0, -1.0]), 1), 1.0);
        assert_eq!(sign_flip(&clusters(&[0.0; 6]), 1), 1.0);
    }

    #[test]
    fn differences_count_with_their_weight() {
        // The weighted differences are 3·0.1, 0.2 and 0.1·4: only +++ and −−−
        // reach 0.9, although the unweighted differences are 0.1, 0.2 and 0.1.
        let value = |value, weight| vec![Weighted { value, weight }];
        let agree = vec![value(0.1, 3.0), value(0.2, 1.0), value(0.1, 4.0)];
        assert_eq!(sign_flip(&Clusters::weighted(agree), 1), 0.25);
        // Every pattern reaches 0.6 − 0.2 − 0.1 = 0.3; unweighted, six of eight
        // patterns reach 0.1 − 0.2 − 0.1 = −0.2.
        let heavy = vec![value(0.1, 6.0), value(-0.2, 1.0), value(-0.1, 1.0)];
        assert_eq!(sign_flip(&Clusters::weighted(heavy), 1), 1.0);
        assert_eq!(sign_flip(&clusters(&[0.1, -0.2, -0.1]), 1), 0.75);
    }

    #[test]
    fn twenty_equal_signs_give_smallest_possible_p() {
        let p = sign_flip(&clusters(&[1.0; 20]), 1);
        assert!((p - 1.0 / 100_001.0).abs() < 3e-5, "{p}");
        // The observed pattern is one of 100,001, and all others are whole ones.
        let hits = p * 100_001.0 - 1.0;
        assert!(hits > -1e-6 && (hits - hits.round()).abs() < 1e-6, "{hits}");
    }

    #[test]
    fn the_unit_of_the_differences_does_not_matter() {
        for unit in [1e-9, 1e9] {
            assert_eq!(sign_flip(&clusters(&[unit, 2.0 * unit, 3.0 * unit]), 1), 0.25);
        }
    }

    #[test]
    fn holm_multiplies_by_remaining_tests_and_never_decreases() {
        // 0.01·3, max(0.03, 0.02·2), max(0.04, 0.03·1).
        assert_eq!(holm(&[0.03, 0.01, 0.02]), vec![0.04, 0.03, 0.04]);
        assert_eq!(holm(&[0.6, 0.7]), vec![1.0, 1.0]);
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }
}
