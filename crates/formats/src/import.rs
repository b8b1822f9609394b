//! Writes recordings of any format into a folder, session by session: in memory
//! is the session that is being read, not the archive.
//!
//! Sessions are first written as native lines into a temporary file of the
//! folder. When all are read, their final ids are known: then the questions are
//! checked, and the file is renamed or converted.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Value as Json, json};

use super::error::{DatasetError, Problem};
use super::gathered::{Aside, Gathered, Sink};
use super::load::read_into;
use super::native::{
    QUESTIONS_FILE, SESSIONS_FILE, refuse_existing, write_card, write_line, write_questions,
};
use super::questions::{self, Placed};
use super::relations::Copies;
use super::source::{from_json, parse};
use super::{Dataset, LoadOptions};
use recap_core::model::{Block, Expectation, Message, Question, Session, ToolDefinition};
use recap_core::text::redact::{Redactor, replaced_users, user_names};

/// What is written and how.
#[derive(Clone, Copy, Debug)]
pub struct ImportOptions {
    /// How the inputs are read.
    pub load: LoadOptions,
    /// The format that is written.
    pub export: Export,
    /// Whether secrets, e-mail addresses and names of users are replaced.
    pub redact: bool,
}

/// What an import did.
#[derive(Debug, Default)]
pub struct Imported {
    /// Number of sessions.
    pub sessions: usize,
    /// Warnings about the inputs.
    pub warnings: Vec<String>,
    /// What was left out of each session while reading it, and how often.
    pub left_out: Vec<(String, String, u64)>,
    /// What the written format has no place for, and how often.
    pub not_written: BTreeMap<&'static str, u64>,
    /// Kinds of values that were replaced, each with the number of distinct
    /// values and of places.
    pub redacted: Vec<(&'static str, usize, u64)>,
}

/// Reads `inputs` and writes their sessions into `folder`. `progress` is called
/// with the number of sessions so far.
///
/// # Errors
/// As [`load`](super::load) for each input, a data set that stands in the folder
/// already, or what the file system refuses. Nothing is left behind then.
pub fn import(
    inputs: &[PathBuf],
    folder: &Path,
    options: &ImportOptions,
    progress: &mut dyn FnMut(usize),
) -> Result<Imported, DatasetError> {
    refuse_existing(folder, options.export)?;
    let made = !folder.exists();
    let partial = folder.join(format!("{SESSIONS_FILE}.partial"));
    let written = write_all(inputs, folder, &partial, options, progress);
    if written.is_err() {
        // The error is what the user has to know, not that these may remain.
        drop(std::fs::remove_file(&partial));
        if made {
            drop(std::fs::remove_dir(folder));
        }
    }
    written
}

fn write_all(
    inputs: &[PathBuf],
    folder: &Path,
    partial: &Path,
    options: &ImportOptions,
    progress: &mut dyn FnMut(usize),
) -> Result<Imported, DatasetError> {
    std::fs::create_dir_all(folder).map_err(|e| refused(folder, e))?;
    let file = File::create(partial).map_err(|e| refused(partial, e))?;
    let mut gathered = Gathered::of(Spool {
        path: partial,
        file: BufWriter::new(file),
        written: Vec::new(),
        asides: BTreeMap::new(),
        copies: Vec::new(),
        pseudonyms: options.redact.then(Pseudonyms::default),
        progress,
    });
    for input in inputs {
        read_into(&mut gathered, input, &options.load)?;
    }
    gathered.count_once();
    let ids = gathered.name_sessions()?;
    let Gathered { sessions, index, warnings, questions: placed, mut problems, card, .. } =
        gathered;
    let Spool { mut file, written, mut pseudonyms, asides, copies, .. } = sessions;
    file.flush().map_err(|e| refused(partial, e))?;
    drop(file);
    let changed = index.iter().zip(&ids).any(|(own, id)| own.id != *id)
        || !asides.is_empty()
        || copies.iter().any(|copies| !copies.is_empty());
    let left_out = written.into_iter().zip(&ids).flat_map(|(written, id)| {
        let counts = written.left_out.into_iter();
        counts.map(|(why, n)| (id.clone(), why, n))
    });
    let left_out = left_out.collect();
    let lines = Lines { path: partial, ids: &ids, asides: &asides, copies: &copies, changed };
    problems.extend(flaws(&lines, &placed)?);
    problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    if let Some(first) = problems.into_iter().next() {
        return Err(first);
    }
    let mut questions: Vec<Question> = placed.into_iter().map(|placed| placed.question).collect();
    if let Some(pseudonyms) = &mut pseudonyms {
        pseudonyms.questions(&mut questions);
    }
    let not_written = options.export.write(folder, &lines, &questions)?;
    if options.export == Export::Native {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| "imported".to_owned());
        let card = card.filter(|_| inputs.len() == 1).unwrap_or_default();
        write_card(folder, &Dataset { name, ..card })?;
    }
    let redacted = pseudonyms.map_or_else(Vec::new, |pseudonyms| pseudonyms.counts());
    Ok(Imported { sessions: ids.len(), warnings, left_out, not_written, redacted })
}

