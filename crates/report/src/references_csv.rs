//! `references.csv`: every reference of the exam and what became of it.

use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_core::model::{Cell, Report};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "references.csv",
    about: "one row per reference and strategy: kept, partial, bare, lost or refused",
    render,
};

const COLUMNS: &str = "request,reference,class,last_seen,distance_tokens,state,refetchable";

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    sheet::csv_of_cells(COLUMNS, &report.results, out, |cell, push| {
        cell_rows(report, cell).into_iter().flatten().try_for_each(push)
    })
}

/// The rows of a cell, made one after the other: a session may have very many.
fn cell_rows<'a>(
    report: &'a Report,
    cell: &'a Cell,
) -> Option<impl Iterator<Item = Vec<Field>> + 'a> {
    let facts = report.facts_of(&cell.key.dataset, &cell.key.session)?;
    let each = cell.rows()?.references.iter().filter_map(move |outcome| {
        let reference = facts.exam.references.get(outcome.reference as usize)?;
        let last_seen = facts.messages.get(reference.last_seen as usize);
        let state = match outcome.state {
            _ if cell.refuses_request(reference.request) => "refused",
            state if state.is_kept() => "kept",
            state => state.as_str(),
        };
        let mut fields = sheet::row_key(&cell.key);
        fields.extend([
            Field::Count(u64::from(reference.request)),
            Field::text(&reference.text),
            Field::text(reference.class.as_str()),
            Field::maybe_text(last_seen.map(|m| m.id.as_str())),
            Field::Count(reference.distance_tokens),
            Field::text(state),
            Field::Flag(reference.refetch.is_some()),
        ]);
        Some(fields)
    });
    Some(each)
}
