//! Recorded calls: what models answered, to be read again without them.
//!
//! A cassette is plain JSONL, one call a line, sorted by content key. It grows
//! by whole lines while a run goes on, so that a run that is killed loses
//! nothing, and two cassettes merge by `cat` or `sort -u`.
//!
//! Invariant: what is served is what a line says, also in the run that records
//! it, so that the recording run and every replay see the same bytes.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use jiff::Timestamp;

use super::{Answered, Call, CallError, Model, call_usd};
use recap_billing::pricing::ModelPrices;

mod error;
mod key;
mod line;
mod lines;
mod merge;
#[cfg(test)]
mod tests;

pub use error::CassetteError;
pub use key::key;
use line::CassetteLine;
pub(crate) use line::Recorded;
pub use line::{LineError, Scrub};
use lines::Lines;
pub use merge::Merged;

/// The purpose for which a cassette is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Calls in the cassette are read from it, others are made and added: an
    /// interrupted run continues without paying twice.
    Record,
    /// No call is made: one that is not in the cassette is
    /// [`CallError::NotRecorded`].
    Replay,
}

/// An open cassette file with its recorded calls.
pub struct Cassette {
    file: PathBuf,
    mode: Mode,
    scrub: Scrub,
    state: Mutex<State>,
}

struct State {
    /// The lines by key, as they are in the file.
    lines: BTreeMap<String, Box<str>>,
    /// The file that new lines are appended to; absent in a replay.
    journal: Option<File>,
    /// Why a line could not be appended. Later lines are not appended either,
    /// as they would be joined to its fragment; [`Cassette::finish`] tries
    /// again and reports the error.
    failed: Option<io::Error>,
}

impl Cassette {
    /// Opens a cassette, and says what is odd about it but no error: two
    /// recordings of one call (the line that is first in byte order counts) and
    /// a torn last line (left out; a recording run makes that call again).
    ///
    /// Everything that is written passes `scrub` first. Recording creates the
    /// file, and holds it for itself until the cassette is dropped.
    ///
    /// # Errors
    /// If it cannot be read, or written for recording; if a line is no recorded
    /// call.
    pub fn open(
        file: &Path,
        mode: Mode,
        scrub: Scrub,
    ) -> Result<(Self, Vec<String>), CassetteError> {
        let (bytes, journal) = match mode {
            Mode::Replay => (fs::read(file).map_err(io("read", file))?, None),
            Mode::Record => {
                let mut journal = held(file)?;
                let mut bytes = Vec::new();
                journal.read_to_end(&mut bytes).map_err(io("read", file))?;
                (bytes, Some(journal))
            }
        };
        let Lines { lines, whole, ended, warnings } = Lines::read(file, &bytes)?;
        if let Some(mut journal) = journal.as_ref() {
            (journal.set_len(whole))
                .and_then(|()| journal.seek(SeekFrom::End(0)))
                .and_then(|_| if ended { Ok(()) } else { journal.write_all(b"\n") })
                .map_err(io("write", file))?;
        }
        let state = Mutex::new(State { lines, journal, failed: None });
        Ok((Self { file: file.to_owned(), mode, scrub, state }, warnings))
    }

    /// The purpose for which it was opened.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The number of calls in it.
    pub fn len(&self) -> usize {
        self.state().lines.len()
    }

    /// Whether it has no calls.
    pub fn is_empty(&self) -> bool {
        self.state().lines.is_empty()
    }

    /// Why no further line can be written, if so.
    pub(crate) fn problem(&self) -> Option<String> {
        let state = self.state();
        let why = state.failed.as_ref()?;
        Some(format!(
            "{} cannot store another reply ({why}), so that no further call is made",
            self.file.display()
        ))
    }

