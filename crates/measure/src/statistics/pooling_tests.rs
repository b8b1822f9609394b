//! Values computed by hand; `fixtures_tests` compares with pandas.

use super::*;

const ONE: Option<Owner<'static>> = Some(("set", "one"));
const TWO: Option<Owner<'static>> = Some(("set", "two"));

fn unit(owner: Option<Owner<'static>>, facts: f64, share: f64) -> FactsKept<'static> {
    (owner, facts, share)
}

/// Value and weight of each cluster.
fn found(units: &[FactsKept<'_>]) -> Vec<(f64, f64)> {
    pooled(units.iter().copied()).groups().iter().map(|c| (c[0].value, c[0].weight)).collect()
}

#[test]
fn mean_is_the_share_of_all_facts() {
    let units = [unit(None, 10.0, 0.5), unit(None, 30.0, 0.25), unit(None, 400.0, 0.75)];
    assert_eq!(found(&units), [(0.5, 10.0), (0.25, 30.0), (0.75, 400.0)]);
    let clusters = pooled(units);
    // 5 + 7.5 + 300 of 440.
    assert_eq!(clusters.mean(), 312.5 / 440.0);
}

#[test]
fn sessions_are_clusters_unless_there_are_several_projects() {
    let one = [unit(ONE, 10.0, 0.5), unit(ONE, 30.0, 0.25)];
    assert_eq!(found(&one), [(0.5, 10.0), (0.25, 30.0)]);
    // (5 + 7.5) / 40 in the first project.
    let two = [one[0], one[1], unit(TWO, 8.0, 1.0)];
    assert_eq!(found(&two), [(0.312_5, 40.0), (1.0, 8.0)]);
}

#[test]
fn sessions_under_five_facts_form_one_cluster() {
    let units = [unit(None, 4.0, 1.0), unit(None, 5.0, 0.2), unit(None, 2.0, 0.5)];
    // (4 + 1) / 6, last.
    assert_eq!(found(&units), [(0.2, 5.0), (5.0 / 6.0, 6.0)]);
    let project = units.map(|(_, facts, share)| (ONE, facts, share));
    assert_eq!(found(&project), found(&units));
    // This does not depend on the number of facts.
    assert_eq!(found(&units[..1]), [(1.0, 4.0)]);
    assert_eq!(found(&vec![unit(None, 4.0, 0.5); 20]), [(0.5, 80.0)]);
}

#[test]
fn small_projects_and_small_unassigned_sessions_are_joined() {
    // The sessions of the first project have 6 facts together: it is a cluster
    // of its own.
    let units = [
        unit(ONE, 3.0, 1.0),
        unit(TWO, 2.0, 0.5),
        unit(ONE, 3.0, 0.0),
        unit(None, 2.0, 1.0),
        unit(None, 9.0, 0.0),
    ];
    assert_eq!(found(&units), [(0.0, 9.0), (0.5, 6.0), (0.75, 4.0)]);
}

#[test]
fn sessions_without_facts_change_nothing() {
    let with = [unit(None, 0.0, 0.0), unit(ONE, 6.0, 0.5), unit(ONE, 7.0, 1.0)];
    // Only one project has facts, so that its sessions are the clusters.
    assert_eq!(found(&with), [(0.5, 6.0), (1.0, 7.0)]);
    assert_eq!(pooled([unit(None, 0.0, 0.0)]).n(), 0);
}

#[test]
fn differences_are_pooled_as_shares_are() {
    let units = [unit(None, 20.0, -0.1), unit(None, 60.0, 0.2)];
    assert!((pooled(units).mean() - 10.0 / 80.0).abs() < 1e-12);
}
