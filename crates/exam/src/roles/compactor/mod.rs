//! The compactor's role, which writes summaries.

pub(crate) mod llm;
mod offline;

use async_trait::async_trait;

use recap_strategy::{
    Asked, CallUsage, Compactor, Digest, FailedCall, Produced, Reply, SessionState, Task,
};

pub use llm::Llm;
pub use offline::{DryRunCompactor, Offline};

/// Returns an empty text in the requested format: it shows what a strategy keeps without its
/// summaries (how-it-works §45, a strategy without its summaries).
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptySummary;

#[async_trait]
impl Compactor for EmptySummary {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let produced = match task.asked {
            Asked::SessionState { .. } => Produced::SessionState(SessionState::default()),
            Asked::Continuation { .. } => Produced::Continuation(String::new()),
            Asked::Digest { .. } => Produced::Digest(Digest::default()),
        };
        let input = task.messages.iter().map(|message| message.tokens).sum();
        let usage = CallUsage { input, output: 0 };
        Ok(Reply::unmodelled(produced, usage, usage.output))
    }

    fn name(&self) -> &str {
        "without_summary"
    }
}

#[cfg(test)]
mod tests;