    /// What every reply cost, in USD, by the prices of its model
    /// (`provider/model`); a reply without usage or price is left out.
    pub fn usd(&self, prices: impl Fn(&str) -> Option<ModelPrices>) -> f64 {
        let state = self.state();
        let lines = state.lines.values();
        let read =
            lines.map(|line| CassetteLine::read(line).expect("a line was read before it was kept"));
        let usd = read.filter_map(|line| {
            let prices = prices(&line.model())?;
            let Recorded { outcome, at, .. } = line.recorded();
            call_usd(&prices, &outcome.ok()?.reply.usage.ok()?.usage, at)
        });
        usd.sum()
    }

    /// The recorded outcome of a call, if there is one.
    pub(crate) fn get(&self, key: &str) -> Option<Recorded> {
        let line = self.state().lines.get(key).cloned()?;
        Some(CassetteLine::read(&line).expect("a line was read before it was kept").recorded())
    }

    /// Adds a call with the number of requests that were sent for it, and returns what a replay will read of it. An error that is
    /// about the run is returned unchanged.
    pub(crate) fn record(
        &self,
        (key, model, call): (&str, &Model, &Call),
        (outcome, sent): (Result<Answered, CallError>, u32),
        at: Timestamp,
    ) -> Result<Answered, CallError> {
        let ended = (&outcome, sent);
        let Some(line) = CassetteLine::of((key, model, call), ended, at, &self.scrub) else {
            return outcome;
        };
        let text = line.written();
        let mut state = self.state();
        let State { journal, failed, .. } = &mut *state;
        if let Some(journal) = journal.as_mut().filter(|_| failed.is_none()) {
            *failed = journal.write_all(format!("{text}\n").as_bytes()).err();
        }
        let line = CassetteLine::read(&text).expect("what was written can be read");
        state.lines.insert(key.to_owned(), text.into());
        line.recorded().outcome
    }

    /// Removes a call; the file loses it in [`Cassette::finish`].
    pub(crate) fn forget(&self, key: &str) {
        self.state().lines.remove(key);
    }

    /// The error for a call that is not in the cassette, with what identifies the call.
    pub(crate) fn not_recorded(&self, key: &str, model: &Model, call: &Call) -> CallError {
        let (role, replicate) = (call.role.as_str(), call.replicate);
        let last = call.request.messages.last().map_or("", |message| message.text.trim_start());
        let begin: String = (self.scrub)(last).chars().take(80).collect();
        CallError::NotRecorded(format!(
            "{role} of {model}, replicate {replicate}, key {}, asked {begin:?}\n  --> {}",
            &key[..12],
            self.file.display()
        ))
    }

    /// Writes a recording completely and sorted: under another name first, so
    /// that a crash leaves the old file or the new one. Does nothing in a
    /// replay.
    ///
    /// # Errors
    /// If it cannot be written. Lines that could not be appended during the run
    /// are written now.
    pub fn finish(&self) -> Result<(), CassetteError> {
        let mut state = self.state();
        // Some systems do not rename a file that is open.
        if state.journal.take().is_none() {
            return Ok(());
        }
        let mut partial = self.file.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let sorted: String = state.lines.values().flat_map(|line| [line, "\n"]).collect();
        fs::write(&partial, sorted).map_err(io("write", &partial))?;
        fs::rename(&partial, &self.file).map_err(io("write", &self.file))?;
        let mut journal = held(&self.file)?;
        journal.seek(SeekFrom::End(0)).map_err(io("write", &self.file))?;
        state.journal = Some(journal);
        state.failed = None;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the cassette")
    }
}

/// Opens the file of a recording and locks it against other recordings where
/// the system can.
fn held(file: &Path) -> Result<File, CassetteError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let journal = options.open(file).map_err(io("write", file))?;
    match journal.try_lock() {
        Err(TryLockError::WouldBlock) => Err(CassetteError::Busy { file: file.to_owned() }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(journal),
    }
}

fn io(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> CassetteError {
    move |source| CassetteError::Io { action, file: file.to_owned(), source }
}
