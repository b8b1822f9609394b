//! Reads one input as lines or as a document, within bounds.
//!
//! Invariant: at most one line (of at most [`MAX_LINE`] bytes) is held at a
//! time, and every byte that was read is part of the hash.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use regex::Captures;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value as Json;

use super::LoadOptions;
use super::error::{DatasetError, Problem};
use super::format::{Head, is_spread};
use super::gathered::stem_of;
use super::unpack::{Allowance, TooMuch, Unpacking};
use super::walk::unreadable;
use recap_core::text::density::{allowance, is_dense, weight};
use recap_core::text::{Pattern, counted, json_error, json_place, pattern};

/// Longest line that is read, in bytes: far above any provider's request
/// limit (32 MB), so a longer one is no recording.
pub(crate) const MAX_LINE: u64 = 64 << 20;

/// Longest single JSON document that is read, in bytes.
pub(super) const MAX_DOCUMENT: u64 = 512 << 20;

/// Bytes by which most formats are recognised, so that no more is parsed twice.
pub(crate) const FIRST: usize = 64 << 10;

/// Bytes by which the others are.
pub(crate) const HEAD: usize = 1 << 20;

/// Bytes read at a time. Each input has two buffers that are cleared before they
/// are read into: a folder may have very many small files.
pub(super) const BUFFER: usize = 64 << 10;

/// One input that is being read by a format.
pub struct Source<'a> {
    name: String,
    stem: String,
    /// The bytes read for detection, then the rest.
    reader: BufReader<Chain<Cursor<Vec<u8>>, Unpacking<'a>>>,
    line: u64,
    buffer: Vec<u8>,
    torn: u64,
    /// Records that were set aside by kind: their number, and the first one's line and
    /// problem.
    aside: Vec<(&'static str, usize, u64, Problem)>,
    /// What the records so far take, and what each takes besides its text.
    held: Held,
    each: u64,
    /// What the sessions take that were handed on.
    listed: Held,
    warnings: Vec<String>,
    /// How it is read.
    pub(super) options: LoadOptions,
    /// How far it, and archives within it, may unpack.
    pub(super) allowance: Allowance,
    /// The path of the file that is read, and when it was last written.
    pub(super) origin: Option<Origin>,
    /// Files beside it that were read, by what follows its name, with their hashes.
    pub(super) beside: Vec<(&'static str, String)>,
    /// Logs of the session's subagents.
    pub(super) subagents: Vec<PathBuf>,
    /// Files in its folder that were read with it, with their hashes.
    pub(super) read_with: Vec<(PathBuf, String)>,
    /// Whether its folder is read, and not it alone.
    pub(super) in_folder: bool,
}

/// A file on disk, to tell whether it changes while it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) path: PathBuf,
    written: Option<std::time::SystemTime>,
    bytes: Option<u64>,
}

impl Origin {
    pub(super) fn of(path: &Path) -> Origin {
        let found = std::fs::metadata(path).ok();
        let written = found.as_ref().and_then(|found| found.modified().ok());
        Origin { path: path.to_owned(), written, bytes: found.map(|found| found.len()) }
    }
}

impl<'a> Source<'a> {
    /// Reads `inner`; errors show `name`, and sessions
    /// without an id of their own are named after `stem`.
    ///
    /// # Errors
    /// What the system refuses to read.
    pub(crate) fn new(
        name: &str,
        stem: &str,
        inner: impl Read + 'a,
        options: LoadOptions,
    ) -> Result<Self, DatasetError> {
        let allowance = Allowance { bytes: options.max_unpacked };
        let input = Unpacking::open(Box::new(inner), allowance)
            .map_err(|source| DatasetError::whole(name, Problem::Io { action: "read", source }))?;
        Ok(Source {
            name: name.to_owned(),
            stem: stem.to_owned(),
            reader: BufReader::with_capacity(BUFFER, Cursor::new(Vec::new()).chain(input)),
            line: 0,
            buffer: Vec::new(),
            torn: 0,
            aside: Vec::new(),
            held: Held::default(),
            each: KEPT,
            listed: Held::default(),
            warnings: Vec::new(),
            options,
            allowance,
            origin: None,
            beside: Vec::new(),
            subagents: Vec::new(),
            read_with: Vec::new(),
            in_folder: false,
        })
    }

