//! The run folder: plain files, appended to cell by cell.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::Conceal;
use super::journal::{JOURNAL, Kind, Shared, Text, write_line};
use super::pool::Finished;
use super::record::{Earlier, RunRecord, unlike};
use recap_core::model::{CallRow, Cell, CellKey, Cut, Gate, INSTRUMENT, Manifest, SessionFacts};

/// What models answered, while a run without a cassette goes on.
pub const REPLIES: &str = "replies.jsonl";
/// What its calls have cost at most, in USD, while a run with models goes on.
pub const SPENT: &str = "spent.txt";
/// Files that may exist before a run has its manifest.
const BEFORE_THE_MANIFEST: [&str; 2] = [JOURNAL, "manifest.json.partial"];

/// What a cell took.
#[derive(Serialize)]
struct Time<'a> {
    #[serde(flatten)]
    key: &'a CellKey,
    /// CPU time of the strategy's own code.
    cpu_ms: f64,
}

/// The folder of a run in progress.
#[derive(Debug, Default)]
pub struct Folder {
    path: PathBuf,
    /// The open journal, locked against other programs; `None` in a dry run,
    /// which keeps nothing.
    journal: Option<File>,
    /// The requests and bills that cells in the journal share.
    shared: Shared,
    /// Conceals everything that is written, if the user asked for it.
    conceal: Option<Arc<Conceal>>,
    /// The results of an interrupted run.
    earlier: Earlier,
}

