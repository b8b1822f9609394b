//! `questions.csv`: every question under every strategy: what was asked and expected,
//! whether it is findable, what a model answered, before and after, and where its evidence went. Without text
//! (`--no-text`) these words are empty fields.

use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_core::model::{
    Agreement, Answer, Cell, Expectation, FULL, GradedAnswer, Judgement, QuestionFacts,
    QuestionRow, RIGHT, SessionResults, Verdict, Vote,
};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "questions.csv",
    about: "one row per question of a data set and strategy: asked, expected, answered before and after, graded",
    render,
};

const COLUMNS: &str = "question_id,kind,asked_at,age_tokens,age_compactions,evidence_state,findable,expected,\
    answer,pre_answer,score,agreement,verdict,judge,unscored_reason,rationale,question,\
    votes,recovered_answer,recovered_score,recovery_calls,recovery_tokens";

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    sheet::csv(&header(), rows(source), out)
}

/// The names of the columns.
pub(super) fn header() -> String {
    format!("{},{COLUMNS}", sheet::ROW_KEY)
}

/// A row for each question, strategy, window and replicate.
pub(super) fn rows<'a>(source: &'a RenderInput<'_>) -> impl Iterator<Item = Vec<Field>> + 'a {
    source.report.results.iter().flat_map(|session| -> Vec<Vec<Field>> {
        session.cells().iter().flat_map(|cell| cell_rows(source, &session, cell)).collect()
    })
}

fn cell_rows(
    source: &RenderInput<'_>,
    session: &SessionResults<'_>,
    cell: &Cell,
) -> Vec<Vec<Field>> {
    let report = source.report;
    let (Some(rows), Some(facts)) =
        (cell.rows(), report.facts_of(&cell.key.dataset, &cell.key.session))
    else {
        return Vec::new();
    };
    let before = uncompressed(session, cell);
    let row = |row: &QuestionRow| {
        let asked = facts.questions.get(row.question as usize)?;
        let mut fields = sheet::row_key(&cell.key);
        fields.extend(question_fields(source, cell, asked, row, before));
        Some(fields)
    };
    rows.questions.iter().filter_map(row).collect()
}

/// The cell that was asked before compression.
fn uncompressed<'a>(session: &'a SessionResults<'_>, cell: &Cell) -> Option<&'a Cell> {
    let mut cells = session.cells().iter();
    cells.find(|other| other.key.strategy == FULL && other.key.window == cell.key.window)
}

fn question_fields(
    source: &RenderInput<'_>,
    cell: &Cell,
    asked: &QuestionFacts,
    row: &QuestionRow,
    before: Option<&Cell>,
) -> Vec<Field> {
    let question = &asked.question;
    let pre =
        before.and_then(|cell| Some((cell, cell.rows()?.questions.get(row.question as usize)?)));
    let judgement = row.answered.as_ref().map(|own| &own.judgement);
    let count = |n: Option<u64>| n.map_or(Field::Empty, Field::Count);
    let recovered = row.recovered.as_ref();
    let words = |field: Field| if source.texts.is_some() { field } else { Field::Empty };
    vec![
        Field::text(&question.id),
        Field::text(question.kind.as_str()),
        Field::Count(u64::from(question.asked_at)),
        count(asked.age_tokens),
        count(row.age_compactions.map(u64::from)),
        Field::maybe_text(row.evidence.map(|state| state.as_str())),
        row.findable.map_or(Field::Empty, Field::Flag),
        words(Field::text(&expected(&question.expect))),
        words(said(row)),
        words(pre.map_or(Field::Empty, |(_, pre)| said(pre))),
        Field::maybe(cell.score(row)),
        Field::maybe_text(agreement(cell, row, pre).map(Agreement::as_str)),
        Field::maybe_text(row.verdict().map(Verdict::as_str)),
        Field::maybe_text(judgement.map(|_| source.report.manifest.judge.as_str())),
        Field::maybe_text(unscored(row).as_deref()),
        words(Field::maybe_text(judgement.map(|own| own.rationale.as_str()))),
        words(Field::text(&question.question)),
        Field::maybe_text(judgement.and_then(votes).as_deref()),
        words(recovered.map_or(Field::Empty, |r| text(&r.answered))),
        Field::maybe(cell.recovered_score(row)),
        count(recovered.map(|r| u64::from(r.calls))),
        count(recovered.map(|r| r.tokens)),
    ]
}

/// Who of a panel said what, without a word of theirs; absent for a single judge.
fn votes(judgement: &Judgement) -> Option<String> {
    let vote = |vote: &Vote| format!("{}={}", vote.judge, vote.verdict.as_str());
    let votes: Vec<String> = judgement.votes.iter().map(vote).collect();
    (!votes.is_empty()).then(|| votes.join("; "))
}

/// What compression did to a question; absent unless both have a score.
pub(super) fn agreement(
    cell: &Cell,
    row: &QuestionRow,
    pre: Option<(&Cell, &QuestionRow)>,
) -> Option<Agreement> {
    let (full, pre) = pre?;
    Some(Agreement::of(full.score(pre)? >= RIGHT, cell.score(row)? >= RIGHT))
}

/// What would be right, in words.
pub(super) fn expected(expect: &Expectation) -> String {
    match expect {
        Expectation::AnyOf(values) => values.join(" | "),
        Expectation::Rubric(nuggets) => nuggets.join(" & "),
        Expectation::Unanswerable => "that it is not known".to_owned(),
    }
}

/// What a model answered.
pub(super) fn said(row: &QuestionRow) -> Field {
    row.answered.as_ref().map_or(Field::Empty, text)
}

fn text(answered: &GradedAnswer) -> Field {
    match &answered.answer {
        Answer::Said(text) => Field::text(text),
        Answer::Nothing(_) => Field::Empty,
    }
}

/// Why a model's answer has no grade.
pub(super) fn unscored(row: &QuestionRow) -> Option<String> {
    match row.verdict() {
        Some(Verdict::Unscored(reason)) => Some(reason.to_string()),
        _ => None,
    }
}
