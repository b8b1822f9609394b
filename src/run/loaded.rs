//! Reads what a run left in its folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::files::{FolderError, GATE, MANIFEST, TEXTS, io};
use super::journal::{self, JOURNAL, Journal, Record, Text};
use crate::model::{CallRow, Cell, Cut, Gate, INSTRUMENT, Manifest, TranscriptFacts};

/// [`Cut::key`] that owns its words.
pub(super) type CutKey = (String, String, u32, bool);

/// The key of a cut.
pub(super) fn cut_key(cut: &Cut) -> CutKey {
    let (dataset, transcript, request, recorded) = cut.key();
    (dataset.to_owned(), transcript.to_owned(), request, recorded)
}

/// Everything that a finished or interrupted run left.
#[derive(Debug)]
pub struct Loaded {
    /// What the run was made of.
    pub manifest: Manifest,
    /// Facts of its transcripts.
    pub transcripts: Vec<TranscriptFacts>,
    /// Cells that ended.
    pub cells: Vec<Cell>,
    /// Cuts that were examined.
    pub cuts: Vec<Cut>,
    /// Calls of real models.
    pub calls: Vec<CallRow>,
    /// What its gate found, where it had one.
    pub gate: Option<Gate>,
    /// Texts by hash; empty where they were left out on purpose.
    pub texts: BTreeMap<String, String>,
    /// How far the journal goes.
    pub(super) journal: Journal,
}

impl Loaded {
    /// Reads a run folder. A torn last line of the journal (a run that was
    /// killed) is left out; what is before it counts. Of a cell that ended twice
    /// the last one does.
    ///
    /// # Errors
    /// If a file is missing or is not what a run wrote, or another version of
    /// the instrument wrote it.
    pub fn read(path: &Path) -> Result<Self, FolderError> {
        let file = path.join(MANIFEST);
        let manifest = fs::read_to_string(&file).map_err(io(&file))?;
        same_instrument(&file, &manifest)?;
        let manifest = parsed(file.clone(), &manifest)?;
        can_be_planned(&file, &manifest)?;
        let (mut transcripts, mut calls, mut texts) = (Vec::new(), Vec::new(), BTreeMap::new());
        let (mut cells, mut cuts) = (BTreeMap::new(), BTreeMap::new());
        let journal = journal::read(&path.join(JOURNAL), |record| match record {
            Record::Transcript(facts) => transcripts.push(*facts),
            Record::Cell(cell) => drop(cells.insert(cell.key.clone(), cell)),
            Record::Cut(cut) => drop(cuts.insert(cut_key(&cut), cut)),
            Record::Call(call) => calls.push(call),
            Record::Text(Text { hash, text }) => drop(texts.insert(hash, text)),
        })?;
        let file = path.join(GATE);
        let gate = match file.exists() {
            true => Some(fs::read_to_string(&file).map_err(io(&file))?),
            false => None,
        };
        let gate = gate.map(|gate| parsed(file, &gate)).transpose()?;
        let file = path.join(TEXTS);
        if file.exists() {
            read_texts(&file, &mut texts)?;
        }
        let (cells, cuts) = (cells.into_values().collect(), cuts.into_values().collect());
        Ok(Self { manifest, transcripts, cells, cuts, calls, gate, texts, journal })
    }
}

/// Cells that a run may have planned. Those that are missing are written out one
/// by one, and a manifest of a few lines could plan any number of them.
const MOST_CELLS: u64 = 2_000_000;

/// Refuses a plan that nobody could have begun.
fn can_be_planned(file: &Path, manifest: &Manifest) -> Result<(), FolderError> {
    if manifest.planned.len() <= MOST_CELLS {
        return Ok(());
    }
    let problem = format!("it plans more than {MOST_CELLS} cells");
    Err(FolderError::Line { path: file.to_owned(), line: 1, problem })
}

/// A file of JSON.
fn parsed<T: for<'de> Deserialize<'de>>(path: PathBuf, text: &str) -> Result<T, FolderError> {
    serde_json::from_str(text).map_err(|e| FolderError::Line {
        path,
        line: e.line(),
        problem: e.to_string(),
    })
}

/// Runs of another version of the instrument hold other rows, and their
/// figures mean something else.
fn same_instrument(file: &Path, manifest: &str) -> Result<(), FolderError> {
    #[derive(Deserialize)]
    struct Version {
        instrument: u32,
    }
    match serde_json::from_str(manifest) {
        Ok(Version { instrument }) if instrument != INSTRUMENT => {
            Err(FolderError::Instrument { path: file.to_owned(), instrument })
        }
        // What is no manifest at all is told when it is read as one.
        _ => Ok(()),
    }
}

/// Reads `texts.jsonl`; a torn last line is left out.
fn read_texts(path: &Path, texts: &mut BTreeMap<String, String>) -> Result<(), FolderError> {
    let mut reader = BufReader::new(File::open(path).map_err(io(path))?);
    // Bytes, since a line may be torn within a character.
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(io(path))? == 0 {
            break;
        }
        match serde_json::from_slice(&line) {
            Ok(Text { hash, text }) => drop(texts.insert(hash, text)),
            Err(_) if !line.ends_with(b"\n") => break,
            Err(e) => {
                let path = path.to_owned();
                return Err(FolderError::Line { path, line: number, problem: e.to_string() });
            }
        }
    }
    Ok(())
}
