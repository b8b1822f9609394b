//! The file `cells.jsonl`: the results of a run, one a line.
//!
//! The requests and the bills of a cell are lines of their own under the hash
//! of their content, written once for all cells of a session with the same
//! content: most strategies send the same requests until their first compaction.
//!
//! Each line ends with a checksum of its text, so that a line that was edited,
//! or joined to half of another line, is never used as a result. Lines are
//! written one after the other: after a kill at most the last one is incomplete.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use super::folder::FolderError;
use super::texts::each_line;
use recap_core::model::{Bill, CallRow, Cell, CellOutcome, Cut, RequestRow, SessionFacts};
use recap_core::text::json_error;

/// Name of the file in the run folder.
pub(super) const JOURNAL: &str = "cells.jsonl";

/// The content of one line as read. Written lines borrow their content, and
/// have the name of one of these as their [`Kind`].
#[derive(Debug, Deserialize, strum::EnumDiscriminants)]
#[strum_discriminants(name(Kind), vis(pub(super)), derive(strum::IntoStaticStr))]
#[strum_discriminants(strum(serialize_all = "lowercase"))]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    Session(Box<SessionFacts>),
    Requests(Content<Arc<Vec<RequestRow>>>),
    Bill(Content<Arc<Bill>>),
    Cell(CellLine<Cell>),
    Cut(Cut),
    Call(CallRow),
    /// Only while a run is in progress: at its end the texts are moved to
    /// `texts.jsonl`.
    Text(Text),
}

/// A content that several cells may share, with its hash.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content<T> {
    hash: String,
    content: T,
}

/// A cell without its requests and bills, which are on earlier lines.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellLine<T> {
    /// Hash of the cell's requests, if it sent any.
    requests: Option<String>,
    /// Hashes of the cell's bills.
    bills: Vec<String>,
    /// The cell without requests and bills.
    pub rest: T,
}

/// A text of a strategy, with its hash.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text<T = String> {
    pub hash: T,
    pub text: T,
}

/// Number of hex digits of a checksum: the first ones of a BLAKE3 hash.
const DIGITS: usize = 16;
/// Number of hex digits of the hash of a shared content.
const CONTENT_DIGITS: usize = 32;
/// The text between a line's content and its checksum.
const SUM: &str = ",\"sum\":\"";
/// The text after the checksum.
const END: &str = "\"}";

/// The contents that successive cells of one session share, by hash. They are
/// written again for the next session, so that nobody has to hold those of
/// a whole run.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Data set and id of the session of the last cell.
    session: Option<(String, String)>,
    requests: HashMap<String, Arc<Vec<RequestRow>>>,
    bills: HashMap<String, Arc<Bill>>,
}

impl Shared {
    /// Writes a cell, after those of its requests and bills that no earlier cell
    /// has. Afterwards the cell shares the others with earlier cells.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_cell(&mut self, cell: &mut Cell, out: &mut impl Write) -> io::Result<()> {
        if self.begins(cell) {
            self.requests.clear();
            self.bills.clear();
        }
        let (mut requests, mut bills) = (Arc::default(), Vec::new());
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            requests = std::mem::take(&mut rows.requests);
            bills = std::mem::take(&mut rows.bills);
        }
        let line = CellLine {
            requests: if requests.is_empty() {
                None
            } else {
                Some(share(&mut self.requests, &mut requests, Kind::Requests, out)?)
            },
            bills: (bills.iter_mut())
                .map(|bill| share(&mut self.bills, bill, Kind::Bill, out))
                .collect::<io::Result<_>>()?,
            rest: &*cell,
        };
        write_line(out, Kind::Cell, &line)?;
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            rows.requests = requests;
            rows.bills = bills;
        }
        Ok(())
    }

    /// Whether the cell is of another session than the one before.
    fn begins(&mut self, cell: &Cell) -> bool {
        let of = &cell.key;
        let same = |(dataset, session): &(String, String)| {
            (dataset, session) == (&of.dataset, &of.session)
        };
        if self.session.as_ref().is_some_and(same) {
            return false;
        }
        self.session = Some((of.dataset.clone(), of.session.clone()));
        true
    }

    /// Takes in a line: what cells share is kept, and a cell gets its own.
    fn take(&mut self, mut line: Line) -> Result<Line, String> {
        match &mut line {
            Line::Requests(Content { hash, content }) => {
                self.requests.insert(hash.clone(), Arc::clone(content));
            }
            Line::Bill(Content { hash, content }) => {
                self.bills.insert(hash.clone(), Arc::clone(content));
            }
            Line::Cell(cell) => {
                // What the cells of earlier sessions share is written again for this one.
                if self.begins(&cell.rest) {
                    self.requests.retain(|hash, _| cell.requests.as_ref() == Some(hash));
                    self.bills.retain(|hash, _| cell.bills.contains(hash));
                }
                if let CellOutcome::Done(rows) = &mut cell.rest.outcome {
                    if let Some(hash) = &cell.requests {
                        rows.requests = known(&self.requests, hash)?;
                    }
                    let bills = cell.bills.iter().map(|hash| known(&self.bills, hash));
                    rows.bills = bills.collect::<Result<_, _>>()?;
                }
            }
            _ => {}
        }
        Ok(line)
    }
}

