//! The file `cells.jsonl`: the results of a run, one a line.
//!
//! The requests and the bills of a cell are lines of their own under the hash
//! of their content, written once for all cells with the same content: most
//! strategies send the same requests until their first compaction.
//!
//! Each line ends with a checksum of its text, so that a line that was edited,
//! or joined to half of another line, is never used as a result. A line is
//! written whole in one call: after a kill at most the last line is incomplete.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::files::{FolderError, io};
use crate::model::{Bill, CallRow, Cell, CellOutcome, Cut, RequestRow, TranscriptFacts};

/// Name of the file in the run folder.
pub(super) const JOURNAL: &str = "cells.jsonl";

/// A result that the journal stores.
#[derive(Clone, Debug)]
pub(super) enum Record {
    Transcript(Box<TranscriptFacts>),
    Cell(Cell),
    Cut(Cut),
    Call(CallRow),
    /// Only while a run is in progress: at its end the texts are moved to
    /// `texts.jsonl`.
    Text(Text),
}

/// The content of one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Transcript(Box<TranscriptFacts>),
    Requests(Content<Vec<RequestRow>>),
    Bill(Content<Bill>),
    Cell(CellLine),
    Cut(Cut),
    Call(CallRow),
    Text(Text),
}

/// A content that several cells may share, with its hash.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<T> {
    hash: String,
    content: Arc<T>,
}

/// A cell without its requests and bills, which are on earlier lines.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CellLine {
    /// Hash of the cell's requests, if it sent any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requests: Option<String>,
    /// Hashes of the cell's bills.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bills: Vec<String>,
    /// The cell without requests and bills.
    rest: Cell,
}

/// A text of a strategy, with its hash.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub hash: String,
    pub text: String,
}

/// Number of hex digits of a checksum: the first ones of a BLAKE3 hash.
const DIGITS: usize = 16;
/// Number of hex digits of the hash of a shared content.
const CONTENT_DIGITS: usize = 32;
/// The text between a line's content and its checksum.
const SUM: &str = ",\"sum\":\"";
/// The text behind the checksum.
const END: &str = "\"}";

/// The contents that the cells of a journal share, by hash.
#[derive(Debug, Default)]
pub(super) struct Shared {
    requests: HashMap<String, Arc<Vec<RequestRow>>>,
    bills: HashMap<String, Arc<Bill>>,
}

impl Shared {
    /// The lines of a record, to be appended in one call. Afterwards the cell
    /// shares its requests and bills with earlier cells.
    pub fn lines(&mut self, record: &mut Record) -> Vec<u8> {
        match record {
            Record::Transcript(facts) => written(&Line::Transcript(facts.clone())),
            Record::Cell(cell) => self.cell(cell),
            Record::Cut(cut) => written(&Line::Cut(cut.clone())),
            Record::Call(call) => written(&Line::Call(call.clone())),
            Record::Text(text) => written(&Line::Text(text.clone())),
        }
    }

    fn cell(&mut self, cell: &mut Cell) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (mut requests, mut bills) = (None, Vec::new());
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            if !rows.requests.is_empty() {
                let known = &mut self.requests;
                requests = Some(share(known, &mut rows.requests, Line::Requests, &mut bytes));
            }
            let bill = |bill| share(&mut self.bills, bill, Line::Bill, &mut bytes);
            bills = rows.bills.iter_mut().map(bill).collect();
        }
        let mut rest = cell.clone();
        if let CellOutcome::Done(rows) = &mut rest.outcome {
            rows.requests = Arc::default();
            rows.bills.clear();
        }
        bytes.extend(written(&Line::Cell(CellLine { requests, bills, rest })));
        bytes
    }

    /// The record of a line; `None` if the line is a shared content.
    fn record(&mut self, line: Line) -> Result<Option<Record>, String> {
        Ok(Some(match line {
            Line::Requests(Content { hash, content }) => {
                self.requests.insert(hash, content);
                return Ok(None);
            }
            Line::Bill(Content { hash, content }) => {
                self.bills.insert(hash, content);
                return Ok(None);
            }
            Line::Transcript(facts) => Record::Transcript(facts),
            Line::Cell(cell) => Record::Cell(self.resolved(cell)?),
            Line::Cut(cut) => Record::Cut(cut),
            Line::Call(call) => Record::Call(call),
            Line::Text(text) => Record::Text(text),
        }))
    }

    /// A cell with its requests and bills.
    fn resolved(&self, CellLine { requests, bills, mut rest }: CellLine) -> Result<Cell, String> {
        if let CellOutcome::Done(rows) = &mut rest.outcome {
            if let Some(hash) = requests {
                rows.requests = known(&self.requests, &hash)?;
            }
            rows.bills =
                bills.iter().map(|hash| known(&self.bills, hash)).collect::<Result<_, _>>()?;
        }
        Ok(rest)
    }
}

