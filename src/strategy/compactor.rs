//! The compactor's seat as mechanisms see it: typed tasks, typed replies.
//!
//! It lives with the strategies and is implemented by the seats, so that a
//! mechanism can reach neither answerer nor judge nor probe.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::model::{Role, Void};
use crate::tokens::Counter;

/// A message as the compactor is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskMessage {
    /// Its role.
    pub role: Role,
    /// Its text as sent.
    pub text: String,
    /// Images, which have no text.
    pub images: u32,
    /// Its size, counted already.
    pub tokens: u64,
}

/// Where the messages go in a rendered prompt. A prompt without it stands
/// behind the messages. It is not what templates write, so that no value that
/// was filled in is taken for it.
pub const MESSAGES: &str = "\u{0}messages\u{0}";

/// The live conversation that a prompt is appended to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Its tokens, preamble and notes included.
    pub tokens: u64,
    /// Preamble and notes as sent; empty where the compactor does not read it.
    pub system: String,
    /// What else is sent, in order; empty where the compactor does not read it.
    pub messages: Vec<TaskMessage>,
}

/// Arachne's compressed conversation state (seed 000, "SessionState Schema").
/// All four fields are always present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionState {
    /// Hard facts, decisions, technical context.
    pub logos: Vec<String>,
    /// Tone, metaphors, communication style.
    pub pathos: Vec<String>,
    /// Shared frameworks and concepts that need no explanation.
    #[serde(rename = "abstract")]
    pub abstract_: Vec<String>,
    /// Narrative of 2–3 sentences.
    pub conversation_summary: String,
}

/// GSV's two sections of a summarisation reply (seed 004, "Three-Tier
/// Summarization").
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// The `<summary>` section.
    pub summary: String,
    /// The `<memories>` section, one durable fact each.
    pub memories: Vec<String>,
}

/// What the compactor is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// A SessionState of the messages, merged into the previous one.
    SessionState {
        /// The rendered prompt.
        prompt: String,
        /// What to fold, oldest first.
        messages: Vec<TaskMessage>,
        /// The state so far.
        previous: Option<SessionState>,
        /// Bound of the reply in tokens.
        max_tokens: u64,
    },
    /// A prompt for continuing the conversation, under these headings.
    Continuation {
        /// The rendered prompt.
        prompt: String,
        /// What to fold, oldest first.
        messages: Vec<TaskMessage>,
        /// The headings asked for.
        headings: Vec<String>,
        /// The live conversation that the prompt is appended to, so that the
        /// call reads its cache; `None`: a fresh request with the messages
        /// alone (semantics §26).
        live: Option<Live>,
        /// Bound of the reply in tokens.
        max_tokens: u64,
    },
    /// A summary of one chunk with the memories worth keeping.
    Digest {
        /// The rendered prompt.
        prompt: String,
        /// The chunk, oldest first.
        messages: Vec<TaskMessage>,
        /// Summary of the chunks before.
        rolling: Option<String>,
        /// Memories that are recorded already.
        known: Vec<String>,
        /// Bound of the reply in tokens.
        max_tokens: u64,
    },
}

impl Task {
    /// Bound of the reply in tokens.
    pub fn max_tokens(&self) -> u64 {
        match self {
            Task::SessionState { max_tokens, .. }
            | Task::Continuation { max_tokens, .. }
            | Task::Digest { max_tokens, .. } => *max_tokens,
        }
    }

    /// Whether the call is appended to the live conversation (semantics §26).
    pub fn is_live(&self) -> bool {
        matches!(self, Task::Continuation { live: Some(_), .. })
    }

    /// What is to be folded.
    pub fn messages(&self) -> &[TaskMessage] {
        match self {
            Task::SessionState { messages, .. }
            | Task::Continuation { messages, .. }
            | Task::Digest { messages, .. } => messages,
        }
    }
}

/// What the compactor gave, in the shape that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Produced {
    /// For [`Task::SessionState`].
    SessionState(SessionState),
    /// For [`Task::Continuation`].
    Continuation(String),
    /// For [`Task::Digest`].
    Digest(Digest),
}

impl Produced {
    /// Whether it has the shape that was asked for.
    pub(super) fn answers(&self, task: &Task) -> bool {
        matches!(
            (self, task),
            (Produced::SessionState(_), Task::SessionState { .. })
                | (Produced::Continuation(_), Task::Continuation { .. })
                | (Produced::Digest(_), Task::Digest { .. })
        )
    }

