//! The figures of a run by session, which pairs of runs are compared by.
//!
//! Replicates are averaged, as they are before pooling; for measures that are
//! pooled by a maximum, a median or a percentile each session has its own.
//! If a data set has too few clusters for an interval, some measures also keep
//! a figure for each request or question: chance can then be estimated within
//! these sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::ALL;
use super::aggregate::nearest_rank;
use super::billing_models::BillingModels;
use super::cluster::owner;
use super::gather::{CellIndex, Gathered, Series};
use super::measures::{MEASURES, RESAMPLED, is_at_cuts};
use super::pooling::{PooledUnit, pooled};
use super::session_fingerprint::{SessionFingerprint, fingerprint_of};
use super::spec::{Contribution, Figures, Pool, Spec, mean};
use super::statistics::{FEWEST_FOR_AN_INTERVAL, quantile};
use super::waiting::km_median;
use recap_core::model::{
    Manifest, Report, RowKind, RunResults, SESSION_MEASURES, SessionFacts, SessionRow, catalogue,
};

/// Every session of a run, and its figures in each row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BySession {
    /// The sessions, sorted by data set and id.
    pub sessions: Vec<SessionFingerprint>,
    /// The rows of each single data set; there is no row for all of them
    /// together.
    pub rows: Vec<UnitRow>,
}

/// A row of one data set, session by session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitRow {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the strategy without markup.
    pub strategy: String,
    /// Label of the window, as typed.
    pub window: String,
    /// Name of the billing model: [`recap_core::model::Bill::billed_as`].
    pub billed_as: String,
    /// The role of the row in the comparison.
    pub row_kind: RowKind,
    /// Number of cells that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// For each measure, one figure for each session of the data set, in
    /// their order.
    pub figures: BTreeMap<String, Vec<Option<Figure>>>,
    /// For each measure and session, a figure for each request or question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<Figures>>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The contribution of a session to a measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A figure that is no ratio.
    One(f64),
    /// Numerator and denominator of a ratio.
    Fraction(f64, f64),
}

impl Figure {
    /// The figure as a number; none of a ratio to nothing.
    fn number(self) -> Option<f64> {
        match self {
            Figure::One(x) => Some(x),
            Figure::Fraction(of, to) => (to != 0.0).then(|| of / to),
        }
    }
}

/// Significant digits of a figure, so that a file stays short and equal figures
/// stay equal.
const DIGITS: usize = 9;
/// Significant digits of a figure for one request or question.
const SERIES_DIGITS: usize = 6;

/// The figures of a measured run by session.
pub fn by_session(report: &Report) -> BySession {
    let mut rows = Vec::new();
    let taken: Result<(), Infallible> = each_unit_row(report, |row| {
        rows.push(row);
        Ok(())
    });
    let Ok(()) = taken;
    BySession { rows, sessions: report.sessions.iter().map(fingerprint_of).collect() }
}

/// Calls `take` with the rows of a run one by one: all of them at once need
/// much memory if there are many sessions.
///
/// # Errors
/// The first error that `take` returns.
pub fn each_unit_row<E>(
    report: &Report,
    mut take: impl FnMut(UnitRow) -> Result<(), E>,
) -> Result<(), E> {
    let facts = &report.sessions;
    let billing_models = BillingModels::of(&report.manifest, &report.results);
    let scene = CellIndex::new(facts, &report.results, &billing_models, &report.manifest);
    let gathered = scene.gather_with(&BY_REQUEST.map(|(_, of)| of));
    let known = known(report);
    for row in gathered.iter().filter(|row| row.key.dataset != ALL) {
        let figures = match known.get(&place(row)) {
            Some(known) => figures(facts, row, known),
            None => BTreeMap::new(),
        };
        take(unit_row(facts, row, figures))?;
    }
    Ok(())
}

