//! Pools figures of sessions with very different numbers of facts
//! (how-it-works §46).
//!
//! Invariant: the clusters and their weights depend only on the numbers of
//! facts and on the projects, never on what was kept.

use std::collections::{BTreeMap, BTreeSet};

use super::bootstrap::weighted_blocks;
use super::statistics::{Bounds, Clusters, Weighted};

/// Data set and name of a project or developer.
pub type Owner<'a> = (&'a str, &'a str);

/// The same of anything that a session has.
pub fn groups<'a, T>(of: impl Iterator<Item = (Option<Owner<'a>>, T)>) -> Vec<Vec<T>> {
    let of: Vec<(Option<Owner<'a>>, T)> = of.collect();
    let owners: BTreeSet<Option<Owner<'a>>> = of.iter().map(|(owner, _)| *owner).collect();
    let several = owners.len() > 1;
    let mut groups: BTreeMap<(Option<Owner<'a>>, usize), Vec<T>> = BTreeMap::new();
    for (at, (owner, one)) in of.into_iter().enumerate() {
        let owner = owner.filter(|_| several);
        let alone = if owner.is_some() { 0 } else { at };
        groups.entry((owner, alone)).or_default().push(one);
    }
    groups.into_values().collect()
}

/// Fewest facts of a cluster of its own (how-it-works §46). Below, a single fact moves
/// the cluster's share by more than a fifth.
const FEWEST_FACTS: f64 = 5.0;
/// Smallest number of facts that are resampled, the same as for pairs of two
/// runs.
const FEWEST_RESAMPLED: usize = 10;

/// The share of a session's facts that was kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledUnit<'a> {
    /// Project or developer of the session, if known.
    pub owner: Option<Owner<'a>>,
    /// Number of facts.
    pub facts: f64,
    /// Share of the facts that was kept, or the difference of two shares of the
    /// same facts.
    pub share: f64,
}

/// The facts of a session one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactsInOrder<'a> {
    /// Project or developer of the session, if known.
    pub owner: Option<Owner<'a>>,
    /// 1 for each fact that was kept and 0 for each that was not, or the
    /// difference of two such values, in the order of the session.
    pub kept: &'a [f64],
}

/// The clusters, each with one value: the share kept of all its facts.
///
/// A cluster is a project if several are known, else a session. All clusters
/// with fewer than `FEWEST_FACTS` facts are joined to one, however many facts
/// it then has. The weight of a cluster is its number of facts, so that the mean is the share of
/// all facts. Sessions without facts are left out.
pub fn pooled(units: &[PooledUnit<'_>]) -> Clusters {
    let clusters = arranged(units.iter().map(|unit| (unit.owner, unit.facts, unit.share)));
    let value = |cluster: Vec<(f64, f64)>| {
        let facts = number(&cluster);
        let kept: f64 = cluster.iter().map(|(facts, share)| facts * share).sum();
        vec![Weighted { value: kept / facts, weight: facts }]
    };
    Clusters::weighted(clusters.into_iter().map(value).collect())
}

/// The interval if [`pooled`] gives one or two clusters: a block bootstrap over
/// the facts of these sessions, in their order. Sessions have the same weights
/// as in [`pooled`], so that both have the same mean. `None` with fewer than
/// `FEWEST_RESAMPLED` facts.
pub fn these_sessions(sessions: &[FactsInOrder<'_>], seed: u64) -> Option<Bounds> {
    if sessions.iter().map(|session| session.kept.len()).sum::<usize>() < FEWEST_RESAMPLED {
        return None;
    }
    let facts = |session: &FactsInOrder<'_>| session.kept.len() as f64;
    let clusters = arranged(sessions.iter().map(|one| (one.owner, facts(one), one.kept)));
    weighted_blocks(&clusters.into_iter().flatten().collect::<Vec<_>>(), seed)
}

/// The owner, the number of facts and the further data of each session, by
/// cluster; the small clusters are joined and come last.
fn arranged<'a, T>(units: impl Iterator<Item = (Option<Owner<'a>>, f64, T)>) -> Vec<Vec<(f64, T)>> {
    let with_facts = units.filter(|(_, facts, _)| *facts > 0.0);
    let groups = groups(with_facts.map(|(owner, facts, one)| (owner, (facts, one))));
    let (mut large, mut small) = (Vec::new(), Vec::new());
    for group in groups {
        match number(&group) < FEWEST_FACTS {
            true => small.extend(group),
            false => large.push(group),
        }
    }
    if !small.is_empty() {
        large.push(small);
    }
    large
}

/// Number of facts of a cluster.
fn number<T>(cluster: &[(f64, T)]) -> f64 {
    cluster.iter().map(|(facts, _)| facts).sum()
}

#[cfg(test)]
#[path = "pooling_tests.rs"]
mod tests;
