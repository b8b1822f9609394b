//! `cut_questions.csv`: every question that was asked right after a cut, under each
//! strategy: what was expected, whether it is findable, and what a model answered from the
//! whole conversation and from what the strategy sends. Without text (`--no-text`) these words are
//! empty fields.

use std::io::{Result, Write};

use super::questions_csv::{expected, said, unscored};
use super::sheet::{self, Field};
use super::{Format, RenderInput, cuts_csv};
use recap_core::model::{
    Agreement, Cut, CutExam, CutRow, FULL, QuestionFacts, QuestionRow, RIGHT, Report, RowKind,
    SessionResults, Verdict,
};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "cut_questions.csv",
    about: "one row per question asked at a cut and strategy: expected, answered before and after, graded",
    render,
};

const COLUMNS: &str = "question,kind,expected,answer,pre_answer,score,pre_score,agreement,verdict,\
    pre_verdict,judge,unscored_reason,rationale,evidence_state,findable,over_window,question_id";

/// A question at a cut under one strategy.
pub(super) struct AskedAtCut<'a> {
    pub(super) cut: &'a Cut,
    pub(super) row: &'a CutRow,
    exam: &'a CutExam,
    pub(super) asked: &'a QuestionFacts,
    pub(super) after: &'a QuestionRow,
    /// The same from the whole conversation.
    pub(super) before: Option<&'a QuestionRow>,
    /// Depth of the cuts: [`recap_core::model::Manifest::depth`].
    depth: u32,
}

impl AskedAtCut<'_> {
    /// Whether the provider would have refused the request. At a first compaction
    /// the window is made for the cut, and controls are exempt.
    fn is_refused(&self) -> bool {
        self.depth > 1
            && self.row.row_kind != RowKind::Control
            && self.exam.snapshot.as_ref().is_some_and(|snapshot| snapshot.overflow)
    }

    fn score(&self) -> Option<f64> {
        let score = self.after.score();
        if self.is_refused() { score.map(|_| 0.0) } else { score }
    }

    /// What compression did to it; absent unless both have a score.
    pub(super) fn agreement(&self) -> Option<Agreement> {
        let before = self.before?.score()?;
        Some(Agreement::of(before >= RIGHT, self.score()? >= RIGHT))
    }
}

/// Every question at the cuts of a session, in the order of `cuts.csv`.
pub(super) fn asked<'a>(
    report: &'a Report,
    session: &'a SessionResults<'_>,
) -> Vec<AskedAtCut<'a>> {
    let each = cuts_csv::rows(session).filter_map(|(cut, row)| Some((cut, row, row.exam()?)));
    each.flat_map(|(cut, row, exam)| {
        let facts = report.facts_of(&cut.dataset, &cut.session);
        let mut same = cut.rows.iter().filter(|o| o.strategy == FULL);
        let whole = same.next().and_then(CutRow::exam).map_or(&[][..], |exam| &exam.questions);
        exam.questions.iter().filter_map(move |after| {
            let asked = facts?.question(after.question)?;
            let before = whole.iter().find(|other| other.question == after.question);
            Some(AskedAtCut { cut, row, exam, asked, after, before, depth: report.manifest.depth })
        })
    })
    .collect()
}

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let header = format!("{},{COLUMNS}", cuts_csv::KEY);
    sheet::csv_with(&header, out, |push| {
        source.report.results.iter().try_for_each(|session| {
            let all = asked(source.report, &session);
            all.iter().try_for_each(|asked| push(fields(source, asked)))
        })
    })
}

fn fields(source: &RenderInput<'_>, at: &AskedAtCut<'_>) -> Vec<Field> {
    let words = |field: Field| if source.texts.is_some() { field } else { Field::Empty };
    let question = &at.asked.question;
    let judgement = at.after.answered.as_ref().map(|own| &own.judgement);
    let mut fields = cuts_csv::key(at.cut, at.row);
    fields.extend([
        words(Field::text(&question.question)),
        Field::text(question.kind.as_str()),
        words(Field::text(&expected(&question.expect))),
        words(said(at.after)),
        words(at.before.map_or(Field::Empty, said)),
        Field::maybe(at.score()),
        Field::maybe(at.before.and_then(QuestionRow::score)),
        Field::maybe_text(at.agreement().map(Agreement::as_str)),
        Field::maybe_text(at.after.verdict().map(Verdict::as_str)),
        Field::maybe_text(at.before.and_then(QuestionRow::verdict).map(Verdict::as_str)),
        Field::maybe_text(judgement.map(|_| source.report.manifest.judge.as_str())),
        Field::maybe_text(unscored(at.after).as_deref()),
        words(Field::maybe_text(judgement.map(|own| own.rationale.as_str()))),
        Field::maybe_text(at.after.evidence.map(|state| state.as_str())),
        at.after.findable.map_or(Field::Empty, Field::Flag),
        Field::Flag(at.is_refused()),
        Field::text(&question.id),
    ]);
    fields
}
