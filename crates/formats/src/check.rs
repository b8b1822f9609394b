//! Rules that every imported session must satisfy, whatever its format.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use recap_core::model::{Block, Message, Piece, Question, RecordedCompaction, Role, Session};

use super::density::Held;
use super::error::Problem;

/// Messages and texts that the compactions of a session may keep together.
/// Each may keep all messages before it, so that a file of a few megabytes
/// could take any amount of memory; a session of 10,000 messages may be
/// compacted 400 times.
const MOST_KEPT: usize = 4_000_000;

/// Most bytes of texts that compactions may put in place of messages.
const MOST_KEPT_BYTES: usize = 256 << 20;

/// Deepest nesting of the arguments of a call. JSON is read to 127 levels, a
/// data set adds five around them, and what was written must be readable again.
const MOST_NESTED: usize = 100;

/// Why arguments are text: they are too many tiny values.
pub(super) const DENSE_ARGUMENTS: &str = "structure of arguments that are too many tiny values";

/// Positions of messages by their ids.
pub(crate) type Places = FxHashMap<String, usize>;

/// A session during its import, with the line of each message.
#[derive(Debug, Default)]
pub struct Draft {
    /// The session as read so far.
    pub session: Session,
    /// Line of each message in its file, from 1; absent where the input has no
    /// lines (one document).
    pub lines: Vec<Option<u64>>,
    /// Questions that come with it. Their ids are unique within the session and
    /// their `session` is empty: both are completed once the session's
    /// own id is final.
    pub questions: Vec<Question>,
    /// Its id in the recording, where other files of its family name it.
    pub(super) recorded_id: Option<String>,
    /// The id of the session whose agent started it; empty where it is a
    /// subagent's whose parent is not named.
    pub(super) parent: Option<String>,
    /// What its compactions keep so far: number of messages and texts, and
    /// bytes of the texts.
    pub(crate) kept: (usize, usize),
    /// What the arguments of its calls take.
    pub(super) arguments: Held,
}

impl Draft {
    /// An empty session with this id.
    pub(super) fn named(id: impl Into<String>) -> Draft {
        let mut draft = Draft::default();
        draft.session.id = id.into();
        draft
    }

    /// Counts what a compaction keeps.
    ///
    /// # Errors
    /// More than all compactions of a session may keep together.
    pub(crate) fn keep(&mut self, pieces: usize, bytes: usize) -> Result<(), Problem> {
        let (all, text) = &mut self.kept;
        *all = all.saturating_add(pieces);
        *text = text.saturating_add(bytes);
        if *all > MOST_KEPT || *text > MOST_KEPT_BYTES {
            return Err(Problem::Inconsistent(format!(
                "its compactions keep more than {MOST_KEPT} messages or {MOST_KEPT_BYTES} bytes \
                 of text together"
            )));
        }
        Ok(())
    }

    /// Appends a compaction.
    ///
    /// # Errors
    /// As [`Draft::keep`].
    pub(crate) fn compact(&mut self, compaction: RecordedCompaction) -> Result<(), Problem> {
        let bytes = compaction.pieces.iter().map(|piece| match piece {
            Piece::Text { text, .. } => text.len(),
            Piece::Message(_) => 0,
        });
        self.keep(compaction.pieces.len(), bytes.sum())?;
        self.session.compactions.push(compaction);
        Ok(())
    }

    /// Appends a message that is in the file at `line`.
    pub fn push(&mut self, mut message: Message, line: impl Into<Option<u64>>) {
        message.blocks.iter_mut().for_each(|block| self.flatten(block));
        // Most have one block, and room was made for four.
        message.blocks.shrink_to_fit();
        self.session.messages.push(message);
        self.lines.push(line.into());
    }

    /// Converts arguments that are nested too deeply, or take too much memory, to text.
    pub(crate) fn flatten(&mut self, block: &mut Block) {
        let Block::ToolCall { arguments, .. } = block else { return };
        let why = if is_nested(arguments, MOST_NESTED) {
            "structure of arguments that are nested too deeply"
        } else if self.arguments.add_value(arguments).is_err() {
            DENSE_ARGUMENTS
        } else {
            return;
        };
        *arguments = Json::String(arguments.to_string());
        self.leave_out(why, 1);
    }

    /// Moves leading messages of role system into the preamble (how-it-works §5).
    pub(super) fn leading_system_to_preamble(&mut self) {
        let session = &mut self.session;
        let lead = session.messages.iter().take_while(|m| m.role == Role::System).count();
        self.lines.drain(..lead);
        for message in session.messages.drain(..lead) {
            for block in message.blocks {
                if let Block::Text { text } = block {
                    session.preamble.system.push(text);
                }
            }
        }
    }

    /// The position of each message by its id; of several with the same id, the first.
    pub(crate) fn places(&self) -> Places {
        let mut places = Places::default();
        for (at, message) in self.session.messages.iter().enumerate() {
            places.entry(message.id.clone()).or_insert(at);
        }
        places
    }

    /// Index that the next message will have.
    pub(super) fn next_index(&self) -> u32 {
        self.session.messages.len() as u32
    }

    /// Counts something that was left out.
    pub(super) fn leave_out(&mut self, reason: impl Into<String>, count: u64) {
        if count > 0 {
            *self.session.left_out.entry(reason.into()).or_default() += count;
        }
    }
}

/// Whether a value has more than `levels` levels.
fn is_nested(value: &Json, levels: usize) -> bool {
    let below = levels.checked_sub(1);
    match value {
        Json::Array(items) => below.is_none_or(|n| items.iter().any(|item| is_nested(item, n))),
        Json::Object(fields) => below.is_none_or(|n| fields.values().any(|one| is_nested(one, n))),
        _ => false,
    }
}