    /// A file in its folder, if it is there.
    pub(super) fn beside(&self, name: &str) -> Option<PathBuf> {
        let origin = &self.origin.as_ref()?.path;
        let path = origin.with_file_name(name);
        (path.is_file() && path != *origin).then_some(path)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// What the system refuses to open or to read.
    pub(super) fn open(path: &Path, options: LoadOptions) -> Result<Source<'static>, DatasetError> {
        let shown = path.display().to_string();
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let file = std::fs::File::open(path).map_err(|error| unreadable(path, error))?;
        let source = Source::new(&shown, stem_of(&name), file, options)?;
        Ok(Source { origin: Some(Origin::of(path)), ..source })
    }

    /// The name of the input in errors: its path, or the name of the stream.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the input without its extension.
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// Name of the folder of the input; `None` for a stream.
    pub fn folder(&self) -> Option<&str> {
        Path::new(&self.name).parent()?.file_name()?.to_str()
    }

    /// Lines that were left out because the recording ends within them (0 or 1),
    /// for whoever counts them.
    pub(super) fn take_torn(&mut self) -> u64 {
        std::mem::take(&mut self.torn)
    }

    /// The error where the input ends within a character, for files that are no live
    /// logs and must be whole.
    pub(super) fn torn_error(&self) -> Option<DatasetError> {
        let message = "the last line ends within a character".to_owned();
        (self.torn > 0).then(|| self.error(None, Problem::Syntax(message)))
    }

    /// Adds a warning; the caller adds the file's name.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// The warnings so far.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// An error at `line` of this input.
    pub fn error(&self, line: Option<u64>, problem: Problem) -> DatasetError {
        DatasetError { file: self.name.clone(), line, problem }
    }

    /// A result whose problem is one of the whole input.
    pub(super) fn whole<T>(&self, read: Result<T, Problem>) -> Result<T, DatasetError> {
        read.map_err(|problem| self.error(None, problem))
    }

    pub(super) fn io(&self, source: std::io::Error) -> DatasetError {
        let action = "read";
        let problem = match TooMuch::of(&source) {
            Some(too_much) => Problem::Unpacked(too_much),
            None => Problem::Io { action, source },
        };
        self.error(None, problem)
    }

    /// The first bytes, at most `most`, which can still be read afterwards.
    /// Nothing may have been read yet.
    pub(crate) fn head(&mut self, most: usize) -> Result<&[u8], DatasetError> {
        let (held, rest) = self.reader.get_mut().get_mut();
        let lacking = most.saturating_sub(held.get_ref().len());
        let read = rest.take(lacking as u64).read_to_end(held.get_mut());
        if let Err(e) = read {
            return Err(self.io(e));
        }
        let held = self.reader.get_ref().get_ref().0.get_ref();
        Ok(&held[..held.len().min(most)])
    }

    /// What the formats see: at least so many bytes, or the whole input, and no less than
    /// its first value. Returns whether there may be more.
    pub(super) fn read_head(&mut self, least: usize) -> Result<(Head, bool), DatasetError> {
        let mut most = least;
        loop {
            let bytes = self.head(most)?;
            let has_more = bytes.len() == most && (most as u64) < MAX_DOCUMENT;
            if !has_more || !begins_cut(bytes) {
                return Ok((Head::new(bytes), has_more));
            }
            most *= 2;
        }
    }

