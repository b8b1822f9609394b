//! Pools cells into rows: the contributions of the cells to a measure are
//! grouped by row and session, and pooled by the measure's rule.
//!
//! Invariant: a cell without a figure for a measure is left out; it changes no
//! mean, sum, maximum or median.

use std::collections::BTreeMap;

use super::gather::{ByUnit as Row, Contributions, Gathered};
use super::measures::{MEASURES, RESAMPLED};
use super::pooling::{self, Owner, PooledUnit};
use super::spec::{Contribution, Pool, mean};
use super::statistics::quantile;
use super::waiting::km_median;
use recap_core::model::Absent;

/// Number of a row, and id of a measure.
type Key = (u32, &'static str);

/// A figure of each session, by its position in the facts.
pub(super) type ByUnit = BTreeMap<usize, f64>;

/// The figures of rows, and of their sessions.
#[derive(Default)]
pub(super) struct Pooled {
    rows: BTreeMap<Key, f64>,
    /// Only of measures with an interval.
    units: BTreeMap<Key, ByUnit>,
    /// Facts of the sessions, for [`Pool::AtCuts`].
    facts: BTreeMap<Key, ByUnit>,
    /// The first reason found why a cell has no figure.
    reasons: BTreeMap<Key, Absent>,
    /// The first reason found why a figure of a cell is unknown.
    unknown: BTreeMap<Key, Absent>,
}

/// The figures of no session.
static NONE: ByUnit = ByUnit::new();

impl Pooled {
    /// The figure of a row.
    pub fn row(&self, row: u32, id: &'static str) -> Option<f64> {
        self.rows.get(&(row, id)).copied()
    }

    /// The figures of a row's sessions, averaged over replicates; empty for
    /// measures without an interval.
    pub fn units(&self, row: u32, id: &'static str) -> &ByUnit {
        self.units.get(&(row, id)).unwrap_or(&NONE)
    }

    /// The facts behind those figures; empty for measures that are not
    /// pooled by them.
    pub fn facts(&self, row: u32, id: &'static str) -> &ByUnit {
        self.facts.get(&(row, id)).unwrap_or(&NONE)
    }

    /// Why a row has no figure, according to the first of its cells.
    pub fn reason(&self, row: u32, id: &'static str) -> Option<&Absent> {
        self.reasons.get(&(row, id))
    }

    /// Why a figure of some cell of a row is unknown.
    pub fn unknown(&self, row: u32, id: &'static str) -> Option<&Absent> {
        self.unknown.get(&(row, id))
    }
}

/// The project or developer of each session, if known.
type Owners<'a> = [Option<Owner<'a>>];

/// Pools the contributions of the cells to each row. Cells are in the order of
/// their keys, so that sums are always computed in the same order.
pub fn pool(gathered: &[Gathered], owners: &Owners<'_>) -> Pooled {
    let mut pooled = Pooled::default();
    for (row, gathered) in (0..).zip(gathered) {
        for spec in MEASURES.iter() {
            pooled.add((row, spec.id()), spec.pool, gathered.parts(spec), owners);
        }
    }
    pooled
}

impl Pooled {
    fn add(&mut self, key: Key, pool: Pool, found: Contributions, owners: &Owners<'_>) {
        let Contributions { by_unit: units, absent, unknown } = found;
        self.reasons.extend(absent.map(|reason| (key, reason)));
        self.unknown.extend(unknown.map(|reason| (key, reason)));
        if pool == Pool::AtCuts {
            return self.at_cuts(key, &units, owners);
        }
        if RESAMPLED.iter().any(|resampled| resampled.id == key.1) {
            let each = units.iter().filter_map(|(at, parts)| Some((*at as usize, one(parts)?)));
            self.units.insert(key, each.collect());
        }
        if let Some(figure) = figure(pool, &units) {
            self.rows.insert(key, figure);
        }
    }

