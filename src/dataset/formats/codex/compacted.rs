//! What a compaction of Codex CLI kept, and what replaced the rest (semantics
//! §6).
//!
//! Records since 2025-11 contain the new context as a list. Older ones contain
//! the summary alone, and the context follows from Codex's own rule
//! (openai/codex, `codex-rs/core/src/codex/compact.rs`,
//! `build_compacted_history`).

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::wire::{Compacted, Kept, texts};
use crate::model::{
    Block, Message, MessageIndex, Piece, RecordedCompaction, RecordedTrigger, Role, Transcript,
};

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
pub(super) struct MessageLookup {
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
pub(super) struct ReadCompaction {
    pub compaction: RecordedCompaction,
    /// Whether its summary is encrypted.
    pub is_encrypted: bool,
    /// Number of items that it kept apart from the messages.
    pub others: u64,
}

impl MessageLookup {
    /// Reads a compaction behind the messages of a transcript.
    pub(super) fn compaction(
        &mut self,
        transcript: &Transcript,
        compacted: Compacted,
    ) -> ReadCompaction {
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
