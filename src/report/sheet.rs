//! Tables of the run folder: built once as a polars frame of typed columns, and
//! written from there: as CSV (RFC 4180), with a guard against text that a
//! spreadsheet would run as a formula, and as Parquet.

use std::borrow::Cow;
use std::io::{Result, Write};
use std::sync::Arc;

use csv::{QuoteStyle, Terminator, WriterBuilder};
use polars::prelude::{Column, DataFrame, NamedFrom, Series};

use super::number;
use crate::model::{Bill, Cell, CellKey, CellRows, RECORDED, Sessions};
use crate::text::harmless_data;

/// Columns that stand first in every table of rows (docs/files.md).
pub(super) const ROW_KEY: [(&str, Kind); 5] = [
    ("dataset", Kind::Text),
    ("transcript", Kind::Text),
    ("strategy", Kind::Text),
    ("window", Kind::Text),
    ("replicate", Kind::Count),
];

/// What a column holds; every field of it is of this kind or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Dollars,
    Count,
    Flag,
}

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
}

/// Text as a spreadsheet, or a terminal that prints the file, may see it: what
/// they would obey is shown; line feeds and tabs stay, in quotes.
fn defused(text: &str) -> Cow<'_, str> {
    let armed = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match harmless_data(text) {
        tamed if armed => Cow::Owned(format!("'{tamed}")),
        tamed => tamed,
    }
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

/// Who is billed, as rows of one cell say it: a model's name as asked for, or
/// where each session is billed as the model that it names that model.
pub(super) fn agent_model(bill: &Bill) -> &str {
    if bill.billed_as == RECORDED { &bill.model } else { &bill.billed_as }
}

/// The bills of a cell in the order of that name; one `None` without any, so
/// that what needs no bill has its row.
pub(super) fn bills(rows: &CellRows) -> Vec<Option<&Bill>> {
    let mut bills: Vec<&Bill> = rows.bills.iter().map(Arc::as_ref).collect();
    bills.sort_by_key(|bill| agent_model(bill));
    if bills.is_empty() { vec![None] } else { bills.into_iter().map(Some).collect() }
}

/// Rows of a file that are held at a time.
const CHUNK: usize = 4_096;

/// Writes a table as CSV, some rows at a time: the tables of a large run are
/// larger than the run.
///
/// # Errors
/// What the writer says.
pub(super) fn csv<N: Into<String>>(
    header: impl IntoIterator<Item = (N, Kind)>,
    rows: impl IntoIterator<Item = Vec<Field>>,
    out: &mut dyn Write,
) -> Result<()> {
    csv_with(header, out, |push| rows.into_iter().try_for_each(push))
}

/// What takes the rows of a table one by one.
pub(super) type Push<'a> = dyn FnMut(Vec<Field>) -> Result<()> + 'a;

/// The same of rows that `fill` makes one by one, from what it does not keep.
///
/// # Errors
/// What the writer says.
pub(super) fn csv_with<N: Into<String>>(
    header: impl IntoIterator<Item = (N, Kind)>,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut Push<'_>) -> Result<()>,
) -> Result<()> {
    let header: Vec<(String, Kind)> =
        header.into_iter().map(|(name, kind)| (name.into(), kind)).collect();
    let mut writer = WriterBuilder::new()
        .quote_style(QuoteStyle::Necessary)
        .terminator(Terminator::CRLF)
        .from_writer(out);
    writer.write_record(header.iter().map(|(name, _)| name))?;
    let mut held = Vec::new();
    fill(&mut |row| {
        held.push(row);
        match held.len() {
            CHUNK => Ok(Table::new(header.clone(), held.drain(..)).write(&mut writer)?),
            _ => Ok(()),
        }
    })?;
    if !held.is_empty() {
        Table::new(header, held).write(&mut writer)?;
    }
    writer.flush()
}

/// A table of rows that each cell of a run has.
///
/// # Errors
/// What the writer says.
pub(super) fn csv_of_cells<N: Into<String>>(
    header: impl IntoIterator<Item = (N, Kind)>,
    sessions: &Sessions,
    out: &mut dyn Write,
    rows: impl Fn(&Cell, &mut Push<'_>) -> Result<()>,
) -> Result<()> {
    csv_with(header, out, |push| {
        sessions
            .iter()
            .try_for_each(|session| session.cells().iter().try_for_each(|cell| rows(cell, push)))
    })
}

/// The same in memory.
pub(super) fn csv_bytes<N: Into<String>>(
    header: impl IntoIterator<Item = (N, Kind)>,
    rows: impl IntoIterator<Item = Vec<Field>>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    csv(header, rows, &mut bytes).expect("memory takes every write");
    bytes
}

/// A table.
pub(super) struct Table {
    kinds: Vec<Kind>,
    frame: DataFrame,
}

/// The entries of a column while rows come in.
enum Entries {
    Text(Vec<Option<String>>),
    Number(Vec<Option<f64>>),
    Count(Vec<Option<u64>>),
    Flag(Vec<Option<bool>>),
}

impl Entries {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Text => Entries::Text(Vec::new()),
            Kind::Number | Kind::Dollars => Entries::Number(Vec::new()),
            Kind::Count => Entries::Count(Vec::new()),
            Kind::Flag => Entries::Flag(Vec::new()),
        }
    }

    /// Adds a field.
    ///
    /// # Panics
    /// Where it is of another kind than its column: that is a bug of the table's file.
    fn push(&mut self, field: Field) {
        match (self, field) {
            (Entries::Text(all), Field::Text(text)) => all.push(Some(text)),
            (Entries::Number(all), Field::Number(x) | Field::Dollars(x)) => all.push(Some(x)),
            (Entries::Count(all), Field::Count(n)) => all.push(Some(n)),
            (Entries::Flag(all), Field::Flag(flag)) => all.push(Some(flag)),
            (Entries::Text(all), Field::Empty) => all.push(None),
            (Entries::Number(all), Field::Empty) => all.push(None),
            (Entries::Count(all), Field::Empty) => all.push(None),
            (Entries::Flag(all), Field::Empty) => all.push(None),
            (_, field) => unreachable!("{field:?} does not fit its column"),
        }
    }

    fn column(self, name: &str) -> Column {
        let name = name.into();
        match self {
            Entries::Text(all) => Series::new(name, all).into(),
            Entries::Number(all) => Series::new(name, all).into(),
            Entries::Count(all) => Series::new(name, all).into(),
            Entries::Flag(all) => Series::new(name, all).into(),
        }
    }
}

