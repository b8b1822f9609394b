//! The figures of each session that settings of one strategy are compared by:
//! what is kept, dollars, and waits.

use std::collections::BTreeMap;

use super::billing_models::BillingModels;
use super::exams::Exams;
use super::gather::{ByUnit, CellIndex, Gathered};
use super::measures::MEASURES;
use super::sign_flip::sign_flip;
use super::spec::{Contribution, mean};
use super::statistics::{Bounds, Clusters, FEWEST_FOR_AN_INTERVAL};
use recap_core::model::{Cell, CellOutcome, Manifest, RunResults, SessionFacts, catalogue};

/// What a session tells of one strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFigures {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// Id of the strategy.
    pub strategy: String,
    /// Numerator and denominator of the measure of quality, averaged over
    /// repetitions; absent if no fact was needed.
    pub quality: Option<(f64, f64)>,
    /// Cost of the session in USD, averaged over repetitions; absent without a
    /// price.
    pub usd: Option<f64>,
    /// The wait for each compaction of the session, in milliseconds; absent if
    /// some time is not known.
    pub waits_ms: Option<Vec<f64>>,
    /// Why a cell or a cut failed, a sentence each.
    pub failed: Vec<String>,
}

/// The figures of a run with one window, by session and strategy, as its first
/// billing model is billed. `quality` is the id of a measure at cuts. Sessions are
/// sorted by their keys.
pub fn session_figures(
    manifest: &Manifest,
    facts: &[SessionFacts],
    results: &RunResults,
    quality: &str,
) -> Vec<SessionFigures> {
    let mut found: BTreeMap<Key, SessionFigures> = BTreeMap::new();
    for results in results.iter() {
        let exams = Exams::of(results.cuts(), manifest);
        for cell in results.cells() {
            let own = found.entry(key(cell)).or_insert_with(|| unknown(cell));
            own.failed.extend(exams.failures(cell));
            if let CellOutcome::Failed { error } = &cell.outcome {
                own.failed.push(error.clone());
            }
        }
    }
    let billing_models = BillingModels::of(manifest, results);
    let gathered = CellIndex::new(facts, results, &billing_models, manifest).gather();
    // The row of a data set and that of all say the same of a session.
    let first = |row: &&Gathered| row.key.billing_model == billing_models.names()[0];
    for row in gathered.iter().filter(first) {
        let parts = |id: &str| {
            let spec = MEASURES.iter().find(|spec| spec.id() == id);
            spec.map(|spec| row.all_parts(spec)).unwrap_or_default()
        };
        let (kept, usd) = (parts(quality), parts(catalogue::COST_USD.id));
        let waited = parts(catalogue::BLOCKING_MS_P95.id);
        for unit in &row.units {
            let of = |parts: &ByUnit| parts.get(&(*unit as u32)).cloned().unwrap_or_default();
            let place = &facts[*unit];
            let (dataset, session) = (place.dataset.clone(), place.session.clone());
            if let Some(own) = found.get_mut(&(dataset, session, row.key.strategy.clone())) {
                own.quality = fraction(&of(&kept));
                own.usd = one(&of(&usd));
                own.waits_ms = waits(&of(&waited));
            }
        }
    }
    found.into_values().collect()
}

/// The figures of a session and a strategy without a cell that reached its end.
fn unknown(cell: &Cell) -> SessionFigures {
    SessionFigures {
        dataset: cell.key.dataset.clone(),
        session: cell.key.session.clone(),
        strategy: cell.key.strategy.clone(),
        quality: None,
        usd: None,
        waits_ms: Some(Vec::new()),
        failed: Vec::new(),
    }
}

/// Data set, session and strategy.
type Key = (String, String, String);

fn key(cell: &Cell) -> Key {
    let of = &cell.key;
    (of.dataset.clone(), of.session.clone(), of.strategy.clone())
}

/// The mean numerator and the mean denominator.
fn fraction(parts: &[Contribution]) -> Option<(f64, f64)> {
    let both = parts.iter().filter_map(|part| match part {
        Contribution::Fraction { of, to } => Some((*of, *to)),
        _ => None,
    });
    let both: Vec<(f64, f64)> = both.collect();
    Some((mean(both.iter().map(|(of, _)| *of))?, mean(both.iter().map(|(_, to)| *to))?))
}

/// The mean of figures; `None` if one is unknown.
fn one(parts: &[Contribution]) -> Option<f64> {
    let known = parts.iter().map(|part| match part {
        Contribution::One(value) => Some(*value),
        _ => None,
    });
    mean(known.collect::<Option<Vec<f64>>>()?)
}

/// All waits; `None` if one is unknown.
fn waits(parts: &[Contribution]) -> Option<Vec<f64>> {
    let known = parts.iter().map(|part| match part {
        Contribution::Many(waits) => Some(waits.clone()),
        Contribution::Absent(_) => Some(Vec::new()),
        _ => None,
    });
    Some(known.collect::<Option<Vec<Vec<f64>>>>()?.concat())
}

/// A mean over clusters, with what is known of its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedMean {
    /// The weighted mean.
    pub mean: f64,
    /// Its standard error, robust to similarity within clusters; absent with a
    /// single cluster.
    pub standard_error: Option<f64>,
    /// Its 95 % interval, from six clusters on.
    pub bounds: Option<Bounds>,
    /// Two-sided p of the sign-flip test that it is zero, from six clusters on.
    pub p: Option<f64>,
    /// Number of clusters.
    pub clusters: usize,
}

