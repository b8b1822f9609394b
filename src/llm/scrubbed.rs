//! stub
use super::*;
use async_trait::async_trait;
use std::sync::Arc;
/// stub
pub struct Scrubbed(Arc<dyn Llm>);
impl Scrubbed {
    /// stub
    pub fn new(i: Arc<dyn Llm>) -> Self {
        Self(i)
    }
}
#[async_trait]
impl Llm for Scrubbed {
    fn model(&self) -> &Model {
        self.0.model()
    }
    async fn call(&self, c: Call) -> Result<Answered, CallError> {
        self.0.call(c).await
    }
}