impl Folder {
    /// Creates the folder and an empty journal; an earlier run in the folder is
    /// replaced.
    ///
    /// # Errors
    /// The folder contains something other than a run, another program writes
    /// to it, or it cannot be written.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Self, FolderError> {
        if !is_free(path)? {
            return Err(FolderError::NoRun { path: path.to_owned() });
        }
        fs::create_dir_all(path).map_err(io(path))?;
        let folder = Self::open(path)?;
        // The journal is emptied first, so that no result of an earlier run
        // remains beside this manifest.
        folder.empty_journal(0)?;
        folder.remove(TIMES)?;
        folder.write_manifest(manifest)?;
        Ok(folder)
    }

    /// Resumes an interrupted run and keeps its results, or creates a run if
    /// the folder has none. Returns the manifest of the run.
    ///
    /// # Errors
    /// As for [`Folder::create`], or the run had other inputs or settings.
    pub fn resume(path: &Path, manifest: Manifest) -> Result<(Self, Manifest), FolderError> {
        if !path.join(MANIFEST).exists() {
            return Ok((Self::create(path, &manifest)?, manifest));
        }
        let mut folder = Self::open(path)?;
        let mut there = RunRecord::read(path)?;
        let differ = unlike(&there.manifest, &manifest);
        if !differ.is_empty() {
            return Err(FolderError::Unlike { path: path.to_owned(), differ });
        }
        folder.empty_journal(there.journal.whole)?;
        folder.shared = std::mem::take(&mut there.journal.shared);
        let (earlier, manifest) = Earlier::of(there);
        folder.earlier = earlier;
        Ok((folder, manifest))
    }

    /// Opens the folder and its journal, which is locked against other programs
    /// until it is dropped.
    ///
    /// # Errors
    /// Another program writes to the folder, or it cannot be written.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let file = path.join(JOURNAL);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let journal = options.open(&file).map_err(io(&file))?;
        match journal.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(FolderError::Busy { path: path.to_owned() });
            }
            // A file system without locks does not prevent a run.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        Ok(Self { path: path.to_owned(), journal: Some(journal), ..Self::discard() })
    }

    /// Truncates the journal to this number of bytes and continues after them.
    fn empty_journal(&self, kept: u64) -> Result<(), FolderError> {
        let Some(mut journal) = self.journal.as_ref() else { return Ok(()) };
        let cut = journal.set_len(kept).and_then(|()| journal.seek(SeekFrom::Start(kept)));
        cut.map(drop).map_err(io(&self.path.join(JOURNAL)))
    }

    /// Takes the results of an interrupted run, which are there once.
    pub(super) fn take_earlier(&mut self) -> Earlier {
        std::mem::take(&mut self.earlier)
    }

    /// Writes the manifest of the run.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), FolderError> {
        self.write_pretty(MANIFEST, manifest)
    }

    /// Writes the findings of the run's gate, so that they can be displayed
    /// again.
    pub fn write_gate(&self, gate: &Gate) -> Result<(), FolderError> {
        self.write_pretty(GATE, gate)
    }

    fn write_pretty(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        let json = serde_json::to_string_pretty(value).expect("plain data serialises");
        self.write_with(name, |out| out.write_all(format!("{json}\n").as_bytes()))
    }

    /// A folder that writes nothing to disk, for a dry run.
    pub fn discard() -> Self {
        Self::default()
    }

    /// Removes a file of an earlier run, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io(&path)(e)),
            _ => Ok(()),
        }
    }

    /// From now on, conceals what must not be shared before it is written.
    #[must_use]
    pub fn concealing(mut self, conceal: Option<Arc<Conceal>>) -> Self {
        self.conceal = conceal;
        self
    }

    /// Path of the run folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the facts of a session to the journal.
    pub(super) fn append_session(&mut self, facts: &SessionFacts) -> Result<(), FolderError> {
        self.append(Kind::Session, &self.facts(facts.clone()))
    }

    /// Adds a cell to the journal. Returns the cell as written: concealed, and
    /// sharing equal requests and bills with other cells.
    pub(super) fn append_cell(&mut self, cell: Cell) -> Result<Cell, FolderError> {
        let mut cell = self.stored(cell, Conceal::cell);
        let wrote = match &mut self.journal {
            Some(journal) => self.shared.write_cell(&mut cell, journal),
            None => self.shared.write_cell(&mut cell, &mut std::io::sink()),
        };
        wrote.map_err(io(&self.path.join(JOURNAL)))?;
        self.append_time(&cell)?;
        Ok(cell)
    }

    /// Adds what a cell took to the file of times.
    fn append_time(&self, cell: &Cell) -> Result<(), FolderError> {
        let Some(rows) = cell.rows().filter(|_| self.journal.is_some()) else { return Ok(()) };
        let path = self.path.join(TIMES);
        let time = Time { key: &cell.key, cpu_ms: rows.cpu_ms };
        let line = serde_json::to_string(&time).expect("plain data serialises") + "\n";
        let file = File::options().append(true).create(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(io(&path))
    }

    /// Adds a cut to the journal. Returns the cut as written.
    pub(super) fn append_cut(&mut self, cut: Cut) -> Result<Cut, FolderError> {
        let cut = self.stored(cut, Conceal::cut);
        self.append(Kind::Cut, &cut)?;
        Ok(cut)
    }

    /// Adds calls of real models to the journal. Returns them as written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append_calls(&mut self, calls: Vec<CallRow>) -> Result<Vec<CallRow>, FolderError> {
        let calls: Vec<CallRow> =
            calls.into_iter().map(|call| self.stored(call, Conceal::call)).collect();
        calls.iter().try_for_each(|call| self.append(Kind::Call, call))?;
        Ok(calls)
    }

    /// Adds texts to the journal; the end of the run moves them to a file of
    /// their own.
    pub(super) fn append_texts(
        &mut self,
        texts: &BTreeMap<String, String>,
    ) -> Result<(), FolderError> {
        if self.conceal.is_some() {
            return Ok(());
        }
        texts.iter().try_for_each(|(hash, text)| self.append(Kind::Text, &Text { hash, text }))
    }

    /// The facts of a session as this folder stores them.
    pub(super) fn facts(&self, facts: SessionFacts) -> SessionFacts {
        self.stored(facts, Conceal::facts)
    }

    /// A result, concealed if the user asked for it.
    fn stored<T>(&self, result: T, concealed: fn(&Conceal, T) -> T) -> T {
        match &self.conceal {
            Some(conceal) => concealed(conceal, result),
            None => result,
        }
    }

    fn append(&self, kind: Kind, content: &impl Serialize) -> Result<(), FolderError> {
        let Some(mut journal) = self.journal.as_ref() else { return Ok(()) };
        write_line(&mut journal, kind, content).map_err(io(&self.path.join(JOURNAL)))
    }

    /// Sorts sessions and calls, and rewrites the journal in that order, so that equal runs give
    /// equal files. The results are written as they are: they are concealed already.
    pub fn sort_journal(&mut self, run: &mut Finished) -> Result<(), FolderError> {
        let Finished { sessions, results, calls, .. } = run;
        sessions.sort_by(|a, b| (&a.dataset, &a.session).cmp(&(&b.dataset, &b.session)));
        calls.sort_by(|a, b| (a.role, &a.model, &a.key).cmp(&(b.role, &b.model, &b.key)));
        if self.journal.is_none() {
            return Ok(());
        }
        // The new file is locked before it replaces the journal, so that the
        // folder is never unlocked.
        let partial = self.path.join(format!("{JOURNAL}.partial"));
        let file = File::create(&partial).map_err(io(&partial))?;
        let _ = file.try_lock();
        let mut out = BufWriter::new(&file);
        // What the cells share is found anew, and not needed afterwards.
        self.shared = Shared::default();
        let mut shared = Shared::default();
        let mut write = || -> std::io::Result<()> {
            sessions.iter().try_for_each(|facts| write_line(&mut out, Kind::Session, facts))?;
            results.cells().try_for_each(|mut cell| shared.write_cell(&mut cell, &mut out))?;
            results.cuts().try_for_each(|cut| write_line(&mut out, Kind::Cut, &cut))?;
            calls.iter().try_for_each(|call| write_line(&mut out, Kind::Call, call))?;
            out.flush()
        };
        write().map_err(io(&partial))?;
        drop(out);
        let path = self.path.join(JOURNAL);
        fs::rename(&partial, &path).map_err(io(&path))?;
        self.journal = Some(file);
        Ok(())
    }

    /// Writes the texts, one a line, sorted by hash; nothing if the run is
    /// concealed.
    pub fn write_texts(&self, texts: &BTreeMap<String, String>) -> Result<(), FolderError> {
        if self.conceal.is_some() {
            return Ok(());
        }
        self.write_with(TEXTS, |out| {
            texts.iter().try_for_each(|(hash, text)| {
                serde_json::to_writer(&mut *out, &Text { hash, text })?;
                out.write_all(b"\n")
            })
        })
    }

    /// Writes the texts of several runs, as [`Folder::write_texts`] writes those
    /// of one.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn merge_texts(&self, folders: &[PathBuf]) -> Result<(), FolderError> {
        self.replace(TEXTS, |out, _| super::texts::merge(folders, out))
    }

    /// Writes a whole file: first under another name, so that after a crash
    /// either the old or the new content is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), FolderError> {
        self.replace(name, |out, partial| write(out).map_err(io(partial)))
    }

    fn replace(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>, &Path) -> Result<(), FolderError>,
    ) -> Result<(), FolderError> {
        if self.journal.is_none() {
            return Ok(());
        }
        let (path, partial) = (self.path.join(name), self.path.join(format!("{name}.partial")));
        let mut out = BufWriter::new(File::create(&partial).map_err(io(&partial))?);
        write(&mut out, &partial)?;
        out.flush().map_err(io(&partial))?;
        fs::rename(&partial, &path).map_err(io(&path))
    }
}

