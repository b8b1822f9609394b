//! Several cassettes as one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::CassetteError;
use super::io;
use super::line::CassetteLine;
use super::lines::Lines;

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
