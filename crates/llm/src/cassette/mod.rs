//! Recorded calls: what models answered, to be read again without them.
//!
//! A cassette is plain JSONL, one call a line, sorted by content key. It grows
//! by whole lines while a run goes on, so that a run that is killed loses
//! nothing, and two cassettes merge by `cat` or `sort -u`.
//!
//! Invariant: what is served is what a line says, also in the run that records
//! it, so that the recording run and every replay see the same bytes.

mod line;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::{Answered, Call, CallError, Model, call_usd};
use line::{CassetteLine, Lines};
use recap_billing::pricing::ModelPrices;
use recap_core::text::io_remedy;

pub(crate) use line::Recorded;
pub use line::{LineError, Scrub};

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

// What is wrong with a cassette.

/// An error of a cassette.
#[derive(Debug, Error)]
pub enum CassetteError {
    /// The system failed to read or write it.
    #[error("cannot {action} the cassette: {source}\n  --> {}", file.display())]
    Io {
        /// The failed action, as an infinitive.
        action: &'static str,
        /// Path of the cassette.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line is not a recorded call.
    #[error(
        "the line is not a recorded call: {problem}\n  --> {}:{line}",
        file.display()
    )]
    Line {
        /// Path of the cassette.
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: LineError,
    },
    /// Two cassettes hold different replies to the same call.
    #[error(
        "{call} (key {key}) has one reply in {} and another in {}",
        first.display(), second.display()
    )]
    Contradiction {
        /// Role, model and repetition of the call.
        call: String,
        /// The beginning of its key.
        key: String,
        /// The first file.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// Another program is recording to it.
    #[error(
        "another run is recording to the cassette\n  --> {}",
        file.display()
    )]
    Busy {
        /// Path of the cassette.
        file: PathBuf,
    },
}

impl CassetteError {
    /// What the user can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            CassetteError::Io { source, .. } => {
                io_remedy(source, "check the path, and whether it may be read and written")
            }
            CassetteError::Line { .. } => "delete that line: a recording run makes the call again",
            CassetteError::Contradiction { .. } => {
                "the two were recorded with calls of their own: a run can be replayed from either, \
                 not from both; share one cassette among runs, or ask at temperature 0"
            }
            CassetteError::Busy { .. } => {
                "wait for its end, or record to another file and merge the two with `sort -u`"
            }
        }
    }
}

// Several cassettes as one.

/// The calls of several cassettes, each once.
#[derive(Debug)]
pub struct Merged {
    lines: BTreeMap<String, Box<str>>,
    /// What is odd about the files but no error.
    pub warnings: Vec<String>,
}

impl Merged {
    /// Reads cassettes. Of the same reply that several hold, the quickest counts.
    ///
    /// # Errors
    /// If one cannot be read, or two hold different replies to the same call.
    pub fn of(files: &[PathBuf]) -> Result<Self, CassetteError> {
        let mut known: BTreeMap<String, (Box<str>, &Path)> = BTreeMap::new();
        let mut warnings = Vec::new();
        for file in files {
            let read = Lines::read(file, &fs::read(file).map_err(io("read", file))?)?;
            warnings.extend(read.warnings);
            for (key, line) in read.lines {
                match known.entry(key) {
                    Entry::Vacant(free) => {
                        free.insert((line, file));
                    }
                    Entry::Occupied(mut taken) => {
                        let (earlier, first) = taken.get();
                        let one = |line| CassetteLine::read(line).expect("it was read before");
                        let (earlier, later) = (one(earlier), one(&line));
                        if !earlier.says_the_same(&later) {
                            return Err(CassetteError::Contradiction {
                                call: later.about(),
                                key: later.key[..12].to_owned(),
                                first: first.to_path_buf(),
                                second: file.clone(),
                            });
                        }
                        if later.is_before(&earlier) {
                            taken.insert((line, file));
                        }
                    }
                }
            }
        }
        let lines = known.into_iter().map(|(key, (line, _))| (key, line)).collect();
        Ok(Self { lines, warnings })
    }

