//! Groups sessions into clusters, the independent observations (the session itself, or its project
//! or developer), and pools figures of sessions with very different numbers of facts (how-it-works
//! §46).
//!
//! Invariant: the clusters and their weights depend only on the numbers of
//! facts and on the projects, never on what was kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::statistics::{Clusters, Weighted};
use recap_core::model::{SIDECHAIN, SessionFacts};

/// Data set and name of a project or developer.
pub type Owner<'a> = (&'a str, &'a str);

/// What sessions have, each with its project or developer if known, grouped by project or
/// developer where several are known. With one only, nothing could be resampled: the session is
/// the unit then, and a warning says that there is one project.
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

/// Sessions that stay together, each by what stands for it: those of a project, if projects are
/// asked for and it names one, else a session with its forks and subagents.
pub fn families<'a, T>(
    sessions: impl Iterator<Item = (&'a SessionFacts, T)>,
    by_project: bool,
) -> Vec<Vec<T>> {
    let mut families: BTreeMap<(bool, &str, &str), Vec<T>> = BTreeMap::new();
    for (own, one) in sessions {
        let family = own.receipt.as_ref().and_then(|receipt| receipt.family.as_deref());
        let shared = own.cluster.as_deref().filter(|_| by_project).or(family);
        let (parent, _) = own.session.split_once(SIDECHAIN).unwrap_or((&own.session, ""));
        let place = shared.map_or((false, &*own.dataset, parent), |name| (true, "", name));
        families.entry(place).or_default().push(one);
    }
    families.into_values().collect()
}

/// Fewest facts of a cluster of its own (how-it-works §46). Below, a single fact moves
/// the cluster's share by more than a fifth.
const FEWEST_FACTS: f64 = 5.0;

/// Project or developer of a session, if known, its number of facts, and the share of them that
/// was kept, or the difference of two shares of the same facts.
pub type FactsKept<'a> = (Option<Owner<'a>>, f64, f64);

/// The clusters, each with one value: the share kept of all its facts.
///
/// A cluster is a project if several are known, else a session. All clusters
/// with fewer than `FEWEST_FACTS` facts are joined to one, however many facts
/// it then has. The weight of a cluster is its number of facts, so that the mean is the share of
/// all facts. Sessions without facts are left out.
pub fn pooled<'a>(sessions: impl IntoIterator<Item = FactsKept<'a>>) -> Clusters {
    let clusters = arranged(sessions.into_iter());
    let value = |cluster: Vec<(f64, f64)>| {
        let facts = number(&cluster);
        let kept: f64 = cluster.iter().map(|(facts, share)| facts * share).sum();
        vec![Weighted { value: kept / facts, weight: facts }]
    };
    Clusters::weighted(clusters.into_iter().map(value).collect())
}

/// The owner, the number of facts and the further data of each session, by
/// cluster; the small clusters are joined and come last.
fn arranged<'a, T>(units: impl Iterator<Item = (Option<Owner<'a>>, f64, T)>) -> Vec<Vec<(f64, T)>> {
    let with_facts = units.filter(|(_, facts, _)| *facts > 0.0);
    let groups = groups(with_facts.map(|(owner, facts, one)| (owner, (facts, one))));
    let (mut large, mut small) = (Vec::new(), Vec::new());
    for group in groups {
        if number(&group) < FEWEST_FACTS {
            small.extend(group);
        } else {
            large.push(group);
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

/// Project or developer of a session, if known.
pub fn owner(facts: &SessionFacts) -> Option<Owner<'_>> {
    facts.cluster.as_deref().map(|name| (facts.dataset.as_str(), name))
}

/// The noun for one cluster of these sessions. Only projects are called
/// independent: several sessions of one project are not.
pub fn noun<'a>(facts: impl Iterator<Item = &'a SessionFacts>) -> &'static str {
    let owners: Vec<Option<Owner<'a>>> = facts.map(owner).collect();
    let distinct: BTreeSet<&Option<Owner<'a>>> = owners.iter().collect();
    match (distinct.len(), distinct.contains(&None)) {
        (0..=1, true) => "session",
        (0..=1, false) if owners.len() <= 1 => "session",
        (0..=1, false) => "session of one project",
        (_, true) => "session or project",
        (_, false) => "independent project",
    }
}

