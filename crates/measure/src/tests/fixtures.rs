//! Compares the statistics with SciPy, statsmodels, pandas and lifelines:
//! `tests/fixtures/statistics.json`, written by `tests/statistics_fixtures.py`.

use serde_json::Value as Json;

use crate::statistics::agreement::tests::bounds_of;
use crate::statistics::pooling::pooled;
use crate::statistics::{Clusters, Weighted, clopper_pearson_upper, quantile};
use crate::statistics::{adjusted_levels, cautious_lower};
use crate::statistics::{holm, sign_flip};

/// Tolerance for figures that are computed without random draws.
const EXACT: f64 = 1e-9;

fn fixtures() -> Json {
    serde_json::from_str(include_str!("../../../../tests/fixtures/statistics.json")).unwrap()
}

fn number(json: &Json) -> f64 {
    json.as_f64().unwrap()
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(number).collect()
}

/// One session per cluster.
fn singles(json: &Json) -> Clusters {
    Clusters::new(numbers(json).iter().map(|v| vec![*v]).collect())
}

#[track_caller]
fn close(found: f64, expected: &Json, within: f64) {
    assert!((found - number(expected)).abs() < within, "{found} is not {expected}");
}

#[test]
fn t_intervals_and_detectable_differences_match_scipy() {
    for case in fixtures()["intervals"].as_array().unwrap() {
        let values = singles(&case["values"]);
        close(values.mean(), &case["mean"], EXACT);
        close(values.standard_error(), &case["sem"], EXACT);
        close(values.student().0, &case["lo"], EXACT);
        close(values.student().1, &case["hi"], EXACT);
        close(values.minimal_detectable(), &case["mde"], EXACT);
    }
}

#[test]
fn standard_error_over_clusters_matches_statsmodels() {
    let case = &fixtures()["clustered"];
    let clusters = case["clusters"].as_array().unwrap().iter().map(numbers).collect();
    let clusters = Clusters::new(clusters);
    close(clusters.mean(), &case["mean"], EXACT);
    close(clusters.standard_error(), &case["se"], EXACT);
}

/// Pairs of value and weight, with `less` subtracted from each value.
fn weighted(clusters: &Json, less: f64) -> Clusters {
    let pair = |pair: &Json| Weighted { value: number(&pair[0]) - less, weight: number(&pair[1]) };
    let cluster = |cluster: &Json| cluster.as_array().unwrap().iter().map(pair).collect();
    Clusters::weighted(clusters.as_array().unwrap().iter().map(cluster).collect())
}

#[test]
fn weighted_clusters_match_weighted_regression_in_statsmodels() {
    for case in fixtures()["weighted"].as_array().unwrap() {
        let clusters = weighted(&case["clusters"], 0.0);
        close(clusters.mean(), &case["mean"], EXACT);
        close(clusters.standard_error(), &case["se"], EXACT);
        close(clusters.student().0, &case["lo"], EXACT);
        close(clusters.student().1, &case["hi"], EXACT);
        close(clusters.minimal_detectable(), &case["mde"], EXACT);
        close(sign_flip(&weighted(&case["clusters"], 0.55), 1), &case["p_less_055"], EXACT);
    }
}

#[test]
fn weighted_bca_is_that_of_scipy() {
    let case = &fixtures()["weighted_bca"];
    let pairs = numbers(&case["values"]).into_iter().zip(numbers(&case["weights"]));
    let clusters = pairs.map(|(value, weight)| vec![Weighted { value, weight }]).collect();
    let clusters = Clusters::weighted(clusters);
    // 2,000 resamples against SciPy's 400,000.
    for seed in 0..3 {
        let bounds = clusters.bca(seed).unwrap();
        close(bounds.0, &case["lo"], 0.008);
        close(bounds.1, &case["hi"], 0.003);
    }
}

#[test]
fn pooled_facts_are_those_of_pandas() {
    for case in fixtures()["pooling"].as_array().unwrap() {
        let owners = case["owners"].as_array().unwrap();
        let figures = numbers(&case["facts"]).into_iter().zip(numbers(&case["shares"]));
        let clusters = pooled(owners.iter().zip(figures).map(|(owner, (facts, share))| {
            (owner.as_str().map(|name| ("set", name)), facts, share)
        }));
        close(clusters.mean(), &case["mean"], EXACT);
        let mut found: Vec<(f64, f64)> =
            clusters.groups().iter().map(|c| (c[0].value, c[0].weight)).collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let expected = case["clusters"].as_array().unwrap();
        assert_eq!(found.len(), expected.len());
        for ((value, weight), expected) in found.iter().zip(expected) {
            close(*value, &expected[0], EXACT);
            close(*weight, &expected[1], EXACT);
        }
    }
}

