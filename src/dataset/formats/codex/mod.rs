//! Rollouts of Codex CLI: the JSON-lines logs under `~/.codex/sessions`.
//!
//! `response_item` records are the conversation; events repeat it, and only
//! token counts and interruptions are read of them.

mod wire;

use std::borrow::Cow;
use std::collections::BTreeSet;

use self::wire::{Body, Compacted, Counts, Item, Kept, Record, Session, Turn};
pub(super) use self::wire::{
    Output, WireAction, WireCall, WireMessage, WirePart, WireReasoning, WireResult, texts,
};
use super::prelude::*;
use crate::model::Transcript;

/// The format of Codex CLI's session logs.
pub(super) const FORMAT: Format = Format {
    name: "codex",
    describe: "Codex CLI rollout (JSON lines, ~/.codex/sessions/*/*/*/rollout-*.jsonl)",
    tried: Tried::On {
        files: 4,
        compared: "calls with results, requests, sums of prompts and outputs, largest prompt, compactions",
    },
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    head.any(|record| {
        let kind = record.get("type").and_then(Json::as_str);
        let known = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
        kind.is_some_and(|kind| known.contains(&kind))
            && record.get("payload").is_some_and(Json::is_object)
    })
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let mut reader = Reader::new(source.stem());
    while let Some((line, (at, body))) = source.next_record(wire::read)? {
        let read = reader.record(Record { line, at, body });
        read.map_err(|problem| source.error(Some(line), problem))?;
    }
    if reader.encrypted > 0 {
        let n = reader.encrypted;
        source.warn(format!("the vendor encrypted the summaries of its compactions: {n}"));
    }
    let mut draft = reader.finish();
    draft.leave_out("torn last line", source.torn());
    Ok(vec![draft])
}

/// The response whose items are being read.
struct Open {
    /// The index of its message.
    index: usize,
    /// Whether its tokens were reported before its items, as until 2025; then
    /// results may stand between its calls.
    counted_first: bool,
    /// Whether a result followed: without a count of its own, the next item is
    /// another response.
    answered: bool,
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    models: Models,
    model: Option<String>,
    metadata: BTreeSet<String>,
    session_seen: bool,
    open: Option<Open>,
    /// Tokens of a response whose items have not been read yet.
    pending: Option<Usage>,
    total: Option<Counts>,
    /// Prompt of the last response that was counted.
    prompt: Option<u64>,
    /// Ordinal of each call.
    calls: FxHashMap<String, usize>,
    /// Compactions whose summary cannot be read.
    encrypted: u64,
    /// The index of messages for compactions.
    said: MessageLookup,
}

impl Reader {
    fn new(stem: &str) -> Reader {
        Reader { draft: Draft::named(stem), ..Reader::default() }
    }

    fn record(&mut self, record: Record) -> Result<(), Problem> {
        let Record { line, at, body } = record;
        match body {
            Body::Session(session) => self.session(*session),
            Body::Turn(turn) => self.turn(turn),
            Body::Item(item) => return self.item(line, at, item),
            Body::Tokens(None) => {}
            Body::Tokens(Some(info)) => {
                let new = self.total.replace(info.total_token_usage) != self.total;
                if let Some(usage) = info.last_token_usage.usage().filter(|_| new) {
                    self.tokens(usage);
                }
            }
            Body::Aborted => self.open = None,
            Body::Compacted(compacted) => {
                self.close();
                return self.compaction(at, compacted);
            }
            Body::Other(reason) => self.draft.leave_out(reason, 1),
        }
        Ok(())
    }

