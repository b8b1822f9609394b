//! The compactor's seat, which writes summaries.

mod cues;
mod files;
pub(crate) mod llm;
mod offline;
mod pool;
mod rehearsed;
mod shapes;
mod units;

use async_trait::async_trait;

use crate::strategy::{
    CallUsage, Compactor, Digest, FailedCall, Produced, Reply, SessionState, Task,
};

pub use llm::Llm;
pub use offline::Offline;
pub use rehearsed::Rehearsed;

/// Returns an empty text in the requested format: it shows what a preset keeps without its
/// summaries (cuts §2, the null of a preset).
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

#[async_trait]
impl Compactor for Null {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let produced = match task {
            Task::SessionState { .. } => Produced::SessionState(SessionState::default()),
            Task::Continuation { .. } => Produced::Continuation(String::new()),
            Task::Digest { .. } => Produced::Digest(Digest::default()),
        };
        let input = task.messages().iter().map(|message| message.tokens).sum();
        let usage = CallUsage { input, output: 0 };
        Ok(Reply::unmodelled(produced, usage, usage.output))
    }

    fn name(&self) -> &str {
        "null"
    }
}

#[cfg(test)]
mod tests;
