//! `requests.csv`: every request as every preset would have sent it.

use super::sheet::{self, Field};
use super::{Format, Source};
use crate::model::{Cell, CellRows, ReferenceState, Report, TranscriptFacts};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "requests.csv",
    about: "one row per request: what was sent, billed and needed",
    render,
};

/// Contracted columns, then those added since.
const COLUMNS: [&str; 15] = [
    "request",
    "message",
    "tokens_full",
    "tokens_sent",
    "cache_read",
    "cache_write",
    "uncached",
    "output",
    "cost_usd",
    "overflow",
    "references",
    "references_kept",
    "messages",
    "valid",
    "estimated",
];

fn render(source: &Source<'_>) -> Vec<u8> {
    let header = sheet::ROW_KEY.iter().chain(&COLUMNS);
    let rows =
        sheet::cells(source.report).into_iter().flat_map(|cell| cell_rows(source.report, cell));
    sheet::write(header, rows)
}

fn cell_rows(report: &Report, cell: &Cell) -> Vec<Vec<Field>> {
    let (Some(rows), Some(facts)) = (cell.rows(), sheet::facts(report, &cell.key)) else {
        return Vec::new();
    };
    let asked = asked_and_kept(rows, facts);
    let sent = rows.requests.iter().zip(&facts.requests).zip(asked).enumerate();
    sent.map(|(at, ((row, request), (references, kept)))| {
        let message = facts.messages.get(request.message as usize);
        let mut fields = sheet::row_key(&cell.key);
        fields.extend([
            Field::Count(at as u64),
            Field::maybe_text(message.map(|m| m.id.as_str())),
            Field::Count(request.tokens_full),
            Field::Count(row.tokens_sent),
            Field::Empty,
            Field::Empty,
            Field::Empty,
            Field::Count(request.output),
            Field::Empty,
            Field::Flag(row.overflow),
            Field::Count(references),
            Field::Count(kept),
            Field::Count(u64::from(row.messages)),
            Field::Flag(row.valid),
            row.estimated.map_or(Field::Empty, Field::Count),
        ]);
        fields
    })
    .collect()
}

/// References asked at each request, and how many of them survive.
fn asked_and_kept(rows: &CellRows, facts: &TranscriptFacts) -> Vec<(u64, u64)> {
    let mut counts = vec![(0, 0); facts.requests.len()];
    for outcome in &rows.references {
        let Some(reference) = facts.exam.references.get(outcome.reference as usize) else {
            continue;
        };
        if let Some(count) = counts.get_mut(reference.request as usize) {
            count.0 += 1;
            count.1 += u64::from(outcome.state == ReferenceState::Kept);
        }
    }
    counts
}
