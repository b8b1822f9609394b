//! Reference values: `tests/statistics_fixtures.py` (SciPy 1.17.1).

use super::*;

const SEVEN: [f64; 7] = [0.86, 0.91, 0.79, 0.95, 0.62, 0.88, 0.84];

/// One session per cluster.
fn singles(values: &[f64]) -> Clusters {
    Clusters::new(values.iter().map(|v| vec![*v]).collect())
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn sessions_of_one_cluster_are_not_independent() {
    // Each value of six projects three times: as uncertain as six single
    // sessions.
    let single = singles(&SEVEN[..6]);
    let tripled = Clusters::new(SEVEN[..6].iter().map(|v| vec![*v; 3]).collect());
    close(tripled.mean(), single.mean());
    close(tripled.standard_error(), single.standard_error());
    assert_eq!(tripled.n(), 6);
}

#[test]
fn mean_is_over_sessions_not_clusters() {
    // (0.2 + 0.4 + 0.9) / 3 = 0.5; the means of the clusters are 0.3 and 0.9.
    let clusters = Clusters::new(vec![vec![0.2, 0.4], vec![0.9], Vec::new()]);
    close(clusters.mean(), 0.5);
    assert_eq!(clusters.n(), 2);
    let means = clusters.means();
    close(means[0], 0.3);
    close(means[1], 0.9);
    // Residuals −0.4 and 0.4: √(2/1 · 0.32) / 3.
    close(clusters.standard_error(), 0.64_f64.sqrt() / 3.0);
}

/// One value per cluster, with its weight.
fn weighted(values: &[(f64, f64)]) -> Clusters {
    let one = |(value, weight): &(f64, f64)| vec![Weighted { value: *value, weight: *weight }];
    Clusters::weighted(values.iter().map(one).collect())
}

#[test]
fn weights_change_the_mean_and_its_standard_error() {
    // (10·0.2 + 30·0.6) / 40 = 0.5; residuals −0.3·10 and 0.1·30: √(2/1 · 18) / 40.
    let clusters = weighted(&[(0.2, 10.0), (0.6, 30.0)]);
    close(clusters.mean(), 0.5);
    close(clusters.standard_error(), 6.0 / 40.0);
    // The same holds within a cluster.
    let value = |value, weight| Weighted { value, weight };
    let project = vec![value(0.2, 10.0), value(0.6, 30.0)];
    let clusters = Clusters::weighted(vec![project, vec![value(0.1, 40.0)]]);
    close(clusters.means()[0], 0.1);
    close(clusters.means()[1], 0.5);
    close(clusters.mean(), 0.3);
}

#[test]
fn only_the_ratios_of_weights_matter() {
    let of = |scale: f64| {
        let pairs = SEVEN.iter().zip([4.0, 8.0, 1.0, 2.0, 16.0, 1.0, 2.0]);
        weighted(&pairs.map(|(x, w)| (*x, w * scale)).collect::<Vec<_>>())
    };
    assert_eq!(of(1.0).student(), of(8.0).student());
    close(of(1.0).effective(), of(8.0).effective());
}

#[test]
fn weights_of_one_change_nothing() {
    let ones = weighted(&SEVEN.map(|value| (value, 1.0)));
    assert_eq!(ones, singles(&SEVEN));
    assert_eq!(ones.effective(), 7.0);
    let projects = Clusters::new(vec![vec![0.1; 5], vec![0.2], vec![0.3; 3]]);
    assert_eq!(projects.effective(), 3.0);
}

#[test]
fn a_value_without_weight_is_not_a_cluster() {
    let clusters = weighted(&[(0.2, 1.0), (0.9, 0.0), (0.4, 1.0)]);
    assert_eq!(clusters.n(), 2);
    close(clusters.mean(), 0.3);
}

#[test]
fn a_heavy_cluster_reduces_the_effective_number() {
    // (30 + 3·1)² / (30² + 3·1²) = 1.206.
    let clusters = weighted(&[(0.5, 30.0), (0.5, 1.0), (0.5, 1.0), (0.5, 1.0)]);
    close(clusters.effective(), 1089.0 / 903.0);
}

#[test]
fn equal_values_give_a_point() {
    for n in [6, 20] {
        let bounds = singles(&vec![1.0; n]).confidence(1).unwrap();
        assert_eq!(bounds, (1.0, 1.0));
    }
}

#[test]
fn quantiles_are_interpolated() {
    let sorted = [1.0, 2.0, 4.0, 8.0];
    close(quantile(&sorted, 0.0), 1.0);
    close(quantile(&sorted, 0.5), 3.0);
    close(quantile(&sorted, 0.9), 6.8);
    close(quantile(&sorted, 1.0), 8.0);
    close(quantile(&[5.0], 0.3), 5.0);
}

#[test]
fn bounds_are_clamped_to_parameter_range() {
    assert_eq!(within((-2.0, 0.5), -1.0, 1.0), (-1.0, 0.5));
    assert_eq!(within((-2.0, 0.5), 0.75, 1.0), (0.75, 0.75));
}

#[test]
fn every_value_counts_as_a_session() {
    let clusters = Clusters::new(vec![vec![0.2, 0.4], vec![0.9]]);
    assert_eq!(clusters.values().collect::<Vec<_>>(), [0.2, 0.4, 0.9]);
    assert_eq!((clusters.values().count(), clusters.weight()), (3, 3.0));
}
