//! Errors of recorded sessions, with what the user can do about them.
//!
//! Invariant: every problem names its file, its line where there is one, and a
//! remedy. Nothing in this module's callers panics on input.

use std::fmt;

use thiserror::Error;

use super::questions::QuestionFlaw;
use super::unpack::TooMuch;
use recap_core::text::{brief, counted, excerpt, io_remedy};

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

fn first_looks(first: &Option<(String, String)>) -> String {
    let describe =
        |(name, what): &(String, String)| format!("; {} looks like {what}", excerpt(name));
    first.as_ref().map_or_else(String::new, describe)
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
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
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
    /// Nothing in the folder is a session.
    #[error(
        "the folder holds no session ({} looked at{}; known formats: {known})",
        counted(*files, "file"),
        first_looks(.first)
    )]
    NoSessions {
        /// Names of the known formats.
        known: String,
        /// Number of files that were read.
        files: u64,
        /// The first of them whose kind is known, with its kind.
        first: Option<(String, String)>,
    },
    /// Every session of the input was set aside.
    #[error("no session could be read: {reason}")]
    NoneReadable {
        /// The problem of each.
        reason: String,
    },
    /// A recognised file without a conversation.
    #[error("no conversation in this file: {why}")]
    NoConversation {
        /// What the file contains instead.
        why: String,
    },
    /// A recognised input that holds no conversation yet.
    #[error("{what}")]
    Nothing {
        /// What it holds instead.
        what: String,
        /// What can be done about it.
        remedy: &'static str,
    },
    /// A subagent's log whose session lies beside it.
    #[error("the log of a subagent: it is part of the session {session}")]
    OfSubagent {
        /// The session that started the subagent.
        session: String,
    },
    /// Bytes that are not text.
    #[error("not UTF-8 text (byte {byte} of the line)")]
    NotUtf8 {
        /// Offset within the line, from 0.
        byte: usize,
    },
    /// A compressed input that unpacks to too much.
    #[error("{0}")]
    Unpacked(TooMuch),
    /// An archive that cannot be read.
    #[error("broken archive: {}", brief(.message))]
    Archive {
        /// The member and what is wrong with it.
        message: String,
    },
    /// A database that cannot be read.
    #[error("broken database: {}", brief(.message))]
    Database {
        /// The table and row, and what is wrong with them.
        message: String,
    },
    /// JSON of so many tiny values that reading it takes many times its bytes.
    #[error(
        "its {bytes} bytes of JSON are too many tiny values: reading them would take more memory \
         than three times their bytes and 100 MB"
    )]
    TooDense {
        /// Bytes of the document, or of the records up to this line.
        bytes: u64,
    },
    /// A line longer than the limit.
    #[error("line longer than {limit} bytes")]
    LineTooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// A document longer than the limit.
    #[error("document longer than {limit} bytes")]
    DocumentTooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// Text that is not valid JSON.
    #[error("broken JSON: {}", brief(.message))]
    Syntax {
        /// The message of the JSON parser.
        message: String,
    },
    /// Valid JSON with an unexpected structure.
    #[error("wrong shape at `{}`: {}", excerpt(.at), brief(.message))]
    Shape {
        /// Path of the value within the record.
        at: String,
        /// What was expected and found.
        message: String,
    },
    /// A role that is not known.
    #[error("unknown role `{}`", excerpt(.role))]
    UnknownRole {
        /// The role as recorded.
        role: String,
    },
    /// A result without its call.
    #[error("tool result for `{}`, but no call before it has that id", excerpt(.call))]
    ResultWithoutCall {
        /// The id that it names.
        call: String,
    },
    /// Two results for one call.
    #[error("second tool result for call `{}`", excerpt(.call))]
    RepeatedResult {
        /// The id of the call.
        call: String,
    },
    /// Two calls with the same id.
    #[error("second tool call with id `{}`", excerpt(.call))]
    RepeatedCall {
        /// The id that both calls have.
        call: String,
    },
    /// Two messages with the same id.
    #[error("second message with id `{}`", excerpt(.id))]
    RepeatedMessage {
        /// The id that both messages have.
        id: String,
    },
    /// Two sessions with the same id.
    #[error("second session with id `{}`", excerpt(.id))]
    RepeatedSession {
        /// The id that both sessions have.
        id: String,
    },
    /// A question that cannot be asked or graded, or whose question is flawed.
    #[error("question `{}` {flaw}", excerpt(.id))]
    Question {
        /// The id of the question.
        id: String,
        /// The flaw of the question.
        flaw: QuestionFlaw,
    },
    /// A labelled answer that cannot be graded.
    #[error("case `{}` {flaw}", excerpt(.id))]
    Case {
        /// The id of the case.
        id: String,
        /// The flaw of its question.
        flaw: QuestionFlaw,
    },
    /// No line of a file is a labelled answer.
    #[error("no line is a labelled answer; the first one has this problem: {first}")]
    NoLabels {
        /// What is wrong with the first one.
        first: Box<Problem>,
    },
    /// A record that contradicts itself.
    #[error("{}", brief(.0))]
    Inconsistent(String),
    /// The data set would overwrite something.
    #[error("there is a data set already")]
    Exists,
}