pub(super) fn refused(path: &Path, source: std::io::Error) -> DatasetError {
    let action = "write";
    DatasetError::whole(path.display().to_string(), Problem::Io { action, source })
}

/// The problems of questions, for which each session is read once more.
fn flaws(lines: &Lines<'_>, placed: &[Placed]) -> Result<Vec<DatasetError>, DatasetError> {
    if placed.is_empty() {
        return Ok(Vec::new());
    }
    let mut sessions = Vec::new();
    lines.each(|mut session| {
        // The positions of messages are all that is looked up.
        session.messages.iter_mut().for_each(|message| message.blocks.clear());
        sessions.push(session);
        Ok(())
    })?;
    Ok(questions::broken(&sessions, placed))
}

/// The sessions that were written, in their order.
pub(super) struct Lines<'a> {
    pub(super) path: &'a Path,
    ids: &'a [String],
    /// What subagents did, by the place of the session that started them.
    asides: &'a BTreeMap<usize, Vec<Aside>>,
    /// What of each that was written another one counts.
    copies: &'a [Copies],
    /// Whether the sessions differ from what was written.
    pub(super) changed: bool,
}

impl Lines<'_> {
    /// Writes them into a file, one after another.
    fn write(
        &self,
        path: &Path,
        mut write: impl FnMut(&Session, &mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), DatasetError> {
        let mut file = BufWriter::new(File::create(path).map_err(|e| refused(path, e))?);
        self.each(|session| write(&session, &mut file).map_err(|e| refused(path, e)))?;
        file.flush().map_err(|e| refused(path, e))
    }

    /// Reads them one after another, with their final ids.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(Session) -> Result<(), DatasetError>,
    ) -> Result<(), DatasetError> {
        let file = File::open(self.path).map_err(|e| refused(self.path, e))?;
        let mut ids = self.ids.iter();
        for ((at, line), copies) in BufReader::new(file).lines().enumerate().zip(self.copies) {
            let line = line.map_err(|e| refused(self.path, e))?;
            let Some(id) = Some(copies).filter(|copies| !copies.is_whole).and_then(|_| ids.next())
            else {
                continue;
            };
            let mut session = parse::<Session>(&line)
                .map_err(|problem| DatasetError::whole(self.path.display().to_string(), problem))?;
            session.id.clone_from(id);
            copies.mark(&mut session);
            let asides = self.asides.get(&at).into_iter().flatten();
            asides.cloned().for_each(|aside| aside.add_to(&mut session));
            take(session)?;
        }
        Ok(())
    }
}

/// A session that was written.
struct Written {
    /// Where its line begins, in bytes.
    start: u64,
    left_out: BTreeMap<String, u64>,
}

/// The temporary file of sessions.
struct Spool<'a> {
    path: &'a Path,
    file: BufWriter<File>,
    written: Vec<Written>,
    asides: BTreeMap<usize, Vec<Aside>>,
    copies: Vec<Copies>,
    pseudonyms: Option<Pseudonyms>,
    progress: &'a mut dyn FnMut(usize),
}