impl Table {
    /// Builds a table. Every row has as many fields as the header, which names
    /// no column twice.
    pub(super) fn new(
        header: impl IntoIterator<Item = (impl Into<String>, Kind)>,
        rows: impl IntoIterator<Item = Vec<Field>>,
    ) -> Self {
        let (names, kinds): (Vec<String>, Vec<Kind>) =
            header.into_iter().map(|(name, kind)| (name.into(), kind)).unzip();
        let mut entries: Vec<Entries> = kinds.iter().map(|kind| Entries::of(*kind)).collect();
        let mut height = 0;
        for row in rows {
            debug_assert_eq!(row.len(), entries.len(), "rows are as long as the header");
            entries.iter_mut().zip(row).for_each(|(column, field)| column.push(field));
            height += 1;
        }
        let columns = entries.into_iter().zip(&names).map(|(entries, name)| entries.column(name));
        let frame = DataFrame::new(height, columns.collect())
            .expect("columns are of one height and their names are unique");
        Table { kinds, frame }
    }

    /// Adds its rows to a CSV file.
    fn write(&self, writer: &mut csv::Writer<&mut dyn Write>) -> csv::Result<()> {
        let columns = self.frame.columns().iter().zip(&self.kinds);
        let mut columns: Vec<_> = columns.map(|(column, kind)| printed(column, *kind)).collect();
        for _ in 0..self.frame.height() {
            for column in &mut columns {
                writer.write_field(column.next().unwrap_or_default().as_bytes())?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    /// The table as Parquet, compressed, with the columns' own types. Text is as
    /// it is: no reader of Parquet runs formulas.
    #[cfg(feature = "parquet")]
    pub(super) fn parquet(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        polars::prelude::ParquetWriter::new(&mut bytes)
            .finish(&mut self.frame)
            .expect("memory takes every write");
        bytes
    }
}

/// The fields of a column as CSV says them: rounded as files are, so that equal
/// runs give equal bytes.
fn printed(column: &Column, kind: Kind) -> Box<dyn Iterator<Item = Cow<'_, str>> + '_> {
    const TYPED: &str = "a column is of its kind's type";
    fn or_empty<T: Into<String>>(text: Option<T>) -> Cow<'static, str> {
        Cow::Owned(text.map_or_else(String::new, Into::into))
    }
    let numbers = |show: fn(f64) -> Option<String>| {
        column.f64().expect(TYPED).iter().map(move |x| or_empty(x.and_then(show)))
    };
    match kind {
        Kind::Text => {
            Box::new(column.str().expect(TYPED).iter().map(|t| t.map_or("".into(), defused)))
        }
        Kind::Number => Box::new(numbers(number::plain)),
        Kind::Dollars => Box::new(numbers(number::exact_dollars)),
        Kind::Count => {
            Box::new(column.u64().expect(TYPED).iter().map(|n| or_empty(n.map(|n| n.to_string()))))
        }
        Kind::Flag => {
            Box::new(column.bool().expect(TYPED).iter().map(|f| or_empty(f.map(|f| f.to_string()))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[Vec<Field>]) -> String {
        let kind = |field: &Field| match field {
            Field::Text(_) => Kind::Text,
            Field::Flag(_) => Kind::Flag,
            _ => Kind::Number,
        };
        let header = ["a", "b"].into_iter().zip(rows[0].iter().map(kind));
        String::from_utf8(csv_bytes(header, rows.to_vec())).unwrap()
    }

    #[test]
    fn text_that_a_spreadsheet_would_run_is_defused_and_numbers_are_not() {
        let rows = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "x=1"]
            .map(|t| vec![Field::text(t), Field::Number(-0.5)]);
        assert_eq!(
            written(&rows),
            "a,b\r\n'=1+1,-0.5\r\n'+x,-0.5\r\n'-x,-0.5\r\n'@x,-0.5\r\n'\tx,-0.5\r\n\
             '\u{FFFD}x,-0.5\r\nx=1,-0.5\r\n"
        );
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left_and_lines_are() {
        let rows =
            vec![vec![Field::text("a\u{1b}[2J\u{8}\u{202E}b\r\nc\td 👩\u{200D}💻"), Field::Empty]];
        let shown = "\"a\u{FFFD}[2J\u{FFFD}\u{FFFD}b\nc\td 👩\u{200D}💻\"";
        assert_eq!(written(&rows), format!("a,b\r\n{shown},\r\n"));
    }

    #[test]
    fn commas_quotes_and_line_breaks_are_quoted_as_rfc_4180_says() {
        let rows = vec![vec![Field::text("a,\"b\"\nc"), Field::Empty]];
        assert_eq!(written(&rows), "a,b\r\n\"a,\"\"b\"\"\nc\",\r\n");
    }

    #[test]
    fn a_number_that_is_not_finite_is_an_empty_field() {
        assert_eq!(
            written(&[vec![Field::Number(f64::NAN), Field::Flag(true)]]),
            "a,b\r\n,true\r\n"
        );
    }
}
