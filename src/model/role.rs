//! Who says something, and where it stands.

use serde::{Deserialize, Serialize};

/// Position of a message in [`Transcript::messages`](super::Transcript::messages), from 0.
pub type MessageIndex = u32;

/// Who a message is attributed to when it is sent to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Role {
    /// Instructions within the conversation itself.
    System,
    /// The person, or the harness on behalf of them.
    User,
    /// The recorded agent's model.
    Assistant,
    /// The result of one tool call.
    Tool,
}

impl Role {
    /// The lower-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
