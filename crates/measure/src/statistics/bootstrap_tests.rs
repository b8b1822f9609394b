//! Reference values: `tests/statistics_fixtures.py` (SciPy 1.17.1).

use super::*;
use crate::statistics::Weighted;

/// Values as skewed as recalls near 1.
const SKEWED: [f64; 24] = [
    1.0, 0.98, 0.97, 1.0, 0.95, 0.99, 0.4, 0.96, 1.0, 0.93, 0.99, 0.72, 0.97, 1.0, 0.98, 0.9, 0.99,
    0.55, 1.0, 0.96, 0.94, 0.98, 1.0, 0.97,
];

fn singles(values: &[f64]) -> Clusters {
    Clusters::new(values.iter().map(|v| vec![*v]).collect())
}

#[track_caller]
fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() < within, "{found} is not {expected}");
}

#[test]
fn the_wider_of_bca_and_t_is_taken() {
    // BCa is 0.133 wide here, t 0.127.
    let bounds = singles(&SKEWED).confidence(1).unwrap();
    assert_eq!(Some(bounds), singles(&SKEWED).bca(1));
    // Five clusters have no interval, and below twenty nothing is resampled.
    assert_eq!(singles(&SKEWED[..5]).confidence(1), None);
    for n in [6, 19] {
        assert_eq!(singles(&SKEWED[..n]).confidence(1), Some(singles(&SKEWED[..n]).student()));
    }
    assert_ne!(singles(&SKEWED[..20]).confidence(1), Some(singles(&SKEWED[..20]).student()));
    // Without a skew BCa is narrower: it does not use the t quantile.
    let even: Vec<f64> = (0..20).map(f64::from).collect();
    assert_eq!(singles(&even).confidence(1).unwrap(), singles(&even).student());
}

#[test]
fn bca_of_identical_values_is_absent() {
    assert_eq!(singles(&[0.5; 20]).bca(1), None);
}

#[test]
fn the_same_seed_gives_the_same_interval() {
    assert_eq!(singles(&SKEWED).bca(3), singles(&SKEWED).bca(3));
    assert_ne!(singles(&SKEWED).bca(3), singles(&SKEWED).bca(4));
}

#[test]
fn cautious_bound_adds_one_cluster_of_average_weight() {
    // Doubling every weight gives the same sample.
    let of = |weight| {
        let value = |at| vec![Weighted { value: if at < 2 { -0.3 } else { 0.0 }, weight }];
        cautious_lower(&Clusters::weighted((0..30).map(value).collect()), 1.0, 1)
    };
    assert_eq!(of(1.0), of(2.0));
    // A loss with a small weight counts less, and the unseen cluster has the
    // average weight.
    let light = |own| {
        let one = |at| Weighted { value: if at == 0 { -1.0 } else { 0.0 }, weight: 10.0 };
        let mut all: Vec<Vec<Weighted>> = (0..30).map(|at| vec![one(at)]).collect();
        all[0][0].weight = own;
        cautious_lower(&Clusters::weighted(all), 1.0, 1)
    };
    assert!(light(1.0) > light(10.0) && light(10.0) > light(30.0));
}

#[test]
fn half_of_the_ties_are_below_the_estimate() {
    // Below 2 is one of four, and two are equal to it: (1 + 2/2) / 4 = 1/2, no bias.
    let (lo, hi) = adjusted_levels(&[1.0, 2.0, 2.0, 3.0], 2.0, 0.0).unwrap();
    close(lo, 0.025, 1e-9);
    close(hi, 0.975, 1e-9);
}
