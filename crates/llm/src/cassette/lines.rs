//! The lines of a cassette.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use super::error::CassetteError;
use super::line::{CassetteLine, LineError};

/// The lines of a cassette file.
pub(super) struct Lines {
    /// The lines by key, as they are in the file.
    pub lines: BTreeMap<String, Box<str>>,
    /// Length in bytes up to the end of the last complete line.
    pub whole: u64,
    /// Whether the file ends with a line feed, so that a line can be appended.
    pub ended: bool,
    /// Oddities of the file that are not errors.
    pub warnings: Vec<String>,
}

impl Lines {
    /// Reads the lines of a file.
    ///
    /// # Errors
    /// If a line is not a recorded call, unless it is a cut-off last line.
    pub fn read(file: &Path, bytes: &[u8]) -> Result<Self, CassetteError> {
        let mut lines: BTreeMap<String, Box<str>> = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        let mut warnings = Vec::new();
        let (mut whole, mut ended) = (0, true);
        for (number, raw) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let text =
                std::str::from_utf8(raw).map_err(|error| LineError::Syntax(error.to_string()));
            let text = text.map(str::trim_ascii);
            let line = match text.clone().and_then(|text| match text {
                "" => Ok(None),
                text => CassetteLine::read(text).map(Some),
            }) {
                Ok(line) => line,
                Err(_) if !raw.ends_with(b"\n") && is_torn(raw, whole > 0) => {
                    warnings.push(torn(file, number));
                    break;
                }
                Err(problem) => {
                    return Err(CassetteError::Line {
                        file: file.to_owned(),
                        line: number,
                        problem,
                    });
                }
            };
            whole += raw.len();
            ended = raw.ends_with(b"\n");
            let (Some(line), Ok(text)) = (line, text) else { continue };
            let first = *numbers.entry(line.key.clone()).or_insert(number);
            match lines.entry(line.key.clone()) {
                Entry::Vacant(free) => {
                    free.insert(text.into());
                }
                Entry::Occupied(taken) if **taken.get() == *text => {}
                Entry::Occupied(mut taken) => {
                    warnings.push(twice(file, &line, first, number));
                    if *text < **taken.get() {
                        taken.insert(text.into());
                    }
                }
            }
        }
        let whole = u64::try_from(whole).expect("a file's size is a u64");
        Ok(Self { lines, whole, ended, warnings })
    }
}

/// Whether bytes are the beginning of a line whose writing was interrupted.
/// With other lines `before`, any beginning will do; else it has to start like
/// every line. A file that ends otherwise without a line feed is not a
/// cassette, and is not changed.
fn is_torn(bytes: &[u8], before: bool) -> bool {
    const KEY: &[u8] = br#"{"key":""#;
    const DIGITS: usize = 64;
    const NEXT: &[u8] = br#"","v":"#;
    let (key, rest) = bytes.split_at(bytes.len().min(KEY.len()));
    let (digits, rest) = rest.split_at(rest.len().min(DIGITS));
    let next = &rest[..rest.len().min(NEXT.len())];
    (before || next == NEXT)
        && KEY.starts_with(key)
        && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && NEXT.starts_with(next)
}

fn torn(file: &Path, number: usize) -> String {
    format!("the last line is cut short and left out\n  --> {}:{number}", file.display())
}

fn twice(file: &Path, line: &CassetteLine, first: usize, number: usize) -> String {
    format!(
        "lines {first} and {number} record the same call ({}, key {}) with different outcomes; \
         the one first in byte order counts\n  --> {}",
        line.about(),
        &line.key[..12],
        file.display()
    )
}
