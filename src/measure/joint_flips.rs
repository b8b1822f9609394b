//! A test of many means over the same clusters at once.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Largest number of clusters for which all 2ⁿ patterns of signs are
/// enumerated.
const EXACT_UP_TO: usize = 16;
/// Number of patterns drawn for more clusters.
const DRAWS: usize = 10_000;
/// Sums of the same numbers in another order may differ in the last digits.
const ROUNDING: f64 = 1e-9;

/// Which of several means are shown to be above zero. Each row has one value
/// for each cluster, the clusters in the same order; the chance that any row
/// whose true mean is not above zero is called shown is at most `level`.
///
/// The statistic of a row is `Σ x / √(Σ x²)`. Under the null hypothesis the
/// signs of a cluster may be exchanged, in all rows together, so that the rows
/// keep what they have in common. A row is shown where at most a share `level`
/// of the patterns has any row that is as large; then the test is made again
/// without the rows that are shown, until none is added (Westfall and Young
/// 1993, "Resampling-Based Multiple Testing"; Romano and Wolf 2005, "Exact and
/// Approximate Stepdown Methods for Multiple Hypothesis Testing").
///
/// With n clusters no p is below `2⁻ⁿ`. Up to sixteen clusters every pattern is
/// used; beyond, patterns are drawn from the seed, and the observed one is
/// added.
pub fn shown_above_zero(rows: &[Vec<f64>], level: f64, seed: u64) -> Vec<bool> {
    let mut shown = vec![false; rows.len()];
    let unit: Vec<Option<Vec<f64>>> = rows.iter().map(|row| normalised(row)).collect();
    let mut open: Vec<usize> = (0..rows.len()).filter(|at| unit[*at].is_some()).collect();
    loop {
        let rows: Vec<&[f64]> = open.iter().filter_map(|at| unit[*at].as_deref()).collect();
        let mut maxima = maxima(&rows, seed);
        maxima.sort_by(f64::total_cmp);
        let is_shown = |row: &[f64]| {
            let seen: f64 = row.iter().sum();
            let below = maxima.partition_point(|most| *most < seen - ROUNDING);
            (maxima.len() - below) as f64 <= level * maxima.len() as f64
        };
        let added: Vec<usize> =
            open.iter().zip(&rows).filter(|(_, row)| is_shown(row)).map(|(at, _)| *at).collect();
        if added.is_empty() {
            return shown;
        }
        added.iter().for_each(|at| shown[*at] = true);
        open.retain(|at| !shown[*at]);
    }
}

/// A row divided by the root of its sum of squares; `None` if all are zero.
fn normalised(row: &[f64]) -> Option<Vec<f64>> {
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    (norm > 0.0 && norm.is_finite()).then(|| row.iter().map(|x| x / norm).collect())
}

