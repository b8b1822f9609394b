//! Compares a measure of one row in two runs, paired by session (reference
//! §7).
//!
//! The difference is B minus A, pooled as the measure is: mean over
//! sessions, sum, or ratio of sums. The interval of a ratio is that of its
//! linearised values (Cochran, "Sampling Techniques", 6.3), in which the
//! numerators and denominators of a session vary together. Measures that are
//! pooled by a maximum or a percentile are compared by the mean over
//! the sessions' own figures.
//!
//! From six clusters on the interval describes sessions like these. Below, it
//! is a moving-block bootstrap of the paired requests or questions, shifted to the
//! pooled difference, and describes these sessions only; measures without a
//! figure for each request or question have no such interval.
//!
//! Shares of the facts at cuts are paired by session: the
//! difference and both figures of a session are weighted by its number of
//! facts (how-it-works §46). The facts must be the same on both sides.

use recap_core::model::catalogue;
use std::collections::{BTreeMap, BTreeSet};

use super::ALL;
use super::by_session::{BySession, Figure, UnitRow};
use super::measures::spec_of;
use super::pooling::grouped;
use super::pooling::{self, FactsInOrder, Owner, PooledUnit, pooled};
use super::spec::{Contribution, Figures, Pool, mean};
use super::statistics::blocks;
use super::statistics::sign_flip;
use super::statistics::{Bounds, Clusters, FEWEST_FOR_AN_INTERVAL};

/// Smallest number of paired requests or questions that are resampled.
const FEWEST_PAIRS: usize = 10;

/// The share of the facts whose recorded text is no longer sent. These facts may
/// differ between two strategies at the same cuts. A session has the mean of
/// both numbers as its weight.
const OF_EXPOSED: &str = catalogue::CARRIED_SHARE.id;

/// One row of a run, over one data set or all of them.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    run: &'a BySession,
    rows: Vec<&'a UnitRow>,
}

impl<'a> Side<'a> {
    /// The row of a strategy at a window; `None` if the run has none. Without a
    /// billing model it is the row of the first one, since only bills differ between
    /// billing models.
    pub fn find(
        run: &'a BySession,
        dataset: &str,
        strategy: &str,
        window: &str,
        billed_as: Option<&str>,
    ) -> Option<Self> {
        let fits = |row: &&UnitRow| {
            (dataset == ALL || row.dataset == dataset)
                && row.strategy == strategy
                && row.window == window
                && billed_as.is_none_or(|billing_model| row.billed_as == billing_model)
        };
        let mut seen = BTreeSet::new();
        let rows = run.rows.iter().filter(fits).filter(|row| seen.insert(row.dataset.as_str()));
        let rows: Vec<&UnitRow> = rows.collect();
        (!rows.is_empty()).then_some(Side { run, rows })
    }

    /// The rows, one for each data set.
    pub fn rows(&self) -> &[&'a UnitRow] {
        &self.rows
    }

    /// The figures of each of its sessions for a measure.
    fn units(&self, id: &str) -> BTreeMap<Key<'a>, Unit<'a>> {
        let of_row = |row: &&'a UnitRow| {
            let row: &'a UnitRow = row;
            let figures = row.figures.get(id).map(Vec::as_slice).unwrap_or_default();
            let series = row.series.get(id);
            let of_dataset = self.run.sessions.iter().filter(|one| one.dataset == row.dataset);
            let each = of_dataset.zip(figures).enumerate();
            let each = each.filter_map(move |(at, (session, figure))| {
                let key = (session.dataset.as_str(), session.session.as_str());
                let series = series.and_then(|series| series.get(at));
                let cluster = session.cluster.as_deref();
                Some((key, Unit { cluster, figure: (*figure)?, series }))
            });
            each.collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(of_row).collect()
    }
}

type Key<'a> = (&'a str, &'a str);

/// The figures of a session for a measure.
struct Unit<'a> {
    cluster: Option<&'a str>,
    figure: Figure,
    series: Option<&'a Figures>,
}

/// The interval of a difference, by the sessions that it describes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Sessions like these: over six clusters or more.
    OverClusters(Bounds),
    /// These sessions only: their requests or questions were resampled.
    TheseSessions(Bounds),
}

impl Spread {
    /// The bounds of either interval.
    pub fn bounds(self) -> Bounds {
        match self {
            Spread::OverClusters(bounds) | Spread::TheseSessions(bounds) => bounds,
        }
    }
}

