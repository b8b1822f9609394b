//! What a cell was asked, as input of measures: its exams at cuts, and its questions with their
//! scores, their scores under `full`, and which of them count.

use std::collections::{BTreeMap, BTreeSet};

use crate::figures::spec::CellInput;
use recap_core::model::{
    Agreement, Cell, Cut, CutExam, CutOutcome, CutRow, FULL, NO_SUMMARY, QuestionFacts,
    QuestionKind, QuestionRow, RIGHT, SessionFacts, Verdict,
};

/// The exams of a cell's strategy at the cuts of its session, in the order of the cuts. A row that
/// does not fit its cut is left out; [`Exams::failures`] names it.
#[derive(Debug, Default)]
pub struct Exams<'a> {
    /// Those of the strategy itself.
    pub own: Vec<AtCut<'a>>,
    /// The same without its summaries.
    pub without_summary: Vec<AtCut<'a>>,
    /// Those of the whole conversation.
    pub full: Vec<AtCut<'a>>,
    /// Depth of the cuts: [`recap_core::model::Manifest::depth`].
    pub depth: u32,
    /// The strategy's own rows, whatever came of them.
    rows: Vec<(&'a Cut, &'a CutRow)>,
}

/// The exam of a strategy at a cut.
#[derive(Clone, Copy, Debug)]
pub struct AtCut<'a> {
    /// The cut at which the strategy was examined.
    pub cut: &'a Cut,
    /// The result of the strategy.
    pub exam: &'a CutExam,
}

impl<'a> Exams<'a> {
    /// The exams of a cell at the cuts of its session.
    pub fn of(cell: &Cell, cuts: &'a [Cut], depth: u32) -> Self {
        let rows = |strategy: &str, replicate: u32| -> Vec<(&'a Cut, &'a CutRow)> {
            let all = cuts.iter().flat_map(|cut| cut.rows.iter().map(move |row| (cut, row)));
            all.filter(|(_, row)| row.strategy == strategy && row.replicate == replicate).collect()
        };
        let fits = |rows: &[(&'a Cut, &'a CutRow)]| -> Vec<AtCut<'a>> {
            let exams = rows.iter().filter_map(|(cut, row)| Some(AtCut { cut, exam: row.exam()? }));
            exams.filter(|at| at.exam.states.len() == at.cut.facts.len()).collect()
        };
        let own = rows(&cell.key.strategy, cell.key.replicate);
        Exams {
            own: fits(&own),
            without_summary: fits(&rows(&format!("{NO_SUMMARY}{}", cell.key.strategy), 0)),
            full: fits(&rows(FULL, 0)),
            depth,
            rows: own,
        }
    }

    /// The exams that were made, whether they fit their cuts or not.
    pub fn made(&self) -> impl Iterator<Item = &'a CutExam> + use<'a, '_> {
        self.rows.iter().filter_map(|(_, row)| row.exam())
    }

    /// Why the strategy has no exam at some cut, one sentence each.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.rows.iter().filter_map(|(cut, row)| {
            let error = match &row.outcome {
                CutOutcome::Failed { error } => error,
                CutOutcome::Done(exam) if exam.states.len() != cut.facts.len() => {
                    "its row is from another version of the data: run it again"
                }
                CutOutcome::Done(_) => return None,
            };
            Some(format!("{}, cut at request {}: {error}", cut.session, cut.request))
        })
    }
}

/// Smallest number of questions of a kind for a figure of its own (reference §5).
const KIND_QUESTIONS: usize = 10;
/// Smallest number of sessions with such questions.
const KIND_SESSIONS: usize = 3;

/// Kinds with a figure of their own in `continuity`, by data set; the others
/// are pooled.
pub(crate) fn kinds_by_dataset(facts: &[SessionFacts]) -> BTreeMap<String, BTreeSet<QuestionKind>> {
    let mut seen: BTreeMap<(&str, QuestionKind), (usize, BTreeSet<&str>)> = BTreeMap::new();
    for session in facts {
        for asked in &session.questions {
            let (questions, sessions) =
                seen.entry((&session.dataset, asked.question.kind)).or_default();
            *questions += 1;
            sessions.insert(&session.session);
        }
    }
    let mut kinds: BTreeMap<String, BTreeSet<QuestionKind>> =
        facts.iter().map(|f| (f.dataset.clone(), BTreeSet::new())).collect();
    for ((dataset, kind), (questions, sessions)) in seen {
        if questions >= KIND_QUESTIONS && sessions.len() >= KIND_SESSIONS {
            kinds.entry(dataset.to_owned()).or_default().insert(kind);
        }
    }
    kinds
}