/// For each pattern of signs the largest sum of all rows, the observed pattern
/// included.
fn maxima(rows: &[&[f64]], seed: u64) -> Vec<f64> {
    let n = rows.first().map_or(0, |row| row.len());
    let largest = |sums: &[f64]| sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sums: Vec<f64> = rows.iter().map(|row| row.iter().sum()).collect();
    let mut maxima = vec![largest(&sums)];
    if n > EXACT_UP_TO {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..DRAWS {
            let as_seen: Vec<bool> = (0..n).map(|_| rng.random()).collect();
            let signed = |(x, as_seen): (&f64, &bool)| if *as_seen { *x } else { -x };
            let sum = |row: &&[f64]| row.iter().zip(&as_seen).map(signed).sum::<f64>();
            maxima.push(rows.iter().map(sum).fold(f64::NEG_INFINITY, f64::max));
        }
        return maxima;
    }
    // In the order of the Gray code each pattern differs from the last in one
    // cluster.
    let mut signs = vec![1.0; n];
    for pattern in 1..1_u32 << n {
        let flipped = pattern.trailing_zeros() as usize;
        signs[flipped] = -signs[flipped];
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum += signs[flipped] * (2.0 * row[flipped]);
        }
        maxima.push(largest(&sums));
    }
    maxima
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_is_the_one_sided_sign_flip_test() {
        // Of the eight patterns only +++ reaches 6 / √14.
        let shown = |level| shown_above_zero(&[vec![1.0, 2.0, 3.0]], level, 1);
        assert_eq!(shown(0.126), [true]);
        assert_eq!(shown(0.124), [false]);
        // −1, 2, 3 sums to 4: the patterns with 6 and 4 are two of eight.
        let shown = |level| shown_above_zero(&[vec![-1.0, 2.0, 3.0]], level, 1);
        assert_eq!((shown(0.26), shown(0.24)), (vec![true], vec![false]));
    }

    #[test]
    fn several_rows_are_held_against_the_largest_of_all() {
        // 1, 1, 1 has √3 at +++ alone, and its opposite at −−−. The second row,
        // 1, −1, 1, reaches √3 at +−+, so that two of eight patterns do.
        let rows = [vec![1.0; 3], vec![1.0, -1.0, 1.0]];
        assert_eq!(shown_above_zero(&rows, 0.26, 1), [true, false]);
        assert_eq!(shown_above_zero(&rows, 0.24, 1), [false, false]);
        // The same row twice costs nothing.
        assert_eq!(shown_above_zero(&[vec![1.0; 3], vec![2.0; 3]], 0.13, 1), [true, true]);
    }

    #[test]
    fn a_row_that_is_shown_no_longer_stands_in_the_way_of_the_others() {
        // The first row has 6 / √6 = 2.45 as observed and 4 / √6 = 1.63 at the six
        // patterns with one sign changed. The second has 15 / √105 = 1.46 as
        // observed and less elsewhere: beside the first row 7 of 64 patterns are
        // as large, alone one of 64.
        let rows = [vec![1.0; 6], vec![10.0, 1.0, 1.0, 1.0, 1.0, 1.0]];
        assert_eq!(shown_above_zero(&rows, 0.05, 1), [true, true]);
        assert_eq!(shown_above_zero(&rows, 0.01, 1), [false, false]);
    }

    #[test]
    fn a_row_is_divided_by_the_root_of_its_sum_of_squares() {
        // √(9 + 16) = 5.
        let unit = normalised(&[3.0, 0.0, -4.0]).unwrap();
        assert!(unit.iter().zip([0.6, 0.0, -0.8]).all(|(x, y)| (x - y).abs() < 1e-12), "{unit:?}");
        assert_eq!(normalised(&[0.0; 3]), None);
        assert_eq!(normalised(&[f64::INFINITY, 1.0]), None);
        assert_eq!(normalised(&[f64::NAN, 1.0]), None);
    }

    #[test]
    fn every_pattern_of_signs_has_the_largest_sum_of_all_rows() {
        // In the order of the Gray code 3 and 1 sum to 4, −2, −4 and 2, and −1 and 5
        // to 4, 6, −4 and −6.
        let found = maxima(&[&[3.0, 1.0], &[-1.0, 5.0]], 1);
        assert_eq!(found, [4.0, 6.0, -4.0, 2.0]);
        // From seventeen clusters on as many patterns are drawn, and the observed one.
        let many = [1.0; 17];
        let drawn = maxima(&[&many], 1);
        assert_eq!((drawn.len(), drawn[0]), (10_001, 17.0));
        assert!(drawn.iter().all(|sum| sum.abs() <= 17.0));
        let mean = drawn.iter().sum::<f64>() / 10_001.0;
        // A sum has a standard deviation of √17, the mean of all one of 0.04.
        assert!(mean.abs() < 0.2, "{mean}");
        assert_eq!(maxima(&[&many[..16]], 1).len(), 1 << 16);
    }

    #[test]
    fn what_is_zero_or_empty_is_never_shown() {
        assert_eq!(shown_above_zero(&[vec![0.0; 8]], 0.5, 1), [false]);
        assert_eq!(shown_above_zero(&[Vec::new()], 0.5, 1), [false]);
        assert_eq!(shown_above_zero(&[], 0.5, 1), Vec::<bool>::new());
    }

    #[test]
    fn for_many_clusters_patterns_are_drawn_and_the_seed_decides() {
        let agree = vec![vec![1.0; 20]];
        assert_eq!(shown_above_zero(&agree, 0.001, 1), [true]);
        let mixed: Vec<f64> = (0..20).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(shown_above_zero(&[mixed], 0.4, 1), [false]);
    }
}
