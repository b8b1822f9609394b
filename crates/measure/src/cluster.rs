//! Groups sessions into clusters, the independent observations: the
//! session itself, or its project or developer.

use std::collections::{BTreeMap, BTreeSet};

use super::pooling::{Owner, PooledUnit, groups, pooled};
use super::statistics::Clusters;
use recap_core::model::SessionFacts;

/// Values of sessions, each with its project or developer if known, grouped by
/// project or developer where several are known. With one only, nothing could be
/// resampled: the session is the unit then, and a warning says that there is
/// one project.
pub fn grouped<'a>(values: impl Iterator<Item = (Option<Owner<'a>>, f64)>) -> Clusters {
    Clusters::new(groups(values))
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

/// Groups shares of facts, weighted by the number of facts (how-it-works §46);
/// without such numbers every session has the same weight.
pub fn weighed(
    facts: &[SessionFacts],
    values: &BTreeMap<usize, f64>,
    weights: &BTreeMap<usize, f64>,
) -> Clusters {
    if weights.is_empty() {
        return grouped(values.iter().map(|(at, value)| (owner(&facts[*at]), *value)));
    }
    let units = values.iter().filter_map(|(at, share)| {
        Some(PooledUnit { owner: owner(&facts[*at]), facts: *weights.get(at)?, share: *share })
    });
    pooled(&units.collect::<Vec<_>>())
}

/// Differences of two rows over the sessions that both have.
pub fn paired(own: &BTreeMap<usize, f64>, other: &BTreeMap<usize, f64>) -> BTreeMap<usize, f64> {
    own.iter().filter_map(|(unit, value)| Some((*unit, value - other.get(unit)?))).collect()
}

#[cfg(test)]
mod tests {
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
        let alike = weighed(&facts, &values, &BTreeMap::new());
        assert_eq!((alike.means(), alike.mean()), (vec![0.5, 1.0], 0.75));
        // Project p keeps (8 · 0.25 + 4 · 0.75) of 12, q all of 6; the fourth
        // session has no facts.
        let some = weighed(&facts, &values, &BTreeMap::from([(0, 8.0), (1, 4.0), (2, 6.0)]));
        assert_eq!(some.n(), 2);
        assert!((some.mean() - 11.0 / 18.0).abs() < 1e-12);
    }

    #[test]
    fn difference_is_first_minus_second_where_both_exist() {
        let own = BTreeMap::from([(0, 0.75), (2, 0.5), (5, 1.0)]);
        let other = BTreeMap::from([(0, 0.5), (3, 0.5), (5, 1.5)]);
        assert_eq!(paired(&own, &other), BTreeMap::from([(0, 0.25), (5, -0.5)]));
    }
}
