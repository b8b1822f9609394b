//! Errors of recorded sessions, with what the user can do about them.
//!
//! Invariant: every problem names its file, its line where there is one, and a
//! remedy. Nothing in this module's callers panics on input.

use thiserror::Error;

use super::source::MAX_DOCUMENT;
use super::unpack::TooMuch;
use recap_core::text::{brief, excerpt, io_remedy};

/// A problem in one input, with its place.
#[derive(Debug, Error)]
#[error("{problem}\n  --> {file}{}", line_of(*.line))]
pub struct DatasetError {
    /// Path as given, or the name of the stream.
    pub file: String,
    /// Line from 1; absent where the problem belongs to the whole file.
    pub line: Option<u64>,
    /// The kind of problem, with its details.
    #[source]
    pub problem: Problem,
}

impl DatasetError {
    /// The problem and its line on one line, for a message that already names the file.
    pub fn reason(&self) -> String {
        let line = self.line.map_or_else(String::new, |line| format!("line {line}: "));
        format!("{line}{}", self.problem.to_string().replace(['\n', '\r'], " "))
    }
}

fn line_of(line: Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(":{line}"))
}

fn it_is(what: &Option<String>) -> String {
    what.as_ref().map_or_else(String::new, |what| format!(": it looks like {what}"))
}

/// The kinds of problems in an input.
#[derive(Debug, Error)]
pub enum Problem {
    /// The path does not exist.
    #[error("no such file or folder")]
    Missing,
    /// The system failed to read or write.
    #[error("cannot {action}: {source}")]
    Io {
        /// The failed action, as an infinitive.
        action: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// No format recognises the file.
    #[error("no known session format{} (known: {known})", it_is(.what))]
    UnknownFormat {
        /// Names of the known formats.
        known: String,
        /// What the file looks like, where that is known.
        what: Option<String>,
        /// How it could be converted, where that is known.
        advice: Option<String>,
    },
    /// Every session of the input was set aside: the problem of each.
    #[error("no session could be read: {0}")]
    NoneReadable(String),
    /// Bytes that are not text: the offset of the first within the line, from 0.
    #[error("not UTF-8 text (byte {0} of the line)")]
    NotUtf8(usize),
    /// A compressed input that unpacks to too much.
    #[error("{0}")]
    Unpacked(TooMuch),
    /// JSON of so many tiny values that reading it takes many times its bytes, which are those
    /// of the document, or of the records up to this line.
    #[error(
        "its {0} bytes of JSON are too many tiny values: reading them would take more memory than \
         three times their bytes and 100 MB"
    )]
    TooDense(u64),
    /// Text that is not valid JSON: the message of the parser.
    #[error("broken JSON: {}", brief(.0))]
    Syntax(String),
    /// Valid JSON with an unexpected structure.
    #[error("wrong shape at `{}`: {}", excerpt(.at), brief(.message))]
    Shape {
        /// Path of the value within the record.
        at: String,
        /// What was expected and found.
        message: String,
    },
    /// A role that is not known.
    #[error("unknown role `{}`", excerpt(.0))]
    UnknownRole(String),
    /// A result of a call with this id, which is not there.
    #[error("tool result for `{}`, but no call before it has that id", excerpt(.0))]
    ResultWithoutCall(String),
    /// Two results for the call with this id.
    #[error("second tool result for call `{}`", excerpt(.0))]
    RepeatedResult(String),
    /// Two calls with this id.
    #[error("second tool call with id `{}`", excerpt(.0))]
    RepeatedCall(String),
    /// Two messages with this id.
    #[error("second message with id `{}`", excerpt(.0))]
    RepeatedMessage(String),
    /// Two sessions with this id.
    #[error("second session with id `{}`", excerpt(.0))]
    RepeatedSession(String),
    /// A record that contradicts itself.
    #[error("{}", brief(.0))]
    Inconsistent(String),
    /// Anything else.
    #[error("{what}")]
    Other {
        /// What is wrong.
        what: String,
        /// What can be done about it.
        remedy: &'static str,
    },
}

impl Problem {
    /// A problem of a kind that nothing else has to tell apart.
    pub(super) fn other(what: impl Into<String>, remedy: &'static str) -> Problem {
        Problem::Other { what: what.into(), remedy }
    }

    /// A document longer than the limit.
    pub(super) fn too_long() -> Problem {
        let what = format!("document longer than {MAX_DOCUMENT} bytes");
        Problem::other(what, "split the document, or write one session a line")
    }

    /// A value of the wrong shape.
    pub(super) fn shape(at: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem::Shape { at: at.into(), message: message.into() }
    }

    /// What it is counted as where it is one of a single record, without which the others can
    /// be read.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        Some(match self {
            Problem::NotUtf8 { .. } => "no UTF-8",
            Problem::Syntax { .. } => "broken JSON",
            Problem::Shape { .. } => "wrong shape",
            Problem::UnknownRole { .. } => "unknown role",
            Problem::ResultWithoutCall { .. } => "result without a call",
            Problem::RepeatedResult { .. } => "second result",
            Problem::RepeatedCall { .. } => "second call",
            Problem::RepeatedMessage { .. } => "second message",
            _ => return None,
        })
    }
}

impl DatasetError {
    /// A problem of a whole file or folder.
    pub(crate) fn whole(file: impl Into<String>, problem: Problem) -> Self {
        DatasetError { file: file.into(), line: None, problem }
    }

    /// What the user can do about it.
    pub fn help(&self) -> &str {
        match &self.problem {
            Problem::Missing => "check the path; `recap datasets` lists the bundled data sets",
            Problem::Io { source, .. } => {
                io_remedy(source, "check the path, and that a packed file is whole")
            }
            Problem::UnknownFormat { advice: Some(advice), .. } => advice,
            Problem::UnknownFormat { .. } => {
                "give a session of a known format, or write the native one, as \
                 `recap import FORMAT FILE -o DIR` does"
            }
            Problem::NoneReadable(_) => "mend one of them, or give another folder",
            Problem::NotUtf8 { .. } => "convert the file to UTF-8, or record the session again",
            Problem::Unpacked(_) => {
                "a recording packs 5 to 20 times; if you trust this one, allow it with --max-unpacked \
                 SIZE, or unpack it yourself"
            }
            Problem::TooDense { .. } => {
                "drop what no model saw (numbers, log probabilities, empty lists), or give each \
                 session a file of its own"
            }
            Problem::Syntax { .. } => {
                "mend or delete that line: no other record of this input could be read"
            }
            Problem::Shape { .. } => {
                "mend that value; `recap import FORMAT FILE -o DIR` writes the native format"
            }
            Problem::UnknownRole { .. } => "use system, user, assistant or tool",
            Problem::ResultWithoutCall { .. } => {
                "put the assistant message with that call before the result, or delete the result"
            }
            Problem::RepeatedResult { .. } => "keep one result for each call",
            Problem::RepeatedCall { .. } => "give every call an id of its own",
            Problem::RepeatedMessage { .. } => "give every message an id of its own",
            Problem::RepeatedSession { .. } => "give every session an id of its own",
            Problem::Inconsistent(_) => "mend that record, or record the session again",
            Problem::Other { remedy, .. } => remedy,
        }
    }
}
