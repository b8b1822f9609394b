//! What a strategy forgets most, in a sentence: the kinds of questions that the
//! whole conversation answers right and that it no longer does right behind a
//! compaction.

use super::plain;
use recap_core::model::{Answered, QuestionKind, Report};

/// Fewest questions of a kind, right with the whole conversation, of which a
/// sentence speaks.
const FEWEST: u64 = 5;

/// Most kinds in that sentence.
const NAMED: usize = 2;

/// The sentence; `None` where too few questions were asked, or where the strategy
/// forgets nothing.
pub(super) fn forgets(report: &Report, strategy: &str) -> Option<String> {
    let answered = report.answered_at_cuts.iter().find(|answered| answered.strategy == strategy)?;
    let share = |of: Answered| of.after / of.before as f64;
    let mut kinds: Vec<(QuestionKind, Answered)> =
        answered.kinds.iter().map(|(kind, of)| (*kind, *of)).collect();
    kinds.retain(|(kind, of)| *kind != QuestionKind::Abstain && of.before >= FEWEST);
    kinds.retain(|(_, of)| of.after < of.before as f64);
    kinds.sort_by(|a, b| share(a.1).total_cmp(&share(b.1)).then(a.0.cmp(&b.0)));
    kinds.truncate(NAMED);
    if kinds.is_empty() {
        return None;
    }
    let subjects: Vec<&str> = kinds.iter().map(|(kind, _)| subject(*kind)).collect();
    let each: Vec<String> = kinds
        .iter()
        .map(|(kind, of)| {
            format!("{} of {} questions about {}", of.after.round(), of.before, subject(*kind))
        })
        .collect();
    Some(format!(
        "{} forgets {} most: right behind a compaction it still answers {} that the whole \
         conversation answers right.",
        plain::line(strategy),
        subjects.join(" and "),
        each.join(" and ")
    ))
}

/// What questions of a kind are about.
pub(super) fn subject(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Artifact => "files and commands",
        QuestionKind::Constraint => "standing instructions",
        QuestionKind::Decision => "decisions",
        QuestionKind::Update => "values that changed",
        QuestionKind::Plan => "what is still to be done",
        QuestionKind::Snapshot => "what tools last returned",
        QuestionKind::Abstain => "what the session does not say",
        other => other.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;
    use recap_core::model::{AnsweredAtCuts, RowKind};

    #[test]
    fn strategy_names_the_kind_it_forgets_most() {
        // Of six plans `full` answers five, the strategy one of these; of six
        // artifacts both answer all; of two decisions nobody is told.
        let answered = |before, after: u32| Answered { before, after: f64::from(after) };
        let mut report = Kit::default().report();
        report.answered_at_cuts = vec![AnsweredAtCuts {
            strategy: "codex".to_owned(),
            row_kind: RowKind::OfflineSummary,
            kinds: [
                (QuestionKind::Plan, answered(5, 1)),
                (QuestionKind::Artifact, answered(6, 6)),
                (QuestionKind::Decision, answered(2, 0)),
            ]
            .into(),
        }];
        assert_eq!(
            forgets(&report, "codex").unwrap(),
            "codex forgets what is still to be done most: right behind a compaction it still \
             answers 1 of 5 questions about what is still to be done that the whole conversation \
             answers right."
        );
        assert_eq!(forgets(&report, "nobody"), None);
    }
}
