//! Tables of the run folder as CSV (RFC 4180), with a guard against text that a
//! spreadsheet would run as a formula.

use std::borrow::Cow;
use std::io::{Result, Write};
use std::sync::Arc;

use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};

use super::number;
use recap_core::model::{
    Bill, Cell, CellKey, CellRows, RECORDED, Report, SessionFacts, SessionResults,
};
use recap_core::text::harmless_data;

pub(super) mod cells;
pub(super) mod cuts;
#[cfg(feature = "parquet")]
pub(super) mod parquet;
pub(super) mod questions;
pub(super) mod receipt;
pub(super) mod rows;

/// Columns that stand first in every table of rows of a cell (docs/files.md).
pub(super) const CELL: &str = "dataset,session,strategy,window,replicate";

/// The fields of [`CELL`].
pub(super) fn cell_key(key: &CellKey) -> Vec<Field> {
    let [dataset, session, strategy, window] =
        [&key.dataset, &key.session, &key.strategy, &key.window].map(|name| name.as_str().into());
    vec![dataset, session, strategy, window, key.replicate.into()]
}

/// Calls a function with every cell that ran through, with the facts and all results of its
/// session.
pub(super) fn each_cell(
    report: &Report,
    mut each: impl FnMut(&SessionFacts, &SessionResults<'_>, &Cell, &CellRows) -> Result<()>,
) -> Result<()> {
    for session in report.results.iter() {
        let Some(facts) = report.facts_of(session.dataset, session.id) else { continue };
        let done = session.cells().iter().filter_map(|cell| Some((cell, cell.rows()?)));
        for (cell, rows) in done {
            each(facts, &session, cell, rows)?;
        }
    }
    Ok(())
}

/// Columns of a table: the name of each, and its field of a row.
pub(super) type Columns<F> = [(&'static str, F)];

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

/// Makes fields of one kind from each of these types.
macro_rules! field_from {
    ($($kind:ident: $($of:ty),*;)*) => {$($(
        impl From<$of> for Field {
            fn from(of: $of) -> Self {
                Field::$kind(of.into())
            }
        }
    )*)*};
}

field_from! {
    Text: &str, String;
    Number: f64;
    Count: u64, u32;
    Flag: bool;
}

impl From<usize> for Field {
    fn from(n: usize) -> Self {
        Field::Count(n as u64)
    }
}

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(known: Option<T>) -> Self {
        known.map_or(Field::Empty, T::into)
    }
}

impl Field {
    /// US dollars, where they are known.
    pub(super) fn dollars(usd: impl Into<Option<f64>>) -> Field {
        usd.into().map_or(Field::Empty, Field::Dollars)
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
    let armed =
        matches!(text.as_bytes().first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r' | b'\n'));
    match harmless_data(text) {
        tamed if armed => Cow::Owned(format!("'{tamed}")),
        tamed => tamed,
    }
}

/// Who is billed, as rows of one cell say it: a model's name as asked for, or
/// where each session is billed as the model that it names that model.
fn agent_model(bill: &Bill) -> &str {
    if bill.billed_as == RECORDED { &bill.model } else { &bill.billed_as }
}

/// The bills of a cell in the order of that name; one `None` without any, so
/// that what needs no bill has its row. What the agent itself sent has one: as recorded.
fn bills(rows: &CellRows) -> Vec<Option<&Bill>> {
    let mut bills: Vec<&Bill> = rows.bills.iter().map(Arc::as_ref).collect();
    if let Some(today) = bills.iter().position(|bill| bill.billed_as == RECORDED) {
        bills = vec![bills[today]];
    }
    bills.sort_by_key(|bill| agent_model(bill));
    if bills.is_empty() { vec![None] } else { bills.into_iter().map(Some).collect() }
}

/// A table as CSV, row by row: the tables of a large run are larger than the run.
pub(super) struct Sheet<'a> {
    writer: Writer<&'a mut dyn Write>,
}

impl<'a> Sheet<'a> {
    /// Begins with the names of the key, where there is one, and of the columns.
    ///
    /// # Errors
    /// What the writer says.
    pub(super) fn new<F>(key: &str, columns: &Columns<F>, out: &'a mut dyn Write) -> Result<Self> {
        let key = key.split(',').filter(|name| !name.is_empty());
        let names: Vec<&str> = key.chain(columns.iter().map(|(name, _)| *name)).collect();
        Self::named(&names, out)
    }

    /// The same with columns that are known by their names alone.
    ///
    /// # Errors
    /// What the writer says.
    pub(super) fn named(names: &[&str], out: &'a mut dyn Write) -> Result<Self> {
        let mut writer = WriterBuilder::new()
            .quote_style(QuoteStyle::Necessary)
            .terminator(Terminator::CRLF)
            .from_writer(out);
        writer.write_record(names)?;
        Ok(Self { writer })
    }

    /// Adds the fields of these columns after those of the key.
    ///
    /// # Errors
    /// What the writer says.
    pub(super) fn push<R, F: Fn(&R) -> Field>(
        &mut self,
        key: &[Field],
        columns: &Columns<F>,
        row: &R,
    ) -> Result<()> {
        key.iter().try_for_each(|field| self.field(field))?;
        columns.iter().try_for_each(|(_, field)| self.field(&field(row)))?;
        self.end()
    }

    /// Adds a row, as long as the header.
    ///
    /// # Errors
    /// What the writer says.
    pub(super) fn push_fields(&mut self, fields: impl IntoIterator<Item = Field>) -> Result<()> {
        fields.into_iter().try_for_each(|field| self.field(&field))?;
        self.end()
    }

    fn field(&mut self, field: &Field) -> Result<()> {
        Ok(self.writer.write_field(field.printed().as_bytes())?)
    }

    /// Ends a row; fails where it is not as long as the header.
    fn end(&mut self) -> Result<()> {
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    /// # Errors
    /// What the writer says.
    pub(super) fn finish(mut self) -> Result<()> {
        self.writer.flush()
    }
}

/// A whole table of rows without a key.
///
/// # Errors
/// What the writer says.
pub(super) fn table<R, F: Fn(&R) -> Field>(
    columns: &Columns<F>,
    rows: impl IntoIterator<Item = R>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut sheet = Sheet::new("", columns, out)?;
    for row in rows {
        sheet.push(&[], columns, &row)?;
    }
    sheet.finish()
}

/// The same in memory.
pub(super) fn bytes<R, F: Fn(&R) -> Field>(
    columns: &Columns<F>,
    rows: impl IntoIterator<Item = R>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    table(columns, rows, &mut bytes).expect("memory takes every write");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[Vec<Field>]) -> String {
        let mut bytes = Vec::new();
        let mut sheet = Sheet::named(&["a", "b"], &mut bytes).unwrap();
        rows.iter().for_each(|row| sheet.push_fields(row.clone()).unwrap());
        sheet.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn spreadsheet_formulas_are_defused_but_numbers_are_not() {
        let rows = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "\n=x", "\r\n=x", "x=1"]
            .map(|t| vec![Field::from(t), Field::Number(-0.5)]);
        assert_eq!(
            written(&rows),
            "a,b\r\n'=1+1,-0.5\r\n'+x,-0.5\r\n'-x,-0.5\r\n'@x,-0.5\r\n'\tx,-0.5\r\n\
             '\u{FFFD}x,-0.5\r\n\"'\n=x\",-0.5\r\n\"'\n=x\",-0.5\r\nx=1,-0.5\r\n"
        );
    }

    #[test]
    fn terminal_controls_are_replaced_but_line_breaks_stay() {
        let rows =
            vec![vec![Field::from("a\u{1b}[2J\u{8}\u{202E}b\r\nc\td 👩\u{200D}💻"), Field::Empty]];
        let shown = "\"a\u{FFFD}[2J\u{FFFD}\u{FFFD}b\nc\td 👩\u{200D}💻\"";
        assert_eq!(written(&rows), format!("a,b\r\n{shown},\r\n"));
    }

    #[test]
    fn fields_are_quoted_as_rfc_4180_requires() {
        let rows = vec![vec![Field::from("a,\"b\"\nc"), Field::Empty]];
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
