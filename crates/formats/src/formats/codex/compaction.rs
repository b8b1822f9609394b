//! What a compaction of Codex CLI kept, and what replaced the rest (how-it-works
//! §6).
//!
//! Records since 2025-11 contain the new context as a list. Older ones contain
//! the summary alone, and the context follows from Codex's own rule
//! (openai/codex, `codex-rs/core/src/codex/compact.rs`,
//! `build_compacted_history`).

use std::borrow::Cow;

use crate::formats::content::texts;
use crate::formats::prelude::*;

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

/// The beginnings of what the harness says in the user's name of the project and
/// the environment (`is_session_prefix_message`). It is sent again after a
/// compaction.
pub(super) const SURROUNDINGS: [&str; 3] =
    ["<user_instructions>", "<environment_context>", "# AGENTS.md instructions"];

/// The beginnings of what else it says in the user's name
/// (`is_contextual_user_fragment`).
const NOTES: [&str; 3] = ["<skill>", "<turn_aborted>", "<subagent_notification>"];

/// Whether a text begins with one of these, blanks apart.
pub(super) fn begins(text: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| text.trim_start().starts_with(start))
}

/// Whether the harness says a text in the user's name.
pub(super) fn is_of_harness(text: &str) -> bool {
    begins(text, &SURROUNDINGS) || begins(text, &NOTES)
}

/// Why a context after a compaction is unknown, for its row and for the
/// warning, and what was left out.
pub(super) const UNREADABLE: [[&str; 3]; 2] = [
    [
        "the vendor encrypted its summary",
        "the vendor encrypted the summaries of its compactions",
        "encrypted summary",
    ],
    [
        "its summary was taken out of the recording",
        "the summaries of its compactions were taken out of the recording",
        "summary that was taken out of the recording",
    ],
];

/// An index of the messages before a compaction. It grows with the messages:
/// searching all of them at every compaction would take quadratic time.
#[derive(Default)]
pub(super) struct MessageLookup {
    /// Number of messages, and of texts of the preamble, in the index.
    seen: (usize, usize),
    /// Messages of the user, each with the length of `by_users` before it.
    users: Vec<(u32, usize)>,
    /// The texts of the user's messages, separated by blank lines.
    by_users: String,
    /// Messages that can be kept alone, by their text.
    alone: FxHashMap<(Role, String), Vec<u32>>,
    preamble: FxHashSet<String>,
}

impl MessageLookup {
    /// Adds new messages to the index.
    fn add_new(&mut self, session: &Session) {
        for (index, message) in (0u32..).zip(&session.messages).skip(self.seen.0) {
            if message.role == Role::User {
                self.users.push((index, self.by_users.len()));
                if !self.by_users.is_empty() {
                    self.by_users.push_str("\n\n");
                }
                self.by_users.push_str(&message.sent());
            }
            if is_alone(message) {
                self.alone.entry((message.role, message.sent())).or_default().push(index);
            }
        }
        let preamble = &session.preamble;
        let texts = preamble.system.iter().chain(&preamble.pinned);
        self.preamble.extend(texts.skip(self.seen.1).cloned());
        self.seen = (session.messages.len(), preamble.system.len() + preamble.pinned.len());
    }

    /// Removes the messages from `from` on.
    pub(super) fn forget(&mut self, taken: &[Message], from: usize) {
        for message in taken.iter().take(self.seen.0.saturating_sub(from)) {
            if is_alone(message)
                && let Some(places) = self.alone.get_mut(&(message.role, message.sent()))
            {
                places.retain(|&place| (place as usize) < from);
            }
        }
        let kept = self.users.partition_point(|(index, _)| (*index as usize) < from);
        if let Some((_, length)) = self.users.get(kept) {
            self.by_users.truncate(*length);
        }
        self.users.truncate(kept);
        self.seen.0 = self.seen.0.min(from);
    }

