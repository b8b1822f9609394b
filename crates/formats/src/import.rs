//! Writes recordings of any format into a folder: as a native data set, or as conversations that
//! other programs read.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::error::{DatasetError, Problem};
use super::gathered::Gathered;
use super::load::read_into;
use super::native::{self, CARD_FILE, QUESTIONS_FILE, SESSIONS_FILE, refused};
use super::source::from_json;
use super::{Dataset, LoadOptions};
use recap_core::model::{Block, Expectation, Message, Question, Session, ToolDefinition};
use recap_core::text::redact::{Redactor, matcher_of, replaced_users, user_names};

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

/// Reads `inputs` and writes their sessions into `folder`.
///
/// # Errors
/// As [`load`](super::load) for each input, a data set that stands in the folder
/// already, or what the file system refuses. Nothing is left behind then.
pub fn import(
    inputs: &[PathBuf],
    folder: &Path,
    options: &ImportOptions,
) -> Result<Imported, DatasetError> {
    options.export.refuse_existing(folder)?;
    let mut gathered = Gathered::new(options.load);
    for input in inputs {
        read_into(&mut gathered, input)?;
    }
    gathered.card = gathered.card.filter(|_| inputs.len() == 1);
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "imported".to_owned());
    let mut dataset = Dataset { name, ..gathered.whole("")? };
    let mut redacted = Vec::new();
    if options.redact {
        let mut pseudonyms = Pseudonyms::default();
        for session in &mut dataset.sessions {
            let replaced = pseudonyms.session(session);
            *session = replaced.map_err(|problem| DatasetError::whole(&session.id, problem))?;
        }
        pseudonyms.questions(&mut dataset.questions);
        redacted = pseudonyms.counts();
    }
    let made = !folder.exists();
    let not_written = options.export.write(&dataset, folder).inspect_err(|_| {
        // The error is what the user has to know, not that these may remain.
        for name in options.export.files() {
            drop(std::fs::remove_file(folder.join(name)));
        }
        if made {
            drop(std::fs::remove_dir(folder));
        }
    })?;
    let left_out = dataset.sessions.iter().flat_map(|session| {
        session.left_out.iter().map(|(why, n)| (session.id.clone(), why.clone(), *n))
    });
    Ok(Imported {
        sessions: dataset.sessions.len(),
        left_out: left_out.collect(),
        warnings: dataset.warnings,
        not_written,
        redacted,
    })
}

// The formats that sessions are written in: recap's own, and one that other
// programs read.

/// Name of the file of conversations, one a line.
const CHAT_FILE: &str = "conversations.jsonl";

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
    /// The names of the files that it writes.
    fn files(self) -> &'static [&'static str] {
        match self {
            Export::Native => &[CARD_FILE, SESSIONS_FILE, QUESTIONS_FILE],
            Export::OpenAiChat => &[CHAT_FILE],
        }
    }

    /// Refuses to write over what stands in a folder.
    ///
    /// # Errors
    /// The first file that stands there.
    pub(super) fn refuse_existing(self, folder: &Path) -> Result<(), DatasetError> {
        let stands = self.files().iter().map(|name| folder.join(name)).find(|path| path.exists());
        let Some(path) = stands else { return Ok(()) };
        let remedy = "name another folder, or remove that one first";
        let problem = Problem::other("there is a data set already", remedy);
        Err(DatasetError::whole(path.display().to_string(), problem))
    }

    /// Writes a data set into `folder`; returns what could not be written.
    fn write(self, dataset: &Dataset, folder: &Path) -> Result<Counts, DatasetError> {
        let mut counts = Counts::new();
        if self == Export::Native {
            native::write(dataset, folder)?;
            return Ok(counts);
        }
        let mut write = || {
            std::fs::create_dir_all(folder)?;
            let mut file = BufWriter::new(File::create(folder.join(CHAT_FILE))?);
            for session in &dataset.sessions {
                writeln!(file, "{}", conversation(session, &mut counts))?;
            }
            file.flush()
        };
        write().map_err(|error| refused(folder, error))?;
        count(&mut counts, "question", dataset.questions.len());
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
struct Pseudonyms {
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
    fn session(&mut self, session: &Session) -> Result<Session, Problem> {
        let mut json = serde_json::to_value(session).expect("plain data serialises");
        let mut texts = Vec::new();
        each_text(&mut json, &mut |text| texts.push(std::mem::take(text)));
        let mut texts = self.texts(texts).into_iter();
        each_text(&mut json, &mut |text| *text = texts.next().unwrap_or_default());
        from_json(&json)
    }

    /// Questions and their answers.
    fn questions(&mut self, questions: &mut [Question]) {
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
    fn counts(&self) -> Vec<(&'static str, usize, u64)> {
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
        let names = matcher_of(self.users.keys());
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
