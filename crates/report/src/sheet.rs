//! Tables of the run folder as CSV (RFC 4180), with a guard against text that a
//! spreadsheet would run as a formula.

use std::borrow::Cow;
use std::io::{Result, Write};
use std::sync::Arc;

use csv::{QuoteStyle, Terminator, WriterBuilder};

use super::number;
use recap_core::model::{Bill, Cell, CellKey, CellRows, RECORDED, RunResults};
use recap_core::text::harmless_data;

/// Columns that stand first in every table of rows (docs/files.md).
pub(super) const ROW_KEY: &str = "dataset,session,strategy,window,replicate";

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

    /// As CSV says it: rounded as files are, so that equal runs give equal bytes.
    fn printed(&self) -> Cow<'_, str> {
        let number = |text: Option<String>| Cow::Owned(text.unwrap_or_default());
        match self {
            Field::Empty => Cow::Borrowed(""),
            Field::Text(text) => defused(text),
            Field::Number(x) => number(number::plain(*x)),
            Field::Dollars(x) => number(number::exact_dollars(*x)),
            Field::Count(n) => Cow::Owned(n.to_string()),
            Field::Flag(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        }
    }
}

/// Text as a spreadsheet, or a terminal that prints the file, may see it: what
/// they would obey is shown; line feeds and tabs stay, in quotes.
fn defused(text: &str) -> Cow<'_, str> {
    let armed = matches!(text.as_bytes().first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r'));
    match harmless_data(text) {
        tamed if armed => Cow::Owned(format!("'{tamed}")),
        tamed => tamed,
    }
}

/// The key fields of a row, in the order of [`ROW_KEY`].
pub(super) fn row_key(key: &CellKey) -> Vec<Field> {
    vec![
        Field::text(&key.dataset),
        Field::text(&key.session),
        Field::text(&key.strategy),
        Field::text(&key.window),
        Field::Count(u64::from(key.replicate)),
    ]
}

/// Who is billed, as rows of one cell say it: a model's name as asked for, or
/// where each session is billed as the model that it names that model.
pub(super) fn agent_model(bill: &Bill) -> &str {
    if bill.billed_as == RECORDED { &bill.model } else { &bill.billed_as }
}

/// The bills of a cell in the order of that name; one `None` without any, so
/// that what needs no bill has its row. What the agent itself sent has one: as recorded.
pub(super) fn bills(rows: &CellRows) -> Vec<Option<&Bill>> {
    let mut bills: Vec<&Bill> = rows.bills.iter().map(Arc::as_ref).collect();
    if let Some(today) = bills.iter().position(|bill| bill.billed_as == RECORDED) {
        bills = vec![bills[today]];
    }
    bills.sort_by_key(|bill| agent_model(bill));
    if bills.is_empty() { vec![None] } else { bills.into_iter().map(Some).collect() }
}

/// Writes a table as CSV. Every row has as many fields as the header.
///
/// # Errors
/// What the writer says.
pub(super) fn csv(
    header: &str,
    rows: impl IntoIterator<Item = Vec<Field>>,
    out: &mut dyn Write,
) -> Result<()> {
    csv_with(header, out, |push| rows.into_iter().try_for_each(push))
}

/// What takes the rows of a table one by one.
pub(super) type Push<'a> = dyn FnMut(Vec<Field>) -> Result<()> + 'a;

/// The same of rows that `fill` makes one by one, from what it does not keep:
/// the tables of a large run are larger than the run.
///
/// # Errors
/// What the writer says.
pub(super) fn csv_with(
    header: &str,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut Push<'_>) -> Result<()>,
) -> Result<()> {
    let mut writer = WriterBuilder::new()
        .quote_style(QuoteStyle::Necessary)
        .terminator(Terminator::CRLF)
        .from_writer(out);
    writer.write_record(header.split(','))?;
    fill(&mut |row| {
        for field in &row {
            writer.write_field(field.printed().as_bytes())?;
        }
        // Fails where a row is not as long as the header.
        Ok(writer.write_record(None::<&[u8]>)?)
    })?;
    writer.flush()
}

/// A table of rows that each cell of a run has, its key first.
///
/// # Errors
/// What the writer says.
pub(super) fn csv_of_cells(
    columns: &str,
    results: &RunResults,
    out: &mut dyn Write,
    rows: impl Fn(&Cell, &mut Push<'_>) -> Result<()>,
) -> Result<()> {
    csv_with(&format!("{ROW_KEY},{columns}"), out, |push| {
        results
            .iter()
            .try_for_each(|session| session.cells().iter().try_for_each(|cell| rows(cell, push)))
    })
}

/// A table in memory.
pub(super) fn csv_bytes(header: &str, rows: impl IntoIterator<Item = Vec<Field>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    csv(header, rows, &mut bytes).expect("memory takes every write");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[Vec<Field>]) -> String {
        String::from_utf8(csv_bytes("a,b", rows.to_vec())).unwrap()
    }

    #[test]
    fn spreadsheet_formulas_are_defused_but_numbers_are_not() {
        let rows = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "x=1"]
            .map(|t| vec![Field::text(t), Field::Number(-0.5)]);
        assert_eq!(
            written(&rows),
            "a,b\r\n'=1+1,-0.5\r\n'+x,-0.5\r\n'-x,-0.5\r\n'@x,-0.5\r\n'\tx,-0.5\r\n\
             '\u{FFFD}x,-0.5\r\nx=1,-0.5\r\n"
        );
    }

    #[test]
    fn terminal_controls_are_replaced_but_line_breaks_stay() {
        let rows =
            vec![vec![Field::text("a\u{1b}[2J\u{8}\u{202E}b\r\nc\td 👩\u{200D}💻"), Field::Empty]];
        let shown = "\"a\u{FFFD}[2J\u{FFFD}\u{FFFD}b\nc\td 👩\u{200D}💻\"";
        assert_eq!(written(&rows), format!("a,b\r\n{shown},\r\n"));
    }

    #[test]
    fn fields_are_quoted_as_rfc_4180_requires() {
        let rows = vec![vec![Field::text("a,\"b\"\nc"), Field::Empty]];
        assert_eq!(written(&rows), "a,b\r\n\"a,\"\"b\"\"\nc\",\r\n");
    }

    #[test]
    fn number_that_is_not_finite_is_empty_field() {
        assert_eq!(
            written(&[vec![Field::Number(f64::NAN), Field::Flag(true)]]),
            "a,b\r\n,true\r\n"
        );
    }
}