    /// The next line that is not blank, with its number from 1.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, &str)>, DatasetError> {
        loop {
            self.buffer.clear();
            let mut limited = (&mut self.reader).take(MAX_LINE + 1);
            let read = limited.read_until(b'\n', &mut self.buffer);
            let n = read.map_err(|e| self.io(e))? as u64;
            self.let_go();
            if n == 0 {
                return Ok(None);
            }
            self.line += 1;
            if n > MAX_LINE {
                let what = format!("line longer than {MAX_LINE} bytes");
                let remedy = "split or drop that record: no provider takes a message of that size";
                return Err(self.error(Some(self.line), Problem::other(what, remedy)));
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        if let Err(e) = std::str::from_utf8(&self.buffer) {
            if e.error_len().is_none() && self.at_end()? {
                self.tear();
                return Ok(None);
            }
            let byte = e.valid_up_to();
            return Err(self.error(Some(self.line), Problem::NotUtf8(byte)));
        }
        let text = std::str::from_utf8(&self.buffer).expect("checked above");
        Ok(Some((self.line, text.trim_start_matches('\u{feff}'))))
    }

    /// Frees the bytes that were read for detection once they have been read again.
    fn let_go(&mut self) {
        let held = self.reader.get_mut().get_mut().0;
        if held.position() == held.get_ref().len() as u64 {
            *held = Cursor::new(Vec::new());
        }
    }

    fn at_end(&mut self) -> Result<bool, DatasetError> {
        let end = self.reader.fill_buf().map(<[u8]>::is_empty);
        end.map_err(|e| self.io(e))
    }

    /// A live session is cut in the middle of its last record (how-it-works §8).
    fn tear(&mut self) {
        self.torn = 1;
        self.warn(format!("line {} is torn and was left out", self.line));
    }

    /// The next record of a JSON-lines log, by a reader of one line. Lines that
    /// are broken are set aside.
    ///
    /// # Errors
    /// As [`Source::set_aside`].
    pub(super) fn next_record<T>(
        &mut self,
        parse: impl Fn(&str) -> Result<T, Problem>,
    ) -> Result<Option<(u64, T)>, DatasetError> {
        loop {
            let (line, problem, cut) = match self.next_line() {
                Ok(None) => return Ok(None),
                Ok(Some((line, text))) => match parse(text) {
                    Ok(record) => {
                        self.weigh()?;
                        self.keep(self.each)?;
                        return Ok(Some((line, record)));
                    }
                    Err(problem) => (line, problem, is_cut(text)),
                },
                Err(DatasetError { line: Some(line), problem, .. }) => (line, problem, false),
                Err(error) => return Err(error),
            };
            if cut && self.at_end()? {
                self.tear();
                return Ok(None);
            }
            self.set_aside(line, problem)?;
        }
    }

    /// Takes every record of a JSON-lines log. Those that `parse` or `take` refuses
    /// are set aside.
    ///
    /// # Errors
    /// As [`Source::set_aside`].
    pub(super) fn each_record<T>(
        &mut self,
        parse: impl Fn(&str) -> Result<T, Problem>,
        mut take: impl FnMut(u64, T) -> Result<(), Problem>,
    ) -> Result<(), DatasetError> {
        while let Some((line, record)) = self.next_record(&parse)? {
            if let Err(problem) = take(line, record) {
                self.set_aside(line, problem)?;
            }
        }
        Ok(())
    }

    /// Sets a record aside that cannot be read: it is counted by kind, and the first
    /// one of each is named in a warning with its reason.
    ///
    /// # Errors
    /// A problem that is not one of a single record.
    pub(super) fn set_aside(&mut self, line: u64, problem: Problem) -> Result<(), DatasetError> {
        let Some(kind) = problem.kind() else {
            return Err(self.error(Some(line), problem));
        };
        match self.aside.iter_mut().find(|(own, ..)| *own == kind) {
            Some((_, count, ..)) => *count += 1,
            None => self.aside.push((kind, 1, line, problem)),
        }
        Ok(())
    }

    /// Warns of what was set aside.
    ///
    /// # Errors
    /// The first problem where no session was read besides.
    pub(super) fn settle_aside(&mut self, sessions: usize) -> Result<(), DatasetError> {
        let mut kinds = std::mem::take(&mut self.aside);
        if sessions == 0 && !kinds.is_empty() {
            let (_, _, line, problem) = kinds.swap_remove(0);
            return Err(self.error(Some(line), problem));
        }
        for (_, count, line, problem) in kinds {
            let records = counted(count, "record");
            let problem = problem.to_string().replace(['\n', '\r'], " ");
            self.warn(format!(
                "set aside: {records} that cannot be read, first line {line}: {problem}"
            ));
        }
        Ok(())
    }

    /// Counts what the record of the newest line takes.
    ///
    /// # Errors
    /// Records that take too much together.
    pub(super) fn weigh(&mut self) -> Result<(), DatasetError> {
        let held = self.held.add_record(&self.buffer);
        self.at_line(held)
    }

    /// Says how many bytes a format keeps of each record besides its text.
    pub(super) fn keeps_of_each(&mut self, bytes: u64) {
        self.each = bytes;
    }

    /// Counts the newest line as a session that is handed on: its text is not held, so that all
    /// three times its bytes may be taken.
    ///
    /// # Errors
    /// As [`Source::weigh`].
    pub(super) fn list(&mut self) -> Result<(), DatasetError> {
        let held = self.listed.add(3 * self.buffer.len() as u64, LISTED);
        self.at_line(held)
    }

    /// Counts bytes that are kept of what was read besides its text.
    ///
    /// # Errors
    /// As [`Source::weigh`].
    pub(super) fn keep(&mut self, bytes: u64) -> Result<(), DatasetError> {
        let held = self.held.add(0, bytes);
        self.at_line(held)
    }

    /// A result whose problem is one of the newest line.
    fn at_line(&self, held: Result<(), Problem>) -> Result<(), DatasetError> {
        held.map_err(|problem| self.error(Some(self.line), problem))
    }

    /// Whether the input is one JSON value rather than one a line. Nothing may
    /// have been read yet.
    pub(super) fn is_document(&mut self) -> Result<bool, DatasetError> {
        let head = String::from_utf8_lossy(self.head(HEAD)?);
        let text = head.trim_start_matches('\u{feff}');
        Ok(text.trim_start().starts_with('[') || is_spread(text))
    }

    /// Takes the one value of a document, or that of each line with its number.
    pub(super) fn each_value(
        &mut self,
        mut take: impl FnMut(Option<u64>, Json) -> Result<(), Problem>,
    ) -> Result<(), DatasetError> {
        // Requests have a preamble and a response of their own.
        self.keeps_of_each(2 * KEPT);
        if self.is_document()? {
            let document = self.document()?;
            return take(None, document).map_err(|problem| self.error(None, problem));
        }
        self.each_record(parse::<Json>, |line, value| take(Some(line), value))
    }

    /// The rest of the input as text.
    pub(crate) fn text(&mut self) -> Result<String, DatasetError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes).map_err(|e| {
            let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = 1 + memchr::memchr_iter(b'\n', valid).count() as u64;
            let byte = valid.len() - memchr::memrchr(b'\n', valid).map_or(0, |at| at + 1);
            self.error(Some(line), Problem::NotUtf8(byte))
        })
    }

    /// Copies the rest of the input, at most `most` bytes, and returns their number.
    pub(super) fn copy_rest(
        &mut self,
        into: &mut impl std::io::Write,
        most: u64,
    ) -> Result<u64, DatasetError> {
        let mut bounded = (&mut self.reader).take(most.saturating_add(1));
        std::io::copy(&mut bounded, into).map_err(|e| self.io(e))
    }

    /// The rest of the input, byte by byte.
    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, DatasetError> {
        let mut bytes = Vec::new();
        let mut bounded = (&mut self.reader).take(MAX_DOCUMENT + 1);
        bounded.read_to_end(&mut bytes).map_err(|e| self.io(e))?;
        if bytes.len() as u64 > MAX_DOCUMENT {
            return Err(self.error(None, Problem::too_long()));
        }
        Ok(bytes)
    }

    /// The rest of the input as one JSON document.
    pub fn document<T: DeserializeOwned + 'static>(&mut self) -> Result<T, DatasetError> {
        let text = self.text()?;
        self.parsed(&text)
    }

    /// A text of this input as one JSON document.
    pub(crate) fn parsed<T: DeserializeOwned + 'static>(
        &self,
        text: &str,
    ) -> Result<T, DatasetError> {
        let text = text.trim_start_matches('\u{feff}');
        bearable(text).map_err(|problem| self.error(None, problem))?;
        read_json(text).map_err(|e| self.error(Some(e.line().max(1) as u64), problem_of(&e, text)))
    }

    /// Reads the rest, so that the hash covers the whole file.
    pub(crate) fn finish(mut self) -> Result<(String, Vec<String>), DatasetError> {
        let drained = std::io::copy(&mut self.reader, &mut std::io::sink());
        drained.map_err(|e| self.io(e))?;
        let hash = self.reader.get_ref().get_ref().1.hash().to_hex().to_string();
        Ok((hash, self.warnings))
    }
}

