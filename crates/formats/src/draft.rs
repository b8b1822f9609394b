//! A session during its import.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use super::error::Problem;
use super::formats::content::{Part, ResultText, project_of, take_tail};
use super::source::{Held, KEPT, parse};
use recap_core::model::{
    Block, Message, Piece, PreambleChange, Question, RecordedCompaction, Role, Session,
    SidechainRequest, Usage,
};
use recap_core::text::density::weight;
use recap_core::text::{Pattern, pattern};

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

/// Why a system prompt is none of the session.
const UNUSED_PROMPT: &str = "system prompt under which nothing was said";

/// Positions of messages by their ids.
pub(crate) type Places = FxHashMap<String, usize>;

/// A session during its import.
#[derive(Debug, Default)]
pub struct Draft {
    /// The session as read so far.
    pub session: Session,
    /// The line in which it stands as a whole, from 1, where it stands in one.
    pub(super) line: Option<u64>,
    /// Questions that come with it. Their ids are unique within the session and
    /// their `session` is empty: both are completed once the session's
    /// own id is final.
    pub questions: Vec<Question>,
    /// The file of these, where that is another one.
    pub(super) asked_in: Option<String>,
    /// Its id in the recording, where other files name it by that.
    pub(super) recorded_id: Option<String>,
    /// The id of the session whose agent started it; empty where it is a
    /// subagent's whose parent is not named.
    pub(super) parent: Option<String>,
    /// The id of the session whose history it begins with a copy of.
    pub(super) copy_of: Option<String>,
    /// What the provider calls each response and its request, hashed, by the message's id.
    pub(super) response_ids: FxHashMap<String, u64>,
    /// What its compactions keep so far: number of messages and texts, and
    /// bytes of the texts.
    kept: (usize, usize),
    /// What the arguments of its calls take.
    arguments: Held,
    /// Bytes of the texts of its messages.
    texts: u64,
    /// The size of the last prompt that is reported and not empty.
    pub(super) last_prompt: Option<u64>,
    /// The ids of its messages and calls, for readers that make them free.
    ids: Ids,
    calls: Ids,
    /// Calls whose results have not come, by their newest ids.
    open: FxHashSet<String>,
    /// The model of each response.
    pub(super) models: Models,
    /// Values that the recording holds about itself, such as ids and folders.
    pub(super) metadata: BTreeSet<String>,
}

impl Draft {
    /// An empty session with this id.
    pub(super) fn named(id: impl Into<String>) -> Draft {
        let mut draft = Draft::default();
        draft.session.id = id.into();
        draft
    }

