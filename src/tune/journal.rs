//! What a search has done so far, as JSON lines: a header, a line for each round
//! that is over, and one for the held-back sessions.
//!
//! Everything else follows from these lines, so a search that goes on later
//! comes to the same end.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::race::{Objective, Rule, Work};
use super::split::Split;
use crate::measure::SessionFigures;

/// The file of a search in its folder.
const FILE: &str = "search.jsonl";
/// Longest value of a setting that an error shows.
const SHOWN: usize = 80;

/// What a search is made of. Budgets are no part of it: they may be raised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of this file: 1.
    pub version: u32,
    /// Version of the instrument that measures.
    pub instrument: u32,
    /// The base as typed.
    pub base: String,
    /// The settings: name, hash, window and compactor.
    pub settings: Vec<(String, String, Option<String>, String)>,
    /// What is to be kept.
    pub objective: Objective,
    /// When settings are dropped.
    pub rule: Rule,
    /// The sessions on both sides.
    pub split: Split,
    /// Files of the data sets, with the hash of their content.
    pub files: Vec<(String, String)>,
    /// Where compactions are made to happen, and at which depth.
    pub cuts: (String, u32),
    /// Who answers and who grades.
    pub seats: (String, Vec<String>),
    /// Repetitions of a compaction.
    pub replicates: u32,
    /// Whether numbers scale with the window.
    pub scaled: bool,
    /// How tokens are counted.
    pub tokens: String,
    /// Hash of the price list, and the model that pays.
    pub prices: (String, Option<String>),
}

/// A round that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// Its cells.
    pub work: Work,
    /// What they tell.
    pub figures: Vec<(usize, SessionFigures)>,
    /// How long it took.
    pub seconds: f64,
    /// What its calls of models cost, in USD.
    pub usd: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Header(Box<Header>),
    Round(Closed),
    HeldBack(Closed),
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// There is a search already.
    #[error("{}: there is a search in this folder", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds other files.
    #[error("{}: this folder holds something else than a search", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// The search there is another one.
    #[error("{}: the search there is another one: {}", path.display(), differ.join("; "))]
    Unlike {
        /// The folder.
        path: PathBuf,
        /// What differs.
        differ: Vec<String>,
    },
    /// A line is broken.
    #[error("{}, line {line}: {problem}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// The open journal of a search.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Rounds that are over.
    pub rounds: Vec<Closed>,
    /// The held-back sessions, once they were replayed.
    pub held_back: Option<Closed>,
}

impl Journal {
    /// Begins a search in a folder, or goes on with the one that is there. A
    /// torn last line is left out.
    ///
    /// # Errors
    /// If there is a search already and `resume` is false, or the one that is
    /// there was made of something else; or the file is broken or cannot be
    /// written.
    pub fn open(folder: &Path, header: &Header, resume: bool) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let io = |error| JournalError::Io { path: path.clone(), error };
        let mut journal = Self { folder: folder.to_owned(), rounds: Vec::new(), held_back: None };
        if !path.exists() {
            fs::create_dir_all(folder).map_err(io)?;
            if !is_free(folder).map_err(io)? {
                return Err(JournalError::Foreign { path: folder.to_owned() });
            }
            // Several shards may begin at once: each writes the same line, whole.
            let mut partial = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
            let line = line(&Line::Header(Box::new(header.clone())));
            partial.write_all(line.as_bytes()).map_err(io)?;
            partial.persist(&path).map_err(|e| io(e.error))?;
            return Ok(journal);
        }
        if !resume {
            return Err(JournalError::Exists { path: folder.to_owned() });
        }
        let text = fs::read_to_string(&path).map_err(io)?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let broken = |line: usize, problem: String| JournalError::Broken {
            path: path.clone(),
            line: line + 1,
            problem,
        };
        for (number, line) in text[..whole].lines().enumerate() {
            let line: Line =
                serde_json::from_str(line).map_err(|e| broken(number, e.to_string()))?;
            match (number, line) {
                (0, Line::Header(there)) => same(folder, &there, header)?,
                (0, _) | (_, Line::Header(_)) => {
                    return Err(broken(number, "the header is not the first line".to_owned()));
                }
                (_, Line::Round(closed)) => journal.rounds.push(closed),
                (_, Line::HeldBack(closed)) => journal.held_back = Some(closed),
            }
        }
        if whole < text.len() {
            let file = File::options().write(true).open(&path).map_err(io)?;
            file.set_len(whole as u64).map_err(io)?;
        }
        Ok(journal)
    }

    /// Adds a round that is over.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn close(&mut self, closed: Closed) -> Result<(), JournalError> {
        self.append(&Line::Round(closed.clone()))?;
        self.rounds.push(closed);
        Ok(())
    }

    /// Adds what the held-back sessions tell.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn close_held_back(&mut self, closed: Closed) -> Result<(), JournalError> {
        self.append(&Line::HeldBack(closed.clone()))?;
        self.held_back = Some(closed);
        Ok(())
    }

    fn append(&self, content: &Line) -> Result<(), JournalError> {
        let path = self.folder.join(FILE);
        let append = || -> std::io::Result<()> {
            let mut file = File::options().append(true).open(&path)?;
            file.write_all(line(content).as_bytes())?;
            file.sync_data()
        };
        append().map_err(|error| JournalError::Io { path: path.clone(), error })
    }
}

