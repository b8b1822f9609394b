//! The file that says which batch holds which calls.
//!
//! It is written before a batch is submitted and again when its name is known,
//! so that a program that was ended finds its batches again and submits nothing
//! twice. What was answered stands on the cassette, not here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A batch that was submitted, or was about to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent {
    /// Its number in the file, from 1.
    pub number: u64,
    /// The model, as `provider/model`, with its settings.
    pub model: String,
    /// Scheme, host and port of the server.
    pub server: String,
    /// When it was submitted, by this machine's clock.
    pub at: Timestamp,
    /// The most that each call can cost, in USD, by the call's key.
    pub calls: BTreeMap<String, f64>,
    /// The file of its requests at the provider.
    #[serde(skip)]
    pub file: Option<String>,
    /// Its name at the provider; `None`: it is not known whether there is one.
    #[serde(skip)]
    pub id: Option<String>,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Line {
    Sent(Sent),
    File {
        number: u64,
        file: String,
    },
    Named {
        number: u64,
        id: String,
    },
    /// The provider never had it, or refused it.
    Void {
        number: u64,
    },
}

/// What is wrong with the file.
#[derive(Debug, Error)]
pub enum BatchLogError {
    /// It cannot be read or written.
    #[error("cannot {action} the list of batches: {source}\n  --> {}", file.display())]
    Io {
        /// The failed action, as an infinitive.
        action: &'static str,
        /// Its path.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line is not of it.
    #[error("the line does not belong to a list of batches: {problem}\n  --> {}:{line}", file.display())]
    Line {
        /// Its path.
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
}

impl BatchLogError {
    /// What the user can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            BatchLogError::Io { .. } => "check the path, and whether it may be read and written",
            BatchLogError::Line { .. } => {
                "without that file the calls of its batches are made, and paid for, again"
            }
        }
    }
}

/// The batches of a run, shared by its models.
#[derive(Debug, Default)]
pub struct BatchLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    file: Option<(PathBuf, File)>,
    last: u64,
    /// Batches of an earlier program whose results are not on the cassette.
    earlier: Vec<Sent>,
    /// How often an earlier program submitted a call.
    attempts: BTreeMap<String, u32>,
    /// Names of the batches that ran when they were last looked at.
    running: BTreeMap<u64, (String, usize)>,
    names: BTreeSet<String>,
}

impl BatchLog {
    /// Opens the file, and goes on with the batches in it. Calls that are
    /// `recorded` already are left out; a call that was submitted several times
    /// counts for the last batch.
    ///
    /// # Errors
    /// If it cannot be read or written, or a line does not belong to it. A last
    /// line that was cut off is removed.
    pub fn open(&self, path: &Path, recorded: impl Fn(&str) -> bool) -> Result<(), BatchLogError> {
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(io_error("write", path))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io_error("read", path))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let batches = read(&text[..whole], path)?;
        (file.set_len(whole as u64))
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(io_error("write", path))?;
        let mut state = self.state();
        state.last = batches.keys().next_back().copied().unwrap_or(0);
        state.file = Some((path.to_owned(), file));
        state.take(batches.into_values(), recorded);
        Ok(())
    }

    /// Takes the batches of an earlier program at a server for a model.
    pub(super) fn earlier(&self, model: &str, server: &str) -> Vec<Sent> {
        let mut state = self.state();
        let own = |sent: &Sent| sent.model == model && sent.server == server;
        let (own, others) = std::mem::take(&mut state.earlier).into_iter().partition(own);
        state.earlier = others;
        own
    }

    /// How often an earlier program submitted a call.
    pub(super) fn attempts(&self, key: &str) -> u32 {
        self.state().attempts.get(key).copied().unwrap_or(0)
    }

    /// Whether a batch of this name is known.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.state().names.contains(id)
    }

    /// Notes that a batch is about to be submitted, and numbers it.
    pub(super) fn sent(&self, mut sent: Sent) -> io::Result<u64> {
        let mut state = self.state();
        state.last += 1;
        sent.number = state.last;
        state.write(&Line::Sent(sent))?;
        Ok(state.last)
    }

    /// Notes the file that holds a batch's requests.
    pub(super) fn file(&self, number: u64, file: &str) -> io::Result<()> {
        self.state().write(&Line::File { number, file: file.to_owned() })
    }

    /// Notes the name of a batch.
    pub(super) fn named(&self, number: u64, id: &str, calls: usize) -> io::Result<()> {
        let mut state = self.state();
        state.running.insert(number, (id.to_owned(), calls));
        state.names.insert(id.to_owned());
        state.write(&Line::Named { number, id: id.to_owned() })
    }

    /// Notes that no batch came of a submission.
    pub(super) fn void(&self, number: u64) -> io::Result<()> {
        let mut state = self.state();
        state.running.remove(&number);
        state.write(&Line::Void { number })
    }

    /// Notes that the results of a batch have arrived. The file keeps it: they
    /// are on the cassette only a little later.
    pub(super) fn ended(&self, number: u64) {
        self.state().running.remove(&number);
    }

    /// The names of the batches that are not known to have ended, each with the
    /// number of its calls.
    pub fn running(&self) -> Vec<(String, usize)> {
        let state = self.state();
        let earlier = state.earlier.iter().filter_map(|s| Some((s.id.clone()?, s.calls.len())));
        state.running.values().cloned().chain(earlier).collect()
    }

    /// Removes the file: every call was answered, and every answer is kept.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn finish(&self) -> Result<(), BatchLogError> {
        let mut state = self.state();
        // Some systems do not remove a file that is open.
        let Some((path, file)) = state.file.take() else { return Ok(()) };
        drop(file);
        fs::remove_file(&path).map_err(io_error("remove", &path))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no thread panics while it holds the list")
    }
}