/// Mends what single records of a log may break: ids that stand for several
/// messages or calls are told apart, and a result without its call is kept as a
/// text. A result belongs to the first call of that id that has none, among
/// those of the newest message with such a call.
pub(crate) fn mend(draft: &mut Draft) {
    let mut ids = Unique::default();
    let mut calls = Unique::default();
    let mut open: FxHashMap<String, (usize, VecDeque<String>)> = FxHashMap::default();
    let mut loose = 0;
    for (at, message) in draft.session.messages.iter_mut().enumerate() {
        message.id = ids.free(std::mem::take(&mut message.id));
        for block in &mut message.blocks {
            match block {
                Block::ToolCall { id, .. } => {
                    let own = calls.free(id.clone());
                    let (newest, waiting) = open.entry(std::mem::take(id)).or_default();
                    if std::mem::replace(newest, at) != at {
                        waiting.clear();
                    }
                    waiting.push_back(own.clone());
                    *id = own;
                }
                Block::ToolResult { call, text, .. } => {
                    match open.get_mut(call).and_then(|(_, waiting)| waiting.pop_front()) {
                        Some(own) => *call = own,
                        None => {
                            loose += 1;
                            message.role = Role::System;
                            *block = Block::Text { text: std::mem::take(text) };
                        }
                    }
                }
                _ => {}
            }
        }
    }
    draft.leave_out("call of a tool result, which is kept as a text", loose);
}

/// Ids that were used, and how often.
#[derive(Default)]
struct Unique {
    used: FxHashSet<String>,
    times: FxHashMap<String, u64>,
}

impl Unique {
    /// The id, with a number where it was used before.
    fn free(&mut self, id: String) -> String {
        if self.used.insert(id.clone()) {
            return id;
        }
        let times = self.times.entry(id.clone()).or_insert(1);
        loop {
            *times += 1;
            let own = format!("{id}#{times}");
            if self.used.insert(own.clone()) {
                return own;
            }
        }
    }
}

/// Checks that ids are unique, that every result follows its call, that roles
/// fit what the messages hold, and that compactions lie within the session.
///
/// # Errors
/// The first violation, with the line of its message where there is one.
pub(crate) fn check(draft: &Draft) -> Result<(), (Option<u64>, Problem)> {
    let mut ids = FxHashSet::default();
    let mut calls: FxHashMap<&str, bool> = FxHashMap::default();
    for (at, message) in draft.session.messages.iter().enumerate() {
        let line = draft.lines.get(at).copied().flatten();
        if !ids.insert(message.id.as_str()) {
            let id = message.id.clone();
            return Err((line, Problem::RepeatedMessage { id }));
        }
        check_blocks(message, &mut calls).map_err(|problem| (line, problem))?;
    }
    check_positions(&draft.session).map_err(|what| (None, Problem::Inconsistent(what)))
}

fn check_blocks<'a>(
    message: &'a Message,
    calls: &mut FxHashMap<&'a str, bool>,
) -> Result<(), Problem> {
    let mut results = 0;
    for block in &message.blocks {
        match block {
            Block::ToolCall { id, .. } => {
                if message.role != Role::Assistant {
                    return Err(misplaced(message, "a tool call"));
                }
                if calls.insert(id, false).is_some() {
                    return Err(Problem::RepeatedCall { call: id.clone() });
                }
            }
            Block::ToolResult { call, .. } => {
                results += 1;
                match calls.get_mut(call.as_str()) {
                    None => return Err(Problem::ResultWithoutCall { call: call.clone() }),
                    Some(true) => return Err(Problem::RepeatedResult { call: call.clone() }),
                    Some(answered) => *answered = true,
                }
            }
            _ => {}
        }
    }
    match (message.role, results, message.blocks.len()) {
        (Role::Tool, 1, 1) => Ok(()),
        (Role::Tool, ..) => Err(Problem::Inconsistent(format!(
            "message `{}` of role tool must hold one tool result and nothing else",
            message.id
        ))),
        (_, 0, _) => Ok(()),
        _ => Err(misplaced(message, "a tool result")),
    }
}

fn misplaced(message: &Message, what: &str) -> Problem {
    Problem::Inconsistent(format!(
        "message `{}` of role {} holds {what}",
        message.id,
        message.role.as_str()
    ))
}

fn check_positions(session: &Session) -> Result<(), String> {
    let count = session.messages.len() as u32;
    let mut last = 0;
    for (n, compaction) in session.compactions.iter().enumerate() {
        let n = n + 1;
        if compaction.after > count || compaction.kept_from > compaction.after {
            return Err(format!("compaction {n} lies outside the session of {count} messages"));
        }
        let apart = compaction.pieces.iter().filter_map(|piece| match piece {
            Piece::Message(index) => Some(*index),
            Piece::Text { .. } => None,
        });
        if !apart.clone().is_sorted() || apart.clone().any(|index| index >= compaction.kept_from) {
            return Err(format!("compaction {n} keeps messages that are not in order or its tail"));
        }
        if compaction.texts().any(|(role, _)| role == Role::Tool) {
            return Err(format!("compaction {n} puts a text in the place of a tool's result"));
        }
        if compaction.after < last {
            return Err(format!("compaction {n} comes before the previous one"));
        }
        last = compaction.after;
    }
    let changes = &session.preamble_changes;
    let ordered = changes.windows(2).all(|pair| pair[0].before < pair[1].before);
    if !ordered || changes.iter().any(|change| change.before >= count) {
        return Err("preamble changes are not in order or lie outside the session".to_owned());
    }
    Ok(())
}
