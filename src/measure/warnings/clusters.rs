//! What figures rest on: how many sessions, of how many projects.

use std::collections::BTreeSet;

use super::super::cluster;
use super::Run;
use crate::model::{AgainstFull, TranscriptFacts, catalogue};
use crate::text::counted;

impl<'a> Run<'a> {
    /// The transcripts that some row has a figure of the primary measure for; all
    /// where none has.
    fn scored(&self) -> Vec<&'a TranscriptFacts> {
        let units: BTreeSet<usize> =
            self.rows.iter().flat_map(|entry| entry.scores.keys().copied()).collect();
        match units.is_empty() {
            true => self.facts.iter().collect(),
            false => units.into_iter().map(|unit| &self.facts[unit]).collect(),
        }
    }
}

/// What so few transcripts allow (measures §7).
pub fn few(run: &Run<'_>) -> Vec<String> {
    let n = run.rows.iter().filter_map(|e| e.row.number(catalogue::N_CLUSTERS)).fold(0.0, f64::max);
    let any = |verdict| run.rows.iter().any(|e| e.row.verdict == Some(verdict));
    let allows = match n as u64 {
        0 => return Vec::new(),
        1 => "intervals speak of this one only, and nothing is decided",
        2 => "intervals speak of these only, and nothing is decided",
        3..=5 => "every value is shown, and nothing is decided",
        6..=9 => "no preset can be called non-inferior",
        10..=19 => "non-inferior is provisional",
        _ if any(AgainstFull::ProvisionalNonInferior) => {
            "where non-inferior is provisional, losses that are rare and heavy could still hide"
        }
        _ if any(AgainstFull::Undecided) => {
            "undecided rows may still differ by less than their mde"
        }
        _ => return Vec::new(),
    };
    let clusters = counted(n as u64, cluster::noun(run.scored().into_iter()));
    vec![format!("{clusters}: {allows}")]
}

/// Sessions that all come from one project.
pub fn one_project(run: &Run<'_>) -> Vec<String> {
    let behind = run.scored();
    let projects: BTreeSet<Option<&str>> = behind.iter().map(|f| f.cluster.as_deref()).collect();
    let only = projects.len() == 1 && behind.len() > 1;
    match projects.first() {
        Some(Some(_)) if only => vec![format!(
            "all {} transcripts that are scored come from one project: intervals speak of more \
             sessions of it, not of other projects",
            behind.len()
        )],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{says, silent, warned};
    use crate::measure::testkit::{cell, facts};

    #[test]
    fn one_project_is_said_so_and_several_are_not() {
        let of = |id: &str, project: &str| facts(id).cluster(project).requests(&[100]).build();
        let one = vec![of("s", "p"), of("t", "p")];
        says(&warned(one, Vec::new()), "all 2 transcripts that are scored come from one project");
        silent(&warned(vec![of("s", "p"), of("t", "q")], Vec::new()), "one project");
        silent(&warned(vec![of("s", "p")], Vec::new()), "one project");
    }

    #[test]
    fn few_sessions_are_said_with_what_they_allow() {
        let one = facts("s").requests(&[100]).build();
        let cells = vec![cell("s", "x").sent(&[100]).build()];
        says(&warned(vec![one], cells), "1 session: intervals speak of this one only");
    }
}
