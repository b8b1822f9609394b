//! The run folder: plain files, appended cell by cell.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Conceal;
use crate::model::{CallRow, Cell, Cut, Gate, INSTRUMENT, Manifest, TranscriptFacts};

/// What went wrong with a run folder, and where.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The run was made by another version of the instrument.
    #[error(
        "{}: this run was made by version {instrument} of the instrument, this program is \
         version {INSTRUMENT}: their figures cannot be mixed",
        path.display()
    )]
    Instrument {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        instrument: u32,
    },
    /// A line is not what this program wrote.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// One line of `cells.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Transcript(Box<TranscriptFacts>),
    Cell(Cell),
    Cut(Cut),
    Call(CallRow),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    hash: String,
    text: String,
}

/// What the gate of a run found.
pub const GATE: &str = "gate.json";

/// A run folder that is being written.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// `None`: nothing is kept.
    journal: Option<File>,
    /// What takes words out of everything that is kept, if that is asked for.
    conceal: Option<Arc<Conceal>>,
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
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FolderError + '_ {
    move |source| FolderError::Io { path: path.to_owned(), source }
}

impl Folder {
    /// Makes the folder and starts the journal afresh.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Self, FolderError> {
        fs::create_dir_all(path).map_err(io(path))?;
        let journal_path = path.join("cells.jsonl");
        let journal = File::create(&journal_path).map_err(io(&journal_path))?;
        let folder = Self { path: path.to_owned(), journal: Some(journal), conceal: None };
        folder.write_manifest(manifest)?;
        Ok(folder)
    }

    /// Writes what the run was made of.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), FolderError> {
        self.write_pretty("manifest.json", manifest)
    }

    /// Writes what the run's gate found, so that it is shown again.
    pub fn write_gate(&self, gate: &Gate) -> Result<(), FolderError> {
        self.write_pretty(GATE, gate)
    }

    fn write_pretty(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        let json = serde_json::to_string_pretty(value).expect("plain data serialises");
        self.write(name, format!("{json}\n").as_bytes())
    }

    /// A folder that keeps nothing, for a rehearsal.
    pub fn nowhere() -> Self {
        Self { path: PathBuf::new(), journal: None, conceal: None }
    }

    /// Removes a file of an earlier run, if it is there.
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io(&path)(e)),
            _ => Ok(()),
        }
    }

    /// Opens a run that is there, to render it again.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let journal_path = path.join("cells.jsonl");
        let journal =
            File::options().append(true).open(&journal_path).map_err(io(&journal_path))?;
        Ok(Self { path: path.to_owned(), journal: Some(journal), conceal: None })
    }

    /// Keeps what must not be shared out of the journal, from here on.
    #[must_use]
    pub fn concealing(mut self, conceal: Option<Arc<Conceal>>) -> Self {
        self.conceal = conceal;
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a transcript's facts to the journal.
    pub fn append_transcript(&mut self, facts: &TranscriptFacts) -> Result<(), FolderError> {
        self.append(&self.line(Line::Transcript(Box::new(facts.clone()))))
    }

    /// Adds a cell to the journal.
    pub fn append_cell(&mut self, cell: &Cell) -> Result<(), FolderError> {
        self.append(&self.line(Line::Cell(cell.clone())))
    }

    /// Adds a cut to the journal.
    pub fn append_cut(&mut self, cut: &Cut) -> Result<(), FolderError> {
        self.append(&self.line(Line::Cut(cut.clone())))
    }

    /// Adds calls of real models to the journal.
    pub fn append_calls(&mut self, calls: &[CallRow]) -> Result<(), FolderError> {
        calls.iter().try_for_each(|call| self.append(&Line::Call(call.clone())))
    }

    /// A line as this folder keeps it.
    fn line(&self, line: Line) -> Line {
        let Some(conceal) = &self.conceal else { return line };
        match line {
            Line::Transcript(facts) => Line::Transcript(Box::new(conceal.facts(*facts))),
            Line::Cell(cell) => Line::Cell(conceal.cell(cell)),
            Line::Cut(cut) => Line::Cut(conceal.cut(cut)),
            Line::Call(call) => Line::Call(call),
        }
    }

    fn append(&mut self, line: &Line) -> Result<(), FolderError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let mut json = serde_json::to_string(line).expect("plain data serialises");
        json.push('\n');
        journal.write_all(json.as_bytes()).map_err(io(&self.path.join("cells.jsonl")))
    }

    /// Rewrites the journal sorted, so that equal runs give equal files.
    pub fn sort_journal(
        &mut self,
        transcripts: &[TranscriptFacts],
        cells: &[Cell],
        cuts: &[Cut],
        calls: &[CallRow],
    ) -> Result<(), FolderError> {
        let mut sorted = Vec::new();
        let facts = transcripts.iter().cloned().map(|facts| Line::Transcript(Box::new(facts)));
        let cells = cells.iter().cloned().map(Line::Cell);
        let cuts = cuts.iter().cloned().map(Line::Cut);
        let calls = calls.iter().cloned().map(Line::Call);
        for line in facts.chain(cells).chain(cuts).chain(calls) {
            serde_json::to_writer(&mut sorted, &self.line(line)).expect("plain data serialises");
            sorted.push(b'\n');
        }
        self.write("cells.jsonl", &sorted)
    }

    /// Writes the texts, one a line, sorted by hash.
    pub fn write_texts(&self, texts: &BTreeMap<String, String>) -> Result<(), FolderError> {
        let mut lines = Vec::new();
        for (hash, text) in texts {
            let line = Text { hash: hash.clone(), text: text.clone() };
            serde_json::to_writer(&mut lines, &line).expect("plain data serialises");
            lines.push(b'\n');
        }
        self.write("texts.jsonl", &lines)
    }

    /// Writes a file whole: under another name first, so that a crash leaves
    /// the old one or the new one.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        if self.journal.is_none() {
            return Ok(());
        }
        let path = self.path.join(name);
        let partial = self.path.join(format!("{name}.partial"));
        fs::write(&partial, bytes).map_err(io(&partial))?;
        fs::rename(&partial, &path).map_err(io(&path))
    }
}

