//! Findings on the data: numbers of sessions and projects, and what the import left out.

use std::collections::{BTreeMap, BTreeSet};

use recap_core::model::{Finding, SessionFacts};
use recap_core::text::{counted, grouped};

use super::{Evidence, most_frequent};
use crate::statistics::pooling;

pub(super) fn findings(run: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(few_clusters(run).map(|text| Finding::limit("few_units", text)));
    found.extend(left_out(run));
    found
}

impl<'a> Evidence<'a> {
    /// The sessions for which a row has a figure of the primary measure; all
    /// sessions if no row has one.
    fn scored(&self) -> Vec<&'a SessionFacts> {
        let units: BTreeSet<usize> =
            self.rows.iter().flat_map(|entry| entry.scores.keys().copied()).collect();
        if units.is_empty() {
            return self.facts.iter().collect();
        }
        units.into_iter().map(|unit| &self.facts[unit]).collect()
    }
}

/// That so few sessions or projects are described and nothing is decided.
pub(crate) fn only_described(run: &Evidence<'_>) -> Option<String> {
    few_clusters(run).filter(|_| run.clusters() <= 5)
}

/// What a small number of sessions or projects allows to conclude (reference §7).
fn few_clusters(run: &Evidence<'_>) -> Option<String> {
    let allows = match run.clusters() {
        0 => return None,
        1..=5 => "described, not decided",
        6..=9 => "no strategy can be called non-inferior",
        10..=19 => "non-inferior is provisional",
        _ => return None,
    };
    let noun = pooling::noun(run.scored().into_iter());
    Some(format!("{}: {allows}", counted(run.clusters(), noun)))
}

/// Records that the import left out.
fn left_out(run: &Evidence<'_>) -> Option<Finding> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, n) in run.facts.iter().flat_map(|f| &f.left_out) {
        *reasons.entry(reason).or_default() += n;
    }
    reasons.first_key_value()?;
    let each = most_frequent(reasons).into_iter().map(|(reason, n)| {
        format!("{} {}", grouped(n), reason.strip_suffix(" record").unwrap_or(reason))
    });
    let each = each.collect::<Vec<_>>().join(", ");
    Some(Finding::limit("left_out", format!("records left out on import: {each}")))
}

#[cfg(test)]
mod tests {
    use crate::findings::tests::{check, of_rows};
    use crate::testkit::{entry_at, facts, run};
    use recap_core::model::{Finding, Primary, SessionFacts};

    fn found(sessions: Vec<SessionFacts>) -> Vec<Finding> {
        run(sessions, Vec::new()).findings
    }

    #[test]
    fn few_units() {
        let clusters = |clusters: f64| {
            let entry = entry_at(("25%", 9.0), "x", Some(1), &[("n_clusters", clusters)]);
            of_rows(Primary::ReferenceRecall, &[entry])
        };
        check(
            "few_units",
            [
                ("none", clusters(0.0)),
                ("1", clusters(1.0)),
                ("5", clusters(5.0)),
                ("6", clusters(6.0)),
                ("9", clusters(9.0)),
                ("10", clusters(10.0)),
                ("19", clusters(19.0)),
                ("20", clusters(20.0)),
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