/// What sessions score in a measure, by their position in the facts: the figure, replicates
/// averaged, and the facts behind it where it is weighted by them.
pub type Scores = BTreeMap<usize, (f64, Option<f64>)>;

/// Groups shares of facts, weighted by the number of facts (how-it-works §46);
/// without such numbers every session has the same weight.
pub fn weighed(facts: &[SessionFacts], scores: &Scores) -> Clusters {
    if scores.values().any(|(_, of)| of.is_some()) {
        let each = scores.iter().map(|(at, (share, of))| (owner(&facts[*at]), *of, *share));
        return pooled(each.filter_map(|(owner, of, share)| Some((owner, of?, share))));
    }
    let each = scores.iter().map(|(at, (value, _))| (owner(&facts[*at]), *value));
    Clusters::new(groups(each))
}

/// Differences of two rows over the sessions that both have.
pub fn paired(own: &Scores, other: &Scores) -> Scores {
    let each = own.iter();
    each.filter_map(|(at, (value, of))| Some((*at, (value - other.get(at)?.0, *of)))).collect()
}

#[cfg(test)]
#[path = "pooling_tests.rs"]
mod tests;

#[cfg(test)]
mod cluster_tests {
    use super::*;
    use crate::testkit::facts;

    fn named(names: &[Option<&str>]) -> Vec<SessionFacts> {
        let one = |(at, name): (usize, &Option<&str>)| match name {
            Some(name) => facts(&format!("s{at}")).cluster(name).build(),
            None => facts(&format!("s{at}")).build(),
        };
        names.iter().enumerate().map(one).collect()
    }

    #[test]
    fn only_sessions_of_several_projects_are_called_independent() {
        let (p, q) = (Some("p"), Some("q"));
        for (names, expected) in [
            (&[][..], "session"),
            (&[None][..], "session"),
            (&[None, None][..], "session"),
            (&[p][..], "session"),
            (&[p, p][..], "session of one project"),
            (&[p, q][..], "independent project"),
            (&[p, p, q][..], "independent project"),
            (&[p, None][..], "session or project"),
            (&[p, q, None][..], "session or project"),
        ] {
            assert_eq!(noun(named(names).iter()), expected, "{names:?}");
        }
    }

    #[test]
    fn shares_are_weighted_by_facts_or_else_equally() {
        let facts = named(&[Some("p"), Some("p"), Some("q"), Some("q")]);
        let values = BTreeMap::from([(0, 0.25), (1, 0.75), (2, 1.0), (3, 1.0)]);
        let scores = |weights: [Option<f64>; 4]| -> Scores {
            let each = values.iter().zip(weights);
            each.map(|((at, value), weight)| (*at, (*value, weight))).collect()
        };
        let alike = weighed(&facts, &scores([None; 4]));
        assert_eq!((alike.means(), alike.mean()), (vec![0.5, 1.0], 0.75));
        // Project p keeps (8 · 0.25 + 4 · 0.75) of 12, q all of 6; the fourth
        // session has no facts.
        let some = weighed(&facts, &scores([Some(8.0), Some(4.0), Some(6.0), None]));
        assert_eq!(some.n(), 2);
        assert!((some.mean() - 11.0 / 18.0).abs() < 1e-12);
    }

    #[test]
    fn difference_is_first_minus_second_where_both_exist() {
        let own = Scores::from([(0, (0.75, Some(2.0))), (2, (0.5, None)), (5, (1.0, None))]);
        let other = Scores::from([(0, (0.5, None)), (3, (0.5, None)), (5, (1.5, None))]);
        let less = Scores::from([(0, (0.25, Some(2.0))), (5, (-0.5, None))]);
        assert_eq!(paired(&own, &other), less);
    }
}
