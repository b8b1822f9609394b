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
    use super::super::tests::{check, of_rows};
    use crate::measure;
    use crate::testkit::{entry_at, facts, manifest, run, twenty_references};
    use recap_core::model::{AgainstFull, Finding, Manifest, Primary, RunResults, SessionFacts};

    fn found(sessions: Vec<SessionFacts>) -> Vec<Finding> {
        run(sessions, Vec::new()).findings
    }

    #[test]
    fn counts() {
        let of = |id: &str| facts(id).requests(&[100]);
        let compacted = of("b").calibrated(1.2, Some(0.2)).with(|facts| {
            facts.calibration.as_mut().unwrap().after_boundary = Some(0.153);
        });
        let scaled = of("a").calibrated(1.2, Some(0.01)).build();
        let asked = of("c").reported(Some(0.01)).build();
        let without = || of("f").build();
        check(
            "counts",
            [
                (
                    "2 scaled, 1 as asked, 1 without usage",
                    found(vec![scaled.clone(), compacted.build(), asked, without()]),
                ),
                ("1 scaled", found(vec![scaled])),
                ("without usage", found(vec![without()])),
            ],
        );
    }

    #[test]
    fn few_units() {
        use AgainstFull::{Inferior, ProvisionalNonInferior, Undecided};
        let clusters = |clusters: f64, verdict: Option<AgainstFull>| {
            let mut entry = entry_at(("25%", 9.0), "x", Some(1), &[("n_clusters", clusters)]);
            entry.row.verdict = verdict;
            of_rows(Primary::ReferenceRecall, &[entry])
        };
        let of = |id: &str, project: Option<&str>| {
            let own = facts(id).requests(&[100]);
            own.with(|facts| facts.cluster = project.map(str::to_owned)).build()
        };
        let thin = facts("t").requests(&[100]).reference(0, 5_000, None).build();
        let exams = |cuts: &str, sessions: &[SessionFacts]| {
            let manifest = Manifest { cuts: cuts.into(), ..manifest(&["25%"]) };
            measure(manifest, "d".into(), sessions.to_vec(), RunResults::default()).findings
        };
        let rich = twenty_references("s");
        let cuts = |projects: [Option<&str>; 2]| {
            let [one, other] = projects;
            exams("5", &[of("s", one), of("t", other)])
        };
        let both = [rich.clone(), thin];
        check(
            "few_units",
            [
                ("none", clusters(0.0, None)),
                ("1", clusters(1.0, None)),
                ("5", clusters(5.0, None)),
                ("6", clusters(6.0, None)),
                ("9", clusters(9.0, None)),
                ("10", clusters(10.0, None)),
                ("19", clusters(19.0, None)),
                ("20, worse", clusters(20.0, Some(Inferior))),
                ("20, undecided", clusters(20.0, Some(Undecided))),
                ("20, provisionally no worse", clusters(20.0, Some(ProvisionalNonInferior))),
                ("one project", cuts([Some("p"), Some("p")])),
                ("two projects", cuts([Some("p"), Some("q")])),
                ("one unknown project", cuts([Some("p"), None])),
                ("unknown projects", cuts([None, None])),
                ("one session of a project", exams("5", &[of("s", Some("p"))])),
                ("one thin exam of two", exams("none", &both)),
                ("thin, but with cuts", exams("5", &both)),
                ("20 references at 10 requests", exams("none", &[rich])),
            ],
        );
    }

    #[test]
    fn left_out() {
        let one = facts("s").requests(&[100]).left_out("sidechain", 2).build();
        let two = facts("t").left_out("sidechain", 3_000).left_out("progress record", 1).build();
        check(
            "left_out",
            [
                ("of two sessions", found(vec![one, two])),
                ("nothing", found(vec![facts("s").build()])),
            ],
        );
    }
}
