//! GenCode's session file: what it saves, and what it goes on from.
//!
//! Source: GenCode, "Session JSON Example", "After pruning", "Session File
//! Verification" and layer 3, "Message Filtering". The shape of a message is
//! that of the examples: a text, or parts of the types `text`, `tool_use` and
//! `tool_result`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::extraction::ToolUsage;
use crate::context::{Context, EntryId};
use crate::state::StrategyState;
use recap_core::model::{Block, Message, Role};

/// A summary as in GenCode's `ConversationSummary`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Summary {
    /// The id, in the form `sum-{timestamp}-{random}`.
    pub id: String,
    /// The kind of summary, always `compaction`.
    #[serde(rename = "type")]
    pub kind: String,
    /// First and last message, counted from 1: the system prompt is 0.
    pub covering_messages: [u32; 2],
    /// The text that continues the conversation.
    pub content: String,
    /// Sentences that state decisions.
    pub key_decisions: Vec<String>,
    /// Paths that were passed to writing tools.
    pub files_modified: Vec<String>,
    /// Tools by their number of calls.
    pub tools_used: Vec<ToolUsage>,
    /// The time of the summary.
    pub generated_at: String,
    /// Estimated size: a quarter of the number of characters.
    pub estimated_tokens: u64,
}

/// A session file in `~/.gen/sessions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GencodeSession {
    /// The head of the file.
    pub metadata: Metadata,
    /// Active messages: those left after compaction, the system prompt first.
    /// They "already include summary" (layer 3, `getMessagesForLLM()`), so a
    /// session that is opened again sends them as they are.
    pub messages: Vec<SessionMessage>,
    /// The summaries of the session.
    pub summaries: Vec<Summary>,
}

/// The head of a session file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The id of the session.
    pub id: String,
    /// What the user first asked for: the first line of it, at most 60
    /// characters (ours: the seed shows a title, and not where it is from).
    pub title: String,
    /// Number of active messages.
    pub message_count: u64,
    /// Number of all messages so far, the system prompt included.
    pub full_message_count: u64,
}

/// The result of GenCode's `getCompressionStats()`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompressionStats {
    /// Number of all messages so far.
    pub total_messages: u64,
    /// Number of messages that are still sent, summaries included.
    pub active_messages: u64,
    /// Number of summaries that were written.
    pub summary_count: u64,
    /// Active messages / total messages; 1 for a session without any.
    pub compression_ratio: f64,
}

/// A message of a session file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionMessage {
    /// The role: `system`, `user` or `assistant`.
    pub role: Role,
    /// The text or parts of the message.
    pub content: Content,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A message of text only.
    Text(String),
    /// A message of several parts.
    Parts(Vec<ContentPart>),
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentPart {
    /// A part with text.
    Text {
        /// The text of the part.
        text: String,
    },
    /// A call of a tool.
    ToolUse {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments of the call.
        input: Json,
    },
    /// The result of a call.
    ToolResult {
        /// Id of the call.
        tool_use_id: String,
        /// The text of the result, or the marker in its place.
        content: String,
        /// Whether the text was replaced.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pruned: bool,
        /// The time of the replacement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pruned_at: Option<Timestamp>,
    },
}

impl GencodeSession {
    /// The session as it would be saved now.
    pub(super) fn of(context: &Context, shared: &StrategyState, summaries: &[Summary]) -> Self {
        let system = SessionMessage { role: Role::System, content: Content::Text(context.head()) };
        let active = context.stored().filter_map(|id| message(context, shared, id));
        let messages: Vec<SessionMessage> = [system].into_iter().chain(active).collect();
        let metadata = Metadata {
            id: context.recording().session.id.clone(),
            title: title(context),
            message_count: messages.len() as u64,
            full_message_count: u64::from(context.seen_count()) + 1,
        };
        Self { metadata, messages, summaries: summaries.to_vec() }
    }

    /// `getCompressionStats()`: the counts of the file's head, the system prompt
    /// included.
    pub fn stats(&self) -> CompressionStats {
        let Metadata { message_count: active, full_message_count: total, .. } = self.metadata;
        CompressionStats {
            total_messages: total,
            active_messages: active,
            summary_count: self.summaries.len() as u64,
            compression_ratio: if total == 0 { 1.0 } else { active as f64 / total as f64 },
        }
    }
}

/// Characters of a title.
const TITLE: usize = 60;

fn title(context: &Context) -> String {
    let first = context.exchanges().first().map(|&at| EntryId::message(at));
    let asked = first.and_then(|id| context.original(id)).map(Message::first_text);
    let line = asked.unwrap_or_default().trim_start().lines().next().unwrap_or_default();
    line.chars().take(TITLE).collect::<String>().trim_end().to_owned()
}

fn message(context: &Context, shared: &StrategyState, id: EntryId) -> Option<SessionMessage> {
    let entry = context.entry(id)?;
    let Some(index) = id.index() else {
        let content = Content::Text(entry.text.into_owned());
        return Some(SessionMessage { role: entry.role, content });
    };
    let pruned_at = shared.pruned.get(&index).copied();
    let parts: Vec<ContentPart> =
        context.blocks(index).into_iter().filter_map(|block| part(block, pruned_at)).collect();
    // Results are in messages of the user.
    let role = if entry.role == Role::Tool { Role::User } else { entry.role };
    let content = match <[ContentPart; 1]>::try_from(parts) {
        Ok([ContentPart::Text { text }]) => Content::Text(text),
        Ok(one) => Content::Parts(one.into()),
        Err(parts) => Content::Parts(parts),
    };
    Some(SessionMessage { role, content })
}

/// Reasoning is never sent again, and images have no text.
fn part(block: Block, pruned_at: Option<Timestamp>) -> Option<ContentPart> {
    Some(match block {
        Block::Text { text } => ContentPart::Text { text },
        Block::ToolCall { id, name, arguments } => {
            ContentPart::ToolUse { id, name, input: arguments }
        }
        Block::ToolResult { call, text, .. } => ContentPart::ToolResult {
            tool_use_id: call,
            content: text,
            pruned: pruned_at.is_some(),
            pruned_at,
        },
        Block::Reasoning { .. } | Block::Image { .. } => return None,
    })
}