    /// The record of a session. A session that continues another begins with
    /// its own record and repeats that of the other.
    fn session(&mut self, session: Session) {
        let git = session.git.map_or([None, None], |git| [git.branch, git.commit_hash]);
        let own = [session.id, session.cli_version, session.originator];
        let own = own.into_iter().chain(git).flatten();
        self.metadata.extend(own.filter(|value| !value.is_empty()));
        if let Some(cwd) = session.cwd {
            self.working_directory(cwd);
        }
        if std::mem::replace(&mut self.session_seen, true) {
            return self.draft.leave_out("session_meta record", 1);
        }
        let system = session.base_instructions.map(|instructions| instructions.text);
        self.draft.transcript.preamble.system.extend(system.filter(|text| !text.is_empty()));
    }

    fn working_directory(&mut self, cwd: String) {
        let project = &mut self.draft.transcript.project;
        *project = project.take().or_else(|| project_of(&cwd));
        self.metadata.extend(home_of(&cwd));
        self.metadata.insert(cwd);
    }

    fn turn(&mut self, turn: Turn) {
        self.close();
        if let Some(cwd) = turn.cwd.filter(|cwd| !self.metadata.contains(cwd)) {
            self.working_directory(cwd);
        }
        if let Some(model) = turn.model {
            self.metadata.insert(model.clone());
            self.model = Some(model);
        }
    }

    fn item(&mut self, line: u64, at: Option<Timestamp>, item: Item) -> Result<(), Problem> {
        match item {
            Item::Message { role, content } => match role.as_str() {
                "assistant" => {
                    for block in self.blocks(content)? {
                        self.respond(line, at, block);
                    }
                }
                "user" => self.input(line, at, Role::User, content)?,
                "developer" | "system" => self.input(line, at, Role::System, content)?,
                _ => return Err(Problem::UnknownRole { role }),
            },
            Item::Reasoning(text) => self.respond(line, at, Block::Reasoning { text }),
            Item::Call { id, name, arguments: written } => {
                let id = id.unwrap_or_else(|| format!("line-{line}"));
                let ordinal = self.calls.len();
                if self.calls.contains_key(&id) {
                    return Err(Problem::RepeatedCall { call: id });
                }
                self.calls.insert(id.clone(), ordinal);
                let arguments = arguments(written, &mut self.draft);
                self.respond(line, at, Block::ToolCall { id, name, arguments });
            }
            Item::Result { call, output } => self.result(line, at, call, output)?,
        }
        Ok(())
    }

    /// Adds to the open response, or opens one.
    fn respond(&mut self, line: u64, at: Option<Timestamp>, mut block: Block) {
        self.draft.flatten(&mut block);
        if self.open.as_ref().is_some_and(|open| open.answered && !open.counted_first) {
            self.open = None;
        }
        let index = match &self.open {
            Some(open) => open.index,
            None => {
                let index = self.draft.transcript.messages.len();
                let usage = self.pending.take();
                self.open = Some(Open { index, counted_first: usage.is_some(), answered: false });
                self.push(line, at, Role::Assistant, Vec::new());
                if let Some(model) = &self.model {
                    self.models.add(model, &self.draft.transcript.messages[index].id);
                }
                self.draft.transcript.messages[index].usage = usage;
                index
            }
        };
        self.draft.transcript.messages[index].blocks.push(block);
    }

    /// Assigns counted tokens to their response: to the open one, if it lacks
    /// them, else to the next.
    fn tokens(&mut self, usage: Usage) {
        self.prompt = Some(usage.prompt());
        let open = self.open.take();
        match open.map(|open| &mut self.draft.transcript.messages[open.index].usage) {
            Some(lacking @ None) => *lacking = Some(usage),
            _ => {
                self.drop_pending();
                self.pending = Some(usage);
            }
        }
    }

    /// Ends the open response: after an interruption, only its count may follow.
    fn close(&mut self) {
        self.open = None;
        self.drop_pending();
    }

    fn drop_pending(&mut self) {
        let dropped = u64::from(self.pending.take().is_some());
        self.draft.leave_out("token count without a response", dropped);
    }