    /// Reads a compaction behind the messages of a draft, and the number of items that it
    /// kept apart from the messages.
    ///
    /// # Errors
    /// A record of another shape.
    pub(super) fn compaction(
        &mut self,
        draft: &Draft,
        mut compacted: Fields,
    ) -> Result<(RecordedCompaction, u64), Problem> {
        let message: String = compacted.take("/message")?.unwrap_or_default();
        let history: Option<Vec<Json>> = compacted.take("/replacement_history")?;
        self.add_new(&draft.session);
        let is_summary = |item: &Json| item.get("type").is_some_and(|kind| kind == "compaction");
        let is_encrypted = history.iter().flatten().any(is_summary);
        let (pieces, others) = match history {
            Some(history) => self.listed(history)?,
            None if message.is_empty() => (Vec::new(), 0),
            None => (by_rule(self, &draft.session.messages, &message), 0),
        };
        // In a redacted file an empty message may have text.
        let summary = Some(message).filter(|message| !message.is_empty() && !is_encrypted);
        let summary = summary.or_else(|| pieces.iter().find_map(summary_of));
        let [encrypted, removed] = UNREADABLE;
        let why = match summary {
            _ if is_encrypted => Some(encrypted),
            None => Some(removed),
            Some(_) => None,
        };
        let compaction = RecordedCompaction {
            summary,
            unreadable: why.map(|[reason, ..]| reason.to_owned()),
            ..draft.compaction_to(pieces)
        };
        Ok((compaction, others))
    }

    /// The new context as the record lists it: messages of the old context (the
    /// newest of several with the same text), and new texts. What the preamble
    /// contains stays there. Also the number of items kept apart.
    fn listed(&self, history: Vec<Json>) -> Result<(Vec<Piece>, u64), Problem> {
        let mut pieces = Vec::with_capacity(history.len());
        let mut before = u32::MAX;
        let mut others = 0;
        for item in history.into_iter().rev() {
            let mut item = Fields(item);
            let kind: String = item.need("/type")?;
            let role = match item.text("/role") {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => Role::System,
            };
            if kind != "message" {
                others += u64::from(kind != "compaction");
                continue;
            }
            let parts = item.parts("/content")?;
            let is_new = |text: &&str| !text.is_empty() && !self.preamble.contains(*text);
            let own: Vec<&str> = texts(&parts).filter(is_new).collect();
            if own.is_empty() {
                continue;
            }
            let by_harness = role == Role::User && own.iter().all(|text| is_of_harness(text));
            let role = if by_harness { Role::System } else { role };
            let key = (role, own.join("\n"));
            let place = self.alone.get(&key).and_then(|places| {
                let earlier = places.partition_point(|&place| place < before);
                places[..earlier].last().copied()
            });
            before = place.unwrap_or(before);
            let (role, text) = key;
            pieces.push(place.map_or_else(|| Piece::Text { role, text }, Piece::Message));
        }
        pieces.reverse();
        Ok((pieces, others))
    }
}

/// The summary, where a text is one that Codex sends as a message of its own.
fn summary_of(piece: &Piece) -> Option<String> {
    match piece {
        Piece::Text { role: Role::User, text } if text.starts_with(SUMMARY_PREFIX) => {
            Some(text.clone())
        }
        _ => None,
    }
}

/// Whether a message can be kept alone: one that calls a tool cannot.
fn is_alone(message: &Message) -> bool {
    let apart = |block: &Block| matches!(block, Block::ToolCall { .. } | Block::ToolResult { .. });
    !message.blocks.iter().any(apart)
}

/// The new context where only the summary is recorded: the user's newest
/// messages, and the summary.
fn by_rule(lookup: &MessageLookup, messages: &[Message], summary: &str) -> Vec<Piece> {
    if !summary.starts_with(SUMMARY_PREFIX) {
        let words = lookup.by_users.as_str();
        let words = if words.is_empty() { "(none)".into() } else { cut(words, USER_TOKENS) };
        let text = format!("{}{words}{}{summary}", BRIDGE[0], BRIDGE[1]);
        return vec![Piece::Text { role: Role::User, text }];
    }
    let mut left = USER_TOKENS;
    let mut newest = Vec::new();
    for &(index, _) in lookup.users.iter().rev() {
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
    newest.push(Piece::Text { role: Role::User, text: summary.to_owned() });
    newest
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
