//! Compactions that a vendor's agent made while it was recorded.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{MessageIndex, Role, Usage};

/// The trigger of a recorded compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordedTrigger {
    /// The agent's own threshold was reached.
    Auto,
    /// The user asked for it.
    Manual,
    /// The recording does not say.
    #[default]
    Unknown,
}

/// A part of what a recorded agent sent before the messages that it kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Piece {
    /// A recorded message, as it was.
    Message(MessageIndex),
    /// A text that the agent put there.
    Text {
        /// Who it was attributed to.
        role: Role,
        /// The literal text, wrapping included.
        text: String,
    },
}

/// The model call that wrote a recorded summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCall {
    /// Model that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the provider reported.
    pub usage: Usage,
    /// Duration of the call in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
}

/// A compaction that the vendor's agent really made (how-it-works §6).
///
/// Its summary is no message: it stands in contexts of the strategy `recorded` only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCompaction {
    /// Messages `0..after` had been recorded when it happened.
    pub after: MessageIndex,
    /// First message still sent verbatim afterwards; `after` where nothing was kept.
    pub kept_from: MessageIndex,
    /// The text that replaced the removed messages; absent when results were
    /// cleared instead (`cleared`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What was sent in front of the messages from `kept_from` on, in order,
    /// where that is not the bare summary in the user's name: the summary as
    /// the agent wrapped it, and messages from further up that it kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<Piece>,
    /// Why the recording does not show what replaced the messages (the vendor
    /// encrypted its summary); absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Ids of the tool calls whose results were cleared (micro-compaction).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleared: Vec<String>,
    /// What triggered the compaction.
    pub trigger: RecordedTrigger,
    /// Prompt tokens that the agent reported just before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Prompt tokens that the agent reported just behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// How long it took, in milliseconds, where the recording says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// The call that wrote the summary, where the recording shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<RecordedCall>,
    /// The time of the compaction, where it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Whether another session of the input counts it, since this one continues a copy of that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
}

impl RecordedCompaction {
    /// Whether messages were removed, with or without a replacement. A
    /// compaction that only cleared results removes none.
    pub fn folds(&self) -> bool {
        self.summary.is_some() || !self.pieces.is_empty() || self.cleared.is_empty()
    }

    /// Whether a message that was sent before is still sent verbatim.
    pub fn keeps(&self, message: MessageIndex) -> bool {
        message >= self.kept_from || self.pieces.contains(&Piece::Message(message))
    }

    /// The texts that replaced the removed messages, as they were sent.
    pub fn texts(&self) -> impl Iterator<Item = (Role, &str)> {
        let bare = self.summary.as_deref().filter(|_| self.pieces.is_empty());
        let pieces = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text { role, text } => Some((*role, text.as_str())),
            Piece::Message(_) => None,
        });
        bare.map(|text| (Role::User, text)).into_iter().chain(pieces)
    }
}
