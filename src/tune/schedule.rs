//! When settings are compared, and how much error each comparison may take.

use crate::measure::FEWEST_FOR_AN_INTERVAL;

/// From one comparison to the next the number of clusters grows by half.
const GROWTH: f64 = 1.5;
/// Quality and dollars are tested separately.
const OBJECTIVES: f64 = 2.0;

/// After how many clusters settings are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Numbers of clusters, ascending; the last is all of them.
    pub looks: Vec<usize>,
    /// The level of a test of one objective at one look; `None` where there are
    /// too few clusters for any setting to be dropped.
    pub level: Option<f64>,
}

impl Schedule {
    /// The schedule for so many clusters. `false_drops` is the largest chance
    /// that any setting is dropped that should not be, over all looks and both
    /// objectives: each look and each objective has an equal part (Bonferroni).
    ///
    /// The first look is at the smallest number of clusters, six at least, at
    /// which the test of signs can reach its level: pairs are tested in both
    /// directions, so no p is below `2 · 2⁻ⁿ`.
    pub fn new(clusters: usize, false_drops: f64) -> Self {
        for first in FEWEST_FOR_AN_INTERVAL..=clusters {
            let looks = looks(first, clusters);
            let level = false_drops / (OBJECTIVES * looks.len() as f64);
            if 2.0 * 0.5_f64.powi(first as i32) <= level {
                return Self { looks, level: Some(level) };
            }
        }
        Self { looks: vec![clusters], level: None }
    }
}

fn looks(first: usize, clusters: usize) -> Vec<usize> {
    let mut looks = vec![first];
    let mut last = first;
    while last < clusters {
        last = ((last as f64 * GROWTH).ceil() as usize).min(clusters);
        looks.push(last);
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_grow_by_half_and_share_the_error() {
        // 0.05 / (2 · 4) = 0.00625: at eight 2 · 2⁻⁸ = 0.0078, at nine 0.0039.
        let schedule = Schedule::new(24, 0.05);
        assert_eq!(schedule.looks, [9, 14, 21, 24]);
        assert_eq!(schedule.level, Some(0.05 / 8.0));
        // Six and seven would be two looks with 0.0125 each, and 2 · 2⁻⁶ = 0.031.
        assert_eq!(Schedule::new(7, 0.05), Schedule { looks: vec![7], level: Some(0.025) });
        assert_eq!(Schedule::new(6, 0.1), Schedule { looks: vec![6], level: Some(0.05) });
    }

    #[test]
    fn with_too_few_clusters_nothing_is_dropped() {
        assert_eq!(Schedule::new(5, 0.05), Schedule { looks: vec![5], level: None });
        assert_eq!(Schedule::new(6, 0.05), Schedule { looks: vec![6], level: None });
    }
}
