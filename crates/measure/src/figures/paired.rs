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
//! From six clusters on there is an interval, which describes sessions like these.
//!
//! Shares of the facts at cuts are paired by session: the
//! difference and both figures of a session are weighted by its number of
//! facts (how-it-works §46). The facts must be the same on both sides.

use std::collections::{BTreeMap, BTreeSet};

use crate::ALL;
use crate::figures::by_session::{BySession, Figure, UnitRow};
use crate::figures::spec::{Contribution, Pool, mean};
use crate::measures::spec_of;
use crate::statistics::pooling::{Owner, groups, pooled};
use crate::statistics::{Clusters, sign_flip};
use recap_core::model::{ComparedMeasure, Direction, catalogue};

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
            let of_dataset = self.run.sessions.iter().filter(|one| one.dataset == row.dataset);
            let each = of_dataset.zip(figures).filter_map(|(session, figure)| {
                let key = (session.dataset.as_str(), session.session.as_str());
                Some((key, Unit { cluster: session.cluster.as_deref(), figure: (*figure)? }))
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
}

/// A measure of two rows, paired by session.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// Both figures over the pairs, and what is known of their difference. Nothing is tested.
    pub compared: ComparedMeasure,
    /// Number of sessions with a figure in A only.
    pub only_a: u64,
    /// Numbers of sessions with a higher figure in B, and with a lower one.
    pub higher_lower: (u64, u64),
    /// Whether all pairs are equal.
    pub unchanged: bool,
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
pub fn paired(id: &str, a: &Side<'_>, b: &Side<'_>, seed: u64) -> Result<Paired, Unpaired> {
    let spec = spec_of(id).ok_or(Unpaired::NoPair)?;
    let (units_a, units_b) = (a.units(id), b.units(id));
    let both: Vec<Pair<'_, '_>> =
        (units_a.iter()).filter_map(|(key, a)| Some((*key, a, units_b.get(key)?))).collect();
    let Pooled { a, b, difference, clusters, scale } = match spec.pool {
        _ if both.is_empty() => return Err(Unpaired::NoPair),
        Pool::AtCuts => at_cuts(&both, id == OF_EXPOSED).ok_or(Unpaired::OtherFacts)?,
        pool => over_sessions(&both, pool).ok_or(Unpaired::NoPair)?,
    };
    let interval = clusters.confidence(seed).map(|(lo, hi)| (lo * scale, hi * scale));
    let sure = interval.is_some();
    let (higher, lower) = counts(&both);
    let lower_is_better = spec.measure.direction == Direction::Lower;
    let (better, worse) = if lower_is_better { (lower, higher) } else { (higher, lower) };
    let sessions = both.len() as u64;
    Ok(Paired {
        compared: ComparedMeasure {
            measure: id.to_owned(),
            a,
            b,
            difference,
            interval,
            dots: if sure { Vec::new() } else { clusters.means() },
            sessions,
            clusters: clusters.n() as u64,
            better,
            worse,
            alike: sessions - higher - lower,
            p: sure.then(|| sign_flip(&clusters, seed)),
            p_holm: None,
            mde: sure.then(|| clusters.minimal_detectable() * scale),
            outcome: None,
        },
        only_a: units_a.len() as u64 - sessions,
        higher_lower: (higher, lower),
        unchanged: both.iter().all(|(_, a, b)| a.figure == b.figure),
    })
}

/// Pools figures that are not weighted by facts; `None` if a figure is
/// undefined.
fn over_sessions(both: &[Pair<'_, '_>], pool: Pool) -> Option<Pooled> {
    let pooled =
        |side: fn(&Pair<'_, '_>) -> Figure| total(pool, &both.iter().map(side).collect::<Vec<_>>());
    let (a, b) = (pooled(|(_, a, _)| a.figure)?, pooled(|(_, _, b)| b.figure)?);
    // The part of a session: its figure, or its linearised value. The mean of the parts is the
    // figure, or for a sum the n-th part of it.
    let part = |figure: Figure, (all, mean_to): (f64, f64)| match figure {
        Figure::One(value) => value,
        Figure::Fraction(of, to) => all + (of - all * to) / mean_to,
    };
    let each =
        both.iter().map(|pair| (owner(pair), part(pair.2.figure, b) - part(pair.1.figure, a)));
    Some(Pooled {
        a: a.0,
        b: b.0,
        difference: b.0 - a.0,
        clusters: Clusters::new(groups(each)),
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
        let unit = |share: f64| (owner(pair), (to_a + to_b) / 2.0, share);
        in_a.push(unit(a));
        in_b.push(unit(b));
        less.push(unit(b - a));
    }
    let clusters = pooled(less);
    let (a, b) = (pooled(in_a).mean(), pooled(in_b).mean());
    Some(Pooled { a, b, difference: clusters.mean(), clusters, scale: 1.0 })
}

/// Project or developer of a pair, if known.
fn owner<'a>(((set, _), a, _): &Pair<'_, 'a>) -> Option<Owner<'a>> {
    a.cluster.map(|name| (*set, name))
}

/// The pooled figure of sessions, and the mean denominator of its fractions; `None` if it is
/// undefined. Those that are pooled by a maximum
/// or a percentile have no part of it, so that their mean is taken.
fn total(pool: Pool, figures: &[Figure]) -> Option<(f64, f64)> {
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
    figure.is_finite().then_some((figure, to))
}

/// Numbers of sessions with a higher figure in B, and with a lower one.
fn counts(both: &[Pair<'_, '_>]) -> (u64, u64) {
    let own = |figure: Figure| figure.number().unwrap_or(f64::NAN);
    let number = |is: fn(f64, f64) -> bool| {
        both.iter().filter(|(_, a, b)| is(own(b.figure), own(a.figure))).count() as u64
    };
    (number(|b, a| b > a), number(|b, a| b < a))
}

#[cfg(test)]
#[path = "paired_tests.rs"]
mod tests;
