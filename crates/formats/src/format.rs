//! What a format is, and what it is told by.

use serde::de::IgnoredAny;
use serde_json::Value as Json;

use super::LoadOptions;
use super::database::{self, Table};
use super::density::Held;
use super::draft::Draft;
use super::error::DatasetError;
use super::outline::outline;
use super::source::{Source, is_cut, parse};
use recap_core::text::counted;
use recap_core::text::density::weight;

/// Most bytes that are read to detect the format of an input. A log may begin
/// with any number of records that are not messages (a Claude Code log with
/// thousands of summaries): if no format recognises the first mebibyte, this
/// many bytes are tried.
pub const MAX_HEAD: usize = 8 << 20;

/// What a text begins with whose lines are no records, even if one is JSON.
const MARKDOWN: char = '#';

/// The first bytes of an input, as the formats see them.
#[derive(Default)]
pub struct Head {
    /// The first bytes as text; invalid bytes are replaced.
    pub text: String,
    /// The lists and objects that are a line each; the document, where the input
    /// is one over several lines. Of a value that is longer than the first bytes,
    /// its outline.
    pub records: Vec<Json>,
    /// Offset of the last value, if it is not whole within the first bytes.
    pub(super) cut: Option<usize>,
    /// Whether the only record is the outline of that.
    pub(super) is_outline: bool,
    /// Whether the input is one JSON document over several lines.
    pub spread: bool,
    /// The tables, where the input is a SQLite database.
    tables: Option<Vec<Table>>,
}

impl Head {
    /// Looks at the first bytes of an input.
    pub fn new(bytes: &[u8]) -> Head {
        if let Some(tables) = database::tables(bytes) {
            // The texts in its cells are no records.
            return Head { tables: Some(tables), ..Head::default() };
        }
        let whole = String::from_utf8_lossy(bytes).into_owned();
        let text = whole.trim_start_matches('\u{feff}');
        let spread = text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_cut)
            && text.trim().contains('\n')
            && (is_cut(text) || serde_json::from_str::<IgnoredAny>(text).is_ok());
        let mut records: Vec<Json> = match text.trim_start().starts_with(MARKDOWN) {
            true => Vec::new(),
            false if spread => parse(text).into_iter().collect(),
            false => lines_of(text),
        };
        let starts = text.trim_start().starts_with(['{', '[']);
        let is_outline = records.is_empty() && starts;
        let cut = match is_outline {
            true => {
                records.push(outline(text.as_bytes()).0);
                Some(whole.len() - text.len())
            }
            false if spread => None,
            false => torn_line(bytes),
        };
        Head { text: whole, records, cut, is_outline, spread, tables: None }
    }

    /// Takes its lines for records, as those of a log whose first one is broken.
    pub(super) fn into_lines(mut self) -> Head {
        self.records = lines_of(self.text.trim_start_matches('\u{feff}'));
        self
    }

    /// The tables of a SQLite database, as far as the first bytes show them.
    pub(super) fn tables(&self) -> Option<&[Table]> {
        self.tables.as_deref()
    }

    /// Adds the tables that the write-ahead log of a database defines.
    pub(super) fn add_tables(&mut self, log: &[u8]) {
        if let Some(tables) = &mut self.tables {
            tables.extend(database::defined(log));
        }
    }

    /// Whether the input is a database with such a table that has all of `columns`.
    pub(super) fn has_table(&self, name: &str, columns: &[&str]) -> bool {
        let mut tables = self.tables().into_iter().flatten();
        tables.any(|table| table.name == name && table.has(columns))
    }

    /// Whether there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.tables.is_none() && self.text.trim().is_empty()
    }

    /// Whether one of the records satisfies `test`.
    pub fn any(&self, test: impl Fn(&Json) -> bool) -> bool {
        self.records.iter().any(test)
    }

    /// The first character that is not white space.
    pub(super) fn first_char(&self) -> Option<char> {
        self.text.trim_start_matches('\u{feff}').trim_start().chars().next()
    }
}

