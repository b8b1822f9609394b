//! Which strategies of one table another one beats in quality, dollars and waiting
//! together (Pareto's frontier in three ways).

use crate::block;
use recap_core::model::{Primary, RowKind, StrategyRow, catalogue};

/// Quality, dollars, milliseconds; where known.
pub(super) type Axes = [Option<f64>; 3];

/// Which way is better: more quality, fewer dollars, less waiting.
const MORE_IS_BETTER: [bool; 3] = [true, false, false];

/// Whether `a` is as good as `b` in every axis in use and better in one. What
/// is unknown of either may be anything, so then neither beats the other.
fn beats(a: &Axes, b: &Axes, used: [bool; 3]) -> bool {
    let mut better = false;
    for at in (0..3).filter(|&at| used[at]) {
        let (Some(a), Some(b)) = (a[at], b[at]) else { return false };
        let (a, b) = if MORE_IS_BETTER[at] { (a, b) } else { (-a, -b) };
        if a < b {
            return false;
        }
        better |= a > b;
    }
    better
}

/// Axes that at least one candidate has: one that nobody has tells nobody apart.
fn used(all: &[Option<Axes>]) -> [bool; 3] {
    [0, 1, 2].map(|at| all.iter().flatten().any(|axes| axes[at].is_some()))
}

/// For every row the first in order that beats it, if any does. Rows without
/// axes compete with nobody.
pub(super) fn beaten(all: &[Option<Axes>]) -> Vec<Option<usize>> {
    let used = used(all);
    let by = |b: &Axes| all.iter().position(|a| a.is_some_and(|a| beats(&a, b, used)));
    all.iter().map(|b| b.as_ref().and_then(by)).collect()
}

/// What competes: ranked rows with a figure. Offline summaries measure something else, a
/// control is no choice, and what a provider would refuse is none either.
pub(super) fn axes(row: &StrategyRow, primary: Primary) -> Option<Axes> {
    if row.row_kind != RowKind::Ranked || block::overflows(row).is_some() {
        return None;
    }
    let quality = row.number(primary.measure())?;
    // Who never compacts lets nobody wait.
    let never = row.number(catalogue::COMPACTIONS) == Some(0.0);
    let wait = row.number(catalogue::BLOCKING_MS_P95).or(never.then_some(0.0));
    Some([Some(quality), row.number(catalogue::COST_USD), wait])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(quality: f64, dollars: f64, wait: f64) -> Option<Axes> {
        Some([Some(quality), Some(dollars), Some(wait)])
    }

    #[test]
    fn row_is_beaten_only_in_all_three_ways() {
        let all = [
            at(0.9, 5.0, 0.0),
            at(0.8, 5.0, 0.0),   // as dear, as quick, worse: the first beats it
            at(0.8, 4.0, 0.0),   // cheaper than the first
            at(0.7, 4.0, 100.0), // the third beats it; the first is dearer
            at(0.95, 9.0, 900.0),
        ];
        assert_eq!(beaten(&all), [None, Some(0), None, Some(2), None]);
    }

    #[test]
    fn twins_do_not_beat_each_other() {
        assert_eq!(beaten(&[at(0.5, 1.0, 2.0), at(0.5, 1.0, 2.0)]), [None, None]);
    }

    #[test]
    fn unknown_beats_nothing_and_is_not_beaten() {
        let unpriced = Some([Some(0.1), None, Some(9.0)]);
        let all = [at(0.9, 1.0, 0.0), unpriced, at(0.1, 2.0, 9.0)];
        assert_eq!(beaten(&all), [None, None, Some(0)]);
    }

    #[test]
    fn an_axis_that_nobody_has_is_left_out() {
        let two = |quality, wait| Some([Some(quality), None, Some(wait)]);
        assert_eq!(beaten(&[two(0.9, 1.0), two(0.8, 2.0), None]), [None, Some(0), None]);
        assert_eq!(used(&[two(0.9, 1.0), None]), [true, false, true]);
    }
}