fn known<T>(known: &HashMap<String, Arc<T>>, hash: &str) -> Result<Arc<T>, String> {
    let content = known.get(hash).map(Arc::clone);
    content.ok_or_else(|| "it refers to a line that is not before it".to_owned())
}

/// Replaces a content by an equal one that is already written, or else writes
/// it. Returns its hash. It is made JSON once, and held whole meanwhile: the rows take as much.
fn share<T: Serialize>(
    known: &mut HashMap<String, Arc<T>>,
    content: &mut Arc<T>,
    kind: Kind,
    out: &mut impl Write,
) -> io::Result<String> {
    if let Some((hash, _)) = known.iter().find(|(_, known)| Arc::ptr_eq(known, content)) {
        return Ok(hash.clone());
    }
    let json = to_raw_value(content)?;
    let hash = blake3::hash(json.get().as_bytes()).to_hex()[..CONTENT_DIGITS].to_owned();
    match known.get(&hash) {
        Some(known) => *content = Arc::clone(known),
        None => {
            known.insert(hash.clone(), Arc::clone(content));
            write_line(out, kind, &Content { hash: hash.clone(), content: json })?;
        }
    }
    Ok(hash)
}

/// Writes a line as in the file, with its newline.
///
/// # Errors
/// What the writer says.
pub(super) fn write_line(
    out: &mut impl Write,
    kind: Kind,
    content: &impl Serialize,
) -> io::Result<()> {
    let mut line = format!("{{\"{}\":", <&str>::from(kind)).into_bytes();
    serde_json::to_writer(&mut line, content)?;
    let sum = sum(&line);
    line.extend_from_slice(format!("{SUM}{sum}{END}\n").as_bytes());
    out.write_all(&line)
}

fn sum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..DIGITS].to_owned()
}

/// Parses a line of the file without its newline. Its bytes are overwritten.
fn parsed(line: &mut [u8]) -> Result<Line, String> {
    let tail = SUM.len() + DIGITS + END.len();
    let (content, rest) = line
        .len()
        .checked_sub(tail)
        .map(|at| line.split_at(at))
        .filter(|(_, rest)| rest.starts_with(SUM.as_bytes()) && rest.ends_with(END.as_bytes()))
        .ok_or("it does not end with a checksum")?;
    if rest[SUM.len()..SUM.len() + DIGITS] != *sum(content).as_bytes() {
        return Err("it is not what its checksum says".to_owned());
    }
    let end = content.len();
    line[end] = b'}';
    serde_json::from_slice(&line[..=end]).map_err(|e| json_error(&e.to_string()))
}

/// A journal after it was read.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// Length of the complete lines in bytes.
    pub whole: u64,
    /// The contents that the cells share.
    pub shared: Shared,
}

/// Calls `each` with every line.
///
/// # Errors
/// The file cannot be read, or a line has another format than a run writes.
pub(super) fn read(path: &Path, mut each: impl FnMut(Line)) -> Result<Journal, FolderError> {
    let mut shared = Shared::default();
    let whole = each_line(path, |line, _| {
        each(shared.take(parsed(line)?)?);
        Ok(())
    })?;
    Ok(Journal { whole, shared })
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
