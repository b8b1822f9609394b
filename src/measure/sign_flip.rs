//! Tests of paired differences over clusters (measures §7), in plain Rust.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::statistics::{Clusters, sums};

/// Most clusters whose 2ⁿ patterns of signs are all tried.
const EXACT_UP_TO: usize = 16;
/// Patterns drawn where there are more.
const SIGN_FLIPS: u32 = 100_000;

/// Two-sided p of the sign-flip test: the share of patterns of signs over
/// clusters under which the weighted sum of differences lies at least as far from
/// zero as it does (Fisher 1935, "The Design of Experiments", 21). All 2ⁿ of them up
/// to sixteen clusters; beyond, drawn from the seed, the pattern seen counted
/// in (Phipson and Smyth 2010, "Permutation P-values Should Never Be Zero").
pub fn sign_flip(differences: &Clusters, seed: u64) -> f64 {
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
/// Test Procedure"): each p as it counts within the family, in the given order.
pub fn holm(ps: &[f64]) -> Vec<f64> {
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
    fn the_sign_flip_test_counts_every_pattern_of_few_clusters() {
        // Of the eight patterns of 1, 2, 3 only +++ and −−− reach 6.
        assert_eq!(sign_flip(&clusters(&[1.0, 2.0, 3.0]), 1), 0.25);
        // 3 − 1 − 1 = 1: reached by all but none; |±3±1±1| ≥ 1 always.
        assert_eq!(sign_flip(&clusters(&[3.0, -1.0, -1.0]), 1), 1.0);
        assert_eq!(sign_flip(&clusters(&[0.0; 6]), 1), 1.0);
    }

    #[test]
    fn differences_count_by_their_weight() {
        // 3·0.1, 0.2 and 0.1·4: no pattern but +++ and −−− reaches 0.9, though
        // the differences as they stand are 0.1, 0.2 and 0.1.
        let value = |value, weight| vec![Weighted { value, weight }];
        let agree = vec![value(0.1, 3.0), value(0.2, 1.0), value(0.1, 4.0)];
        assert_eq!(sign_flip(&Clusters::weighted(agree), 1), 0.25);
        // 0.6 − 0.2 − 0.1 = 0.3 is reached by every pattern; unweighted, 0.1
        // less 0.2 less 0.1 is 0.2, which six of eight reach.
        let heavy = vec![value(0.1, 6.0), value(-0.2, 1.0), value(-0.1, 1.0)];
        assert_eq!(sign_flip(&Clusters::weighted(heavy), 1), 1.0);
        assert_eq!(sign_flip(&clusters(&[0.1, -0.2, -0.1]), 1), 0.75);
    }

    #[test]
    fn twenty_clusters_that_agree_are_as_sure_as_the_draws_allow() {
        let p = sign_flip(&clusters(&[1.0; 20]), 1);
        assert!((p - 1.0 / 100_001.0).abs() < 3e-5, "{p}");
    }

    #[test]
    fn holm_multiplies_by_what_is_left_and_never_falls() {
        // 0.01·3, max(0.03, 0.02·2), max(0.04, 0.03·1).
        assert_eq!(holm(&[0.03, 0.01, 0.02]), vec![0.04, 0.03, 0.04]);
        assert_eq!(holm(&[0.6, 0.7]), vec![1.0, 1.0]);
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }
}