fn known<T>(known: &HashMap<String, Arc<T>>, hash: &str) -> Result<Arc<T>, String> {
    let content = known.get(hash).map(Arc::clone);
    content.ok_or_else(|| "it refers to a line that is not before it".to_owned())
}

/// Replaces a content by an equal one that is already written, or else writes
/// it. Returns its hash.
fn share<T: Serialize>(
    known: &mut HashMap<String, Arc<T>>,
    content: &mut Arc<T>,
    line: fn(Content<T>) -> Line,
    bytes: &mut Vec<u8>,
) -> String {
    let json = serde_json::to_vec(content).expect("plain data serialises");
    let hash = blake3::hash(&json).to_hex()[..CONTENT_DIGITS].to_owned();
    match known.get(&hash) {
        Some(known) => *content = Arc::clone(known),
        None => {
            known.insert(hash.clone(), Arc::clone(content));
            let content = Content { hash: hash.clone(), content: Arc::clone(content) };
            bytes.extend(written(&line(content)));
        }
    }
    hash
}

/// A line as in the file, with its newline.
fn written(line: &Line) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).expect("plain data serialises");
    bytes.pop();
    let sum = sum(&bytes);
    bytes.extend_from_slice(SUM.as_bytes());
    bytes.extend_from_slice(sum.as_bytes());
    bytes.extend_from_slice(END.as_bytes());
    bytes.push(b'\n');
    bytes
}

fn sum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..DIGITS].to_owned()
}

/// Parses a line of the file without its newline.
fn parsed(line: &[u8]) -> Result<Line, String> {
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
    let mut whole = content.to_vec();
    whole.push(b'}');
    serde_json::from_slice(&whole).map_err(|e| e.to_string())
}

/// A journal after it was read.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// Length of the complete lines in bytes.
    pub whole: u64,
    /// The contents that the cells share.
    pub shared: Shared,
}

