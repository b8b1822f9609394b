//! `questions.csv` and `cut_questions.csv`: every question under every strategy: what was asked
//! and expected, whether it is findable, what a model answered, before and after, and where its
//! evidence went. Without text (`--no-text`) these words are empty fields.

use std::io::{Result, Write};

use super::{CELL, Columns, Field, Sheet, cell_key, cuts, each_cell};
use crate::RenderInput;
use recap_core::model::{
    Agreement, Answer, Cell, Cut, CutExam, CutRow, Expectation, FULL, Judgement, QuestionFacts,
    QuestionRow, RIGHT, Report, RowKind, SessionResults, Verdict,
};

/// A question under one strategy.
pub(crate) struct Asked<'a> {
    report: &'a Report,
    /// Whether words may be shown.
    words: bool,
    cell: &'a Cell,
    pub(crate) facts: &'a QuestionFacts,
    pub(crate) after: &'a QuestionRow,
    /// The cell of the whole conversation with its answer.
    pub(crate) before: Option<(&'a Cell, &'a QuestionRow)>,
}

impl Asked<'_> {
    /// Whether it stands for a strategy at a window: of several repetitions the first does.
    pub(crate) fn is_of(&self, strategy: &str, window: &str) -> bool {
        let key = &self.cell.key;
        (&*key.strategy, &*key.window, key.replicate) == (strategy, window, 0)
    }

    /// What compression did to it; absent unless both have a score.
    pub(crate) fn agreement(&self) -> Option<Agreement> {
        let (full, before) = self.before?;
        Some(Agreement::of(full.score(before)? >= RIGHT, self.cell.score(self.after)? >= RIGHT))
    }
}

const OF_QUESTIONS: &Columns<fn(&Asked<'_>) -> Field> = &[
    ("question_id", |row| row.facts.question.id.as_str().into()),
    ("kind", |row| row.facts.question.kind.as_str().into()),
    ("asked_at", |row| row.facts.question.asked_at.into()),
    ("age_tokens", |row| row.facts.age_tokens.into()),
    ("age_compactions", |row| row.after.age_compactions.into()),
    ("evidence_state", |row| row.after.evidence.map(|state| state.as_str()).into()),
    ("findable", |row| row.after.findable.into()),
    ("expected", |row| row.words.then(|| expected(&row.facts.question.expect)).into()),
    ("answer", |row| answer(row.after).filter(|_| row.words).into()),
    ("pre_answer", |row| {
        row.before.and_then(|(_, before)| answer(before)).filter(|_| row.words).into()
    }),
    ("score", |row| row.cell.score(row.after).into()),
    ("agreement", |row| row.agreement().map(Agreement::as_str).into()),
    ("verdict", |row| row.after.verdict().map(Verdict::as_str).into()),
    ("judge", |row| judgement(row.after).map(|_| row.report.manifest.judge.as_str()).into()),
    ("unscored_reason", |row| unscored(row.after).into()),
    ("rationale", |row| rationale(row.after).filter(|_| row.words).into()),
    ("question", |row| row.words.then_some(row.facts.question.question.as_str()).into()),
    ("votes", |row| judgement(row.after).and_then(votes).into()),
    ("recovered_answer", |row| {
        let answered = row.after.recovered.as_ref().map(|recovered| &recovered.answered.answer);
        answered.and_then(answer_text).filter(|_| row.words).into()
    }),
    ("recovered_score", |row| row.cell.recovered_score(row.after).into()),
    ("recovery_calls", |row| row.after.recovered.as_ref().map(|one| one.calls).into()),
    ("recovery_tokens", |row| row.after.recovered.as_ref().map(|one| one.tokens).into()),
];

pub(crate) fn questions(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let mut sheet = Sheet::named(&names(), out)?;
    rows(source, |fields| sheet.push_fields(fields))?;
    sheet.finish()
}

/// The names of the columns of `questions.csv`.
pub(super) fn names() -> Vec<&'static str> {
    CELL.split(',').chain(OF_QUESTIONS.iter().map(|(name, _)| *name)).collect()
}

/// Each row of `questions.csv`, in the order of [`names`].
pub(super) fn rows(
    source: &RenderInput<'_>,
    mut push: impl FnMut(Vec<Field>) -> Result<()>,
) -> Result<()> {
    each(source, |row| {
        let fields = OF_QUESTIONS.iter().map(|(_, field)| field(row));
        push(cell_key(&row.cell.key).into_iter().chain(fields).collect())
    })
}

/// Calls a function with every question under every strategy.
pub(crate) fn each(
    source: &RenderInput<'_>,
    mut asked: impl FnMut(&Asked<'_>) -> Result<()>,
) -> Result<()> {
    let (report, words) = (source.report, source.texts.is_some());
    each_cell(report, |facts, session, cell, rows| {
        let full = session
            .cells()
            .iter()
            .find(|other| other.key.strategy == FULL && other.key.window == cell.key.window);
        for after in &rows.questions {
            let at = after.question as usize;
            let Some(facts) = facts.questions.get(at) else { continue };
            let before = full.and_then(|full| Some((full, full.rows()?.questions.get(at)?)));
            asked(&Asked { report, words, cell, facts, after, before })?;
        }
        Ok(())
    })
}

/// A question at a cut under one strategy.
pub(crate) struct AskedAtCut<'a> {
    cut: &'a Cut,
    pub(crate) row: &'a CutRow,
    exam: &'a CutExam,
    pub(crate) asked: &'a QuestionFacts,
    pub(crate) after: &'a QuestionRow,
    /// The same from the whole conversation.
    pub(crate) before: Option<&'a QuestionRow>,
    report: &'a Report,
    words: bool,
}