/// Whether a new run may use this folder: it does not exist, is empty, or
/// contains a run.
fn is_free(path: &Path) -> Result<bool, FolderError> {
    if !path.exists() {
        return Ok(true);
    }
    let manifest = fs::read(path.join(MANIFEST)).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap_or_default();
    if manifest["instrument"].is_u64() {
        return Ok(true);
    }
    for entry in fs::read_dir(path).map_err(io(path))? {
        let name = entry.map_err(io(path))?.file_name();
        if !BEFORE_THE_MANIFEST.iter().any(|known| name == *known) {
            return Ok(false);
        }
    }
    Ok(true)
}

// Files of a run folder, and what is wrong with one.

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
        instrument: u64,
    },
    /// Another program writes to the folder.
    #[error("{}: another run of recap is writing to this folder", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds something else than a run.
    #[error("{}: this folder is not empty and holds no run of recap", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// The run to go on with used other settings.
    #[error("{}: cannot resume: the run in this folder used other settings: {}", path.display(), differ.join("; "))]
    Unlike {
        /// The folder.
        path: PathBuf,
        /// What differs, each with both values where they are short.
        differ: Vec<String>,
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

/// What the gate of a run found.
pub const GATE: &str = "gate.json";

/// What was run.
pub const MANIFEST: &str = "manifest.json";
pub(super) const TEXTS: &str = "texts.jsonl";
/// What each cell took, which differs from run to run.
const TIMES: &str = "times.jsonl";

pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FolderError + '_ {
    move |source| FolderError::Io { path: path.to_owned(), source }
}