// Texts and values of JSON as what a format expects.

/// Whether `text` is JSON that ends too early.
pub(crate) fn is_cut(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_err_and(|e| e.is_eof())
}

/// Whether bytes end within the JSON value that they begin with.
fn begins_cut(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    text.starts_with(b"{") | text.starts_with(b"[")
        && values.next().is_some_and(|first| first.is_err_and(|error| error.is_eof()))
}

/// Parses one line as `T`.
pub(crate) fn parse<T: DeserializeOwned + 'static>(text: &str) -> Result<T, Problem> {
    bearable(text)?;
    read_json(text).map_err(|error| {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) if error.is_syntax() => {
                Problem::Syntax("something follows the record".to_owned())
            }
            _ => problem_of(&error, text),
        }
    })
}

/// A text that may be JSON; none where it is not, or is too dense.
pub(super) fn decoded<T: DeserializeOwned + 'static>(text: &str) -> Option<T> {
    bearable(text).ok()?;
    read_json(text).ok()
}

/// Reads JSON in which halves of surrogate pairs, which JavaScript writes where it cuts a text, are
/// U+FFFD.
pub(super) fn read_json<T: DeserializeOwned + 'static>(text: &str) -> serde_json::Result<T> {
    // Plain JSON is read by code that serde_json brings, which is optimised more than this crate.
    let is_plain = TypeId::of::<T>() == TypeId::of::<Json>();
    let read = |text: &str| {
        if is_plain {
            text.parse::<Json>().and_then(from_value)
        } else {
            serde_json::from_str(text)
        }
    };
    read(text).or_else(|error| match without_halves(text) {
        whole if whole == text => Err(error),
        whole => read(&whole),
    })
}

