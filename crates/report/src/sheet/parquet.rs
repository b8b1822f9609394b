//! `results.parquet`: the rows of `questions.csv` in typed columns, for data tools.
//! Text is as it is: no reader of Parquet runs formulas.

use std::io::{Result, Write};

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, Series};

use super::{Field, questions};
use crate::RenderInput;

/// Columns of numbers, of counts and of `true` or `false`; the others are text.
const NUMBERS: [&str; 2] = ["score", "recovered_score"];
const COUNTS: [&str; 6] =
    ["replicate", "asked_at", "age_tokens", "age_compactions", "recovery_calls", "recovery_tokens"];
const FLAGS: [&str; 1] = ["findable"];

pub(crate) fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let names = questions::names();
    let mut columns: Vec<Vec<Field>> = names.iter().map(|_| Vec::new()).collect();
    questions::each(source, |asked| {
        let fields = questions::fields(asked);
        columns.iter_mut().zip(fields).for_each(|(column, field)| column.push(field));
        Ok(())
    })?;
    let height = columns[0].len();
    let columns = names.into_iter().zip(columns).map(|(name, fields)| typed(name, fields));
    let mut frame = DataFrame::new(height, columns.collect())
        .expect("columns are of one height and their names are unique");
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes).finish(&mut frame).expect("memory takes every write");
    out.write_all(&bytes)
}

/// A column of the type that its name has.
///
/// # Panics
/// Where a field is of another kind: that is a bug of this file.
fn typed(name: &str, fields: Vec<Field>) -> Column {
    fn each<T>(fields: Vec<Field>, of: fn(Field) -> Option<T>) -> Vec<Option<T>> {
        let entry = |field| match field {
            Field::Empty => None,
            field => Some(of(field).expect("a field is of the kind of its column")),
        };
        fields.into_iter().map(entry).collect()
    }
    let series = if NUMBERS.contains(&name) {
        let number = |field| if let Field::Number(x) = field { Some(x) } else { None };
        Series::new(name.into(), each(fields, number))
    } else if COUNTS.contains(&name) {
        let count = |field| if let Field::Count(n) = field { Some(n) } else { None };
        Series::new(name.into(), each(fields, count))
    } else if FLAGS.contains(&name) {
        let flag = |field| if let Field::Flag(flag) = field { Some(flag) } else { None };
        Series::new(name.into(), each(fields, flag))
    } else {
        let text = |field| if let Field::Text(text) = field { Some(text) } else { None };
        Series::new(name.into(), each(fields, text))
    };
    series.into()
}