/// The difference of a measure between two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The figure in A, over the pairs.
    pub a: f64,
    /// The figure in B, over the pairs.
    pub b: f64,
    /// Figure in B minus figure in A.
    pub difference: f64,
    /// Number of sessions with a figure in both.
    pub sessions: usize,
    /// Number of clusters of these sessions.
    pub clusters: usize,
    /// Number of sessions with a figure in A only.
    pub only_a: usize,
    /// Numbers of sessions with a higher figure in B, a lower one, and an
    /// equal one.
    pub higher_lower_alike: (usize, usize, usize),
    /// Whether all pairs are equal, also request by request if that is known.
    pub unchanged: bool,
    /// Differences of the clusters, ascending.
    pub dots: Vec<f64>,
    /// The 95 % interval of the difference.
    pub spread: Option<Spread>,
    /// Two-sided p of the sign-flip test over clusters, from six on.
    pub p: Option<f64>,
    /// Smallest difference that is detected with a power of 0.8, from six
    /// clusters on.
    pub mde: Option<f64>,
}

/// Why a measure of two rows cannot be paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpaired {
    /// No session has a figure in both.
    NoPair,
    /// The cuts of some session have other facts: a cut failed in
    /// one of the runs, or the cuts are at other places.
    OtherFacts,
}