/// The mean over clusters; `None` without clusters.
pub fn estimate(clusters: &Clusters, seed: u64) -> Option<WeightedMean> {
    let n = clusters.n();
    (n > 0).then(|| WeightedMean {
        mean: clusters.mean(),
        standard_error: (n > 1).then(|| clusters.standard_error()),
        bounds: clusters.confidence(seed).map(super::statistics::Confidence::bounds),
        p: (n >= FEWEST_FOR_AN_INTERVAL).then(|| sign_flip(clusters, seed)),
        clusters: n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{CellBuilder, cell, facts, manifest};
    use recap_core::model::{Absent, LatencySource};

    /// The figures of these cells of sessions of two requests.
    fn figures(ids: &[&str], cells: Vec<Cell>) -> Vec<SessionFigures> {
        let facts: Vec<_> = ids.iter().map(|id| facts(id).requests(&[300, 600]).build()).collect();
        let sessions = RunResults::new(cells, []);
        session_figures(&manifest(&["25%"]), &facts, &sessions, catalogue::FACTS_KEPT.id)
    }

    fn billed(id: &str, uncached: u64) -> CellBuilder {
        let one = [(uncached, 0, 0), (0, 0, 0)];
        let cell = cell(id, "x").sent(&[300, 400]);
        // As typed, `dear` comes last: billing models are sorted by name.
        cell.bill("dear", "dear", &one).bill("cheap", "cheap", &one)
    }

    #[test]
    fn session_has_first_model_bill_and_own_waits() {
        let timed = |id, uncached, ms| {
            billed(id, uncached).compaction(9, 1).called(ms, LatencySource::Live).build()
        };
        let found = figures(&["s", "t"], vec![timed("s", 300, 70.0), timed("t", 700, 90.0)]);
        let actual: Vec<_> =
            found.iter().map(|own| (own.session.as_str(), own.usd.unwrap())).collect();
        // 300 and 700 uncached at 1, and 20 of output at 5 a million.
        let expected = [("s", 0.000_4), ("t", 0.000_8)];
        for ((id, usd), (other, expected)) in actual.into_iter().zip(expected) {
            assert!(id == other && (usd - expected).abs() < 1e-12, "{id}: {usd}");
        }
        assert_eq!(found[0].waits_ms, Some(vec![70.0]));
        assert_eq!(found[1].waits_ms, Some(vec![90.0]));
        assert_eq!((found[0].quality, found[0].failed.len()), (None, 0));
    }

    #[test]
    fn session_with_failed_cell_has_reason_without_figures() {
        let found = figures(&["s"], vec![cell("s", "x").failed("it broke")]);
        let expected = SessionFigures {
            dataset: "d".into(),
            session: "s".into(),
            strategy: "x".into(),
            quality: None,
            usd: None,
            waits_ms: Some(Vec::new()),
            failed: vec!["it broke".into()],
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_single_cluster_has_no_standard_error() {
        let one = estimate(&Clusters::new(vec![vec![1.0, 3.0]]), 1).unwrap();
        assert_eq!((one.mean, one.standard_error, one.clusters), (2.0, None, 1));
        // Means of 1 and 5 around 3: √(2/1 · 8) / 2.
        let two = estimate(&Clusters::new(vec![vec![1.0], vec![5.0]]), 1).unwrap();
        assert_eq!((two.mean, two.standard_error, two.clusters), (3.0, Some(2.0), 2));
    }

    #[test]
    fn repetitions_are_averaged_and_unknowns_stay_unknown() {
        let half = Contribution::Fraction { of: 1.0, to: 2.0 };
        assert_eq!(
            fraction(&[half.clone(), Contribution::Fraction { of: 2.0, to: 2.0 }]),
            Some((1.5, 2.0))
        );
        assert_eq!(fraction(&[Contribution::Absent(Absent::NoFacts)]), None);
        assert_eq!(one(&[Contribution::One(1.0), Contribution::One(2.0)]), Some(1.5));
        assert_eq!(one(&[Contribution::One(1.0), Contribution::Unknown(Absent::SomePrice)]), None);
        assert_eq!(one(&[]), None);
        assert_eq!(
            waits(&[Contribution::Absent(Absent::NoCompaction), Contribution::Many(vec![5.0])]),
            Some(vec![5.0])
        );
        assert_eq!(waits(&[Contribution::Unknown(Absent::SomePrice)]), None);
    }

    #[test]
    fn mean_has_interval_and_test_from_six_clusters() {
        let clusters = |n: usize| Clusters::new(vec![vec![1.0]; n]);
        assert_eq!(estimate(&clusters(0), 1), None);
        let few = estimate(&clusters(5), 1).unwrap();
        assert_eq!((few.mean, few.standard_error, few.bounds, few.p), (1.0, Some(0.0), None, None));
        let six = estimate(&clusters(6), 1).unwrap();
        // Of the 64 patterns two are as extreme: all signs as seen, or reversed.
        assert_eq!((six.bounds, six.p), (Some(Bounds { lo: 1.0, hi: 1.0 }), Some(2.0 / 64.0)));
    }
}