    /// A message to the model. Instructions before the first one are part of
    /// the preamble (semantics §5).
    fn input(
        &mut self,
        line: u64,
        at: Option<Timestamp>,
        role: Role,
        content: Content<WirePart>,
    ) -> Result<(), Problem> {
        if let Some(open) = &mut self.open {
            // Its count may still come, nothing else.
            (open.answered, open.counted_first) = (true, false);
        }
        self.drop_pending();
        let blocks = self.blocks(content)?;
        if blocks.is_empty() {
            self.draft.leave_out("empty message", 1);
        } else if role == Role::System && self.draft.transcript.messages.is_empty() {
            let texts = blocks.into_iter().filter_map(|block| match block {
                Block::Text { text } => Some(text),
                _ => None,
            });
            self.draft.transcript.preamble.system.extend(texts);
        } else {
            self.push(line, at, role, blocks);
        }
        Ok(())
    }

    fn result(
        &mut self,
        line: u64,
        at: Option<Timestamp>,
        call: String,
        output: Output,
    ) -> Result<(), Problem> {
        if !self.calls.contains_key(&call) {
            return Err(Problem::ResultWithoutCall { call });
        }
        if let Some(open) = &mut self.open {
            open.answered = true;
        }
        let (text, failed) = output.read();
        let message = result_message(format!("line-{line}"), call, text, failed, at);
        self.draft.push(message, line);
        Ok(())
    }

    fn push(&mut self, line: u64, at: Option<Timestamp>, role: Role, blocks: Vec<Block>) {
        self.draft.push(Message::new(format!("line-{line}"), role, at, blocks), line);
    }

    fn blocks(&mut self, content: Content<WirePart>) -> Result<Vec<Block>, Problem> {
        content.blocks(|part| {
            Ok(Some(match part.kind.as_str() {
                kind @ ("input_text" | "output_text" | "text") => {
                    let lacks = || Problem::lacks("payload.content", kind, "text");
                    Block::Text { text: part.text.ok_or_else(lacks)? }
                }
                "input_image" => {
                    Block::Image { media_type: part.image_url.as_deref().and_then(media_type) }
                }
                other => {
                    self.draft.leave_out(format!("{other} part"), 1);
                    return Ok(None);
                }
            }))
        })
    }

    fn finish(mut self) -> Draft {
        self.close();
        self.order_results();
        self.models.name_models(&mut self.draft.transcript);
        self.draft.transcript.metadata = self.metadata.into_iter().collect();
        self.draft
    }

    /// Notes a compaction.
    ///
    /// # Errors
    /// Compactions that together keep more than can be held.
    fn compaction(&mut self, at: Option<Timestamp>, compacted: Compacted) -> Result<(), Problem> {
        let ReadCompaction { compaction, is_encrypted, others } =
            self.said.compaction(&self.draft.transcript, compacted);
        self.draft.leave_out("item that a compaction kept apart", others);
        if is_encrypted {
            self.encrypted += 1;
            self.draft.leave_out("encrypted summary", 1);
        }
        let tokens_before = self.prompt;
        self.draft.compact(RecordedCompaction { tokens_before, at, ..compaction })
    }

    /// Puts consecutive results in the order of their calls (semantics §2).
    fn order_results(&mut self) {
        let calls = &self.calls;
        let lines = std::mem::take(&mut self.draft.lines);
        let messages = std::mem::take(&mut self.draft.transcript.messages);
        let mut placed: Vec<_> = messages.into_iter().zip(lines).collect();
        for run in placed.chunk_by_mut(|(a, _), (b, _)| a.role == Role::Tool && b.role == a.role) {
            run.sort_by_key(|(message, _)| {
                message.tool_result().and_then(|(call, _)| calls.get(call).copied())
            });
        }
        (self.draft.transcript.messages, self.draft.lines) = placed.into_iter().unzip();
    }
}

// What a compaction of Codex CLI kept, and what replaced the rest (semantics
// §6).
//
// Records since 2025-11 contain the new context as a list. Older ones contain
// the summary alone, and the context follows from Codex's own rule
// (openai/codex, `codex-rs/core/src/codex/compact.rs`,
// `build_compacted_history`).

