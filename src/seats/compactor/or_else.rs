//! A compactor with a stand-in behind it.

use std::sync::Arc;

use async_trait::async_trait;

use crate::strategy::{Compactor, CompactorError, FailedCall, Reply, Task};
use crate::tokens::Counter;

/// Asks one compactor, and another where the first refuses. In a rehearsal the
/// first counts what it would be asked, and the second writes the summaries.
pub struct OrElse {
    first: Arc<dyn Compactor>,
    second: Arc<dyn Compactor>,
}

impl OrElse {
    /// The first, or else the second.
    pub fn new(first: Arc<dyn Compactor>, second: Arc<dyn Compactor>) -> Self {
        Self { first, second }
    }
}

#[async_trait]
impl Compactor for OrElse {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        match self.first.run(task).await {
            Err(FailedCall { error: CompactorError::Refused(_), .. }) => {
                self.second.run(task).await
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
        Some(Arc::new(Self { first, second: Arc::clone(&self.second) }))
    }

    fn counting(&self, counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        let own = |shared: &Arc<dyn Compactor>| {
            shared.counting(counter).unwrap_or_else(|| Arc::clone(shared))
        };
        Some(Arc::new(Self { first: own(&self.first), second: own(&self.second) }))
    }
}
