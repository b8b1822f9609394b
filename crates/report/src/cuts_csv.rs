//! `cuts.csv`: every strategy at every cut: what it kept of the facts,
//! how large it is after the cut, and how long that takes.

use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_core::model::{
    Cut, CutExam, CutRow, ReferenceState, Repeated, RepeatedTexts, SessionResults, UnusableReplies,
};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "cuts.csv",
    about: "one row per cut, strategy and repetition: facts kept, sizes, waits",
    render,
};

/// Columns that stand first in the tables of cuts.
pub(super) const KEY: &str = "dataset,session,strategy,replicate,cut";

const COLUMNS: &str = "tokens_before,tokens_after,window,facts,verbatim,carried,bare,partial,lost,\
    recovered,recency,blocking_ms,compactions,over_window,recorded,error,unusable,requests,\
    requests_left";

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let header = format!("{KEY},{COLUMNS}");
    let report = source.report;
    let repeated = RepeatedTexts::of(&report.results);
    sheet::csv_with(&header, out, |push| {
        report.results.iter().try_for_each(|session| {
            rows(&session).try_for_each(|(cut, row)| {
                let repeated = repeated.at_cuts(&row.strategy);
                let unusable = row.exam().map(|exam| unusable(exam, repeated)).unwrap_or(0);
                push(fields(cut, row, unusable))
            })
        })
    })
}

/// Every strategy at every cut of a session, in the order of the keys.
pub(super) fn rows<'a>(
    session: &'a SessionResults<'_>,
) -> impl Iterator<Item = (&'a Cut, &'a CutRow)> {
    let cuts = session.cuts().iter();
    let mut rows: Vec<(&Cut, &CutRow)> =
        cuts.flat_map(|cut| cut.rows.iter().map(move |row| (cut, row))).collect();
    rows.sort_by_key(|(cut, row)| (&row.strategy, row.replicate, cut.request));
    rows.into_iter()
}

/// The key fields of a row, in the order of [`KEY`].
pub(super) fn key(cut: &Cut, row: &CutRow) -> Vec<Field> {
    vec![
        Field::text(&cut.dataset),
        Field::text(&cut.session),
        Field::text(&row.strategy),
        Field::Count(u64::from(row.replicate)),
        Field::Count(u64::from(cut.request)),
    ]
}

/// Unusable replies of the compactor at a cut.
fn unusable(exam: &CutExam, repeated: &Repeated) -> u64 {
    let mut found = UnusableReplies::default();
    exam.replies.iter().for_each(|reply| found.add(reply, repeated));
    found.unusable
}

fn fields(cut: &Cut, row: &CutRow, unusable: u64) -> Vec<Field> {
    let Some(exam) = row.exam() else {
        let error = match &row.outcome {
            recap_core::model::CutOutcome::Failed { error } => error.as_str(),
            recap_core::model::CutOutcome::Done(_) => "",
        };
        let mut fields = key(cut, row);
        fields.push(Field::Count(cut.tokens_before));
        fields.extend(vec![Field::Empty; COLUMNS.split(',').count() - 5]);
        fields.push(Field::text(error));
        fields.push(Field::Empty);
        fields.extend(requests(cut));
        return fields;
    };
    let mut fields = examined(cut, row, exam);
    fields.push(Field::Count(unusable));
    fields.extend(requests(cut));
    fields
}

/// Requests after the cut that are looked at, and all that were still to come.
fn requests(cut: &Cut) -> [Field; 2] {
    let left = cut.left.map_or(Field::Empty, |left| Field::Count(u64::from(left)));
    [Field::Count(u64::from(cut.requests)), left]
}

fn examined(cut: &Cut, row: &CutRow, exam: &CutExam) -> Vec<Field> {
    let count = |state| {
        let hits = exam.states.iter().filter(|own| **own == state).count();
        Field::Count(hits as u64)
    };
    let mut fields = key(cut, row);
    fields.extend([
        Field::Count(cut.tokens_before),
        Field::Count(exam.tokens_after),
        Field::Count(exam.window),
        Field::Count(cut.facts.len() as u64),
        count(ReferenceState::Verbatim),
        count(ReferenceState::Carried),
        count(ReferenceState::Bare),
        count(ReferenceState::Partial),
        count(ReferenceState::Lost),
        count(ReferenceState::Recovered),
        Field::maybe(recency(cut, exam)),
        Field::maybe(exam.blocking_ms),
        Field::Count(u64::from(exam.compactions)),
        Field::Count(exam.refused.len() as u64),
        Field::Flag(cut.recorded),
        Field::Empty,
    ]);
    fields
}

/// Share of the facts that the newest messages of the same size would have
/// kept.
fn recency(cut: &Cut, exam: &CutExam) -> Option<f64> {
    let room = exam.tokens_after.saturating_sub(cut.preamble_tokens);
    let near = cut.facts.iter().filter(|fact| fact.newest_tokens <= room).count();
    (!cut.facts.is_empty()).then(|| near as f64 / cut.facts.len() as f64)
}