/// The result of one question under one strategy.
#[derive(Clone, Copy)]
pub(crate) struct QuestionResult<'a> {
    /// The facts of the question that do not depend on the strategy.
    pub facts: &'a QuestionFacts,
    /// What is findable, and a model's answer with its grade.
    pub row: &'a QuestionRow,
    /// Score `0.0..=1.0` ([`QuestionRow::score`]); 0 if the provider would have refused
    /// the request.
    pub score: Option<f64>,
    /// Whether the provider would have refused the request.
    pub refused: bool,
    /// Score of the question under `full`.
    pub before: Option<f64>,
    /// Whether the strategy had compacted before the question. `full` never
    /// compacts: it is compared with itself, so all of its questions count (A/A).
    pub exposed: bool,
}

impl QuestionResult<'_> {
    /// The kind of the question.
    pub fn kind(&self) -> QuestionKind {
        self.facts.question.kind
    }

    /// How compression changed the result; absent unless both have a score.
    pub fn agreement(&self) -> Option<Agreement> {
        Some(Agreement::of(self.before? >= RIGHT, self.score? >= RIGHT))
    }

    /// Score of a model's answer; absent without one, or without a grade.
    pub(crate) fn answer_score(&self) -> Option<f64> {
        self.row.answered.as_ref().and(self.score)
    }

    /// Whether a model's answer asserts something wrong.
    pub(crate) fn is_asserted_wrong(&self) -> bool {
        matches!(self.row.verdict(), Some(Verdict::Incorrect | Verdict::Stale))
    }

    /// Whether the answer is findable in the context as the provider would have read
    /// it: nothing is found in a refused prompt. Absent if no value is expected.
    pub(crate) fn is_findable(&self) -> Option<bool> {
        self.row.findable.map(|there| there && !self.refused)
    }
}

impl<'a> CellInput<'a> {
    /// Every question of the cell, in the order of the questions' ids.
    pub(crate) fn question_results(&self) -> impl Iterator<Item = QuestionResult<'a>> + use<'a> {
        let CellInput { facts, cell, rows, full, .. } = *self;
        let asked_only = self.is_asked_only();
        let before = full.and_then(Cell::rows).map(|rows| rows.questions.as_slice());
        rows.questions.iter().map(move |row| {
            let snapshot = &rows.snapshots[row.snapshot as usize];
            let scored = before.and_then(|rows| rows.get(row.question as usize));
            QuestionResult {
                facts: &facts.questions[row.question as usize],
                row,
                score: cell.score(row),
                refused: cell.refuses(row),
                before: full.zip(scored).and_then(|(full, row)| full.score(row)),
                exposed: snapshot.compactions > 0 || asked_only || cell.key.strategy == FULL,
            }
        })
    }

    /// The questions with a known answer: all except those that are right if the
    /// answer is called unknown (how-it-works §30).
    pub(crate) fn answered(&self) -> impl Iterator<Item = QuestionResult<'a>> + use<'a> {
        self.question_results().filter(|result| result.kind() != QuestionKind::Abstain)
    }

    /// How compression changed each exposed question, if both have a score.
    pub fn agreements(&self) -> impl Iterator<Item = (QuestionKind, Agreement)> + use<'a> {
        let exposed = self.answered().filter(|result| result.exposed);
        exposed.filter_map(|result| Some((result.kind(), result.agreement()?)))
    }
}

#[cfg(test)]
mod asked_tests {
    use super::*;
    use crate::testkit::facts;

    #[test]
    fn kind_figure_needs_ten_questions_in_three_sessions() {
        use QuestionKind::{Fact, Plan, Update};
        let session = |id: &str, numbers: [usize; 3]| {
            let kinds = [Fact, Update, Plan].into_iter().zip(numbers);
            let each = kinds.flat_map(|(kind, n)| std::iter::repeat_n(kind, n));
            each.fold(facts(id).requests(&[1, 2]), |built, kind| built.question(kind, 1, 9)).build()
        };
        // Ten facts, nine updates, and twelve plans of two sessions only.
        let all = [session("s", [4, 3, 6]), session("t", [3, 3, 6]), session("u", [3, 3, 0])];
        let kinds = kinds_by_dataset(&all);
        assert_eq!(kinds["d"], BTreeSet::from([Fact]));
        let unasked = facts("v").dataset("e").requests(&[1]).build();
        assert!(kinds_by_dataset(&[unasked])["e"].is_empty());
    }
}
