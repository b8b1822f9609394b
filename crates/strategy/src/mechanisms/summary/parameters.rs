//! The parameters of a summary in a strategy.

use serde::Deserialize;

use super::tail::Tail;
use crate::mechanism::{Build, BuildError};
use recap_core::model::Role;

/// The parameters as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub prompt: String,
    /// The prompt used instead of `prompt` once there is a summary.
    pub update_prompt: Option<String>,
    /// The prompt of a second call, which gets the same messages and `{{draft}}`.
    pub check_prompt: Option<String>,
    pub request: Request,
    /// Largest size of a reply, in tokens.
    pub max_tokens: u64,
    /// The newest messages that stay.
    #[serde(default)]
    pub keep: Tail,
    /// Number of recorded messages at the beginning that stay.
    #[serde(default)]
    pub keep_first: u32,
    /// Tokens of the newest user messages among the rest that stay.
    #[serde(default)]
    pub keep_user_messages: u64,
    /// Nothing is done unless at least this many responses of the agent would be folded.
    #[serde(default)]
    pub fold_responses: usize,
    /// Characters of each tool output that the summariser is sent.
    pub tool_text: Option<usize>,
    #[serde(default)]
    pub merge: Merge,
    /// Largest size of a summary merged by sections, in tokens.
    pub max_summary: Option<u64>,
    #[serde(default)]
    pub role: Speaker,
    /// First line of the summary.
    #[serde(default = "marker")]
    pub marker: String,
    /// A user's message before the summary, if any.
    pub opening: Option<String>,
    /// The agent's answer to the summary, if any.
    pub reply: Option<String>,
    /// Whether a summary that does not shrink the context is refused, and none
    /// is tried from then on.
    #[serde(default)]
    pub refuse_larger: bool,
}

impl Parameters {
    /// Refuses combinations that make no sense.
    pub(super) fn read(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters: Parameters = build.read()?;
        parameters.keep.check()?;
        if parameters.max_tokens == 0 {
            return Err("`max_tokens` must be at least 1".into());
        }
        if parameters.request == Request::Prefix && parameters.tool_text.is_some() {
            return Err("`tool_text` shortens messages, and a prefix is sent as it is".into());
        }
        if (parameters.merge == Merge::Sections) != parameters.max_summary.is_some() {
            return Err("`merge = \"sections\"` and `max_summary` go together".into());
        }
        Ok(parameters)
    }
}

fn marker() -> String {
    "[Conversation summary]".to_owned()
}

/// What is sent to the summariser (how-it-works §26).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Request {
    /// The live conversation with the prompt behind it, whose cache is read.
    Prefix,
    /// The messages to fold, in a separate request.
    Fresh,
}

/// What happens to the existing summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Merge {
    /// It is the oldest of the messages that the summariser gets.
    #[default]
    Rewrite,
    /// Only new messages are summarised, and the result is added to its sections.
    Sections,
}

/// The role of the summary's message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Speaker {
    #[default]
    User,
    Assistant,
    System,
}

impl Speaker {
    pub fn role(self) -> Role {
        match self {
            Speaker::User => Role::User,
            Speaker::Assistant => Role::Assistant,
            Speaker::System => Role::System,
        }
    }
}