#[test]
fn bca_is_that_of_scipy() {
    let case = &fixtures()["bca"];
    let values = numbers(&case["values"]);
    let total: f64 = values.iter().sum();
    let left: Vec<f64> = values.iter().map(|v| (total - v) / (values.len() - 1) as f64).collect();
    let acceleration = crate::statistics::acceleration(&left).unwrap();
    close(acceleration, &case["acceleration"], EXACT);
    let resampled: Vec<f64> = (0..=1000).map(|i| 0.8 + 0.0002 * f64::from(i)).collect();
    let levels = adjusted_levels(&resampled, number(&case["estimate"]), acceleration).unwrap();
    for (at, level) in [levels.0, levels.1].into_iter().enumerate() {
        close(level, &case["levels"][at], EXACT);
        close(quantile(&resampled, level), &case["bounds"][at], EXACT);
    }
    // 2,000 resamples against SciPy's 400,000.
    for seed in 0..3 {
        let bounds = singles(&case["values"]).bca(seed).unwrap();
        close(bounds.0, &case["lo"], 0.008);
        close(bounds.1, &case["hi"], 0.003);
    }
}

#[test]
fn clopper_pearson_bounds_match_scipy_and_statsmodels() {
    for case in fixtures()["clopper_pearson"].as_array().unwrap() {
        let upper = clopper_pearson_upper(number(&case["hits"]), number(&case["n"]));
        close(upper, &case["upper"], EXACT);
    }
}

#[test]
fn cautious_bound_on_total_losses_equals_share_bound() {
    for case in fixtures()["cautious"].as_array().unwrap() {
        let n = number(&case["n"]) as usize;
        let lost = number(&case["hits"]) as usize;
        let values = (0..n).map(|at| vec![if at < lost { -1.0 } else { 0.0 }]).collect();
        // With 4,000 draws the standard error of a 5 % quantile is under 0.002.
        close(-cautious_lower(&Clusters::new(values), 1.0, 1), &case["upper"], 0.006);
    }
}

#[test]
fn holm_is_that_of_statsmodels() {
    for case in fixtures()["holm"].as_array().unwrap() {
        let corrected = holm(&numbers(&case["ps"]));
        for (found, expected) in corrected.iter().zip(case["corrected"].as_array().unwrap()) {
            close(*found, expected, EXACT);
        }
    }
}

#[test]
fn sign_flips_are_the_exact_permutations_of_scipy() {
    for case in fixtures()["sign_flips"].as_array().unwrap() {
        close(sign_flip(&singles(&case["values"]), 1), &case["p"], EXACT);
    }
}

#[test]
fn drawn_sign_flips_are_near_enumerated_ones() {
    // With sixteen clusters all patterns are enumerated; a seventeenth cluster
    // with difference zero changes no sum, but patterns are then drawn.
    let differences: Vec<Vec<f64>> =
        (0..16).map(|at| vec![f64::from(at % 5) * 0.03 - 0.03]).collect();
    let exact = sign_flip(&Clusters::new(differences.clone()), 1);
    let drawn = sign_flip(&Clusters::new([differences, vec![vec![0.0]]].concat()), 1);
    let error = (exact * (1.0 - exact) / 100_000.0).sqrt();
    assert!((exact - drawn).abs() < 4.0 * error + 1e-5, "{exact} against {drawn}");
}

#[test]
fn kappa_and_interval_match_statsmodels_and_jackknife() {
    let case = &fixtures()["kappa"];
    let squares: Vec<[u64; 4]> = case["questions"].as_array().unwrap().iter().map(square).collect();
    let (kappa, bounds) = bounds_of(&squares, 1);
    close(kappa.unwrap(), &case["kappa"], EXACT);
    let (lo, hi) = bounds.unwrap();
    close(lo, &case["lo"], EXACT);
    close(hi, &case["hi"], EXACT);
    // Answers to one question are similar: an interval that assumes
    // independence differs, but has the same order of size.
    let ratio = (hi - lo) / (2.0 * 1.96 * number(&case["asymptotic_se"]));
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

/// Numbers accepted by both, only by the label, only by the judge, by neither.
fn square(json: &Json) -> [u64; 4] {
    let fields: Vec<u64> = json.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    fields.try_into().unwrap()
}
