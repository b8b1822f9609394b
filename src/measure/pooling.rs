//! One figure from sessions of which some have many facts at stake and some
//! few (cuts §3).
//!
//! Invariant: the clusters, their weights and so the figure depend on the
//! numbers of facts and on the projects alone, never on what was kept.

use std::collections::{BTreeMap, BTreeSet};

use super::bootstrap::weighted_blocks;
use super::statistics::{Bounds, Clusters, Weighted};

/// Data set and name of a project or developer.
pub type Owner<'a> = (&'a str, &'a str);

/// The same of anything that a transcript has.
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

/// Fewest facts of a cluster of its own (cuts §3). Below, a single fact moves
/// the cluster's share by more than a fifth.
pub const FEWEST_FACTS: f64 = 5.0;
/// Facts from which on a cluster weighs no more (cuts §3). Of 30 facts, half
/// of them kept, chance alone moves the share by √(0.25 / 30) = 0.09; more facts
/// of the same session say little of what other sessions would show.
pub const MOST_WEIGHT: f64 = 30.0;
/// Fewest facts that are resampled, as many as pairs of two runs.
pub const FEWEST_RESAMPLED: usize = 10;

/// What was kept of a transcript's facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledUnit<'a> {
    /// Project or developer behind the transcript, where known.
    pub owner: Option<Owner<'a>>,
    /// Facts at stake.
    pub facts: f64,
    /// Share of them that was kept, or the difference of two shares of the
    /// same facts.
    pub share: f64,
}

/// A transcript's facts one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactsInOrder<'a> {
    /// Project or developer behind the transcript, where known.
    pub owner: Option<Owner<'a>>,
    /// 1 for each fact that was kept and 0 for each that was not, or the
    /// difference of two such values, in the order of the session.
    pub kept: &'a [f64],
}

/// The clusters, each with one value: the share kept of all its facts.
///
/// A cluster is a project where several are known, else a transcript. Those
/// with fewer than `FEWEST_FACTS` facts are one cluster together, however
/// many facts that makes. Each cluster weighs as many facts as it has, at most
/// `MOST_WEIGHT`. Transcripts without facts are left out.
pub fn pooled(units: &[PooledUnit<'_>]) -> Clusters {
    let clusters = arranged(units.iter().map(|unit| (unit.owner, unit.facts, unit.share)));
    let value = |cluster: Vec<(f64, f64)>| {
        let facts = number(&cluster);
        let kept: f64 = cluster.iter().map(|(facts, share)| facts * share).sum();
        vec![Weighted { value: kept / facts, weight: facts.min(MOST_WEIGHT) }]
    };
    Clusters::weighted(clusters.into_iter().map(value).collect())
}

/// The interval where [`pooled`] gives one or two clusters: a block bootstrap
/// over the facts of these very sessions, in their order. Sessions weigh what
/// they weigh there, so that both have the same mean. `None` with fewer than
/// `FEWEST_RESAMPLED` facts.
pub fn these_sessions(sessions: &[FactsInOrder<'_>], seed: u64) -> Option<Bounds> {
    if sessions.iter().map(|session| session.kept.len()).sum::<usize>() < FEWEST_RESAMPLED {
        return None;
    }
    let facts = |session: &FactsInOrder<'_>| session.kept.len() as f64;
    let clusters = arranged(sessions.iter().map(|one| (one.owner, facts(one), one.kept)));
    let weigh = |cluster: Vec<(f64, _)>| {
        let all = number(&cluster);
        cluster.into_iter().map(move |(facts, kept)| (facts / all * all.min(MOST_WEIGHT), kept))
    };
    let weighted: Vec<(f64, &[f64])> = clusters.into_iter().flat_map(weigh).collect();
    weighted_blocks(&weighted, seed)
}

/// Who is behind each transcript, its facts and what else is known of it, by
/// cluster; the small ones are put together and stand last.
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

/// Facts of a cluster.
fn number<T>(cluster: &[(f64, T)]) -> f64 {
    cluster.iter().map(|(facts, _)| facts).sum()
}

#[cfg(test)]
#[path = "pooling_tests.rs"]
mod tests;