impl AskedAtCut<'_> {
    /// Whether the provider would have refused the request. At a first compaction
    /// the window is made for the cut, and controls are exempt.
    fn is_refused(&self) -> bool {
        self.report.manifest.depth > 1
            && self.row.row_kind != RowKind::Control
            && self.exam.snapshot.as_ref().is_some_and(|snapshot| snapshot.overflow)
    }

    fn score(&self) -> Option<f64> {
        let score = self.after.score();
        if self.is_refused() { score.map(|_| 0.0) } else { score }
    }

    /// What compression did to it; absent unless both have a score.
    pub(crate) fn agreement(&self) -> Option<Agreement> {
        let before = self.before?.score()?;
        Some(Agreement::of(before >= RIGHT, self.score()? >= RIGHT))
    }
}

const OF_CUTS: &Columns<fn(&AskedAtCut<'_>) -> Field> = &[
    ("question", |at| at.words.then_some(at.asked.question.question.as_str()).into()),
    ("kind", |at| at.asked.question.kind.as_str().into()),
    ("expected", |at| at.words.then(|| expected(&at.asked.question.expect)).into()),
    ("answer", |at| answer(at.after).filter(|_| at.words).into()),
    ("pre_answer", |at| at.before.and_then(answer).filter(|_| at.words).into()),
    ("score", |at| at.score().into()),
    ("pre_score", |at| at.before.and_then(QuestionRow::score).into()),
    ("agreement", |at| at.agreement().map(Agreement::as_str).into()),
    ("verdict", |at| at.after.verdict().map(Verdict::as_str).into()),
    ("pre_verdict", |at| at.before.and_then(QuestionRow::verdict).map(Verdict::as_str).into()),
    ("judge", |at| judgement(at.after).map(|_| at.report.manifest.judge.as_str()).into()),
    ("unscored_reason", |at| unscored(at.after).into()),
    ("rationale", |at| rationale(at.after).filter(|_| at.words).into()),
    ("evidence_state", |at| at.after.evidence.map(|state| state.as_str()).into()),
    ("findable", |at| at.after.findable.into()),
    ("over_window", |at| at.is_refused().into()),
    ("question_id", |at| at.asked.question.id.as_str().into()),
];

pub(crate) fn at_cuts(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let mut sheet = Sheet::new(cuts::KEY, OF_CUTS, out)?;
    for session in source.report.results.iter() {
        for at in asked_at_cuts(source, &session) {
            sheet.push(&cuts::key(at.cut, at.row), OF_CUTS, &at)?;
        }
    }
    sheet.finish()
}

/// Every question at the cuts of a session, in the order of `cuts.csv`.
pub(crate) fn asked_at_cuts<'a>(
    source: &RenderInput<'a>,
    session: &'a SessionResults<'_>,
) -> Vec<AskedAtCut<'a>> {
    let (report, words) = (source.report, source.texts.is_some());
    let facts = report.facts_of(session.dataset, session.id);
    let each = cuts::rows(session).filter_map(|(cut, row)| Some((cut, row, row.exam()?)));
    each.flat_map(|(cut, row, exam)| {
        let full = cut.rows.iter().find(|other| other.strategy == FULL).and_then(CutRow::exam);
        exam.questions.iter().filter_map(move |after| {
            let mut before = full.iter().flat_map(|full| &full.questions);
            Some(AskedAtCut {
                cut,
                row,
                exam,
                asked: facts?.question(after.question)?,
                after,
                before: before.find(|other| other.question == after.question),
                report,
                words,
            })
        })
    })
    .collect()
}

fn judgement(row: &QuestionRow) -> Option<&Judgement> {
    row.answered.as_ref().map(|own| &own.judgement)
}

fn rationale(row: &QuestionRow) -> Option<&str> {
    judgement(row).map(|own| own.rationale.as_str())
}

/// Who of a panel gave which verdict, without a word of theirs; absent for a single judge.
fn votes(judgement: &Judgement) -> Option<String> {
    let votes = judgement.votes.iter();
    let votes = votes.map(|vote| format!("{}={}", vote.judge, vote.verdict.as_str()));
    let votes: Vec<String> = votes.collect();
    (!votes.is_empty()).then(|| votes.join("; "))
}

/// What would be right, in words.
pub(crate) fn expected(expect: &Expectation) -> String {
    match expect {
        Expectation::AnyOf(values) => values.join(" | "),
        Expectation::Rubric(nuggets) => nuggets.join(" & "),
        Expectation::Unanswerable => "that it is not known".to_owned(),
    }
}

/// What a model answered.
fn answer(row: &QuestionRow) -> Option<&str> {
    answer_text(&row.answered.as_ref()?.answer)
}

fn answer_text(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Said(text) => Some(text),
        Answer::Nothing(_) => None,
    }
}

/// Why a model's answer has no grade.
fn unscored(row: &QuestionRow) -> Option<String> {
    match row.verdict() {
        Some(Verdict::Unscored(reason)) => Some(reason.to_string()),
        _ => None,
    }
}
