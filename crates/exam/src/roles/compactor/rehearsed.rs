//! The compactor of a rehearsal: a cost estimate, with an offline summary behind it.

use std::sync::Arc;

use async_trait::async_trait;

use recap_core::tokens::Counter;
use recap_llm::DryRunCalls;
use recap_strategy::{Compactor, CompactorError, FailedCall, Reply, Task};

/// The first compactor counts the requests that it would make and refuses them;
/// the second one then writes the summaries, and their lengths are recorded.
pub struct Rehearsed {
    first: Arc<dyn Compactor>,
    second: Arc<dyn Compactor>,
    foreseen: Arc<DryRunCalls>,
}

impl Rehearsed {
    /// Combines the two compactors: `second` writes what `first` refuses.
    pub fn new(
        first: Arc<dyn Compactor>,
        second: Arc<dyn Compactor>,
        foreseen: Arc<DryRunCalls>,
    ) -> Self {
        Self { first, second, foreseen }
    }
}

#[async_trait]
impl Compactor for Rehearsed {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        match self.first.run(task).await {
            Err(FailedCall { error: CompactorError::Refused(_), .. }) => {
                let outcome = self.second.run(task).await;
                if let Ok(reply) = &outcome {
                    self.foreseen.add_summary(reply.usage.output);
                }
                outcome
            }
            outcome => outcome,
        }
    }

    fn name(&self) -> &str {
        self.first.name()
    }

    fn reads_live(&self) -> bool {
        self.first.reads_live() || self.second.reads_live()
    }

    fn repeated(&self, replicate: u32) -> Option<Arc<dyn Compactor>> {
        let first = self.first.repeated(replicate)?;
        let (second, foreseen) = (Arc::clone(&self.second), Arc::clone(&self.foreseen));
        Some(Arc::new(Self { first, second, foreseen }))
    }

    fn counting(&self, counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        let own = |shared: &Arc<dyn Compactor>| {
            shared.counting(counter).unwrap_or_else(|| Arc::clone(shared))
        };
        let (first, second) = (own(&self.first), own(&self.second));
        Some(Arc::new(Self { first, second, foreseen: Arc::clone(&self.foreseen) }))
    }
}