    /// A session that stands in one line as a whole.
    pub(super) fn of_line(session: Session, line: u64) -> Draft {
        Draft { session, line: Some(line), ..Draft::default() }
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

    /// A compaction behind the messages so far, which kept none of them.
    pub(super) fn compaction(&self) -> RecordedCompaction {
        let after = self.next_index();
        RecordedCompaction { after, kept_from: after, ..RecordedCompaction::default() }
    }

    /// A compaction behind the messages so far, after which these pieces were sent.
    pub(super) fn compaction_to(&self, mut pieces: Vec<Piece>) -> RecordedCompaction {
        let after = self.next_index();
        let kept_from = take_tail(&mut pieces, after);
        RecordedCompaction { after, kept_from, pieces, ..RecordedCompaction::default() }
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

    /// Appends a message.
    pub fn push(&mut self, mut message: Message) {
        message.blocks.iter_mut().for_each(|block| self.flatten(block));
        self.texts += message.blocks.iter().map(text_bytes).sum::<u64>();
        let prompt = message.usage.map(|usage| usage.prompt()).filter(|&prompt| prompt > 0);
        self.last_prompt = prompt.or(self.last_prompt);
        // Most have one block, and room was made for four.
        message.blocks.shrink_to_fit();
        self.session.messages.push(message);
    }

    /// Checks what its messages take together. Readers that keep no record ask for it
    /// after each.
    ///
    /// # Errors
    /// More than the texts of the messages allow.
    pub(super) fn check_memory(&self) -> Result<(), Problem> {
        let messages = self.session.messages.len() as u64;
        Held::default().add(self.texts, messages.saturating_mul(KEPT))
    }

    /// Appends a message; one that says nothing and used nothing is left out.
    pub(super) fn turn(&mut self, turn: Turn) {
        let Turn { id, role, at, blocks, usage, model } = turn;
        if blocks.is_empty() && usage.is_none() {
            self.leave_out("message without content", 1);
            return;
        }
        let id = self.free_id(id);
        if let Some(model) = model.filter(|_| role == Role::Assistant) {
            self.models.add(&model, &id);
        }
        let message = Message { usage, ..Message::new(id, role, at, blocks) };
        self.push(message);
    }

    /// Appends the result of the newest call with this id as a turn. A second result, or
    /// one whose call is not in the recording, is left out and counted.
    pub(super) fn result(&mut self, call: &str, result: ResultText, turn: Turn) {
        let Some(newest) = self.newest_call(call).map(str::to_owned) else {
            self.leave_out("tool result whose call is not in the recording", 1);
            return;
        };
        if !self.open.remove(&newest) {
            self.leave_out("second result of a tool call", 1);
            return;
        }
        let id = self.free_id(turn.id);
        let message = self.result_message(id, newest, result, turn.at);
        self.push(message);
    }

    /// A message with one tool result.
    pub(super) fn result_message(
        &mut self,
        id: String,
        call: String,
        result: ResultText,
        at: Option<Timestamp>,
    ) -> Message {
        let ResultText { text, images, is_error, others } = result;
        others.into_iter().for_each(|reason| self.leave_out(reason, 1));
        let block = Block::ToolResult { call, text, images, is_error };
        Message::new(id, Role::Tool, at, vec![block])
    }

    /// An id that no other message has.
    pub(super) fn free_id(&mut self, own: Option<String>) -> String {
        let own = own.unwrap_or_else(|| format!("message-{}", self.next_index() + 1));
        // `#` parts a response into messages that keep its model.
        self.ids.free(own)
    }

    /// The block of a part. Results are messages of their own, and what is not imported
    /// is counted.
    pub(super) fn block(&mut self, part: Part) -> Option<Block> {
        Some(match part {
            Part::Text(text) | Part::Served(text) | Part::Summary(text) => Block::Text { text },
            Part::Reasoning(text) => Block::Reasoning { text },
            Part::Image(media_type) => Block::Image { media_type },
            Part::Call { id, name, arguments } => {
                let id = id.unwrap_or_else(|| format!("call-{}", self.calls.uses.len() + 1));
                self.call(id, name, arguments)
            }
            Part::Result { .. } | Part::Compacted | Part::Other(_) => {
                let reason = match part {
                    Part::Other(reason) => reason,
                    Part::Compacted => "compaction part".to_owned(),
                    _ => "tool_result part".to_owned(),
                };
                self.leave_out(reason, 1);
                return None;
            }
        })
    }

    /// The blocks of parts.
    pub(super) fn blocks(&mut self, parts: Vec<Part>) -> Vec<Block> {
        parts.into_iter().filter_map(|part| self.block(part)).collect()
    }

    /// A call, with an id that no other call of the session has. Arguments may be
    /// JSON in a string.
    pub(super) fn call(&mut self, id: String, name: String, given: Json) -> Block {
        let arguments = arguments(given, self);
        let id = self.free_call(id);
        self.open.insert(id.clone());
        Block::ToolCall { id, name, arguments }
    }

    /// An id that no other call has.
    pub(super) fn free_call(&mut self, id: String) -> String {
        self.calls.free(id)
    }

    /// Notes which model wrote the message at a place.
    pub(super) fn wrote(&mut self, at: u32, model: &str) {
        if let Some(message) = self.session.messages.get(at as usize) {
            self.models.add(model, &message.id);
        }
    }

    /// Notes the model of the response with this id, whose name the recording holds.
    pub(super) fn written_by(&mut self, model: String, message: &str) {
        self.models.add(&model, message);
        self.metadata.insert(model);
    }

    /// The responses that a model wrote.
    pub(super) fn responses_of(&mut self, model: &str) -> Vec<&mut Message> {
        let Draft { session, models, .. } = self;
        let messages = session.messages.iter_mut();
        messages.filter(|message| models.of(&message.id) == Some(model)).collect()
    }

    /// The newest call that was given this id, by the id that it has.
    pub(super) fn newest_call(&self, id: &str) -> Option<&str> {
        self.calls.newest(id)
    }

    /// Converts arguments that are nested too deeply, or take too much memory, to text.
    pub(crate) fn flatten(&mut self, block: &mut Block) {
        let Block::ToolCall { arguments, .. } = block else { return };
        let text = arguments.to_string();
        let why = if is_nested(arguments, MOST_NESTED) {
            "structure of arguments that are nested too deeply"
        } else if self.arguments.add(text.len() as u64, weight(text.as_bytes())).is_err() {
            DENSE_ARGUMENTS
        } else {
            return;
        };
        *arguments = Json::String(text);
        self.leave_out(why, 1);
    }

    /// Moves leading messages of role system into the preamble (how-it-works §5), unless
    /// compactions count the messages.
    pub(super) fn leading_system_to_preamble(&mut self) {
        let session = &mut self.session;
        if !session.compactions.is_empty() {
            return;
        }
        let lead = session.messages.iter().take_while(|m| m.role == Role::System).count();
        for message in session.messages.drain(..lead) {
            for block in message.blocks {
                if let Block::Text { text } = block {
                    session.preamble.system.push(text);
                }
            }
        }
    }

    /// Takes back the messages from a place on, as an agent undoes turns, with the
    /// compactions behind it. What they cost stays.
    pub(super) fn take_back(&mut self, from: usize) -> Vec<Message> {
        let Draft { session, models, .. } = self;
        let taken = session.messages.split_off(from);
        session.compactions.retain(|compaction| compaction.after as usize <= from);
        let requests = taken.iter().filter_map(|message| {
            let model = models.of(&message.id).map(str::to_owned);
            Some(SidechainRequest { at: message.at, model, usage: message.usage? })
        });
        session.sidechains.extend(requests);
        self.leave_out("message of a turn that was rolled back", taken.len() as u64);
        taken
    }

    /// Sets the system prompt from the next message on.
    pub(super) fn system_prompt(&mut self, system: Vec<String>) {
        let before = self.next_index();
        let Session { preamble, preamble_changes: changes, .. } = &mut self.session;
        let known = changes.last().map_or(&preamble.system, |change| &change.system);
        if system.is_empty() || *known == system {
            return;
        }
        let unused = if before == 0 || known.is_empty() {
            !std::mem::replace(&mut preamble.system, system).is_empty()
        } else {
            let unused = changes.pop_if(|change| change.before == before);
            changes.push(PreambleChange { before, system });
            unused.is_some()
        };
        self.leave_out(UNUSED_PROMPT, unused.into());
    }

    /// Drops a system prompt behind the last message.
    pub(super) fn drop_unused_prompt(&mut self) {
        let end = self.next_index();
        let unused = self.session.preamble_changes.pop_if(|change| change.before == end);
        self.leave_out(UNUSED_PROMPT, unused.is_some().into());
    }

    /// The position of each message by its id; of several with the same id, the first.
    pub(crate) fn places(&self) -> Places {
        let mut places = Places::default();
        for (at, message) in self.session.messages.iter().enumerate() {
            places.entry(message.id.clone()).or_insert(at);
        }
        places
    }

    /// Notes a folder that the agent worked in: the first one tells the project.
    pub(super) fn worked_in(&mut self, folder: String) {
        let project = &mut self.session.project;
        *project = project.take().or_else(|| project_of(&folder));
        self.metadata.extend(home_of(&folder));
        self.metadata.insert(folder);
    }

    /// Completes the session by what its records say of it. A reader that states a
    /// model or metadata itself adds none here.
    pub(super) fn finish(&mut self) {
        std::mem::take(&mut self.models).name_models(&mut self.session);
        self.session.metadata.extend(std::mem::take(&mut self.metadata));
    }

    /// The messages of these ids, each once and in their order. Ids of none are
    /// counted as `unknown`.
    pub(super) fn in_order<'a>(
        &mut self,
        ids: impl Iterator<Item = &'a str>,
        places: &Places,
        unknown: &str,
    ) -> Vec<String> {
        let (found, others): (Vec<_>, Vec<_>) =
            ids.map(|id| places.get(id).copied()).partition(Option::is_some);
        self.leave_out(unknown, others.len() as u64);
        let found: BTreeSet<usize> = found.into_iter().flatten().collect();
        found.into_iter().map(|at| self.session.messages[at].id.clone()).collect()
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

/// A message as a format has it, without the results of calls.
#[derive(Clone)]
pub(super) struct Turn {
    /// Its id in the recording; without one it is named by its position.
    pub(super) id: Option<String>,
    pub(super) role: Role,
    pub(super) at: Option<Timestamp>,
    pub(super) blocks: Vec<Block>,
    /// What the request that it answers used.
    pub(super) usage: Option<Usage>,
    /// The model that wrote it.
    pub(super) model: Option<String>,
}

impl Turn {
    pub(super) fn new(role: Role) -> Turn {
        Turn { id: None, role, at: None, blocks: Vec::new(), usage: None, model: None }
    }

    /// Adds a text that is not empty.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
    }

    /// Adds what the model thought, unless that is empty.
    pub(super) fn reasoning(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.blocks.extend((!text.is_empty()).then_some(Block::Reasoning { text }));
    }
}

/// Bytes of the text of a block.
fn text_bytes(block: &Block) -> u64 {
    let text = match block {
        Block::Text { text } | Block::Reasoning { text } | Block::ToolResult { text, .. } => text,
        Block::ToolCall { .. } | Block::Image { .. } => return 0,
    };
    text.len() as u64
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

/// The arguments of a call, which are JSON in a string. Invalid JSON is kept as text.
pub(super) fn arguments(value: Json, draft: &mut Draft) -> Json {
    match value {
        Json::String(text) if text.trim().is_empty() => serde_json::json!({}),
        Json::String(text) => parse(&text).unwrap_or_else(|problem| {
            let why = match problem {
                Problem::TooDense { .. } => DENSE_ARGUMENTS,
                _ => "structure of undecodable arguments",
            };
            draft.leave_out(why, 1);
            Json::String(text)
        }),
        Json::Null => serde_json::json!({}),
        other => other,
    }
}

/// The ids of a session's calls or messages: some agents use one twice.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// How often each was used, and the newest id that it became.
    uses: FxHashMap<String, (u64, String)>,
}

impl Ids {
    /// The id if it is free; else the id with a number.
    pub(crate) fn free(&mut self, id: String) -> String {
        let (uses, _) = self.uses.entry(id.clone()).or_default();
        *uses += 1;
        let number = *uses;
        let own = if number == 1 { id.clone() } else { format!("{id}#{number}") };
        if number > 1 && self.uses.contains_key(&own) {
            return self.free(id);
        }
        self.uses.entry(own.clone()).or_insert_with(|| (1, own.clone()));
        self.uses.insert(id, (number, own.clone()));
        own
    }

    /// The newest id that this one became, where it was used.
    pub(crate) fn newest(&self, id: &str) -> Option<&str> {
        self.uses.get(id).map(|(_, newest)| newest.as_str())
    }
}

/// The model of each response.
#[derive(Debug, Default)]
pub(super) struct Models {
    count: BTreeMap<String, u64>,
    by_message: FxHashMap<String, String>,
}

impl Models {
    /// Records the model of a response by the message's id. Messages that were
    /// split off a response have the id with `#` and a number.
    pub(super) fn add(&mut self, model: &str, message: &str) {
        *self.count.entry(model.to_owned()).or_default() += 1;
        self.by_message.insert(message.to_owned(), model.to_owned());
    }

    /// The model of a response, by the message's id.
    pub(super) fn of(&self, message: &str) -> Option<&str> {
        self.by_message.get(message).map(String::as_str)
    }

    /// Sets the session's model, that of most responses (of several, the
    /// first in order), and the responses of other models.
    fn name_models(self, session: &mut Session) {
        let Some((best, _)) = self.count.iter().rev().max_by_key(|(_, n)| **n) else { return };
        session.model = Some(best.clone());
        let whole = |id: &str| id.split_once('#').map_or(id.to_owned(), |(id, _)| id.to_owned());
        let answers = (0u32..).zip(&session.messages).filter(|(_, m)| m.role == Role::Assistant);
        let named = answers.filter_map(|(at, message)| {
            let model = self.by_message.get(&message.id);
            Some((at, model.or_else(|| self.by_message.get(&whole(&message.id)))?.clone()))
        });
        let others = named.filter(|(_, model)| session.model.as_ref() != Some(model));
        session.other_models = others.collect();
    }
}

/// The home folder of a path, where its form shows one.
fn home_of(path: &str) -> Option<String> {
    Some(HOME.captures(path)?[1].to_owned())
}

static HOME: Pattern =
    pattern!(r"^(/(?:Users|home)/[^/]+|/root|[^\\]*:\\Users\\[^\\]+)(?:[/\\]|$)");

// Rules that every imported session must satisfy, whatever its format.

/// Mends what single records of a log may break: ids that stand for several
/// messages or calls are told apart, and a result without its call is kept as a
/// text. A result belongs to the first call of that id that has none, among
/// those of the newest message with such a call.
pub(crate) fn mend(draft: &mut Draft) {
    let (mut ids, mut calls) = (Ids::default(), Ids::default());
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

/// Checks that ids are unique, that every result follows its call, that roles
/// fit what the messages hold, and that compactions lie within the session.
///
/// # Errors
/// The first violation.
pub(crate) fn check(session: &Session) -> Result<(), Problem> {
    let mut ids = FxHashSet::default();
    let mut calls: FxHashMap<&str, bool> = FxHashMap::default();
    for message in &session.messages {
        if !ids.insert(message.id.as_str()) {
            return Err(Problem::RepeatedMessage(message.id.clone()));
        }
        check_blocks(message, &mut calls)?;
    }
    check_positions(session).map_err(Problem::Inconsistent)
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
                    return Err(Problem::RepeatedCall(id.clone()));
                }
            }
            Block::ToolResult { call, .. } => {
                results += 1;
                match calls.get_mut(call.as_str()) {
                    None => return Err(Problem::ResultWithoutCall(call.clone())),
                    Some(true) => return Err(Problem::RepeatedResult(call.clone())),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_folder_is_derived_from_path_form() {
        let home = |path| home_of(path).unwrap_or_default();
        assert_eq!(home("/Users/ada/work/engine"), "/Users/ada");
        assert_eq!(home("/home/ada"), "/home/ada");
        assert_eq!(home("/root/engine"), "/root");
        assert_eq!(home("C:\\Users\\ada\\engine"), "C:\\Users\\ada");
        assert_eq!(home_of("/srv/engine"), None);
    }

    #[test]
    fn session_model_answered_most_and_exceptions_are_recorded() {
        let mut models = Models::default();
        for (model, message) in [("b", "1"), ("a", "2"), ("a", "3"), ("b", "4")] {
            models.add(model, message);
        }
        let message = |id: &str| Message::new(id, Role::Assistant, None, Vec::new());
        let ids = ["1", "2", "3", "4", "4#2", "unknown"];
        let messages = ids.map(message).to_vec();
        let mut session = Session { messages, ..Session::default() };
        models.name_models(&mut session);
        // Two and two: the first in order.
        assert_eq!(session.model.as_deref(), Some("a"));
        let others = [0, 3, 4].map(|at| (at, "b".to_owned()));
        assert_eq!(session.other_models, others.into());
        // Without any the session keeps what it states.
        Models::default().name_models(&mut session);
        assert_eq!((session.model.as_deref(), session.other_models.len()), (Some("a"), 3));
    }

    #[test]
    fn arguments_that_take_too_much_together_become_text() {
        let mut draft = Draft::default();
        let value: Json = serde_json::from_str(&format!("[{}1]", "[],".repeat(40_000))).unwrap();
        for at in 0..14 {
            let (id, name) = (at.to_string(), "f".to_owned());
            let mut block = Block::ToolCall { id, name, arguments: value.clone() };
            draft.flatten(&mut block);
            let Block::ToolCall { arguments, .. } = block else { unreachable!() };
            // 40,000 further values and a list, less their text, go 12 times into the free bytes.
            assert_eq!(arguments.is_array(), at < 12, "{at}");
        }
        assert_eq!(draft.session.left_out[DENSE_ARGUMENTS], 2);
    }

    fn text(text: &str) -> ResultText {
        ResultText::new(text, 0)
    }

    #[test]
    fn ids_are_unique_and_results_match_newest_call() {
        let mut draft = Draft::named("s");
        for _ in 0..2 {
            let mut turn = Turn::new(Role::Assistant);
            turn.id = Some("m".to_owned());
            turn.model = Some("a".to_owned());
            turn.blocks.push(draft.call(
                "c".to_owned(),
                "read".to_owned(),
                serde_json::json!("{\"a\":1}"),
            ));
            draft.turn(turn);
            draft.result("c", text("4210"), Turn::new(Role::Tool));
        }
        draft.result("c", text("again"), Turn::new(Role::Tool));
        draft.result("d", text("?"), Turn::new(Role::Tool));
        draft.turn(Turn::new(Role::User));
        draft.finish();
        check(&draft.session).unwrap();
        let ids = draft.session.messages.iter().map(|message| message.id.as_str());
        assert_eq!(ids.collect::<Vec<_>>(), ["m", "message-2", "m#2", "message-4"]);
        let results = draft.session.messages.iter().filter_map(Message::tool_result);
        assert_eq!(results.map(|(call, _)| call).collect::<Vec<_>>(), ["c", "c#2"]);
        let left: Vec<(&str, u64)> =
            draft.session.left_out.iter().map(|(why, n)| (why.as_str(), *n)).collect();
        let expected = [
            ("message without content", 1),
            ("second result of a tool call", 1),
            ("tool result whose call is not in the recording", 1),
        ];
        assert_eq!(left, expected);
        assert_eq!(draft.session.model.as_deref(), Some("a"));
    }
}