    /// The number of calls.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no call.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Writes a cassette of them, sorted.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), CassetteError> {
        let sorted: String = self.lines.values().flat_map(|line| [line, "\n"]).collect();
        fs::write(file, sorted).map_err(io("write", file))
    }
}

// The key by which equal calls are recognised.

/// Everything that determines a model's answer, in the order of its hashing.
#[derive(Serialize)]
struct Content<'a> {
    provider: &'a str,
    model: &'a str,
    max_tokens: u64,
    temperature: Option<f64>,
    effort: Option<&'a str>,
    system: &'a str,
    messages: Vec<(&'static str, &'a str)>,
    /// Providers write a reply's fields in the order of its schema, so that the
    /// order of keys is content too.
    schema: Option<(&'a str, &'a Value)>,
    replicate: u32,
}

/// The content key of a call: BLAKE3, hex, over a fixed JSON form of provider,
/// model, parameters, texts, schema and repetition.
///
/// The role, the address and key of the provider, and the cache breakpoint do
/// not change the answer and are left out.
pub fn key(model: &Model, call: &Call) -> String {
    let request = &call.request;
    let content = Content {
        provider: &model.provider,
        model: &request.model,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        effort: request.effort.as_deref(),
        system: &request.system,
        messages: request
            .messages
            .iter()
            .map(|message| (message.speaker.as_str(), message.text.as_str()))
            .collect(),
        schema: request.schema.as_ref().map(|schema| (schema.name.as_str(), &schema.json)),
        replicate: call.replicate,
    };
    let json = serde_json::to_vec(&content).expect("plain data serialises");
    blake3::hash(&json).to_hex().to_string()
}

#[cfg(test)]
mod key_tests {
    use serde_json::json;

    use super::*;
    use crate::{Message, ModelRequest, Schema, Settings, Speaker};
    use recap_core::model::ModelRole;

    fn model() -> Model {
        let settings = Settings { temperature: Some(0.5), effort: None, room: 0 };
        Model { provider: "openai".to_owned(), name: "m".to_owned(), settings }
    }

    fn call() -> Call {
        let schema = Schema { name: "s".to_owned(), json: json!({"b": 1, "a": 2}) };
        let question =
            ModelRequest { schema: Some(schema), ..ModelRequest::of("Be brief.", "Why?", 9) };
        Call { role: ModelRole::Judge, replicate: 2, request: model().request(question) }
    }

    #[test]
    fn key_is_hash_of_written_out_content() {
        let content = concat!(
            r#"{"provider":"openai","model":"m","max_tokens":9,"temperature":0.5,"effort":null,"#,
            r#""system":"Be brief.","messages":[["user","Why?"]],"#,
            r#""schema":["s",{"b":1,"a":2}],"replicate":2}"#,
        );
        let expected = blake3::hash(content.as_bytes()).to_hex().to_string();
        assert_eq!(key(&model(), &call()), expected);
    }

    #[test]
    fn whatever_changes_the_answer_changes_the_key() {
        let base = key(&model(), &call());
        let changes: [fn(&mut Call); 9] = [
            |call| call.replicate += 1,
            |call| call.request.model.push('x'),
            |call| call.request.max_tokens += 1,
            |call| call.request.temperature = Some(0.0),
            |call| call.request.effort = Some("low".to_owned()),
            |call| call.request.system.push('x'),
            |call| call.request.messages[0].speaker = Speaker::Assistant,
            |call| {
                let more = Message { speaker: Speaker::User, text: String::new() };
                call.request.messages.push(more);
            },
            |call| call.request.schema = None,
        ];
        let mut keys = vec![base];
        for change in changes {
            let mut changed = call();
            change(&mut changed);
            keys.push(key(&model(), &changed));
        }
        keys.push(key(&Model { provider: "ollama".to_owned(), ..model() }, &call()));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 11);
    }

    #[test]
    fn role_and_cache_breakpoints_do_not_change_key() {
        let mut other = call();
        other.role = ModelRole::Answerer;
        other.request.shared_system = true;
        assert_eq!(key(&model(), &other), key(&model(), &call()));
    }
}
