//! The native data set: a folder with `dataset.toml`, `sessions.jsonl` and,
//! where there are questions, `questions.jsonl`.
//!
//! The schemas in `datasets/` describe the files; what is written here
//! validates against them, and reading it back gives the same sessions.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::draft::Draft;
use super::error::{DatasetError, Problem};
use super::format::{Format, Head, Read, Take, Tried};
use super::import::{CHAT_FILE, Export, refused};
use super::source::{Source, parse};
use super::{Dataset, LoadOptions, questions};
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
    read: Read::Each(read),
};

fn sniff(head: &Head) -> bool {
    let is_native = |record: &Json| {
        let first = record.get("messages").and_then(|m| m.get(0));
        record.get("id").is_some() && first.is_some_and(|m| m.get("blocks").is_some())
    };
    head.any(is_native)
}

fn read(source: &mut Source<'_>, _: &LoadOptions, take: &mut Take<'_>) -> Result<(), DatasetError> {
    while let Some((line, text)) = source.next_line()? {
        let read = parse::<Session>(text);
        let session = read.map_err(|problem| source.error(Some(line), name_role(problem)))?;
        source.weigh()?;
        source.list()?;
        take(source, Draft::of_line(session, line))?;
    }
    // A data set is not a live log: an incomplete session means a broken file.
    source.torn_error().map_or(Ok(()), Err)
}

/// Says "unknown role" where serde says "unknown variant".
fn name_role(problem: Problem) -> Problem {
    match &problem {
        Problem::Shape { at, message } if at.ends_with(".role") => {
            let role = message.strip_prefix("unknown variant `");
            match role.and_then(|rest| rest.split_once('`')) {
                Some((role, _)) => Problem::UnknownRole { role: role.to_owned() },
                None => problem,
            }
        }
        _ => problem,
    }
}

/// The content of [`CARD_FILE`], which describes a data set.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Card {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) licence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

impl Card {
    /// The card for a data set without one.
    pub(crate) fn named(name: &str) -> Card {
        Card {
            name: name.to_owned(),
            version: None,
            licence: None,
            origin: None,
            description: None,
        }
    }
}

/// Reads a card.
///
/// # Errors
/// Broken TOML or a key that there is not, with its line.
pub(crate) fn read_card(text: &str) -> Result<Card, (Option<u64>, Problem)> {
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
    refuse_existing(folder, Export::Native)?;
    std::fs::create_dir_all(folder)
        .and_then(|()| write_sessions(dataset, &folder.join(SESSIONS_FILE)))
        .and_then(|()| write_questions(dataset, &folder.join(QUESTIONS_FILE)))
        .map_err(|error| refused(folder, error))?;
    let card = Card {
        name: dataset.name.clone(),
        version: dataset.version.clone(),
        licence: dataset.licence.clone(),
        origin: dataset.origin.clone(),
        description: dataset.description.clone(),
    };
    write_card(folder, &card)
}

/// Refuses to write over what stands in a folder.
///
/// # Errors
/// The first file that stands there.
pub(super) fn refuse_existing(folder: &Path, export: Export) -> Result<(), DatasetError> {
    let names: &[&str] = match export {
        Export::Native => &[CARD_FILE, SESSIONS_FILE, QUESTIONS_FILE],
        Export::OpenAiChat => &[CHAT_FILE],
    };
    let stands = names.iter().map(|name| folder.join(name)).find(|path| path.exists());
    let found = stands.map(|path| DatasetError::whole(path.display().to_string(), Problem::Exists));
    found.map_or(Ok(()), Err)
}

/// Writes the file that describes a data set.
///
/// # Errors
/// What the file system refuses.
pub(super) fn write_card(folder: &Path, card: &Card) -> Result<(), DatasetError> {
    let text = toml::to_string(card).expect("a card is a table of strings");
    let path = folder.join(CARD_FILE);
    std::fs::write(&path, text).map_err(|error| refused(&path, error))
}

/// Writes a session as one line; returns its length in bytes.
pub(super) fn write_line(session: &Session, mut out: impl Write) -> std::io::Result<u64> {
    let mut counting = Counting { out: &mut out, written: 0 };
    serde_json::to_writer(&mut counting, session)?;
    counting.write_all(b"\n")?;
    Ok(counting.written)
}

/// Counts the bytes that are written.
struct Counting<W> {
    out: W,
    written: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// A data set without questions has no file of them.
fn write_questions(dataset: &Dataset, path: &Path) -> std::io::Result<()> {
    if dataset.questions.is_empty() {
        return Ok(());
    }
    questions::write_questions(&dataset.questions, BufWriter::new(File::create(path)?))
}

fn write_sessions(dataset: &Dataset, path: &Path) -> std::io::Result<()> {
    let mut writer = BufWriter::new(File::create(path)?);
    for session in &dataset.sessions {
        write_line(session, &mut writer)?;
    }
    writer.flush()
}
