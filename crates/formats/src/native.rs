//! The native data set: a folder with `dataset.toml`, `sessions.jsonl` and,
//! where there are questions, `questions.jsonl`.
//!
//! The schemas in `datasets/` describe the files; what is written here
//! validates against them, and reading it back gives the same sessions.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::draft::Draft;
use super::error::{DatasetError, Problem};
use super::format::{Format, Head, Take, Tried};
use super::import::Export;
use super::source::{Source, parse};
use super::{Dataset, questions};
use recap_core::model::Session;

/// Name of the file that describes the data set.
pub const CARD_FILE: &str = "dataset.toml";
/// Name of the file of sessions, one a line.
pub const SESSIONS_FILE: &str = "sessions.jsonl";
/// Name of the file of questions, one a line.
pub const QUESTIONS_FILE: &str = "questions.jsonl";

/// The format of the native session file.
pub(super) const FORMAT: Format = Format {
    name: "native",
    describe: "recap's own sessions (JSON lines, as `recap import` writes them)",
    tried: Tried::Own,
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has(&["/id /messages/0/blocks"])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    while let Some((line, text)) = source.next_line()? {
        let read = parse::<Session>(text);
        let session = read.map_err(|problem| source.error(Some(line), problem))?;
        source.weigh()?;
        source.list()?;
        take(source, Draft::of_line(session, line))?;
    }
    // A data set is not a live log: an incomplete session means a broken file.
    source.torn_error().map_or(Ok(()), Err)
}

/// Reads a card.
///
/// # Errors
/// Broken TOML or a key that there is not, with its line.
pub(crate) fn read_card(text: &str) -> Result<Dataset, (Option<u64>, Problem)> {
    toml::from_str(text).map_err(|e| {
        let line = e.span().map(|span| {
            let before = text.as_bytes().get(..span.start).unwrap_or_default();
            1 + memchr::memchr_iter(b'\n', before).count() as u64
        });
        (line, Problem::shape(CARD_FILE, e.message()))
    })
}

/// Writes `dataset` as a native data set into `folder`, which is made where it
/// is not there.
///
/// # Errors
/// A data set that stands there already, or what the file system refuses.
pub fn write_native(dataset: &Dataset, folder: &Path) -> Result<(), DatasetError> {
    Export::Native.refuse_existing(folder)?;
    write(dataset, folder)
}

/// As [`write_native`], into a folder without a data set.
pub(super) fn write(dataset: &Dataset, folder: &Path) -> Result<(), DatasetError> {
    let card = toml::to_string(dataset).expect("a card is a table of strings");
    let write = || {
        std::fs::create_dir_all(folder)?;
        let mut file = BufWriter::new(File::create(folder.join(SESSIONS_FILE))?);
        for session in &dataset.sessions {
            serde_json::to_writer(&mut file, session)?;
            file.write_all(b"\n")?;
        }
        file.flush()?;
        // A data set without questions has no file of them.
        if !dataset.questions.is_empty() {
            let file = File::create(folder.join(QUESTIONS_FILE))?;
            questions::write_questions(&dataset.questions, BufWriter::new(file))?;
        }
        std::fs::write(folder.join(CARD_FILE), card)
    };
    write().map_err(|error| refused(folder, error))
}

/// What the file system refused to write.
pub(super) fn refused(path: &Path, source: std::io::Error) -> DatasetError {
    let action = "write";
    DatasetError::whole(path.display().to_string(), Problem::Io { action, source })
}
