//! Findings on the data: numbers of sessions and projects, how tokens were
//! counted, and what the import left out.

use std::collections::{BTreeMap, BTreeSet};

use super::Evidence;
use crate::cluster;
use recap_core::model::{
    AgainstFull, Counts, Limit, SampleSizeLimit, SessionFacts, TokensSource, catalogue,
};

impl<'a> Evidence<'a> {
    /// The sessions for which a row has a figure of the primary measure; all
    /// sessions if no row has one.
    fn scored(&self) -> Vec<&'a SessionFacts> {
        let units: BTreeSet<usize> =
            self.rows.iter().flat_map(|entry| entry.scores.keys().copied()).collect();
        match units.is_empty() {
            true => self.facts.iter().collect(),
            false => units.into_iter().map(|unit| &self.facts[unit]).collect(),
        }
    }
}

/// What a small number of sessions allows to conclude (reference §7).
pub(super) fn few_clusters(run: &Evidence<'_>) -> Option<Limit> {
    let n = run.rows.iter().filter_map(|e| e.row.number(catalogue::N_CLUSTERS)).fold(0.0, f64::max);
    let any = |verdict| run.rows.iter().any(|e| e.row.verdict == Some(verdict));
    let allows = match n as u64 {
        0 => return None,
        1..=5 => SampleSizeLimit::Description,
        6..=9 => SampleSizeLimit::NoNonInferior,
        10..=19 => SampleSizeLimit::Provisional,
        _ if any(AgainstFull::ProvisionalNonInferior) => SampleSizeLimit::RareLosses,
        _ if any(AgainstFull::Undecided) => SampleSizeLimit::SmallDifferences,
        _ => return None,
    };
    let noun = cluster::noun(run.scored().into_iter());
    Some(Limit::FewClusters { clusters: n as u64, noun, allows })
}

/// Sessions that all come from one project.
pub(super) fn one_project(run: &Evidence<'_>) -> Option<Limit> {
    let behind = run.scored();
    let projects: BTreeSet<Option<&str>> = behind.iter().map(|f| f.cluster.as_deref()).collect();
    let only = projects.len() == 1 && !projects.contains(&None) && behind.len() > 1;
    only.then_some(Limit::OneProject { sessions: behind.len() })
}

/// How many sessions are counted by the provider and how many by the
/// vocabulary, and why (reference §0); `None` if no recording has usage.
pub fn counts(run: &Evidence<'_>) -> Option<Limit> {
    let with = |source| run.facts.iter().filter(move |f| f.tokens_source == source);
    let known = || with(TokensSource::Calibrated).filter_map(|f| f.calibration.as_ref());
    let exact = |asked| with(TokensSource::Exact).filter(move |f| f.calibration.is_some() == asked);
    run.facts.iter().any(|f| f.calibration.is_some()).then(|| {
        Limit::Counts(Counts {
            scaled: with(TokensSource::Calibrated).count(),
            sessions: run.facts.len(),
            as_asked: exact(true).count(),
            without_usage: exact(false).count(),
            ahead: known().filter_map(|c| c.forward).fold(0.0, f64::max),
            behind: known().filter_map(|c| c.after_boundary).fold(0.0, f64::max),
        })
    })
}

/// Records that the import left out.
pub fn left_out(run: &Evidence<'_>) -> Option<Limit> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, n) in run.facts.iter().flat_map(|f| &f.left_out) {
        *reasons.entry(reason).or_default() += n;
    }
    let mut records: Vec<(String, u64)> =
        reasons.into_iter().map(|(reason, n)| (reason.to_owned(), n)).collect();
    // The sort is stable: reasons with equal numbers keep their alphabetical
    // order.
    records.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    (!records.is_empty()).then_some(Limit::LeftOut { records })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{says, silent, warned};
    use crate::testkit::{cell, facts};

    #[test]
    fn only_a_single_project_is_reported() {
        let of = |id: &str, project: &str| facts(id).cluster(project).requests(&[100]).build();
        let one = vec![of("s", "p"), of("t", "p")];
        says(&warned(one, Vec::new()), "all 2 sessions that are scored come from one project");
        silent(&warned(vec![of("s", "p"), of("t", "q")], Vec::new()), "one project");
        silent(&warned(vec![of("s", "p")], Vec::new()), "one project");
    }

    #[test]
    fn few_sessions_are_reported_with_what_they_allow() {
        let one = facts("s").requests(&[100]).build();
        let cells = vec![cell("s", "x").sent(&[100]).build()];
        says(&warned(vec![one], cells), "1 session: described, not decided");
    }

    #[test]
    fn number_of_clusters_decides_possible_conclusions() {
        use super::*;
        use crate::testkit::{entry_at, manifest};
        use recap_core::model::{Primary, RunResults};
        let of = |clusters: f64, verdicts: &[AgainstFull]| {
            let entry = |verdict: Option<AgainstFull>| {
                let mut entry = entry_at(("25%", 9.0), "x", Some(1), &[("n_clusters", clusters)]);
                entry.row.verdict = verdict;
                entry
            };
            let table: Vec<_> =
                [None].into_iter().chain(verdicts.iter().copied().map(Some)).map(entry).collect();
            let (manifest, none) = (manifest(&["25%"]), RunResults::default());
            let primary = Primary::ReferenceRecall;
            let run = Evidence::of(&manifest, primary, &table, &[], &none, None, None);
            few_clusters(&run).map(|limit| match limit {
                Limit::FewClusters { clusters, allows, .. } => (clusters, allows),
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(of(0.0, &[]), None);
        for (clusters, allows) in [
            (1, SampleSizeLimit::Description),
            (5, SampleSizeLimit::Description),
            (6, SampleSizeLimit::NoNonInferior),
            (9, SampleSizeLimit::NoNonInferior),
            (10, SampleSizeLimit::Provisional),
            (19, SampleSizeLimit::Provisional),
        ] {
            assert_eq!(of(clusters as f64, &[]), Some((clusters, allows)));
        }
        let (open, rare) = (AgainstFull::Undecided, AgainstFull::ProvisionalNonInferior);
        assert_eq!(of(20.0, &[AgainstFull::Inferior]), None);
        assert_eq!(of(20.0, &[open]), Some((20, SampleSizeLimit::SmallDifferences)));
        assert_eq!(of(20.0, &[open, rare]), Some((20, SampleSizeLimit::RareLosses)));
    }

    #[test]
    fn projects_that_are_unknown_are_not_one_project() {
        let none = || ["s", "t"].map(|id| facts(id).requests(&[100]).build()).to_vec();
        silent(&warned(none(), Vec::new()), "one project");
        let mut half = none();
        half[0].cluster = Some("p".into());
        silent(&warned(half, Vec::new()), "one project");
    }
}