/// The lists and objects that are a line each, as far as they take little memory.
fn lines_of(text: &str) -> Vec<Json> {
    let mut held = Held::default();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .take_while(|line| held.add(line.len() as u64, weight(line.as_bytes())).is_ok())
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|record: &Json| record.is_object() || record.is_array())
        .collect()
}

/// Offset of the last line, if it is cut off.
fn torn_line(bytes: &[u8]) -> Option<usize> {
    let start = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
    let line = &bytes[start..];
    let is_torn = !line.trim_ascii().is_empty() && std::str::from_utf8(line).map_or(true, is_cut);
    is_torn.then_some(start)
}

/// Takes the next session of an input.
pub(super) type Take<'a> = dyn FnMut(&Source<'_>, Draft) -> Result<(), DatasetError> + 'a;

/// Reads one kind of recording.
pub struct Format {
    /// Kebab-case name, as typed after `recap import`.
    pub name: &'static str,
    /// A description in one line.
    pub describe: &'static str,
    /// What its reader was tried on.
    pub tried: Tried,
    /// Whether the input looks like this format. Formats exclude each other.
    pub sniff: fn(&Head) -> bool,
    pub(super) read: Read,
    /// Files beside a session that belong to it.
    pub(super) beside: Option<Beside>,
}

/// What the reader of a format was tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It is recap's own format.
    Own,
    /// On no recording: it was written from documentation.
    Documentation,
    /// On recordings of others.
    On {
        /// Number of real files.
        files: u32,
        /// What equals an independent count of them.
        compared: &'static str,
    },
}

/// Reads every session of one input, in order; the first record that the
/// format does not allow is an error with its line.
pub(super) enum Read {
    /// All at once; those without a message are dropped, and the last of the others
    /// is told that the input ends within a line.
    All(fn(&mut Source<'_>, &LoadOptions) -> Result<Vec<Draft>, DatasetError>),
    /// One after another, so that only the newest is in memory, where the format
    /// may have very many in a file.
    Each(fn(&mut Source<'_>, &LoadOptions, &mut Take<'_>) -> Result<(), DatasetError>),
}

/// Files beside a session that belong to it.
pub(super) struct Beside {
    /// Paths of the file of questions, relative to the session's folder; the
    /// first that exists is read.
    pub(super) questions: &'static [&'static str],
    /// Files that are read instead of a session in the same folder.
    pub(super) instead: &'static [&'static str],
    /// Reads the questions into the drafts of the session.
    pub(super) read: fn(&mut Source<'_>, &mut [Draft]) -> Result<(), DatasetError>,
}

impl Format {
    /// Reads every session of one input, in order.
    ///
    /// # Errors
    /// The first record that the format does not allow, with its line, and those
    /// of `take`.
    pub(super) fn read(
        &self,
        source: &mut Source<'_>,
        options: &LoadOptions,
        take: &mut Take<'_>,
    ) -> Result<(), DatasetError> {
        let (mut taken, mut silent) = (0, 0);
        let mut finished = |source: &Source<'_>, mut draft: Draft| {
            if draft.session.messages.is_empty() {
                silent += 1;
                return Ok(());
            }
            taken += 1;
            draft.finish();
            take(source, draft)
        };
        match self.read {
            Read::All(read) => {
                let mut drafts = read(source, options)?;
                let mut spoken = drafts.iter_mut().filter(|one| !one.session.messages.is_empty());
                if let Some(last) = spoken.next_back() {
                    last.leave_out("torn last line", source.take_torn());
                }
                drafts.into_iter().try_for_each(|draft| finished(source, draft))?;
            }
            Read::Each(read) => read(source, options, &mut finished)?,
        }
        if taken > 0 && silent > 0 {
            source.warn(format!("left out: {} without a message", counted(silent, "session")));
        }
        Ok(())
    }
}