/// The figures of each session whose replay reached its end, made as those of
/// the table are.
pub(super) fn session_rows(
    manifest: &Manifest,
    facts: &[SessionFacts],
    results: &RunResults,
) -> Vec<SessionRow> {
    let billing_models = BillingModels::of(manifest, results);
    let specs: Vec<&Spec> = (SESSION_MEASURES.iter())
        .filter_map(|measure| MEASURES.iter().find(|spec| spec.id() == measure.id))
        .collect();
    let mut rows = Vec::new();
    let gathered = CellIndex::new(facts, results, &billing_models, manifest).gather();
    for row in gathered.iter().filter(|row| row.key.dataset != ALL) {
        let parts: Vec<_> = specs.iter().map(|spec| (spec.pool, row.all_parts(spec))).collect();
        rows.extend(row.units.iter().map(|unit| {
            SessionRow {
                unit: *unit,
                strategy: row.key.strategy.clone(),
                window: row.key.window.clone(),
                billed_as: row.key.billing_model.clone(),
                figures: (parts.iter())
                    .map(|(pool, by_unit)| figure(*pool, by_unit.get(&(*unit as u32))?)?.number())
                    .collect(),
            }
        }));
    }
    rows
}

/// For each measure, one figure for each session of a row's data set.
type Figured = BTreeMap<String, Vec<Option<Figure>>>;

/// The figures of a row, for the measures that have one in a table.
fn figures(facts: &[SessionFacts], row: &Gathered, known: &BTreeSet<&str>) -> Figured {
    let specs = MEASURES.iter().filter(|spec| known.contains(spec.id()));
    let figures = specs.filter_map(|spec| {
        let found = row.parts(spec);
        if found.unknown.is_some() {
            return None;
        }
        let of = |unit: usize| figure(spec.pool, found.by_unit.get(&(unit as u32))?);
        Some((spec.id().to_owned(), units_of(facts, row).map(of).collect()))
    });
    figures.collect()
}

fn place(row: &Gathered) -> TableRowKey<'_> {
    (&row.key.dataset, &row.key.strategy, &row.key.window)
}

/// The sessions of a row's data set, by their position.
fn units_of<'f>(facts: &'f [SessionFacts], row: &'f Gathered) -> impl Iterator<Item = usize> + 'f {
    (0..facts.len()).filter(|unit| facts[*unit].dataset == row.key.dataset)
}

type TableRowKey<'a> = (&'a str, &'a str, &'a str);

/// The measures that have a figure, by row: in the table of its data set or in
/// that of all data sets.
fn known(report: &Report) -> BTreeMap<TableRowKey<'_>, BTreeSet<&str>> {
    let mut known: BTreeMap<TableRowKey<'_>, BTreeSet<&str>> = BTreeMap::new();
    let datasets: BTreeSet<&str> = report.sessions.iter().map(|f| f.dataset.as_str()).collect();
    for row in &report.rows {
        let of = |dataset: &str| row.dataset == ALL || row.dataset == dataset;
        for dataset in datasets.iter().filter(|dataset| of(dataset)) {
            let there = row.values.iter().filter(|(_, value)| value.number().is_some());
            let place = (*dataset, row.strategy.as_str(), row.window.as_str());
            known.entry(place).or_default().extend(there.map(|(id, _)| id.as_str()));
        }
    }
    known
}

fn unit_row(facts: &[SessionFacts], row: &Gathered, figures: Figured) -> UnitRow {
    let units: Vec<usize> = units_of(facts, row).collect();
    let few = clusters(units.iter().map(|unit| &facts[*unit])) < FEWEST_FOR_AN_INTERVAL;
    let kept = |id: &str| {
        figures.contains_key(id) && (few || few_at_cuts(facts, &units, figures.get(id), id))
    };
    let series = match row.row_kind == RowKind::Control {
        true => BTreeMap::new(),
        false => series(row, &units, kept),
    };
    UnitRow {
        dataset: row.key.dataset.clone(),
        strategy: row.key.strategy.clone(),
        window: row.key.window.clone(),
        billed_as: row.key.billing_model.clone(),
        row_kind: row.row_kind,
        failed: row.failed.len() as u64,
        figures,
        series,
    }
}

/// Whether the facts at cuts form too few clusters for an interval:
/// clusters with few facts are joined.
fn few_at_cuts(
    facts: &[SessionFacts],
    units: &[usize],
    figures: Option<&Vec<Option<Figure>>>,
    id: &str,
) -> bool {
    if !is_at_cuts(id) {
        return false;
    }
    let each = units.iter().zip(figures.into_iter().flatten());
    let known = each.filter_map(|(unit, figure)| match figure {
        Some(Figure::Fraction(_, to)) => {
            Some(PooledUnit { owner: owner(&facts[*unit]), facts: *to, share: 0.0 })
        }
        _ => None,
    });
    pooled(&known.collect::<Vec<_>>()).n() < FEWEST_FOR_AN_INTERVAL
}

