//! `questions.csv` and `cut_questions.csv`: every question under every strategy: what was asked
//! and expected, whether it is findable, what a model answered, before and after, and where its
//! evidence went. Without text (`--no-text`) these words are empty fields.

use std::io::{Result, Write};

use super::{CELL, Columns, Field, Sheet, cell_key, cuts, each_cell};
use crate::RenderInput;
use recap_core::model::{
    Agreement, Answer, Cell, CutRow, Expectation, FULL, Judgement, QuestionFacts, QuestionRow,
    RIGHT, RowKind, Verdict,
};

/// A question under one strategy, in a session or at a cut of it.
pub(crate) struct Asked<'a> {
    key: &'a [Field],
    pub(crate) strategy: &'a str,
    /// The window of the session; none at a cut.
    pub(crate) window: Option<&'a str>,
    pub(crate) replicate: u32,
    judge: &'a str,
    /// Whether words may be shown.
    words: bool,
    pub(crate) facts: &'a QuestionFacts,
    pub(crate) after: &'a QuestionRow,
    /// The same from the whole conversation.
    pub(crate) before: Option<&'a QuestionRow>,
    /// Whether the provider would have refused the request, so that nothing is right.
    is_refused: bool,
}

impl Asked<'_> {
    fn counted(&self, score: Option<f64>) -> Option<f64> {
        score.map(|score| if self.is_refused { 0.0 } else { score })
    }

    fn score(&self) -> Option<f64> {
        self.counted(self.after.score())
    }

    fn recovered_score(&self) -> Option<f64> {
        self.counted(self.after.recovered.as_ref()?.answered.judgement.score)
    }

    /// What compression did to it; absent unless both have a score.
    pub(crate) fn agreement(&self) -> Option<Agreement> {
        Some(Agreement::of(self.before?.score()? >= RIGHT, self.score()? >= RIGHT))
    }

    fn judge(&self) -> Option<&str> {
        judgement(self.after).map(|_| self.judge)
    }

    /// Words of the session or about it.
    fn words(&self, words: Option<impl Into<Field>>) -> Field {
        words.filter(|_| self.words).into()
    }
}

const OF_QUESTIONS: &Columns<fn(&Asked<'_>) -> Field> = &[
    ("question_id", |one| one.facts.question.id.as_str().into()),
    ("kind", |one| one.facts.question.kind.as_str().into()),
    ("asked_at", |one| one.facts.question.asked_at.into()),
    ("age_tokens", |one| one.facts.age_tokens.into()),
    ("age_compactions", |one| one.after.age_compactions.into()),
    ("evidence_state", |one| one.after.evidence.map(|state| state.as_str()).into()),
    ("findable", |one| one.after.findable.into()),
    ("expected", |one| one.words(Some(expected(&one.facts.question.expect)))),
    ("answer", |one| one.words(answer(one.after))),
    ("pre_answer", |one| one.words(one.before.and_then(answer))),
    ("score", |one| one.score().into()),
    ("agreement", |one| one.agreement().map(Agreement::as_str).into()),
    ("verdict", |one| one.after.verdict().map(Verdict::as_str).into()),
    ("judge", |one| one.judge().into()),
    ("unscored_reason", |one| unscored(one.after).into()),
    ("rationale", |one| one.words(rationale(one.after))),
    ("question", |one| one.words(Some(one.facts.question.question.as_str()))),
    ("votes", |one| judgement(one.after).and_then(votes).into()),
    ("recovered_answer", |one| {
        let recovered = one.after.recovered.as_ref();
        one.words(recovered.and_then(|own| answer_text(&own.answered.answer)))
    }),
    ("recovered_score", |one| one.recovered_score().into()),
    ("recovery_calls", |one| one.after.recovered.as_ref().map(|own| own.calls).into()),
    ("recovery_tokens", |one| one.after.recovered.as_ref().map(|own| own.tokens).into()),
];

pub(crate) fn questions(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let mut sheet = Sheet::new(CELL, OF_QUESTIONS, out)?;
    each(source, |one| sheet.push(one.key, OF_QUESTIONS, one))?;
    sheet.finish()
}

/// The names of the columns of `questions.csv`.
#[cfg(feature = "parquet")]
pub(super) fn names() -> Vec<&'static str> {
    CELL.split(',').chain(OF_QUESTIONS.iter().map(|(name, _)| *name)).collect()
}

