//! `cells.jsonl`: what a run has finished, a line each.
//!
//! Each line ends with a checksum of what stands before it, so that a line that
//! was edited, or glued to half of another one, is never taken for a result. A
//! line is written whole and in one go: a run that is killed leaves at most the
//! last one torn.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::folder::{FolderError, io};
use crate::model::{CallRow, Cell, Cut, TranscriptFacts};

/// Name of the file in the run folder.
pub(super) const JOURNAL: &str = "cells.jsonl";

/// What a line holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    Transcript(Box<TranscriptFacts>),
    Cell(Cell),
    Cut(Cut),
    Call(CallRow),
    /// Only while a run goes on: its end puts them into `texts.jsonl`.
    Text(Text),
}

/// A text by its hash.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub hash: String,
    pub text: String,
}

/// Digits of a checksum: the first of BLAKE3's, in hex.
const DIGITS: usize = 16;
/// What stands between a line and its checksum.
const SUM: &str = ",\"sum\":\"";
/// What stands behind it.
const END: &str = "\"}";

/// A line as it stands in the file, its end included.
pub(super) fn written(line: &Line) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).expect("plain data serialises");
    bytes.pop();
    let sum = sum(&bytes);
    bytes.extend_from_slice(SUM.as_bytes());
    bytes.extend_from_slice(sum.as_bytes());
    bytes.extend_from_slice(END.as_bytes());
    bytes.push(b'\n');
    bytes
}

fn sum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..DIGITS].to_owned()
}

/// A line of the file, without its end.
fn parsed(line: &[u8]) -> Result<Line, String> {
    let tail = SUM.len() + DIGITS + END.len();
    let (content, rest) = line
        .len()
        .checked_sub(tail)
        .map(|at| line.split_at(at))
        .filter(|(_, rest)| rest.starts_with(SUM.as_bytes()) && rest.ends_with(END.as_bytes()))
        .ok_or("it does not end with a checksum")?;
    if rest[SUM.len()..SUM.len() + DIGITS] != *sum(content).as_bytes() {
        return Err("it is not what its checksum says".to_owned());
    }
    let mut whole = content.to_vec();
    whole.push(b'}');
    serde_json::from_slice(&whole).map_err(|e| e.to_string())
}

/// Hands over every line, and tells how many bytes they take. A last line
/// without an end was being written when the run was killed: it is left out.
///
/// # Errors
/// If the file cannot be read; at a line that is not what a run wrote.
pub(super) fn read(path: &Path, mut each: impl FnMut(Line)) -> Result<u64, FolderError> {
    let mut reader = BufReader::new(File::open(path).map_err(io(path))?);
    // Bytes, since a line may be torn within a character.
    let (mut line, mut whole) = (Vec::new(), 0);
    for number in 1.. {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line).map_err(io(path))?;
        let Some(content) = line.strip_suffix(b"\n") else { break };
        let content = parsed(content).map_err(|problem| FolderError::Line {
            path: path.to_owned(),
            line: number,
            problem,
        })?;
        each(content);
        whole += bytes as u64;
    }
    Ok(whole)
}

/// Adds a line in one go.
pub(super) fn append(mut file: &File, line: &Line) -> std::io::Result<()> {
    file.write_all(&written(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(hash: &str) -> Line {
        Line::Text(Text { hash: hash.to_owned(), text: "a \"}\n b".to_owned() })
    }

    fn hash(line: &Line) -> &str {
        match line {
            Line::Text(text) => &text.hash,
            other => panic!("no text: {other:?}"),
        }
    }

    #[test]
    fn a_line_ends_with_the_checksum_of_what_stands_before_it() {
        let line = String::from_utf8(written(&text("h"))).unwrap();
        let (content, sum) = line.split_once(",\"sum\":\"").unwrap();
        assert_eq!(content, r#"{"text":{"hash":"h","text":"a \"}\n b"}"#);
        let expected = blake3::hash(content.as_bytes()).to_hex();
        assert_eq!(sum, format!("{}\"}}\n", &expected[..16]));
        assert_eq!(hash(&parsed(line.trim_end().as_bytes()).unwrap()), "h");
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "it stays JSON");
    }

    #[test]
    fn no_changed_byte_of_a_line_goes_unseen() {
        let line = written(&text("h"));
        let line = &line[..line.len() - 1];
        for at in 0..line.len() {
            let mut changed = line.to_vec();
            changed[at] ^= 1;
            assert!(parsed(&changed).is_err(), "byte {at}");
            assert!(parsed(&line[..at]).is_err(), "torn at {at}");
        }
    }

    #[test]
    fn a_torn_last_line_is_left_out_wherever_it_is_torn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        let (first, second) = (written(&text("a")), written(&text("b")));
        for at in 0..second.len() {
            std::fs::write(&path, [&first[..], &second[..at]].concat()).unwrap();
            let mut found = Vec::new();
            let whole = read(&path, |line| found.push(hash(&line).to_owned())).unwrap();
            assert_eq!((found, whole), (vec!["a".to_owned()], first.len() as u64), "{at}");
        }
    }

    #[test]
    fn a_line_that_is_no_result_is_an_error_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        let broken = [written(&text("a")), b"{}\n".to_vec(), written(&text("b"))].concat();
        std::fs::write(&path, broken).unwrap();
        let error = read(&path, |_| ()).unwrap_err().to_string();
        assert!(error.contains("cells.jsonl, line 2: it does not end with a checksum"), "{error}");
    }
}