/// Whether a folder holds nothing but what another shard is just writing.
fn is_free(folder: &Path) -> std::io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name != FILE && !name.starts_with(".tmp") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn line(content: &Line) -> String {
    let json = serde_json::to_string(content).expect("plain data serialises");
    format!("{json}\n")
}

/// Refuses a search that is made of something else, and says what differs.
fn same(folder: &Path, there: &Header, here: &Header) -> Result<(), JournalError> {
    if there == here {
        return Ok(());
    }
    let fields = |header: &Header| match serde_json::to_value(header) {
        Ok(Json::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (there, here) = (fields(there), fields(here));
    let shown = |value: Option<&Json>| -> String {
        let text = value.map(ToString::to_string).unwrap_or_default();
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    };
    let names = here.keys().filter(|name| there.get(*name) != here.get(*name));
    let differ = names
        .map(|name| {
            format!("{name}: {} there, {} here", shown(there.get(name)), shown(here.get(name)))
        })
        .collect();
    Err(JournalError::Unlike { path: folder.to_owned(), differ })
}

#[cfg(test)]
mod tests {
    use super::super::split::Split;
    use super::*;

    fn header(seed: u64) -> Header {
        Header {
            version: 1,
            instrument: 1,
            base: "fifo".to_owned(),
            settings: Vec::new(),
            objective: Objective::Kept,
            rule: Rule { margin: 0.02, false_drops: 0.05, max_wait: None, seed },
            split: Split { search: Vec::new(), held_back: Vec::new(), by_project: false },
            files: Vec::new(),
            cuts: ("5".to_owned(), 3),
            seats: ("offline".to_owned(), Vec::new()),
            replicates: 1,
            scaled: true,
            tokens: String::new(),
            prices: (String::new(), None),
        }
    }

    fn closed(to: usize) -> Closed {
        let work = Work { settings: vec![0], from: 0, to };
        Closed { work, figures: Vec::new(), seconds: 0.1, usd: 0.0 }
    }

    #[test]
    fn a_search_goes_on_where_it_stopped_and_loses_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search");
        let mut journal = Journal::open(&path, &header(1), false).unwrap();
        journal.close(closed(8)).unwrap();
        journal.close(closed(12)).unwrap();
        let file = path.join(FILE);
        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{whole}{{\"round\":{{\"wo")).unwrap();
        let again = Journal::open(&path, &header(1), true).unwrap();
        assert_eq!(again.rounds, [closed(8), closed(12)]);
        assert_eq!(fs::read_to_string(&file).unwrap(), whole);
        assert!(again.held_back.is_none());
    }

    #[test]
    fn another_search_a_broken_line_and_a_foreign_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search");
        Journal::open(&path, &header(1), false).unwrap();
        let told = |result: Result<Journal, JournalError>| result.unwrap_err().to_string();
        let exists = told(Journal::open(&path, &header(1), false));
        assert!(exists.ends_with("there is a search in this folder"), "{exists}");
        let unlike = told(Journal::open(&path, &header(2), true));
        assert!(unlike.contains("another one: rule: {\"margin\":0.02"), "{unlike}");
        fs::write(path.join(FILE), "{\"round\":1}\n").unwrap();
        let broken = told(Journal::open(&path, &header(1), true));
        assert!(broken.contains("line 1: "), "{broken}");
        let foreign = told(Journal::open(folder.path(), &header(1), false));
        assert!(foreign.ends_with("something else than a search"), "{foreign}");
    }
}
