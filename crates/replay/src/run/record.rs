//! What a run left, and reading it from its folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::earlier::with_calls;
use super::files::{FolderError, GATE, MANIFEST, TEXTS, io};
use super::journal::{self, JOURNAL, Journal, Record, Text};
use super::pool::Finished;
use recap_core::model::{CallRow, Cut, Gate, INSTRUMENT, Manifest, RunResults, SessionFacts};
use recap_core::text::json_error;

/// [`Cut::key`] that owns its words.
pub(super) type CutKey = (String, String, u32, bool);

/// The key of a cut.
pub(super) fn cut_key(cut: &Cut) -> CutKey {
    let (dataset, session, request, recorded) = cut.key();
    (dataset.to_owned(), session.to_owned(), request, recorded)
}

/// Everything that a finished or interrupted run left.
#[derive(Debug)]
pub struct RunRecord {
    /// The inputs and settings of the run.
    pub manifest: Manifest,
    /// Facts of the run's sessions.
    pub sessions: Vec<SessionFacts>,
    /// Cells that finished or failed, and cuts that were examined.
    pub results: RunResults,
    /// Calls of real models.
    pub calls: Vec<CallRow>,
    /// Findings of the run's gate, if it had one.
    pub gate: Option<Gate>,
    /// Texts by hash; empty if they were left out on purpose.
    pub texts: BTreeMap<String, String>,
    /// The journal as it was read; empty if it was not.
    pub(super) journal: Journal,
}

impl RunRecord {
    /// A run that has just ended, before any gate.
    pub fn new(manifest: Manifest, finished: Finished) -> Self {
        let Finished { sessions, results, calls, texts } = finished;
        let (gate, journal) = (None, Journal::default());
        Self { manifest, sessions, results, calls, gate, texts, journal }
    }

    /// Reads a run folder. An incomplete last line of the journal (the run was
    /// killed) is ignored; the lines before it count. If a cell is there twice,
    /// the last one counts.
    ///
    /// # Errors
    /// A file is missing or has another format than a run writes, or another
    /// version of the instrument wrote it.
    pub fn read(path: &Path) -> Result<Self, FolderError> {
        let mut loaded = Self::without_texts(path)?;
        let file = path.join(TEXTS);
        if file.exists() {
            read_texts(&file, |text| drop(loaded.texts.insert(text.hash, text.text)))?;
        }
        Ok(loaded)
    }

    /// The same without the texts that are in a file of their own.
    ///
    /// # Errors
    /// As for [`RunRecord::read`].
    pub fn without_texts(path: &Path) -> Result<Self, FolderError> {
        let manifest = Self::manifest(path)?;
        let (mut sessions, mut calls, mut texts) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut results = RunResults::default();
        let journal = journal::read(&path.join(JOURNAL), |record| match record {
            Record::Session(facts) => sessions.push(*facts),
            Record::Cell(cell) => results.add_cell(cell),
            Record::Cut(cut) => results.add_cut(cut),
            Record::Call(call) => calls.push(call),
            Record::Text(Text { hash, text }) => drop(texts.insert(hash, text)),
        })?;
        results.close();
        let calls = with_calls(Vec::new(), calls);
        let file = path.join(GATE);
        let gate = match file.exists() {
            true => Some(fs::read_to_string(&file).map_err(io(&file))?),
            false => None,
        };
        let gate = gate.map(|gate| parsed(file, &gate)).transpose()?;
        Ok(Self { manifest, sessions, results, calls, gate, texts, journal })
    }

    /// Reads the manifest of a run alone.
    ///
    /// # Errors
    /// As for [`RunRecord::read`].
    pub fn manifest(path: &Path) -> Result<Manifest, FolderError> {
        let file = path.join(MANIFEST);
        let manifest = fs::read_to_string(&file).map_err(io(&file))?;
        same_instrument(&file, &manifest)?;
        let manifest = parsed(file.clone(), &manifest)?;
        can_be_planned(&file, &manifest)?;
        Ok(manifest)
    }
}

/// Largest number of cells in a plan. Missing cells are listed one by one, and
/// a short manifest could otherwise plan any number of them.
const MOST_CELLS: u64 = 2_000_000;

/// Refuses a plan that is too large to be real.
fn can_be_planned(file: &Path, manifest: &Manifest) -> Result<(), FolderError> {
    if manifest.planned.len() <= MOST_CELLS {
        return Ok(());
    }
    let problem = format!("it plans more than {MOST_CELLS} cells");
    Err(FolderError::Line { path: file.to_owned(), line: 1, problem })
}

/// Parses the text of a JSON file.
fn parsed<T: for<'de> Deserialize<'de>>(path: PathBuf, text: &str) -> Result<T, FolderError> {
    serde_json::from_str(text).map_err(|e| FolderError::Line {
        path,
        line: e.line(),
        problem: json_error(&e.to_string()),
    })
}

/// Refuses a run of another version of the instrument: its rows and figures
/// have another meaning.
fn same_instrument(file: &Path, manifest: &str) -> Result<(), FolderError> {
    #[derive(Deserialize)]
    struct Version {
        instrument: u32,
    }
    match serde_json::from_str(manifest) {
        Ok(Version { instrument }) if instrument != INSTRUMENT => {
            Err(FolderError::Instrument { path: file.to_owned(), instrument })
        }
        // A text that is not a manifest is reported when it is parsed as one.
        _ => Ok(()),
    }
}

/// Calls `each` with every text of `texts.jsonl`; an incomplete last line is
/// ignored.
fn read_texts(path: &Path, mut each: impl FnMut(Text)) -> Result<(), FolderError> {
    let mut reader = BufReader::new(File::open(path).map_err(io(path))?);
    // Lines are read as bytes, since an incomplete line may end within a
    // character.
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(io(path))? == 0 {
            break;
        }
        match serde_json::from_slice(&line) {
            Ok(text) => each(text),
            Err(_) if !line.ends_with(b"\n") => break,
            Err(e) => {
                let path = path.to_owned();
                let problem = json_error(&e.to_string());
                return Err(FolderError::Line { path, line: number, problem });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_torn_last_text_is_skipped_without_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(TEXTS);
        let text = r#"{"hash":"1","text":"one"}"#;
        let read = |content: String| {
            fs::write(&path, content).unwrap();
            let mut count = 0;
            read_texts(&path, |_| count += 1).map(|()| count).map_err(|error| error.to_string())
        };
        assert_eq!(read(format!("{text}\n{text}\n")), Ok(2));
        assert_eq!(read(format!("{text}\n{{\"hash\":\"2")), Ok(1));
        let error = read(format!("{text}\n{{\"hash\":\"2\n{text}\n")).unwrap_err();
        assert!(error.contains("texts.jsonl, line 2: "), "{error}");
    }
}