/// Number of clusters among sessions; each session is one if one project
/// or none is known.
fn clusters<'a>(facts: impl Iterator<Item = &'a SessionFacts>) -> usize {
    let (mut names, mut unnamed) = (BTreeMap::<&str, usize>::new(), 0);
    for facts in facts {
        match facts.cluster.as_deref() {
            Some(name) => *names.entry(name).or_default() += 1,
            None => unnamed += 1,
        }
    }
    match (names.len(), unnamed) {
        (0, _) => unnamed,
        (1, 0) => names.values().sum(),
        (several, _) => unnamed + several,
    }
}

/// The figure of one session from those of its replicates.
fn figure(pool: Pool, parts: &[Contribution]) -> Option<Figure> {
    let (mut ones, mut tos, mut many) = (Vec::new(), Vec::new(), Vec::new());
    let mut waits = Vec::new();
    for part in parts {
        match part {
            Contribution::One(value) => ones.push(*value),
            Contribution::Fraction { of, to } => {
                ones.push(*of);
                tos.push(*to);
            }
            Contribution::Many(values) => many.extend(values),
            Contribution::Waits(of) => waits.extend(of),
            Contribution::Absent(_) | Contribution::Unknown(_) => {}
        }
    }
    many.sort_by(f64::total_cmp);
    let one = match pool {
        Pool::Mean | Pool::Sum => mean(ones),
        Pool::Max => ones.into_iter().reduce(f64::max),
        Pool::Median => (!many.is_empty()).then(|| quantile(&many, 0.5)),
        Pool::Percentile(percent) => nearest_rank(&many, percent),
        Pool::WaitMedian => km_median(&waits),
        Pool::RatioOfSums | Pool::AtCuts => {
            let (of, to) = (mean(ones)?, mean(tos)?);
            return Some(Figure::Fraction(rounded(of, DIGITS), rounded(to, DIGITS)));
        }
    };
    one.map(|one| Figure::One(rounded(one, DIGITS)))
}

/// A number rounded to this many significant digits.
fn rounded(x: f64, digits: usize) -> f64 {
    let text = format!("{x:.*e}", digits - 1);
    text.parse().expect("a number that was printed is one")
}

/// A figure for each request or question of each session, averaged over
/// replicates at each position, of the measures that are `kept`.
fn series(
    row: &Gathered,
    units: &[usize],
    kept: impl Fn(&str) -> bool,
) -> BTreeMap<String, Vec<Figures>> {
    let ids = RESAMPLED.iter().map(|resampled| resampled.id).chain(BY_REQUEST.map(|(id, _)| id));
    let own = ids.enumerate().filter(|(_, id)| kept(id));
    let own = own.map(|(at, id)| {
        let series = row.series(at);
        let of = |unit| series.get(unit).map(Vec::as_slice).unwrap_or_default();
        (id.to_owned(), units.iter().map(|unit| averaged(of(unit))).collect())
    });
    own.collect()
}

/// At each position the mean of the replicates that have a figure there.
fn averaged(replicates: &[Figures]) -> Figures {
    let places = replicates.iter().map(Vec::len).max().unwrap_or(0);
    let place = |at: usize| {
        let figures = replicates.iter().filter_map(|figures| figures.get(at).copied().flatten());
        mean(figures).map(|figure| rounded(figure, SERIES_DIGITS))
    };
    (0..places).map(place).collect()
}

/// Measures that are sums over requests.
const BY_REQUEST: [(&str, Series); 2] = [
    (catalogue::TOKENS_SENT.id, |sample| {
        sample.rows.requests.iter().map(|row| Some(row.tokens_sent as f64)).collect()
    }),
    (catalogue::COST_USD.id, |sample| {
        let dollars = sample.account().ok().and_then(|mut of| of.by_request().ok());
        dollars.unwrap_or_default().into_iter().map(Some).collect()
    }),
];

#[cfg(test)]
#[path = "by_session_tests.rs"]
mod tests;
