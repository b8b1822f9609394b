//! The compactor's seat as mechanisms see it: typed tasks, typed replies.
//!
//! It lives with the strategies and is implemented by the seats, so that a
//! mechanism can reach neither answerer nor judge nor probe.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::model::Role;
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
        /// alone (`semantics` 26).
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

    /// Whether the call is appended to the live conversation (`semantics` 26).
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
    /// Its tokens.
    pub usage: CallUsage,
    /// Time that the model took; `None` where no model was called.
    pub latency_ms: Option<f64>,
    /// Whether that time was measured when the call was recorded.
    pub recorded: bool,
}

/// Why the compactor gave nothing usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactorError {
    /// No model could be asked. This says nothing of the task, so it is no
    /// reason to fall back: the cell fails.
    #[error("no reply: {0}")]
    Unavailable(String),
    /// The model declined, or its provider withheld the reply.
    #[error("the model refused: {0}")]
    Refused(String),
    /// The task is larger than the compactor's own context.
    #[error("the task is too large for the compactor: {0}")]
    TooLarge(String),
    /// The reply has not the asked shape.
    #[error("the reply has not the asked shape: {0}")]
    Malformed(String),
}

/// Whoever sits in the compactor's seat.
#[async_trait]
pub trait Compactor: Send + Sync {
    /// Does one task. The reply is never longer than the task's bound, by the
    /// compactor's own count of tokens; a model that is granted room for its
    /// reasoning may use it for the reply too.
    async fn run(&self, task: &Task) -> Result<Reply, CompactorError>;

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

/// One call as the meter saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelCall {
    /// Its tokens; zero for a failed call.
    pub usage: CallUsage,
    /// Time that the model took.
    pub latency_ms: Option<f64>,
    /// Whether that time was measured when the call was recorded.
    pub recorded: bool,
    /// Whether it was appended to the live conversation, whose cache it reads.
    pub live: bool,
}

/// Passes tasks on and keeps count of them.
pub struct Metered<'a> {
    inner: &'a dyn Compactor,
    calls: Mutex<Vec<ModelCall>>,
    unavailable: Mutex<Option<String>>,
}

impl<'a> Metered<'a> {
    /// A fresh meter in front of a compactor.
    pub fn new(inner: &'a dyn Compactor) -> Self {
        Self { inner, calls: Mutex::default(), unavailable: Mutex::default() }
    }

    /// The calls since the last time this was asked.
    pub fn take(&self) -> Vec<ModelCall> {
        std::mem::take(&mut *self.calls.lock().expect("no call panics while metering"))
    }

    /// Why a call could not be made, if one could not: the first one's reason.
    /// Whatever the strategy made of it then says nothing of the strategy.
    pub fn unavailable(&self) -> Option<String> {
        self.unavailable.lock().expect("no call panics while metering").clone()
    }
}

#[async_trait]
impl Compactor for Metered<'_> {
    async fn run(&self, task: &Task) -> Result<Reply, CompactorError> {
        let reply = self.inner.run(task).await;
        let live = task.is_live();
        let call = match &reply {
            Ok(Reply { usage, latency_ms, recorded, .. }) => {
                let (usage, latency_ms, recorded) = (*usage, *latency_ms, *recorded);
                ModelCall { usage, latency_ms, recorded, live }
            }
            Err(_) => ModelCall { live, ..ModelCall::default() },
        };
        self.calls.lock().expect("no call panics while metering").push(call);
        if let Err(CompactorError::Unavailable(why)) = &reply {
            let mut first = self.unavailable.lock().expect("no call panics while metering");
            first.get_or_insert_with(|| why.clone());
        }
        reply
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn reads_live(&self) -> bool {
        self.inner.reads_live()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::testkit::Scripted;

    #[tokio::test]
    async fn a_meter_remembers_the_first_outage() {
        let task = || Task::Digest {
            prompt: String::new(),
            messages: Vec::new(),
            rolling: None,
            known: Vec::new(),
            max_tokens: 9,
        };
        let compactor = Scripted::failing_at([1, 3]);
        let meter = Metered::new(&*compactor);
        assert!(meter.run(&task()).await.is_ok());
        assert_eq!(meter.unavailable(), None);
        for _ in 0..3 {
            let _ = meter.run(&task()).await;
        }
        assert_eq!(meter.unavailable().as_deref(), Some("call 1 fails"));
        assert_eq!(meter.take().len(), 4);
        assert!(meter.unavailable().is_some(), "whatever became of the calls");
    }
}