    /// Pools shares of facts (how-it-works §46).
    fn at_cuts(&mut self, key: Key, units: &Row, owners: &Owners<'_>) {
        let each = units.iter().map(|(unit, parts)| {
            let (of, to) = (sum(parts, numerator), sum(parts, denominator));
            let replicates = parts.iter().filter_map(denominator).count();
            let owner = owners.get(*unit as usize).copied().flatten();
            let pooled = PooledUnit { owner, facts: to / replicates as f64, share: of / to };
            (*unit as usize, pooled)
        });
        let (at, each): (Vec<usize>, Vec<PooledUnit<'_>>) = each.unzip();
        if each.is_empty() {
            return;
        }
        self.rows.insert(key, pooling::pooled(&each).mean());
        if RESAMPLED.iter().any(|resampled| resampled.id == key.1) {
            let by_unit =
                |of: fn(&PooledUnit<'_>) -> f64| at.iter().copied().zip(each.iter().map(of));
            self.units.insert(key, by_unit(|unit| unit.share).collect());
            self.facts.insert(key, by_unit(|unit| unit.facts).collect());
        }
    }
}

/// The figure of a row; `None` if no session has one.
fn figure(pool: Pool, units: &Row) -> Option<f64> {
    let parts = || units.values().flatten();
    let listed = || {
        let mut listed: Vec<f64> = parts().flat_map(many).copied().collect();
        listed.sort_by(f64::total_cmp);
        listed
    };
    match pool {
        Pool::Mean => mean(units.values().filter_map(|parts| one(parts))),
        Pool::Sum => {
            let each: Vec<f64> = units.values().filter_map(|parts| one(parts)).collect();
            (!each.is_empty()).then(|| each.iter().sum())
        }
        Pool::Max => parts().filter_map(numerator).reduce(f64::max),
        Pool::RatioOfSums => {
            let each = |of: fn(&Contribution) -> Option<f64>| {
                units.values().filter_map(move |parts| mean(parts.iter().filter_map(of)))
            };
            each(denominator).next()?;
            Some(each(numerator).sum::<f64>() / each(denominator).sum::<f64>())
        }
        Pool::Median => Some(listed()).filter(|all| !all.is_empty()).map(|all| quantile(&all, 0.5)),
        Pool::Percentile(percent) => nearest_rank(&listed(), percent),
        Pool::WaitMedian => {
            let waits: Vec<(f64, bool)> = parts().flat_map(waits).copied().collect();
            km_median(&waits)
        }
        Pool::AtCuts => None,
    }
}

/// That percentile of sorted figures, by nearest rank.
pub(super) fn nearest_rank(sorted: &[f64], percent: u8) -> Option<f64> {
    let rank = (sorted.len() * usize::from(percent)).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// The figure of a session: the mean over its replicates.
fn one(parts: &[Contribution]) -> Option<f64> {
    mean(parts.iter().filter_map(numerator))
}

fn sum(parts: &[Contribution], of: fn(&Contribution) -> Option<f64>) -> f64 {
    parts.iter().filter_map(of).sum()
}

fn numerator(parts: &Contribution) -> Option<f64> {
    match parts {
        Contribution::One(value) | Contribution::Fraction { of: value, .. } => Some(*value),
        _ => None,
    }
}

fn denominator(parts: &Contribution) -> Option<f64> {
    match parts {
        Contribution::Fraction { to, .. } => Some(*to),
        _ => None,
    }
}

fn many(parts: &Contribution) -> &[f64] {
    match parts {
        Contribution::Many(values) => values,
        _ => &[],
    }
}

fn waits(parts: &Contribution) -> &[(f64, bool)] {
    match parts {
        Contribution::Waits(waits) => waits,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with these contributions to one measure: row, session, parts.
    fn pooled(id: &'static str, of: &[(u32, u32, Contribution)]) -> Pooled {
        let pool = MEASURES.iter().find(|spec| spec.id() == id).unwrap().pool;
        let mut rows: BTreeMap<u32, Contributions> = BTreeMap::new();
        for (row, unit, parts) in of.iter().cloned() {
            rows.entry(row).or_default().add(unit, parts);
        }
        let mut pooled = Pooled::default();
        rows.into_iter().for_each(|(row, found)| pooled.add((row, id), pool, found, &[]));
        pooled
    }

    #[test]
    fn replicates_are_averaged_before_sessions() {
        // Session 0 was replayed twice (0.2, 0.4), session 1 once (0.9):
        // (0.3 + 0.9) / 2 = 0.6, not (0.2 + 0.4 + 0.9) / 3 = 0.5.
        let id = "reference_recall";
        let of = [
            (0, 0, Contribution::One(0.2)),
            (0, 0, Contribution::One(0.4)),
            (0, 1, Contribution::One(0.9)),
        ];
        let pooled = pooled(id, &of);
        assert!((pooled.row(0, id).unwrap() - 0.6).abs() < 1e-12);
        assert!((pooled.units(0, id)[&0] - 0.3).abs() < 1e-12);
    }

    #[test]
    fn missing_scores_never_change_mean_or_sum() {
        let id = "reference_recall";
        let absent = || Contribution::Absent(Absent::NoReferences);
        let recall = pooled(id, &[(0, 0, Contribution::One(0.5)), (0, 1, absent())]);
        assert_eq!((recall.row(0, id), recall.row(1, id)), (Some(0.5), None));
        assert_eq!(recall.reason(0, id), Some(&Absent::NoReferences));
        let id = "refetch_tokens";
        let unknown = Contribution::Unknown(Absent::SomePrice);
        let sum = pooled(id, &[(1, 0, absent()), (2, 0, unknown)]);
        assert_eq!(sum.row(1, id), None, "a sum of nothing is not zero");
        assert_eq!(sum.unknown(2, id), Some(&Absent::SomePrice));
    }

    #[test]
    fn tokens_are_a_ratio_of_sums() {
        // 1 − (10 + 900) / (100 + 1,000) = 190 / 1,100, not (0.9 + 0.1) / 2.
        let id = "token_savings";
        let fraction = |of, to| Contribution::Fraction { of, to };
        let pooled = pooled(id, &[(0, 0, fraction(90.0, 100.0)), (0, 1, fraction(100.0, 1_000.0))]);
        assert!((pooled.row(0, id).unwrap() - 190.0 / 1_100.0).abs() < 1e-12);
    }

    #[test]
    fn median_covers_all_values_and_maximum_every_cell() {
        let many = |values: &[f64]| Contribution::Many(values.to_vec());
        let ratios = [(0, 0, many(&[0.1, 0.2])), (0, 1, many(&[0.9])), (1, 0, many(&[0.2, 0.1]))];
        let pooled_ratios = pooled("compression_ratio", &ratios);
        assert_eq!(pooled_ratios.row(0, "compression_ratio"), Some(0.2));
        // The median of an even number of values is half way between the two in
        // the middle.
        assert!((pooled_ratios.row(1, "compression_ratio").unwrap() - 0.15).abs() < 1e-12);
        let peaks = pooled(
            "peak_tokens",
            &[(1, 0, Contribution::One(7.0)), (1, 0, Contribution::One(9.0))],
        );
        assert_eq!(peaks.row(1, "peak_tokens"), Some(9.0));
    }

    #[test]
    fn percentile_is_nearest_rank_figure_over_all_cells() {
        // Of 21 waits 0…20 the 95th percentile is the 20th (0.95 · 21 = 19.95),
        // the 50th the 11th (10.5).
        let waits = |from: u32, to| Contribution::Many((from..to).map(f64::from).collect());
        let p95 = pooled("blocking_ms_p95", &[(0, 0, waits(10, 21)), (0, 1, waits(0, 10))]);
        assert_eq!(p95.row(0, "blocking_ms_p95"), Some(19.0));
        let p50 = pooled("blocking_ms_p50", &[(0, 0, waits(0, 21))]);
        assert_eq!(p50.row(0, "blocking_ms_p50"), Some(10.0));
    }

    #[test]
    fn no_cell_gives_no_row() {
        assert_eq!(pool(&[], &[]).row(0, "requests"), None);
    }

    #[test]
    fn cut_shares_average_replicates_and_weight_by_facts() {
        // Of ten facts 3 and 5 are kept in two replicates, of twenty 10:
        // (10 · 0.4 + 20 · 0.5) / 30.
        let id = "facts_kept";
        let of = |of, to| Contribution::Fraction { of, to };
        let found =
            pooled(id, &[(0, 0, of(3.0, 10.0)), (0, 0, of(5.0, 10.0)), (0, 7, of(10.0, 20.0))]);
        assert!((found.row(0, id).unwrap() - 14.0 / 30.0).abs() < 1e-12);
        assert_eq!(*found.units(0, id), ByUnit::from([(0, 0.4), (7, 0.5)]));
        assert_eq!(*found.facts(0, id), ByUnit::from([(0, 10.0), (7, 20.0)]));
        assert_eq!(found.units(1, id), &NONE);
    }

    #[test]
    fn only_measures_with_intervals_keep_session_figures() {
        for (id, parts) in [
            ("recency_gain", Contribution::One(0.5)),
            ("tokens_sent", Contribution::One(7.0)),
            ("irrecoverable_at_cut", Contribution::Fraction { of: 1.0, to: 7.0 }),
        ] {
            let found = pooled(id, &[(0, 0, parts)]);
            assert!(found.row(0, id).is_some() && found.units(0, id).is_empty(), "{id}");
            assert!(found.facts(0, id).is_empty(), "{id}");
        }
    }
}
