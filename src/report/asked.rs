//! Which kinds of questions a preset still answers behind the cuts, of those
//! that the whole conversation answers right. The table, the page and
//! `summary.json` tell the same counts.
//!
//! Counted over all cuts of the greatest depth of the run and over repetitions,
//! whatever the session; the measure `continuity_at_cut` weighs sessions, so
//! that its share may differ. Questions that the session does not answer are
//! counted by how often the preset says so.

use std::collections::BTreeMap;

use super::{block, plain};
use crate::model::{Cut, CutRow, ProbeKind, ProbeRow, RIGHT, Report, Standing, TranscriptFacts};

/// The control whose answers the others are set against.
const WHOLE: &str = "full";

/// Fewest questions of a kind, right with the whole conversation, of which a
/// sentence speaks.
const FEWEST: u64 = 5;

/// Most kinds in that sentence.
const NAMED: usize = 2;

/// Questions of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Answered right with the whole conversation.
    pub(super) before: u64,
    /// Of these, still answered right.
    pub(super) after: u64,
}

impl Kept {
    fn share(self) -> f64 {
        self.after as f64 / self.before.max(1) as f64
    }
}

/// A preset with the questions of each kind.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) strategy: String,
    pub(super) standing: Standing,
    pub(super) kinds: BTreeMap<ProbeKind, Kept>,
}

/// Every preset whose answers behind cuts were graded, in the order of their
/// names; empty where no question was asked there.
pub(super) fn asked(report: &Report) -> Vec<Asked> {
    let Some(depth) = report.manifest.depths.last().copied() else { return Vec::new() };
    let mut presets: BTreeMap<String, Asked> = BTreeMap::new();
    for session in report.sessions.iter() {
        let facts = report.facts_of(session.dataset, session.transcript);
        for cut in session.cuts() {
            add(&mut presets, cut, depth, facts);
        }
    }
    let mut asked: Vec<Asked> = presets.into_values().collect();
    asked.retain(|preset| preset.kinds.values().any(|kept| kept.before > 0));
    asked
}

/// Counts the questions of a cut.
fn add(
    presets: &mut BTreeMap<String, Asked>,
    cut: &Cut,
    depth: u32,
    facts: Option<&TranscriptFacts>,
) {
    let at_depth = || cut.rows.iter().filter(|row| row.depth == depth);
    let whole = at_depth().find(|row| row.strategy == WHOLE).map(answers).unwrap_or_default();
    for row in at_depth().filter(|row| !block::is_null(&row.strategy)) {
        let preset = presets.entry(row.strategy.clone()).or_insert_with(|| Asked {
            strategy: row.strategy.clone(),
            standing: row.standing,
            kinds: BTreeMap::new(),
        });
        for answer in answers(row) {
            let Some(question) = facts.and_then(|facts| facts.question(answer.probe)) else {
                continue;
            };
            let before = whole.iter().find(|other| other.probe == answer.probe);
            let kept = preset.kinds.entry(question.probe.kind).or_default();
            if before.is_some_and(is_right) {
                kept.before += 1;
                kept.after += u64::from(is_right(answer));
            }
        }
    }
}

fn answers(row: &CutRow) -> &[ProbeRow] {
    row.exam().map_or(&[], |exam| exam.probes.as_slice())
}

fn is_right(answer: &ProbeRow) -> bool {
    answer.judgement.score.is_some_and(|score| score >= RIGHT)
}

/// What a preset forgets most, in a sentence; `None` where too few questions
/// were asked, or where it forgets nothing.
pub(super) fn forgets(report: &Report, strategy: &str) -> Option<String> {
    let asked = asked(report);
    let preset = asked.iter().find(|preset| preset.strategy == strategy)?;
    let mut kinds: Vec<(ProbeKind, Kept)> =
        preset.kinds.iter().map(|(kind, kept)| (*kind, *kept)).collect();
    kinds.retain(|(kind, kept)| *kind != ProbeKind::Abstain && kept.before >= FEWEST);
    kinds.sort_by(|a, b| a.1.share().total_cmp(&b.1.share()).then(a.0.cmp(&b.0)));
    kinds.retain(|(_, kept)| kept.after < kept.before);
    kinds.truncate(NAMED);
    if kinds.is_empty() {
        return None;
    }
    let each = kinds
        .iter()
        .map(|(kind, kept)| format!("{} of {} {}", kept.after, kept.before, plural(*kind)));
    Some(format!(
        "{} forgets {} most: right behind a compaction it still answers {} that the whole \
         conversation answers right.",
        plain::line(strategy),
        kinds.iter().map(|(kind, _)| subject(*kind)).collect::<Vec<_>>().join(" and "),
        each.collect::<Vec<_>>().join(" and ")
    ))
}

/// What questions of a kind are about.
pub(super) fn subject(kind: ProbeKind) -> &'static str {
    match kind {
        ProbeKind::Artifact => "files and commands",
        ProbeKind::Constraint => "standing instructions",
        ProbeKind::Decision => "decisions",
        ProbeKind::Update => "values that changed",
        ProbeKind::Plan => "what is still to be done",
        ProbeKind::Snapshot => "what tools last returned",
        ProbeKind::Abstain => "what the session does not say",
        other => other.as_str(),
    }
}

fn plural(kind: ProbeKind) -> String {
    format!("questions about {}", subject(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::asked_at_cuts;

    #[test]
    fn a_preset_is_told_by_the_kind_that_it_forgets_most() {
        // Of six plans `full` answers five, the preset one of these; of six
        // artifacts both answer all; of two decisions nobody is told.
        let report = asked_at_cuts(
            "codex",
            &[
                (ProbeKind::Plan, [6, 5, 1]),
                (ProbeKind::Artifact, [6, 6, 6]),
                (ProbeKind::Decision, [2, 2, 0]),
            ],
        );
        let found = asked(&report);
        let codex = found.iter().find(|preset| preset.strategy == "codex").unwrap();
        assert_eq!(codex.kinds[&ProbeKind::Plan], Kept { before: 5, after: 1 });
        assert_eq!(codex.kinds[&ProbeKind::Artifact], Kept { before: 6, after: 6 });
        assert_eq!(
            forgets(&report, "codex").unwrap(),
            "codex forgets what is still to be done most: right behind a compaction it still \
             answers 1 of 5 questions about what is still to be done that the whole conversation \
             answers right."
        );
        assert_eq!(forgets(&report, "full"), None);
        assert_eq!(forgets(&report, "nobody"), None);
    }
}
