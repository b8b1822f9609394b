//! One CSV file (RFC 4180): a header, fields that are text or numbers, and the
//! guard against text that a spreadsheet would run as a formula.

use csv::{QuoteStyle, Terminator, WriterBuilder};

use super::number;
use crate::model::{Bill, Cell, CellKey, CellRows, RECORDED, Report, TranscriptFacts};

/// Columns that stand first in every table of rows (`interface`, Run folder).
pub(super) const ROW_KEY: [&str; 5] = ["dataset", "transcript", "strategy", "window", "replicate"];

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Field {
    /// Nothing to say: an empty field.
    Empty,
    /// Words, defused where a spreadsheet would run them.
    Text(String),
    /// A number, never defused: `-0.5` stays a number.
    Number(f64),
    /// US dollars.
    Dollars(f64),
    /// A count.
    Count(u64),
    /// `true` or `false`.
    Flag(bool),
}

impl Field {
    /// A word.
    pub(super) fn text(text: &str) -> Field {
        Field::Text(text.to_owned())
    }

    /// A word, or nothing.
    pub(super) fn maybe_text(text: Option<&str>) -> Field {
        text.map_or(Field::Empty, Field::text)
    }

    /// A number, or nothing.
    pub(super) fn maybe(number: Option<f64>) -> Field {
        number.map_or(Field::Empty, Field::Number)
    }

    /// Dollars, or nothing.
    pub(super) fn maybe_dollars(usd: Option<f64>) -> Field {
        usd.map_or(Field::Empty, Field::Dollars)
    }

    fn into_csv(self) -> String {
        match self {
            Field::Empty => String::new(),
            Field::Text(text) => defused(text),
            Field::Number(x) => number::plain(x).unwrap_or_default(),
            Field::Dollars(x) => number::exact_dollars(x).unwrap_or_default(),
            Field::Count(n) => n.to_string(),
            Field::Flag(flag) => flag.to_string(),
        }
    }
}

fn defused(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text }
}

/// The key fields of a row, in the order of [`ROW_KEY`].
pub(super) fn row_key(key: &CellKey) -> Vec<Field> {
    vec![
        Field::text(&key.dataset),
        Field::text(&key.transcript),
        Field::text(&key.strategy),
        Field::text(&key.window),
        Field::Count(u64::from(key.replicate)),
    ]
}

/// Every cell in the order of its key, however the report holds them.
pub(super) fn cells(report: &Report) -> Vec<&Cell> {
    let mut cells: Vec<&Cell> = report.cells.iter().collect();
    cells.sort_by(|a, b| a.key.cmp(&b.key));
    cells
}

/// Facts of a cell's transcript.
pub(super) fn facts<'a>(report: &'a Report, key: &CellKey) -> Option<&'a TranscriptFacts> {
    report.transcripts.iter().find(|t| t.transcript == key.transcript && t.dataset == key.dataset)
}

/// Who is billed, as rows of one cell say it: a model's name as asked for, or
/// where each session is billed as the model that it names that model.
pub(super) fn agent_model(bill: &Bill) -> &str {
    if bill.billed_as == RECORDED { &bill.model } else { &bill.billed_as }
}

/// The bills of a cell in the order of that name; one `None` without any, so
/// that what needs no bill has its row.
pub(super) fn bills(rows: &CellRows) -> Vec<Option<&Bill>> {
    let mut bills: Vec<&Bill> = rows.bills.iter().collect();
    bills.sort_by_key(|bill| agent_model(bill));
    if bills.is_empty() { vec![None] } else { bills.into_iter().map(Some).collect() }
}

/// Writes a file. Every row must have as many fields as the header.
pub(super) fn write(
    header: impl IntoIterator<Item = impl AsRef<str>>,
    rows: impl IntoIterator<Item = Vec<Field>>,
) -> Vec<u8> {
    let mut writer = WriterBuilder::new()
        .quote_style(QuoteStyle::Necessary)
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    let header: Vec<String> = header.into_iter().map(|h| h.as_ref().to_owned()).collect();
    writer.write_record(&header).expect("memory takes every write");
    for row in rows {
        let fields = row.into_iter().map(Field::into_csv);
        writer.write_record(fields).expect("rows are as long as the header");
    }
    writer.into_inner().expect("memory takes every write")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(rows: Vec<Vec<Field>>) -> String {
        String::from_utf8(write(["a", "b"], rows)).unwrap()
    }

    #[test]
    fn text_that_a_spreadsheet_would_run_is_defused_and_numbers_are_not() {
        let rows = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "x=1"]
            .map(|t| vec![Field::text(t), Field::Number(-0.5)]);
        assert_eq!(
            csv(rows.to_vec()),
            "a,b\r\n'=1+1,-0.5\r\n'+x,-0.5\r\n'-x,-0.5\r\n'@x,-0.5\r\n'\tx,-0.5\r\n\
             \"'\rx\",-0.5\r\nx=1,-0.5\r\n"
        );
    }

    #[test]
    fn commas_quotes_and_line_breaks_are_quoted_as_rfc_4180_says() {
        let rows = vec![vec![Field::text("a,\"b\"\nc"), Field::Empty]];
        assert_eq!(csv(rows), "a,b\r\n\"a,\"\"b\"\"\nc\",\r\n");
    }

    #[test]
    fn a_number_that_is_not_finite_is_an_empty_field() {
        assert_eq!(csv(vec![vec![Field::Number(f64::NAN), Field::Flag(true)]]), "a,b\r\n,true\r\n");
    }
}