impl Loaded {
    /// Reads a run folder. A torn last line of the journal (a run that was
    /// killed) is left out; what is before it counts.
    pub fn read(path: &Path) -> Result<Self, FolderError> {
        let file = path.join("manifest.json");
        let manifest = fs::read_to_string(&file).map_err(io(&file))?;
        same_instrument(&file, &manifest)?;
        let manifest = parsed(file, &manifest)?;
        let mut transcripts = Vec::new();
        let (mut cells, mut cuts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        read_lines(&path.join("cells.jsonl"), |line: Line| match line {
            Line::Transcript(facts) => transcripts.push(*facts),
            Line::Cell(cell) => cells.push(cell),
            Line::Cut(cut) => cuts.push(cut),
            Line::Call(call) => calls.push(call),
        })?;
        let file = path.join(GATE);
        let gate = match file.exists() {
            true => Some(fs::read_to_string(&file).map_err(io(&file))?),
            false => None,
        };
        let gate = gate.map(|gate| parsed(file, &gate)).transpose()?;
        let mut texts = BTreeMap::new();
        let file = path.join("texts.jsonl");
        if file.exists() {
            read_lines(&file, |line: Text| {
                texts.insert(line.hash, line.text);
            })?;
        }
        Ok(Self { manifest, transcripts, cells, cuts, calls, gate, texts })
    }
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

fn read_lines<T: for<'de> Deserialize<'de>>(
    path: &Path,
    mut each: impl FnMut(T),
) -> Result<(), FolderError> {
    let mut reader = BufReader::new(File::open(path).map_err(io(path))?);
    // Bytes, since a line may be torn within a character.
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(io(path))? == 0 {
            break;
        }
        match serde_json::from_slice(&line) {
            Ok(value) => each(value),
            Err(_) if !line.ends_with(b"\n") => break,
            Err(e) => {
                let path = path.to_owned();
                return Err(FolderError::Line { path, line: number, problem: e.to_string() });
            }
        }
    }
    Ok(())
}