/// A value as what a format expects. Where that is JSON itself, it is moved and not copied.
pub(super) fn from_value<T: DeserializeOwned + 'static>(value: Json) -> serde_json::Result<T> {
    let mut moved = Some(value);
    match (&mut moved as &mut dyn Any).downcast_mut::<Option<T>>() {
        Some(same) => Ok(same.take().expect("it was put there")),
        None => T::deserialize(moved.expect("it was put there")),
    }
}

/// Escapes of JSON: a surrogate pair, half of one, and any other.
static ESCAPES: Pattern = pattern!(
    r"(?s)\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}",
    r"|(\\u[dD][89a-fA-F][[:xdigit:]]{2})|\\.",
);

/// A text of JSON, as long as before, with U+FFFD for every escaped half of a surrogate pair that
/// stands alone (RFC 8259, section 8.2).
fn without_halves(text: &str) -> Cow<'_, str> {
    ESCAPES.replace_all(text, |found: &Captures<'_>| match found.get(1) {
        Some(_) => r"\ufffd".to_owned(),
        None => found[0].to_owned(),
    })
}

/// Refuses JSON whose values would take too much memory.
fn bearable(text: &str) -> Result<(), Problem> {
    let bytes = text.len() as u64;
    if is_dense(text.as_bytes()) { Err(Problem::TooDense(bytes)) } else { Ok(()) }
}

/// Strings of JSON, and the numbers that Python writes and JSON does not have.
static WORDS: Pattern = pattern!(r#"(?s)"(?:[^"\\]|\\.)*"?|NaN|-?Infinity"#);

/// A text of JSON in which the numbers that Python writes and JSON does not have are null.
pub(super) fn without_nan(text: &str) -> Cow<'_, str> {
    WORDS.replace_all(text, |found: &Captures<'_>| match &found[0] {
        quoted if quoted.starts_with('"') => quoted.to_owned(),
        _ => "null".to_owned(),
    })
}

/// Reads a part of a document as `T`.
pub(crate) fn from_json<T: DeserializeOwned>(value: &Json) -> Result<T, Problem> {
    T::deserialize(value).map_err(|error| {
        // An error of a value has no place: that of its text has one.
        let text = value.to_string();
        serde_json::from_str::<T>(&text).map_or_else(|e| problem_of(&e, &text), |_| broken(&error))
    })
}

/// The problem that an error of the parser is, at its place in the text.
fn problem_of(error: &serde_json::Error, text: &str) -> Problem {
    if !error.is_data() {
        return broken(error);
    }
    Problem::Shape { at: json_place(error, text), message: json_error(&error.to_string()) }
}

/// Text that is no JSON, with the place within its line.
fn broken(error: &serde_json::Error) -> Problem {
    let message = json_error(&error.to_string());
    // A line feed within a string stands behind the line.
    let column = Some(error.column()).filter(|column| *column > 0);
    let place = column.map(|column| format!(" in column {column}")).unwrap_or_default();
    Problem::Syntax(message + &place)
}

// How much memory the parsed records of an input, and what is kept of them, may
// take together.