/// The beginning of a summary that Codex sends as a message of its own
/// (`templates/compact/summary_prefix.md`, since 2025-10).
const SUMMARY_PREFIX: &str = "Another language model started to solve this problem";

/// The text that Codex put around the user's messages and the summary before
/// that (`templates/compact/history_bridge.md`).
const BRIDGE: [&str; 2] = [
    "You were originally given instructions from a user over one or more turns. Here were the \
     user messages:\n\n",
    "\n\nAnother language model started to solve this problem and produced a summary of its \
     thinking process. You also have access to the state of the tools that were used by that \
     language model. Use this to build on the work that has already been done and avoid \
     duplicating work. Here is the summary produced by the other language model, use the \
     information in this summary to assist with your own analysis:\n\n",
];

/// Tokens of user messages that Codex keeps, four bytes each
/// (`COMPACT_USER_MESSAGE_MAX_TOKENS`).
const USER_TOKENS: usize = 20_000;

/// The beginnings of messages that the harness writes in the user's name
/// (`is_session_prefix_message`).
const HARNESS: [&str; 3] =
    ["<user_instructions>", "<environment_context>", "# AGENTS.md instructions"];

/// An index of the messages before a compaction. It grows with the messages:
/// searching all of them at every compaction would take quadratic time.
#[derive(Default)]
struct MessageLookup {
    /// Number of messages, and of entries of the system prompt, in the index.
    seen: (usize, usize),
    /// Number of messages at the start that the harness wrote.
    start: usize,
    /// Messages of the user.
    users: Vec<u32>,
    /// The texts of the user's messages, separated by blank lines.
    by_users: String,
    /// Messages that can be kept alone, by their text.
    alone: FxHashMap<(Role, String), Vec<u32>>,
    system: FxHashSet<String>,
}

impl MessageLookup {
    /// Adds new messages to the index.
    fn add_new(&mut self, messages: &[Message], system: &[String]) {
        for (index, message) in (0u32..).zip(messages).skip(self.seen.0) {
            let harness = is_harness(message);
            if self.start == index as usize && (harness || message.role == Role::System) {
                self.start += 1;
            }
            if message.role == Role::User && !harness {
                if !self.users.is_empty() {
                    self.by_users.push_str("\n\n");
                }
                self.users.push(index);
                self.by_users.push_str(&message.sent());
            }
            if is_alone(message) {
                self.alone.entry((message.role, message.sent())).or_default().push(index);
            }
        }
        self.system.extend(system.iter().skip(self.seen.1).cloned());
        self.seen = (messages.len(), system.len());
    }
}

/// A compaction as it was read, and what is counted of it.
struct ReadCompaction {
    pub compaction: RecordedCompaction,
    /// Whether its summary is encrypted.
    pub is_encrypted: bool,
    /// Number of items that it kept apart from the messages.
    pub others: u64,
}

impl MessageLookup {
    /// Reads a compaction behind the messages of a transcript.
    fn compaction(&mut self, transcript: &Transcript, compacted: Compacted) -> ReadCompaction {
        self.add_new(&transcript.messages, &transcript.preamble.system);
        let after = transcript.messages.len() as MessageIndex;
        let summary = compacted.message;
        let encrypted = |history: &Vec<Kept>| history.iter().any(|item| item.kind == "compaction");
        let is_encrypted = compacted.replacement_history.as_ref().is_some_and(encrypted);
        let (mut pieces, others) = match compacted.replacement_history {
            Some(history) => self.listed(history),
            None if summary.is_empty() => (Vec::new(), 0),
            None => (by_rule(self, &transcript.messages, &summary), 0),
        };
        let mut kept_from = after;
        while kept_from > 0 && pieces.last() == Some(&Piece::Message(kept_from - 1)) {
            pieces.pop();
            kept_from -= 1;
        }
        let compaction = RecordedCompaction {
            after,
            kept_from,
            // In a redacted file an empty message may have text.
            summary: (!is_encrypted && !summary.is_empty()).then_some(summary),
            pieces,
            unreadable: is_encrypted.then(|| "the vendor encrypted its summary".to_owned()),
            trigger: RecordedTrigger::Unknown,
            ..RecordedCompaction::default()
        };
        ReadCompaction { compaction, is_encrypted, others }
    }

