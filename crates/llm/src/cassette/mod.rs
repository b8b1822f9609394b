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
use serde_json::json;
use thiserror::Error;

use crate::{Answered, Call, CallError, Model, Request, call_usd};
use line::{CassetteLine, Lines};
use recap_billing::pricing::ModelPrices;
use recap_core::text::io_remedy;

pub(crate) use line::Recorded;
pub use line::Scrub;

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
    pub fn count(&self) -> usize {
        self.state().lines.len()
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

    /// Adds a call with the number of requests that were sent for it, and returns what a replay
    /// will read of it. An error that is about the run is returned unchanged.
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
        Err(TryLockError::WouldBlock) => Err(CassetteError {
            message: format!("another run is recording to the cassette\n  --> {}", file.display()),
            help: "wait for its end, or record to another file and merge the two with `sort -u`",
        }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(journal),
    }
}

/// The error for an action, as an infinitive, that the system failed to do.
fn io(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> CassetteError {
    move |error| CassetteError {
        message: format!("cannot {action} the cassette: {error}\n  --> {}", file.display()),
        help: io_remedy(&error, "check the path, and whether it may be read and written"),
    }
}

/// What is wrong with a cassette, and where.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct CassetteError {
    message: String,
    /// What the user can do about it.
    pub help: &'static str,
}

// Several cassettes as one.

/// What to do about two replies to one call.
const CONTRADICTION: &str = "the two were recorded with calls of their own: a run can be replayed \
    from either, not from both; share one cassette among runs, or ask at temperature 0";

/// The lines of several cassettes, each call once, and what is odd about the files but no error.
/// Of the same reply that several hold, the quickest counts.
///
/// # Errors
/// If one cannot be read, or two hold different replies to the same call.
pub fn merged(files: &[PathBuf]) -> Result<(Vec<Box<str>>, Vec<String>), CassetteError> {
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
                        let message = format!(
                            "{} (key {}) has one reply in {} and another in {}",
                            later.about(),
                            &later.key[..12],
                            first.display(),
                            file.display()
                        );
                        return Err(CassetteError { message, help: CONTRADICTION });
                    }
                    if later.is_before(&earlier) {
                        taken.insert((line, file));
                    }
                }
            }
        }
    }
    let lines = known.into_values().map(|(line, _)| line);
    Ok((lines.collect(), warnings))
}

// The key by which equal calls are recognised.

/// The content key of a call: BLAKE3, hex, over a fixed JSON form of provider,
/// model, parameters, texts, schema and repetition.
///
/// The role, the address and key of the provider, and the cache breakpoint do
/// not change the answer and are left out.
pub fn key(model: &Model, call: &Call) -> String {
    let Request { messages, schema, .. } = &call.request;
    let messages = messages.iter().map(|message| (message.speaker.as_str(), &message.text));
    // The order of keys is content too, also within the schema: providers write a reply's fields
    // in that order.
    let content = json!({
        "provider": model.provider,
        "model": call.request.model,
        "max_tokens": call.request.max_tokens,
        "temperature": call.request.temperature,
        "effort": call.request.effort,
        "system": call.request.system,
        "messages": messages.collect::<Vec<_>>(),
        "schema": schema.as_ref().map(|schema| (&schema.name, &schema.json)),
        "replicate": call.replicate,
    });
    blake3::hash(content.to_string().as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod key_tests {
    use serde_json::json;

    use super::*;
    use crate::{Message, Request, Schema, Settings, Speaker};
    use recap_core::model::ModelRole;

    fn model() -> Model {
        let settings = Settings { temperature: Some(0.5), effort: None, room: 0 };
        Model { provider: "openai".to_owned(), name: "m".to_owned(), settings }
    }

    fn call() -> Call {
        let schema = Schema { name: "s".to_owned(), json: json!({"b": 1, "a": 2}) };
        let question = Request { schema: Some(schema), ..Request::of("Be brief.", "Why?", 9) };
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