/// Records of at most this weight a byte, or of fewer bytes, are not counted
/// together: what readers keep of them is little, and sessions have any number.
const USUAL: (u64, u64) = (16, 1024);

/// Bytes that a message or a record takes besides its text while a session is put
/// together: 550 to 720 of formats with one a line.
pub(super) const KEPT: u64 = 640;

/// Bytes that a session takes in the list of all of them, where it is handed on.
const LISTED: u64 = 1_000;

/// What is held of several JSON values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    text: u64,
    weight: u64,
}

impl Held {
    /// Adds a value with so many bytes of text that takes so many.
    ///
    /// # Errors
    /// All take more than they may; then it is not added.
    pub(super) fn add(&mut self, text: u64, weight: u64) -> Result<(), Problem> {
        let sum = Held {
            text: self.text.saturating_add(text),
            weight: self.weight.saturating_add(weight),
        };
        if sum.weight > allowance(sum.text) {
            return Err(Problem::TooDense(sum.text));
        }
        *self = sum;
        Ok(())
    }

    /// Adds the text of a record.
    ///
    /// # Errors
    /// As [`Held::add`].
    pub(super) fn add_record(&mut self, json: &[u8]) -> Result<(), Problem> {
        let (text, weight) = (json.len() as u64, weight(json));
        let is_usual = weight <= USUAL.0 * text || text < USUAL.1;
        self.add(text, if is_usual { 0 } else { weight })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_keys_and_indices_of_its_value() {
        #[derive(serde::Deserialize)]
        #[allow(dead_code)]
        struct Node {
            name: String,
            #[serde(default)]
            parts: Vec<Node>,
            #[serde(default, rename = "a \"b\"")]
            quoted: Option<u8>,
        }
        let at = |text: &str| {
            let problems = [
                parse::<Node>(text).err(),
                from_json::<Node>(&serde_json::from_str(text).unwrap()).err(),
            ];
            problems.map(|problem| match problem {
                Some(Problem::Shape { at, .. }) => at,
                other => panic!("{other:?}"),
            })
        };
        for (text, place) in [
            (r#"{"name":7}"#, "name"),
            ("\n{\"parts\":[],\n \"name\":{}}", "name"),
            (r#"{"name":"\\","parts":[{"name":"[{,"},{"name":[1]}]}"#, "parts[1].name"),
            // What lacks a part is itself the place.
            (r#"{"name":"a","parts":[{"parts":[]}]}"#, "parts[0]"),
            (r#"{"parts":[]}"#, "."),
            (r#"{"name":"é","a \"b\"":-1}"#, "a \"b\""),
            ("3", "."),
        ] {
            assert_eq!(at(text), [place, place], "{text}");
        }
    }

    #[test]
    fn half_of_a_pair_is_one_unknown_character() {
        for (text, expected) in [
            (r#""a\ud83d""#, "a\u{FFFD}"),
            (r#""\udE00b""#, "\u{FFFD}b"),
            (r#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"),
            (r#""\ud83d\n\\ud83d é""#, "\u{FFFD}\n\\ud83d é"),
        ] {
            assert_eq!(parse::<String>(text).unwrap(), expected, "{text}");
        }
        for whole in [r#""\ud83d\ude00 \\ud83d""#, "\"\\ué12\"", "\"\\", "\"\\u1"] {
            assert_eq!(without_halves(whole), whole);
        }
    }

    #[test]
    fn blank_lines_of_a_log_take_no_memory() {
        let blanks = std::io::repeat(b'\n').take(16 << 20);
        let mut log = Source::new("x", "x", b"{}\n".chain(blanks), LoadOptions::default()).unwrap();
        assert_eq!(log.next_line().unwrap(), Some((1, "{}\n")));
        assert_eq!(log.next_line().unwrap(), None);
        assert!(log.buffer.capacity() <= HEAD, "{}", log.buffer.capacity());
    }

    #[test]
    fn usual_records_are_unlimited_and_dense_ones_refused() {
        let (usual, dense) = (br#"{"role":"user","content":"go"}"#, b"[1],".repeat(1 << 10));
        let mut held = Held::default();
        assert!((0..1_000_000).all(|_| held.add_record(usual).is_ok()));
        let mut held = Held::default();
        assert!((0..1_000).any(|_| held.add_record(&dense).is_err()));
    }
}
