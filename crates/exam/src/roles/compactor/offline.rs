//! The offline compactor: extractive, deterministic, without weights.
//!
//! It replaces a model so that everything around a compaction can be measured
//! without one. It copies salient sentences of the conversation into the
//! requested format and is never longer than requested. The scores of its rows
//! describe the offline summary, not the strategy (reference §6).

use std::sync::Arc;

use async_trait::async_trait;

use super::shapes;
use recap_core::tokens::Counter;
use recap_strategy::{
    CallUsage, Compactor, CompactorError, FailedCall, MESSAGES, Produced, Reply, Task, TaskMessage,
};

/// The offline summary for a model in the compactor's role.
#[derive(Debug)]
pub struct Offline {
    counter: Arc<Counter>,
}

impl Offline {
    /// A compactor that limits its replies by this counter.
    pub fn new(counter: Arc<Counter>) -> Self {
        Self { counter }
    }

    fn produce(&self, task: &Task) -> Result<(Produced, String), CompactorError> {
        let counter = &*self.counter;
        let produced = match task {
            Task::SessionState { messages, previous, max_tokens, .. } => {
                shapes::session_state(messages, previous.as_ref(), *max_tokens, counter)
                    .map(Produced::SessionState)
            }
            Task::Continuation { messages, headings, max_tokens, .. } => {
                shapes::continuation(messages, headings, *max_tokens, counter)
                    .map(Produced::Continuation)
            }
            Task::Digest { messages, rolling, known, max_tokens, .. } => {
                shapes::digest(messages, rolling.as_deref(), known, *max_tokens, counter)
                    .map(Produced::Digest)
            }
        };
        let bound = task.max_tokens();
        let produced = produced.ok_or_else(|| {
            CompactorError::Malformed(format!("the asked shape does not fit into {bound} tokens"))
        })?;
        let text = shapes::text(&produced);
        Ok((produced, text))
    }
}

#[async_trait]
impl Compactor for Offline {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let (produced, text) = self.produce(task)?;
        let written = self.counter.count(&text);
        let usage = CallUsage { input: self.input(task), output: written };
        Ok(Reply::unmodelled(produced, usage, written))
    }

    fn name(&self) -> &str {
        "offline"
    }

    fn counting(&self, counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        Some(Arc::new(Offline::new(Arc::clone(counter))))
    }
}

impl Offline {
    /// The input tokens of a call: the prompt, and the messages or the live
    /// conversation before it.
    fn input(&self, task: &Task) -> u64 {
        let sum = |messages: &[TaskMessage]| messages.iter().map(|m| m.tokens).sum::<u64>();
        let (prompt, read) = match task {
            Task::Continuation { prompt, messages, live, .. } => {
                (prompt, live.as_ref().map_or_else(|| sum(messages), |live| live.tokens))
            }
            Task::SessionState { prompt, messages, .. } | Task::Digest { prompt, messages, .. } => {
                (prompt, sum(messages))
            }
        };
        self.counter.count(&prompt.replace(MESSAGES, "")) + read
    }
}