impl Sink for Spool<'_> {
    fn put(&mut self, file: &str, mut session: Session) -> Result<String, DatasetError> {
        if let Some(pseudonyms) = &mut self.pseudonyms {
            let replaced = pseudonyms.session(&session);
            session = replaced.map_err(|problem| DatasetError::whole(file.to_owned(), problem))?;
        }
        let start = self.file.stream_position();
        let written = write_line(&session, &mut self.file).and(start);
        let start = written.map_err(|e| refused(self.path, e))?;
        self.written.push(Written { start, left_out: session.left_out });
        (self.progress)(self.written.len());
        Ok(session.id)
    }

    fn amend(&mut self, at: usize, aside: Aside) {
        if let Some(session) = self.written.get_mut(at) {
            aside.count(&mut session.left_out);
            self.asides.entry(at).or_default().push(aside);
        }
    }

    fn truncate(&mut self, count: usize) -> Result<(), DatasetError> {
        let Some(first) = self.written.get(count) else { return Ok(()) };
        let end = first.start;
        self.written.truncate(count);
        // Seeking writes what the buffer holds.
        let cut =
            self.file.seek(SeekFrom::Start(end)).and_then(|_| self.file.get_mut().set_len(end));
        cut.map_err(|e| refused(self.path, e))
    }

    fn count_once(&mut self, copies: Vec<Copies>) {
        let mut whole = copies.iter().map(|copies| copies.is_whole);
        self.written.retain(|_| whole.next() != Some(true));
        self.copies = copies;
    }
}

// The formats that sessions are written in: recap's own, and one that other
// programs read.

/// Name of the file of conversations, one a line.
pub(crate) const CHAT_FILE: &str = "conversations.jsonl";

/// A format that sessions are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Export {
    /// recap's own data set, which loses nothing.
    #[default]
    Native,
    /// A conversation of OpenAI chat messages a line.
    OpenAiChat,
}

/// What a format has no place for, and how often.
type Counts = BTreeMap<&'static str, u64>;

impl Export {
    /// Writes every session into `folder`; returns what could not be written.
    pub(super) fn write(
        self,
        folder: &Path,
        lines: &Lines<'_>,
        questions: &[Question],
    ) -> Result<Counts, DatasetError> {
        let mut counts = Counts::new();
        match self {
            Export::Native if lines.changed => {
                lines.write(&folder.join(SESSIONS_FILE), |session, file| {
                    write_line(session, file)
                })?;
            }
            Export::Native => {
                let path = folder.join(SESSIONS_FILE);
                std::fs::rename(lines.path, &path).map_err(|e| refused(&path, e))?;
            }
            Export::OpenAiChat => {
                lines.write(&folder.join(CHAT_FILE), |session, file| {
                    writeln!(file, "{}", conversation(session, &mut counts))
                })?;
                count(&mut counts, "question", questions.len());
            }
        }
        if self == Export::OpenAiChat || lines.changed {
            std::fs::remove_file(lines.path).map_err(|e| refused(lines.path, e))?;
        }
        if self == Export::Native {
            let written = write_questions(questions, folder);
            written.map_err(|e| refused(&folder.join(QUESTIONS_FILE), e))?;
        }
        Ok(counts)
    }
}

fn count(counts: &mut Counts, what: &'static str, n: usize) {
    if n > 0 {
        *counts.entry(what).or_default() += n as u64;
    }
}

/// Counts what chat messages have no place for.
fn count_lost(session: &Session, counts: &mut Counts) {
    let Session { compactions, preamble_changes, sidechains, window, .. } = session;
    count(counts, "context limit of the agent", usize::from(window.is_some()));
    count(counts, "recorded compaction", compactions.len());
    count(counts, "change of the system prompt", preamble_changes.len());
    count(counts, "request of a sidechain", sidechains.len());
    let images: u32 = session.messages.iter().map(Message::images).sum();
    count(counts, "picture (recordings keep no bytes of it)", images as usize);
}

fn function(tool: &ToolDefinition) -> Json {
    let ToolDefinition { name, description, parameters } = tool;
    let function = json!({"name": name, "description": description, "parameters": parameters});
    json!({"type": "function", "function": function})
}

fn conversation(session: &Session, counts: &mut Counts) -> Json {
    count_lost(session, counts);
    // What is sent before the first message stands there as system messages.
    let lead = session.preamble.system.iter().chain(&session.preamble.pinned);
    let lead = lead.map(|text| json!({"role": "system", "content": text}));
    let mut messages: Vec<Json> = lead.collect();
    messages.extend(session.messages.iter().map(|message| chat_message(message, counts)));
    let mut line = json!({"id": session.id, "messages": messages});
    if let Some(model) = &session.model {
        line["model"] = json!(model);
    }
    if !session.preamble.tools.is_empty() {
        line["tools"] = session.preamble.tools.iter().map(function).collect();
    }
    line
}

