//! The rows of a store's table, with their places in errors.

use jiff::Timestamp;
use rusqlite::Statement;
use rusqlite::types::ValueRef;
use serde::de::DeserializeOwned;

use super::database::{broken, plain};
use super::error::Problem;
use super::source::{MAX_DOCUMENT, parse};
use crate::text::excerpt;

/// A table that is being read.
pub(super) struct Rows<'d> {
    pub(super) statement: Statement<'d>,
    pub(super) table: &'static str,
    pub(super) names: Vec<&'static str>,
}

impl Rows<'_> {
    /// Reads the rows with this key, or all of a table without one.
    ///
    /// # Errors
    /// Damage, with the row before it, and what `read` refuses.
    pub(super) fn each(
        &mut self,
        key: Option<&str>,
        mut read: impl FnMut(&Row<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Rows { statement, table, names } = self;
        let (mut last, mut held) = (String::new(), 0_u64);
        let failed = |last: &str, error: rusqlite::Error| {
            let after = match last {
                "" => String::new(),
                last => format!(", after row `{}`", excerpt(last)),
            };
            broken(&format!("table `{table}`{after}: "), &error)
        };
        let rows = match key {
            Some(key) => statement.query([key]),
            None => statement.query([]),
        };
        let mut rows = rows.map_err(|error| failed("", error))?;
        while let Some(row) = rows.next().map_err(|error| failed(&last, error))? {
            let row = Row { row, table, names };
            held = held.saturating_add(row.bytes_held());
            if held > MAX_DOCUMENT {
                return Err(Problem::DocumentTooLong { limit: MAX_DOCUMENT });
            }
            read(&row)?;
            last = row.name();
        }
        Ok(())
    }
}

/// A row of a table.
pub(super) struct Row<'r> {
    row: &'r rusqlite::Row<'r>,
    table: &'static str,
    names: &'r [&'static str],
}

impl Row<'_> {
    fn value(&self, column: &str) -> ValueRef<'_> {
        let at = self.names.iter().position(|name| *name == column);
        at.and_then(|at| self.row.get_ref(at).ok()).unwrap_or(ValueRef::Null)
    }

    fn bytes_held(&self) -> u64 {
        let values = (0..self.names.len()).filter_map(|at| self.row.get_ref(at).ok());
        let sizes = values.map(|value| match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
            _ => 8,
        });
        sizes.sum()
    }

    /// The name of the row in errors: its first column.
    fn name(&self) -> String {
        let first = self.names.first().copied().unwrap_or_default();
        self.text(first).ok().flatten().unwrap_or_default()
    }

    /// A problem with a column of this row.
    pub(super) fn problem(&self, column: &str, message: impl std::fmt::Display) -> Problem {
        let (table, row) = (self.table, self.name());
        plain(format!("table `{table}`, row `{}`, column `{column}`: {message}", excerpt(&row)))
    }

    /// A text, or a number as text.
    pub(super) fn text(&self, column: &str) -> Result<Option<String>, Problem> {
        match self.value(column) {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number.to_string())),
            ValueRef::Real(number) => Ok(Some(number.to_string())),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => {
                    Err(plain(format!("table `{}`, column `{column}`: not UTF-8 text", self.table)))
                }
            },
        }
    }

    /// A text that must be there.
    pub(super) fn needed(&self, column: &str) -> Result<String, Problem> {
        self.text(column)?.ok_or_else(|| self.problem(column, "it is empty"))
    }

    /// The bytes of a text or blob.
    pub(super) fn bytes(&self, column: &str) -> Result<&[u8], Problem> {
        match self.value(column) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(bytes),
            _ => Err(self.problem(column, "it is no text or blob")),
        }
    }

    /// A whole number; anything else counts as none.
    pub(super) fn integer(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            ValueRef::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// A time in seconds or milliseconds since 1970.
    pub(super) fn time(&self, column: &str) -> Option<Timestamp> {
        let number = self.integer(column)?;
        // Seconds reach this number in the year 5138, milliseconds did in 1973.
        match number.unsigned_abs() < 100_000_000_000 {
            true => Timestamp::from_second(number).ok(),
            false => Timestamp::from_millisecond(number).ok(),
        }
    }

    /// A text that is JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, Problem> {
        parse(&self.needed(column)?).map_err(|problem| self.problem(column, problem))
    }
}