    /// Whether it says nothing.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Produced::SessionState(state) => *state == SessionState::default(),
            Produced::Continuation(text) => text.trim().is_empty(),
            Produced::Digest(Digest { summary, memories }) => {
                summary.trim().is_empty() && memories.is_empty()
            }
        }
    }
}

/// Tokens of one call to the compactor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallUsage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

/// A reply with its price.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The content.
    pub produced: Produced,
    /// Its tokens; of a task that was put twice, those of both replies.
    pub usage: CallUsage,
    /// Tokens of its text by the compactor's counter. The usage cannot say it:
    /// it may hold reasoning, and a reply that was sent back.
    pub written: u64,
    /// Whether it was cut off and is taken as far as it goes.
    pub cut: bool,
    /// Time that the model took; `None` where no model was called.
    pub latency_ms: Option<f64>,
    /// Whether that time was measured when the call was recorded.
    pub recorded: bool,
}

impl Reply {
    /// A whole reply for which no model was called; `written` is what its text
    /// counts.
    pub fn unmodelled(produced: Produced, usage: CallUsage, written: u64) -> Self {
        Self { produced, usage, written, cut: false, latency_ms: None, recorded: false }
    }
}

/// Why the compactor gave nothing usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactorError {
    /// No model could be asked. This says nothing of the task, so it is no
    /// reason to fall back: the cell fails.
    #[error("no reply: {0}")]
    Unavailable(String),
    /// The model declined, or its provider turned the request down or withheld
    /// the reply.
    #[error("the model refused: {0}")]
    Refused(String),
    /// The task is larger than the compactor's own context.
    #[error("the task is too large for the compactor: {0}")]
    TooLarge(String),
    /// The reply holds nothing.
    #[error("the reply is empty: {0}")]
    Empty(String),
    /// The reply is not whole, and its beginning is of no use.
    #[error("the reply is not whole: {0}")]
    CutOff(String),
    /// The reply has not the asked shape.
    #[error("the reply has not the asked shape: {0}")]
    Malformed(String),
}

impl CompactorError {
    /// Why the reply is void; `None` where nobody was asked. A task that is too
    /// large for the model was turned down.
    pub(super) fn void(&self) -> Option<Void> {
        match self {
            CompactorError::Unavailable(_) => None,
            CompactorError::Refused(_) | CompactorError::TooLarge(_) => Some(Void::Refused),
            CompactorError::Empty(_) => Some(Void::Empty),
            CompactorError::CutOff(_) => Some(Void::CutOff),
            CompactorError::Malformed(_) => Some(Void::WrongShape),
        }
    }
}

/// A call that gave nothing usable, and what it took all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedCall {
    /// Why.
    pub error: CompactorError,
    /// Tokens of the replies that came; zero where none did.
    pub usage: CallUsage,
    /// Time that the model took; `None` where no reply came.
    pub latency_ms: Option<f64>,
    /// Whether that time was measured when the call was recorded.
    pub recorded: bool,
}

/// A failure that took nothing: no reply came.
impl From<CompactorError> for FailedCall {
    fn from(error: CompactorError) -> Self {
        Self { error, usage: CallUsage::default(), latency_ms: None, recorded: false }
    }
}

/// Whoever sits in the compactor's seat.
#[async_trait]
pub trait Compactor: Send + Sync {
    /// Does one task. The reply is never longer than the task's bound, by the
    /// compactor's own count of tokens; a model that is granted room for its
    /// reasoning may use it for the reply too.
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall>;

    /// `offline`, or `provider/model`.
    fn name(&self) -> &str;

    /// Whether it reads the texts of [`Live`]: they are long, so that nobody
    /// copies them for one that does not.
    fn reads_live(&self) -> bool {
        false
    }

    /// The same for a repetition of the compaction, from 0; `None` where
    /// repetitions cannot differ.
    fn repeated(&self, _replicate: u32) -> Option<Arc<dyn Compactor>> {
        None
    }

    /// The same for a transcript whose tokens are counted so; `None` where it
    /// does not count by itself, as a model does not.
    fn counting(&self, _counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        None
    }
}