impl Problem {
    /// A value of the wrong shape.
    pub(super) fn shape(at: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem::Shape { at: at.into(), message: message.into() }
    }

    /// A part of a message without a field that its type has.
    pub(super) fn lacks(at: &str, kind: &str, field: &str) -> Problem {
        Problem::shape(at, format!("a part of type {kind} lacks `{field}`"))
    }

    /// Whether it is one of a single record, without which the others can be read.
    pub(crate) fn is_of_one_record(&self) -> bool {
        self.kind().is_some()
    }

    /// What such a problem of a single record is counted as.
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

    /// Puts the path of the record in front of the place of a wrong shape: its
    /// document has no usable lines.
    pub(super) fn within(self, path: impl fmt::Display) -> Problem {
        match self {
            Problem::Shape { at, message } => Problem::Shape { at: format!("{path}{at}"), message },
            other => other,
        }
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
            Problem::Empty => "give a recorded session; this one may not have been written yet",
            Problem::UnknownFormat { advice: Some(advice), .. } => advice,
            Problem::UnknownFormat { .. } => {
                "give a session of a known format, or write the native one, as \
                 `recap import FORMAT FILE -o DIR` does"
            }
            Problem::NoSessions { .. } => {
                "give the folder in which an agent keeps its sessions; `recap bench --latest` finds \
                 those on this machine"
            }
            Problem::NoneReadable { .. } => "mend one of them, or give another folder",
            Problem::NoConversation { why } if why.contains("sidechain") => {
                "a file of sidechain records alone is read with sidechains switched on"
            }
            Problem::NoConversation { .. } => {
                "give a session in which something was said; this one may only have been opened"
            }
            Problem::Nothing { remedy, .. } => remedy,
            Problem::OfSubagent { .. } => "give the session, or the folder that holds both",
            Problem::NotUtf8 { .. } => "convert the file to UTF-8, or record the session again",
            Problem::Unpacked(_) => {
                "a recording packs 5 to 20 times; if you trust this one, allow it with --max-unpacked \
                 SIZE, or unpack it yourself"
            }
            Problem::Archive { .. } => "check that the file is whole, or write the log again",
            Problem::Database { .. } => {
                "check that the file is whole, and read it again while its agent does not write"
            }
            Problem::TooDense { .. } => {
                "drop what no model saw (numbers, log probabilities, empty lists), or give each \
                 session a file of its own"
            }
            Problem::LineTooLong { .. } => {
                "split or drop that record: no provider takes a message of that size"
            }
            Problem::DocumentTooLong { .. } => "split the document, or write one session a line",
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
            Problem::Question { flaw, .. } | Problem::Case { flaw, .. } => flaw.help(),
            Problem::NoLabels { .. } => {
                "give answers that people graded, as JSON lines with `id`, `question`, `expect`, \
                 `answer` and `label`"
            }
            Problem::Inconsistent(_) => "mend that record, or record the session again",
            Problem::Exists => "name another folder, or remove that one first",
        }
    }
}