/// The fields of a row of `questions.csv`, in the order of [`names`].
#[cfg(feature = "parquet")]
pub(super) fn fields(one: &Asked<'_>) -> impl Iterator<Item = Field> {
    one.key.iter().cloned().chain(OF_QUESTIONS.iter().map(|(_, field)| field(one)))
}

/// Calls a function with every question under every strategy.
pub(crate) fn each(
    source: &RenderInput<'_>,
    mut asked: impl FnMut(&Asked<'_>) -> Result<()>,
) -> Result<()> {
    each_cell(source.report, |facts, session, cell, rows| {
        let is_full =
            |other: &&Cell| other.key.strategy == FULL && other.key.window == cell.key.window;
        let full = session.cells().iter().find(is_full).and_then(Cell::rows);
        let key = cell_key(&cell.key);
        for after in &rows.questions {
            let at = after.question as usize;
            let Some(facts) = facts.questions.get(at) else { continue };
            asked(&Asked {
                key: &key,
                strategy: &cell.key.strategy,
                window: Some(&cell.key.window),
                replicate: cell.key.replicate,
                judge: &source.report.manifest.judge,
                words: source.texts.is_some(),
                facts,
                after,
                before: full.and_then(|full| full.questions.get(at)),
                is_refused: cell.refuses(after),
            })?;
        }
        Ok(())
    })
}

const OF_CUTS: &Columns<fn(&Asked<'_>) -> Field> = &[
    ("question", |one| one.words(Some(one.facts.question.question.as_str()))),
    ("kind", |one| one.facts.question.kind.as_str().into()),
    ("expected", |one| one.words(Some(expected(&one.facts.question.expect)))),
    ("answer", |one| one.words(answer(one.after))),
    ("pre_answer", |one| one.words(one.before.and_then(answer))),
    ("score", |one| one.score().into()),
    ("pre_score", |one| one.before.and_then(QuestionRow::score).into()),
    ("agreement", |one| one.agreement().map(Agreement::as_str).into()),
    ("verdict", |one| one.after.verdict().map(Verdict::as_str).into()),
    ("pre_verdict", |one| one.before.and_then(QuestionRow::verdict).map(Verdict::as_str).into()),
    ("judge", |one| one.judge().into()),
    ("unscored_reason", |one| unscored(one.after).into()),
    ("rationale", |one| one.words(rationale(one.after))),
    ("evidence_state", |one| one.after.evidence.map(|state| state.as_str()).into()),
    ("findable", |one| one.after.findable.into()),
    ("over_window", |one| one.is_refused.into()),
    ("question_id", |one| one.facts.question.id.as_str().into()),
];

pub(crate) fn at_cuts(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let mut sheet = Sheet::new(cuts::KEY, OF_CUTS, out)?;
    each_at_cut(source, |one| sheet.push(one.key, OF_CUTS, one))?;
    sheet.finish()
}

/// Calls a function with every question at the cuts, in the order of `cuts.csv`. At a first
/// compaction the window is made for the cut, so that no request is refused; controls are exempt.
pub(crate) fn each_at_cut(
    source: &RenderInput<'_>,
    mut asked: impl FnMut(&Asked<'_>) -> Result<()>,
) -> Result<()> {
    let report = source.report;
    for session in report.results.iter() {
        let Some(facts) = report.facts_of(session.dataset, session.id) else { continue };
        for (cut, row) in cuts::rows(&session) {
            let Some(exam) = row.exam() else { continue };
            let counts = report.manifest.depth > 1 && row.row_kind != RowKind::Control;
            let full = cut.rows.iter().find(|other| other.strategy == FULL).and_then(CutRow::exam);
            let key = cuts::key(cut, row);
            for after in &exam.questions {
                let Some(facts) = facts.question(after.question) else { continue };
                let mut before = full.iter().flat_map(|full| &full.questions);
                asked(&Asked {
                    key: &key,
                    strategy: &row.strategy,
                    window: None,
                    replicate: row.replicate,
                    judge: &report.manifest.judge,
                    words: source.texts.is_some(),
                    facts,
                    after,
                    before: before.find(|other| other.question == after.question),
                    is_refused: counts && exam.snapshot.as_ref().is_some_and(|sent| sent.overflow),
                })?;
            }
        }
    }
    Ok(())
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
