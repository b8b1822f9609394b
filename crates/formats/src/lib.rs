//! Reads recorded sessions: any known format becomes a
//! [`Session`].
//!
//! In: a file or folder. Out: a [`Dataset`] of sessions, with the
//! questions and labels that stand beside them. One file in `formats` for each format; `load`
//! finds out which one it is.
//!
//! Invariant: every text of a recording is part of a message, of the preamble or of a
//! compaction; or its loss is reported, by a count under a reason (`Session::left_out`,
//! `Dataset::warnings`) or by an error with its place. What only describes or repeats a
//! text (ids, displays, diffs) is none. `tests/suite/dataset_loss.rs` holds all formats
//! to it.
//!
//! Next: `recap-strategy`, what a session passes through when `recap-replay` replays it.

mod database;
mod draft;
mod error;
mod format;
mod formats;
mod gathered;
mod import;
mod labels;
mod load;
mod native;
mod questions;
mod relations;
mod source;
mod unpack;
mod walk;

pub use error::{DatasetError, Problem};
pub use format::{Format, Head, MAX_HEAD, Tried};
pub use formats::FORMATS;
pub use import::{Export, ImportOptions, Imported, import};
pub use labels::load_labels;
pub use load::{bundled, bundled_names, load, load_files, load_reader};
pub use native::{CARD_FILE, QUESTIONS_FILE, SESSIONS_FILE, write_native};
pub use questions::{
    KindCoverage, QuestionAudit, audit_file, audit_questions, load_questions, write_questions,
};
use recap_core::model::{Question, Session};
use serde::{Deserialize, Serialize};
pub use unpack::TooMuch;

/// Options for reading an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// Make every sidechain (subagent) a session of its own. Otherwise its
    /// records are left out and counted, and only their usage is kept
    /// (`Session::sidechains`).
    pub sidechains: bool,
    /// Read this format alone, by name; otherwise it is detected. A file is believed
    /// to have it; of a folder, the files that look like it are read.
    pub only: Option<&'static str>,
    /// Most bytes to which each packed input may unpack; by default, as many as
    /// a recording of its packed size plausibly has.
    pub max_unpacked: Option<u64>,
}

/// Sessions that are benched together. What serde writes and reads of it is the card that
/// describes a data set ([`CARD_FILE`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Name in tables: that of the data set, or of the file or folder.
    pub name: String,
    /// Version of the data set, as stated by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Licence of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// The source of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// A description of the data set, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The agent that made the recordings, by the name of their format, where all
    /// are of one.
    #[serde(skip)]
    pub agent: Option<String>,
    /// The sessions, in the order of their files.
    #[serde(skip)]
    pub sessions: Vec<Session>,
    /// Warnings about the import.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Files that were read, by name below the input, with the blake3 hash of
    /// their bytes in hexadecimal.
    #[serde(skip)]
    pub files: Vec<(String, String)>,
    /// Questions about the sessions, in the order of their files; every one
    /// can be asked and graded.
    #[serde(skip)]
    pub questions: Vec<Question>,
}

impl Dataset {
    /// Whether it is somebody's recordings: a published data set has a version, or
    /// comes with questions.
    pub fn is_recorded(&self) -> bool {
        self.version.is_none() && self.questions.is_empty()
    }

    /// Whether some session of it had a limit that is known, as agents have: it names its model
    /// or states the limit, or it reports tokens of a prompt, of a request or at a compaction.
    pub fn has_limits(&self) -> bool {
        self.sessions.iter().any(|session| {
            let mut usage = session.messages.iter().filter_map(|message| message.usage);
            session.model.is_some()
                || session.window.is_some()
                || session.compactions.iter().any(|made| made.tokens_before.is_some())
                || usage.any(|usage| usage.prompt() > 0)
        })
    }
}