impl State {
    fn write(&mut self, line: &Line) -> io::Result<()> {
        let Some((_, file)) = &mut self.file else { return Ok(()) };
        let text = serde_json::to_string(line).expect("plain data serialises");
        file.write_all(format!("{text}\n").as_bytes())?;
        // A batch is money: it has to be known even if the power fails.
        file.sync_data()
    }

    /// Takes over the batches of an earlier program.
    fn take(&mut self, batches: impl Iterator<Item = Sent>, recorded: impl Fn(&str) -> bool) {
        let mut batches: Vec<Sent> = batches.collect();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for sent in batches.iter_mut().rev() {
            self.names.extend(sent.id.clone());
            for key in sent.calls.keys() {
                *self.attempts.entry(key.clone()).or_default() += 1;
            }
            sent.calls.retain(|key, _| seen.insert(key.clone()) && !recorded(key));
        }
        self.earlier = batches.into_iter().filter(|sent| !sent.calls.is_empty()).collect();
    }
}

/// The batches in the file by number, without those that never were.
fn read(text: &[u8], path: &Path) -> Result<BTreeMap<u64, Sent>, BatchLogError> {
    let mut batches: BTreeMap<u64, Sent> = BTreeMap::new();
    for (number, line) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
        let wrong =
            |problem: String| BatchLogError::Line { file: path.to_owned(), line: number, problem };
        let line = serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
        let unknown = || wrong("it is about a batch that no line before names".to_owned());
        match line {
            Line::Sent(sent) => {
                batches.insert(sent.number, sent);
            }
            Line::File { number, file } => {
                batches.get_mut(&number).ok_or_else(unknown)?.file = Some(file);
            }
            Line::Named { number, id } => {
                batches.get_mut(&number).ok_or_else(unknown)?.id = Some(id);
            }
            Line::Void { number } => {
                batches.remove(&number).ok_or_else(unknown)?;
            }
        }
    }
    Ok(batches)
}

fn io_error(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> BatchLogError {
    move |source| BatchLogError::Io { action, file: file.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(calls: &[&str]) -> Sent {
        Sent {
            number: 0,
            model: "openai/m".to_owned(),
            server: "http://h".to_owned(),
            at: Timestamp::UNIX_EPOCH,
            calls: calls.iter().map(|key| ((*key).to_owned(), 0.25)).collect(),
            file: None,
            id: None,
        }
    }

    fn keys(sent: &Sent) -> Vec<&str> {
        sent.calls.keys().map(String::as_str).collect()
    }

    #[test]
    fn a_later_program_finds_the_batches_whose_results_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batches.jsonl");
        let log = BatchLog::default();
        log.open(&path, |_| false).unwrap();
        for (calls, id) in [(&["a", "b"][..], Some("batch_1")), (&["c"], None), (&["d"], None)] {
            let number = log.sent(sent(calls)).unwrap();
            log.file(number, "file-1").unwrap();
            if let Some(id) = id {
                log.named(number, id, calls.len()).unwrap();
            }
        }
        log.void(3).unwrap();
        // `b` expired, and was submitted again.
        log.named(log.sent(sent(&["b"])).unwrap(), "batch_4", 1).unwrap();
        log.ended(1);
        assert_eq!(log.running(), [("batch_4".to_owned(), 1)]);

        let mut text = fs::read(&path).unwrap();
        text.extend(b"{\"sent\": {\"num");
        fs::write(&path, &text).unwrap();
        let later = BatchLog::default();
        later.open(&path, |key| key == "c").unwrap();
        assert_eq!(later.running(), [("batch_1".to_owned(), 1), ("batch_4".to_owned(), 1)]);
        assert!(later.knows("batch_1") && !later.knows("batch_2"));
        assert_eq!(["a", "b", "d"].map(|key| later.attempts(key)), [1, 2, 0]);
        assert_eq!(later.earlier("openai/m", "http://other"), []);
        let earlier = later.earlier("openai/m", "http://h");
        let told: Vec<_> = earlier.iter().map(|s| (s.number, keys(s), s.id.as_deref())).collect();
        assert_eq!(told, [(1, vec!["a"], Some("batch_1")), (4, vec!["b"], Some("batch_4"))]);
        assert_eq!(earlier[0].file.as_deref(), Some("file-1"));
        // The torn line is gone, and numbers go on.
        assert_eq!(later.sent(sent(&["e"])).unwrap(), 5);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 11);
        later.finish().unwrap();
        assert!(!path.exists());
        later.finish().unwrap();
    }

    #[test]
    fn a_batch_that_cannot_be_noted_is_an_error_before_it_is_submitted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batches.jsonl");
        fs::write(&path, "").unwrap();
        let log = BatchLog::default();
        log.state().file = Some((path.clone(), File::open(&path).unwrap()));
        assert!(log.sent(sent(&["a"])).is_err(), "the file is open for reading only");
        assert!(log.named(1, "batch_1", 1).is_err());
    }

    #[test]
    fn what_is_no_list_of_batches_stays_as_it_is_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batches.jsonl");
        for text in ["notes\n", "{}\n", "{\"named\":{\"number\":1,\"id\":\"b\"}}\n", "\u{0}\n"] {
            fs::write(&path, text).unwrap();
            let error = BatchLog::default().open(&path, |_| false).unwrap_err();
            assert!(error.to_string().ends_with("batches.jsonl:1"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let absent = folder.path().join("no/such/folder");
        let error = BatchLog::default().open(&absent, |_| false).unwrap_err();
        assert!(matches!(error, BatchLogError::Io { .. }));
    }
}
