//! GenCode's session file: what it saves, and what it goes on from.
//!
//! Source: seed 001, "Session JSON Example", "After pruning", "Session File
//! Verification" and layer 3, "Message Filtering". The shape of a message is
//! that of the examples: a text, or parts of the types `text`, `tool_use` and
//! `tool_result`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::continuation::Summary;
use crate::model::{Block, Role};
use crate::strategy::context::{Context, EntryId};
use crate::strategy::host::PresetState;

/// A session as it lies in `~/.gen/sessions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GencodeSession {
    /// Its head.
    pub metadata: Metadata,
    /// Active messages: what is left after compaction, the system prompt first.
    pub messages: Vec<SessionMessage>,
    /// `session.summaries`.
    pub summaries: Vec<Summary>,
}

/// The head of a session file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The session's id.
    pub id: String,
    /// Active messages.
    pub message_count: u64,
    /// Messages that there ever were, the system prompt included.
    pub full_message_count: u64,
}

/// The seed's `getCompressionStats()`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompressionStats {
    /// Messages that there ever were.
    pub total_messages: u64,
    /// Messages that are still sent, summaries among them.
    pub active_messages: u64,
    /// Summaries that were ever written.
    pub summary_count: u64,
    /// Active messages / total messages; 1 for a session without any.
    pub compression_ratio: f64,
}

/// A message of a session file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionMessage {
    /// `system`, `user` or `assistant`.
    pub role: Role,
    /// A text, or parts.
    pub content: Content,
}

/// What a message holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A text alone.
    Text(String),
    /// Parts in order.
    Parts(Vec<ContentPart>),
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentPart {
    /// Words.
    Text {
        /// They.
        text: String,
    },
    /// A call of a tool.
    ToolUse {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        input: Json,
    },
    /// What came back.
    ToolResult {
        /// Id of the call.
        tool_use_id: String,
        /// The text, or the marker in its place.
        content: String,
        /// Set once the text was replaced.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pruned: bool,
        /// When that was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pruned_at: Option<Timestamp>,
    },
}

impl GencodeSession {
    /// The session as it would be saved now.
    pub(super) fn of(context: &Context, shared: &PresetState, summaries: &[Summary]) -> Self {
        let system = SessionMessage { role: Role::System, content: Content::Text(context.head()) };
        let active = context.stored().filter_map(|id| message(context, shared, id));
        let messages: Vec<SessionMessage> = [system].into_iter().chain(active).collect();
        let metadata = Metadata {
            id: context.recording().transcript.id.clone(),
            message_count: messages.len() as u64,
            full_message_count: u64::from(context.seen_count()) + 1,
        };
        Self { metadata, messages, summaries: summaries.to_vec() }
    }

    /// Layer 3, `getMessagesForLLM()`: the messages "already include summary",
    /// so a session that is opened again sends them as they are.
    pub fn messages_for_llm(&self) -> &[SessionMessage] {
        &self.messages
    }

    /// `getCompressionStats()`: without the system prompt, which is no message
    /// of a recording.
    pub fn stats(&self) -> CompressionStats {
        let total = self.metadata.full_message_count.saturating_sub(1);
        let active = (self.messages.len() as u64).saturating_sub(1);
        CompressionStats {
            total_messages: total,
            active_messages: active,
            summary_count: self.summaries.len() as u64,
            compression_ratio: if total == 0 { 1.0 } else { active as f64 / total as f64 },
        }
    }
}

fn message(context: &Context, shared: &PresetState, id: EntryId) -> Option<SessionMessage> {
    let entry = context.entry(id)?;
    let Some(index) = id.index() else {
        let content = Content::Text(entry.text.into_owned());
        return Some(SessionMessage { role: entry.role, content });
    };
    let pruned_at = shared.pruned.get(&index).copied();
    let parts: Vec<ContentPart> =
        context.blocks(index).into_iter().filter_map(|block| part(block, pruned_at)).collect();
    // Results stand in a user's message.
    let role = if entry.role == Role::Tool { Role::User } else { entry.role };
    let content = match <[ContentPart; 1]>::try_from(parts) {
        Ok([ContentPart::Text { text }]) => Content::Text(text),
        Ok(one) => Content::Parts(one.into()),
        Err(parts) => Content::Parts(parts),
    };
    Some(SessionMessage { role, content })
}

/// Thinking is never sent again, and pictures have no text.
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