/// Calls `each` with every record. An incomplete last line is ignored: it was
/// being written when the run was killed.
///
/// # Errors
/// The file cannot be read, or a line has another format than a run writes.
pub(super) fn read(path: &Path, mut each: impl FnMut(Record)) -> Result<Journal, FolderError> {
    let mut reader = BufReader::new(File::open(path).map_err(io(path))?);
    let mut journal = Journal::default();
    // Lines are read as bytes, since an incomplete line may end within a
    // character.
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line).map_err(io(path))?;
        let Some(content) = line.strip_suffix(b"\n") else { break };
        let record = parsed(content).and_then(|line| journal.shared.record(line));
        let record = record.map_err(|problem| FolderError::Line {
            path: path.to_owned(),
            line: number,
            problem,
        })?;
        if let Some(record) = record {
            each(record);
        }
        journal.whole += bytes as u64;
    }
    Ok(journal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CacheRules, CellKey, CellRows, Standing};

    fn text(hash: &str) -> Line {
        Line::Text(Text { hash: hash.to_owned(), text: "a \"}\n b".to_owned() })
    }

    /// A cell with this number of requests, and one bill for each.
    fn cell(strategy: &str, requests: u32) -> Cell {
        let request = RequestRow {
            tokens_sent: 10,
            estimated: None,
            messages: 1,
            overflow: false,
            valid: true,
            common_prefix: 0,
            cache_break: false,
        };
        let bill = |model: u32| Bill {
            billed_as: model.to_string(),
            model: "m".to_owned(),
            rules: CacheRules::None,
            other_models: Vec::new(),
            compactor: None,
            requests: Vec::new(),
            calls: Vec::new(),
            break_even: Vec::new(),
        };
        let rows = CellRows {
            requests: Arc::new(vec![request; requests as usize]),
            bills: (0..requests).map(|model| Arc::new(bill(model))).collect(),
            ..CellRows::unsent(100)
        };
        let key = CellKey {
            dataset: "d".to_owned(),
            transcript: "t".to_owned(),
            strategy: strategy.to_owned(),
            window: "50%".to_owned(),
            replicate: 0,
        };
        let outcome = CellOutcome::Done(Box::new(rows));
        Cell { key, standing: Standing::Ranked, outcome }
    }

    /// The cells of a file, and the journal as it was read.
    fn cells(bytes: &[u8]) -> Result<(Vec<Cell>, Journal), FolderError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        std::fs::write(&path, bytes).unwrap();
        let mut cells = Vec::new();
        let journal = read(&path, |record| match record {
            Record::Cell(cell) => cells.push(cell),
            other => panic!("no cell: {other:?}"),
        })?;
        Ok((cells, journal))
    }

    fn requests(cell: &Cell) -> &Arc<Vec<RequestRow>> {
        &cell.rows().unwrap().requests
    }

    fn bill(cell: &Cell, at: usize) -> &Arc<Bill> {
        &cell.rows().unwrap().bills[at]
    }

    #[test]
    fn requests_and_bills_of_many_cells_are_written_and_stored_once() {
        let mut shared = Shared::default();
        let mut all: Vec<Record> =
            [cell("a", 2), cell("b", 2), cell("c", 1), cell("none", 0)].map(Record::Cell).into();
        let bytes: Vec<Vec<u8>> = all.iter_mut().map(|record| shared.lines(record)).collect();
        // First cell: the requests, two bills, the cell. Second: the cell.
        // Third: its requests, the cell. Fourth: the cell.
        let lines = |bytes: &Vec<u8>| bytes.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(bytes.iter().map(lines).collect::<Vec<_>>(), [4, 1, 2, 1]);
        let (read, journal) = cells(&bytes.concat()).unwrap();
        assert_eq!(journal.whole as usize, bytes.concat().len());
        assert_eq!(read, [cell("a", 2), cell("b", 2), cell("c", 1), cell("none", 0)]);
        let Record::Cell(second) = &all[1] else { panic!("it is a cell") };
        for second in [second, &read[1]] {
            assert_eq!(requests(second).len(), 2);
        }
        assert!(Arc::ptr_eq(requests(&read[0]), requests(&read[1])));
        assert!(Arc::ptr_eq(bill(&read[0], 0), bill(&read[2], 0)));
        // A resumed run writes none of the shared contents again.
        let mut shared = journal.shared;
        assert_eq!(lines(&shared.lines(&mut Record::Cell(cell("d", 2)))), 1);
    }

    #[test]
    fn cells_share_contents_as_soon_as_they_are_written() {
        let mut shared = Shared::default();
        let mut all = [Record::Cell(cell("a", 1)), Record::Cell(cell("b", 1))];
        for record in &mut all {
            shared.lines(record);
        }
        let [Record::Cell(first), Record::Cell(second)] = &all else { panic!("they are cells") };
        assert!(Arc::ptr_eq(requests(first), requests(second)));
        assert!(Arc::ptr_eq(bill(first, 0), bill(second, 0)));
    }

    #[test]
    fn a_cell_whose_requests_are_not_in_the_file_is_an_error() {
        let mut shared = Shared::default();
        shared.lines(&mut Record::Cell(cell("a", 1)));
        let alone = shared.lines(&mut Record::Cell(cell("b", 1)));
        let error = cells(&alone).unwrap_err().to_string();
        assert!(error.contains("line 1: it refers to a line that is not before it"), "{error}");
    }

    #[test]
    fn a_line_ends_with_the_checksum_of_the_text_before_it() {
        let line = String::from_utf8(written(&text("h"))).unwrap();
        let (content, sum) = line.split_once(",\"sum\":\"").unwrap();
        assert_eq!(content, r#"{"text":{"hash":"h","text":"a \"}\n b"}"#);
        let expected = blake3::hash(content.as_bytes()).to_hex();
        assert_eq!(sum, format!("{}\"}}\n", &expected[..16]));
        let Line::Text(text) = parsed(line.trim_end().as_bytes()).unwrap() else {
            panic!("{line}")
        };
        assert_eq!((text.hash.as_str(), text.text.as_str()), ("h", "a \"}\n b"));
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "it stays JSON");
    }

    #[test]
    fn every_changed_byte_of_a_line_is_detected() {
        let line = written(&text("h"));
        let line = &line[..line.len() - 1];
        for at in 0..line.len() {
            let mut changed = line.to_vec();
            changed[at] ^= 1;
            assert!(parsed(&changed).is_err(), "byte {at}");
            assert!(parsed(&line[..at]).is_err(), "torn at {at}");
        }
    }

    #[test]
    fn an_incomplete_last_line_is_ignored_wherever_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        let (first, second) = (written(&text("a")), written(&text("b")));
        for at in 0..second.len() {
            std::fs::write(&path, [&first[..], &second[..at]].concat()).unwrap();
            let mut found = Vec::new();
            let journal = read(&path, |record| match record {
                Record::Text(text) => found.push(text.hash),
                other => panic!("no text: {other:?}"),
            });
            let whole = journal.unwrap().whole;
            assert_eq!((found, whole), (vec!["a".to_owned()], first.len() as u64), "{at}");
        }
    }

    #[test]
    fn a_line_that_is_not_a_result_is_an_error_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        let broken = [written(&text("a")), b"{}\n".to_vec(), written(&text("b"))].concat();
        std::fs::write(&path, broken).unwrap();
        let error = read(&path, |_| ()).unwrap_err().to_string();
        assert!(error.contains("cells.jsonl, line 2: it does not end with a checksum"), "{error}");
    }
}