/// A session's key, and its figures in both runs.
type Pair<'p, 'a> = (Key<'a>, &'p Unit<'a>, &'p Unit<'a>);

/// Both figures of a measure, and their difference by cluster.
struct Pooled {
    a: f64,
    b: f64,
    difference: f64,
    clusters: Clusters,
    /// The factor between a mean over sessions and the figure.
    scale: f64,
}

/// Pairs a measure of two rows by session.
pub fn paired(id: &str, a: &Side<'_>, b: &Side<'_>, seed: u64) -> Result<Difference, Unpaired> {
    let pool = spec_of(id).ok_or(Unpaired::NoPair)?.pool;
    let (units_a, units_b) = (a.units(id), b.units(id));
    let both: Vec<Pair<'_, '_>> =
        (units_a.iter()).filter_map(|(key, a)| Some((*key, a, units_b.get(key)?))).collect();
    let n = both.len();
    let Pooled { a, b, difference, clusters, scale } = match pool {
        _ if n == 0 => return Err(Unpaired::NoPair),
        Pool::AtCuts => at_cuts(&both, id == OF_EXPOSED).ok_or(Unpaired::OtherFacts)?,
        _ => over_sessions(&both, pool).ok_or(Unpaired::NoPair)?,
    };
    let sure = clusters.n() >= FEWEST_FOR_AN_INTERVAL;
    let spread = match clusters.confidence(seed) {
        Some(confidence) => Some(Spread::OverClusters(scaled(confidence.bounds(), scale))),
        None => these_sessions(&both, pool, difference, seed).map(Spread::TheseSessions),
    };
    Ok(Difference {
        a,
        b,
        difference,
        sessions: n,
        clusters: clusters.n(),
        only_a: units_a.len() - n,
        higher_lower_alike: counts(&both),
        unchanged: both.iter().all(|(_, a, b)| a.figure == b.figure && alike(a.series, b.series)),
        dots: clusters.means(),
        spread,
        p: sure.then(|| sign_flip(&clusters, seed)),
        mde: sure.then(|| clusters.minimal_detectable() * scale),
    })
}

/// Pools figures that are not weighted by facts; `None` if a figure is
/// undefined.
fn over_sessions(both: &[Pair<'_, '_>], pool: Pool) -> Option<Pooled> {
    let pooled =
        |side: fn(&Pair<'_, '_>) -> Figure| total(pool, &both.iter().map(side).collect::<Vec<_>>());
    let (a, b) = (pooled(|(_, a, _)| a.figure)?, pooled(|(_, _, b)| b.figure)?);
    let each = both.iter().map(|pair| (owner(pair), b.part(pair.2.figure) - a.part(pair.1.figure)));
    Some(Pooled {
        a: a.figure,
        b: b.figure,
        difference: b.figure - a.figure,
        clusters: grouped(each),
        scale: if pool == Pool::Sum { both.len() as f64 } else { 1.0 },
    })
}

/// Pools shares of facts, weighted by their number (how-it-works §46). `None` if a
/// session has different facts in the two runs and that is not allowed.
fn at_cuts(both: &[Pair<'_, '_>], may_differ: bool) -> Option<Pooled> {
    let (mut in_a, mut in_b, mut less) = (Vec::new(), Vec::new(), Vec::new());
    for pair in both {
        let (Figure::Fraction(of_a, to_a), Figure::Fraction(of_b, to_b)) =
            (pair.1.figure, pair.2.figure)
        else {
            return None;
        };
        if to_a != to_b && !may_differ {
            return None;
        }
        let (a, b) = (of_a / to_a, of_b / to_b);
        let unit =
            |share: f64| PooledUnit { owner: owner(pair), facts: (to_a + to_b) / 2.0, share };
        in_a.push(unit(a));
        in_b.push(unit(b));
        less.push(unit(b - a));
    }
    let clusters = pooled(&less);
    let (a, b) = (pooled(&in_a).mean(), pooled(&in_b).mean());
    Some(Pooled { a, b, difference: clusters.mean(), clusters, scale: 1.0 })
}

/// Project or developer of a pair, if known.
fn owner<'a>(((set, _), a, _): &Pair<'_, 'a>) -> Option<Owner<'a>> {
    a.cluster.map(|name| (*set, name))
}

/// Whether two series are equal; they can only differ if both runs have them.
fn alike(a: Option<&Figures>, b: Option<&Figures>) -> bool {
    a.zip(b).is_none_or(|(a, b)| a == b)
}

/// A pooled figure, with what is needed to compute each session's part.
struct Total {
    figure: f64,
    /// The mean denominator of its fractions.
    to: f64,
}

impl Total {
    /// A session's part: its figure, or its linearised value. The mean of
    /// the parts is the figure, or for a sum the n-th part of it.
    fn part(&self, figure: Figure) -> f64 {
        match figure {
            Figure::One(value) => value,
            Figure::Fraction(of, to) => self.figure + (of - self.figure * to) / self.to,
        }
    }
}

/// The pooled figure of sessions; `None` if it is undefined. Those that are pooled by a maximum
/// or a percentile have no part of it, so that their mean is taken.
fn total(pool: Pool, figures: &[Figure]) -> Option<Total> {
    let to = mean(figures.iter().map(|figure| match figure {
        Figure::One(_) => 1.0,
        Figure::Fraction(_, to) => *to,
    }))?;
    let pool = match pool {
        Pool::Max | Pool::Percentile(_) => Pool::Mean,
        other => other,
    };
    let each = figures.iter().map(|figure| match *figure {
        Figure::One(value) => (None, Contribution::One(value)),
        Figure::Fraction(of, to) => (None, Contribution::Fraction { of, to }),
    });
    let figure = pool.over_sessions(each).ok()?;
    figure.is_finite().then_some(Total { figure, to })
}

/// Numbers of sessions with a higher figure in B, a lower one, and an equal
/// one.
fn counts(both: &[Pair<'_, '_>]) -> (usize, usize, usize) {
    let own = |figure: Figure| match figure {
        Figure::One(value) => value,
        Figure::Fraction(of, to) => of / to,
    };
    let (mut higher, mut lower) = (0, 0);
    for (_, a, b) in both {
        let (a, b) = (own(a.figure), own(b.figure));
        higher += usize::from(b > a);
        lower += usize::from(b < a);
    }
    (higher, lower, both.len() - higher - lower)
}

fn scaled(bounds: Bounds, scale: f64) -> Bounds {
    Bounds { lo: bounds.lo * scale, hi: bounds.hi * scale }
}

/// The block bootstrap of paired requests, questions or facts, shifted to the
/// difference.
fn these_sessions(both: &[Pair<'_, '_>], pool: Pool, difference: f64, seed: u64) -> Option<Bounds> {
    let mut sessions: Vec<Vec<f64>> = Vec::new();
    for (_, a, b) in both {
        let (a, b) = (a.series?, b.series?);
        if a.len() != b.len() {
            return None;
        }
        let pairs = a.iter().zip(b).filter_map(|(a, b)| Some((*b)? - (*a)?));
        sessions.push(pairs.collect());
    }
    if pool == Pool::AtCuts {
        let each = both.iter().zip(&sessions);
        let each = each.map(|(pair, kept)| FactsInOrder { owner: owner(pair), kept });
        return pooling::these_sessions(&each.collect::<Vec<_>>(), seed);
    }
    sessions.retain(|session| !session.is_empty());
    if sessions.iter().map(Vec::len).sum::<usize>() < FEWEST_PAIRS {
        return None;
    }
    if pool == Pool::Sum {
        // The mean over sessions of their sums, times the number of sessions,
        // is the sum.
        let times = sessions.len() as f64;
        for session in &mut sessions {
            let requests = session.len() as f64;
            session.iter_mut().for_each(|value| *value *= requests * times);
        }
    }
    let centre = mean(sessions.iter().map(|s| s.iter().sum::<f64>() / s.len() as f64))?;
    let bounds = blocks(&sessions, seed)?;
    let shift = difference - centre;
    Some(Bounds { lo: bounds.lo + shift, hi: bounds.hi + shift })
}

#[cfg(test)]
#[path = "paired_tests.rs"]
mod tests;