fn chat_message(message: &Message, counts: &mut Counts) -> Json {
    count(counts, "reasoning", usize::from(!message.reasoning().is_empty()));
    count(counts, "usage of a request", usize::from(message.usage.is_some()));
    count(counts, "time of a message", usize::from(message.at.is_some()));
    let (mut content, mut calls) = (String::new(), Vec::new());
    for block in &message.blocks {
        match block {
            Block::Text { text } => {
                content.push_str(if content.is_empty() { "" } else { "\n" });
                content.push_str(text);
            }
            Block::ToolCall { id, name, arguments } => {
                let function = json!({"name": name, "arguments": arguments.to_string()});
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
            // It is the only block of its message.
            Block::ToolResult { call, text, is_error, .. } => {
                count(counts, "mark of a failed tool call", usize::from(*is_error));
                return json!({"role": "tool", "tool_call_id": call, "content": text});
            }
            Block::Reasoning { .. } | Block::Image { .. } => {}
        }
    }
    let mut written = json!({"role": message.role.as_str(), "content": content});
    if !calls.is_empty() {
        written["tool_calls"] = Json::Array(calls);
    }
    written
}

// Replaces secrets, e-mail addresses and names of users in sessions by
// pseudonyms: each value has one, in all sessions of an import, so that
// references still match.

/// The pseudonyms so far.
#[derive(Default)]
pub(super) struct Pseudonyms {
    redactor: Redactor,
    /// Number of each user by name, from 1.
    users: BTreeMap<String, usize>,
    places: Cell<u64>,
}

impl Pseudonyms {
    /// A session whose texts are replaced, the names of fields excepted.
    ///
    /// # Errors
    /// A text that must not change, such as a role, taken for a secret.
    pub(super) fn session(&mut self, session: &Session) -> Result<Session, Problem> {
        let mut json = serde_json::to_value(session).expect("plain data serialises");
        let mut texts = Vec::new();
        each_text(&mut json, &mut |text| texts.push(std::mem::take(text)));
        let mut texts = self.texts(texts).into_iter();
        each_text(&mut json, &mut |text| *text = texts.next().unwrap_or_default());
        from_json(&json)
    }

    /// Questions and their answers.
    pub(super) fn questions(&mut self, questions: &mut [Question]) {
        for question in questions {
            let values = match &mut question.expect {
                Expectation::AnyOf(values) | Expectation::Rubric(values) => values.as_mut_slice(),
                Expectation::Unanswerable => &mut [],
            };
            let named = [&mut question.id, &mut question.session, &mut question.question];
            let texts = named.into_iter().chain(values).chain(&mut question.evidence);
            let mut texts: Vec<&mut String> = texts.chain(&mut question.stale).collect();
            let own = texts.iter_mut().map(|text| std::mem::take(*text)).collect();
            let replaced = self.texts(own);
            texts.into_iter().zip(replaced).for_each(|(text, new)| *text = new);
        }
    }

    /// Kinds of values, each with the number of distinct values and of places.
    pub(super) fn counts(&self) -> Vec<(&'static str, usize, u64)> {
        let users = ("user name", self.users.len(), self.places.get());
        self.redactor.counts().into_iter().chain([users]).collect()
    }

    fn texts(&mut self, texts: Vec<String>) -> Vec<String> {
        let texts = self.redactor.redact(texts);
        let found: BTreeSet<String> =
            user_names(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for name in found.into_iter().filter(|name| !is_pseudonym(name)) {
            let next = self.users.len() + 1;
            self.users.entry(name).or_insert(next);
        }
        if self.users.is_empty() {
            return texts;
        }
        let names =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(self.users.keys());
        let Ok(names) = names else { return texts };
        let with = |name: &str| {
            self.places.set(self.places.get() + 1);
            format!("user-{}", self.users.get(name).copied().unwrap_or_default())
        };
        texts.iter().map(|text| replaced_users(text, &names, with)).collect()
    }
}

/// Whether a name is one that an earlier import gave.
fn is_pseudonym(name: &str) -> bool {
    let number = name.strip_prefix("user-");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Every string of a value but the names of fields.
fn each_text(json: &mut Json, take: &mut impl FnMut(&mut String)) {
    match json {
        Json::String(text) => take(text),
        Json::Array(items) => items.iter_mut().for_each(|item| each_text(item, take)),
        Json::Object(fields) => fields.values_mut().for_each(|value| each_text(value, take)),
        _ => {}
    }
}