    /// The new context as the record lists it: messages of the old context (the
    /// newest of several with the same text), and new texts. Instructions of
    /// the preamble stay there. Also the number of items kept apart.
    fn listed(&self, history: Vec<Kept>) -> (Vec<Piece>, u64) {
        let mut pieces = Vec::with_capacity(history.len());
        let mut before = u32::MAX;
        let mut others = 0;
        for item in history.into_iter().rev() {
            let role = match item.role.as_str() {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                _ => Role::System,
            };
            if item.kind != "message" {
                others += u64::from(item.kind != "compaction");
                continue;
            }
            let text = texts(item.content).join("\n");
            if role == Role::System && self.system.contains(&text) {
                continue;
            }
            let key = (role, text);
            let place = self.alone.get(&key).and_then(|places| {
                let behind = places.partition_point(|&place| place < before);
                places[..behind].last().copied()
            });
            before = place.unwrap_or(before);
            let (role, text) = key;
            pieces.push(place.map_or_else(|| Piece::Text { role, text }, Piece::Message));
        }
        pieces.reverse();
        (pieces, others)
    }
}

/// Whether a message can be kept alone: one that calls a tool cannot.
fn is_alone(message: &Message) -> bool {
    let apart = |block: &Block| matches!(block, Block::ToolCall { .. } | Block::ToolResult { .. });
    !message.blocks.iter().any(apart)
}

/// Whether the harness wrote a message in the user's name.
fn is_harness(message: &Message) -> bool {
    let said = message.first_text().trim_start();
    message.role == Role::User && HARNESS.iter().any(|start| said.starts_with(start))
}

/// The new context where only the summary is recorded: the harness's messages
/// at the start, the user's newest messages, and the summary.
fn by_rule(lookup: &MessageLookup, messages: &[Message], summary: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = (0..lookup.start as u32).map(Piece::Message).collect();
    if !summary.starts_with(SUMMARY_PREFIX) {
        let said = lookup.by_users.as_str();
        let said = if said.is_empty() { "(none)".into() } else { cut(said, USER_TOKENS) };
        let text = format!("{}{said}{}{summary}", BRIDGE[0], BRIDGE[1]);
        pieces.push(Piece::Text { role: Role::User, text });
        return pieces;
    }
    let mut left = USER_TOKENS;
    let mut newest = Vec::new();
    for &index in lookup.users.iter().rev() {
        let text = messages[index as usize].sent();
        let tokens = text.len().div_ceil(4);
        if tokens > left {
            let text = cut(&text, left).into_owned();
            newest.extend((left > 0).then_some(Piece::Text { role: Role::User, text }));
            break;
        }
        left -= tokens;
        newest.push(Piece::Message(index));
    }
    newest.reverse();
    pieces.extend(newest);
    pieces.push(Piece::Text { role: Role::User, text: summary.to_owned() });
    pieces
}

/// Shortens a text that is too long, keeping its beginning and end, as Codex
/// does (`truncate_middle`): four bytes count as a token.
fn cut(text: &str, tokens: usize) -> Cow<'_, str> {
    let bytes = tokens * 4;
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(bytes / 2);
    let tail = text.ceil_char_boundary(text.len() - (bytes - bytes / 2));
    let removed = (tail - head).div_ceil(4);
    Cow::Owned(format!("{}…{removed} tokens truncated…{}", &text[..head], &text[tail..]))
}
