//! Rules that every imported session must satisfy, whatever its format.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::Draft;
use super::error::Problem;
use recap_core::model::{Block, Message, Piece, Role, Session};

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
    if session.copied.last().is_some_and(|&message| message >= count) {
        return Err(format!("a copied response lies outside the session of {count} messages"));
    }
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
