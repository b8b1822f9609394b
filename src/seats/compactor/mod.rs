//! The compactor's seat: who writes summaries.

mod cues;
mod files;
pub(crate) mod llm;
mod null;
mod offline;
mod or_else;
mod pool;
mod shapes;
mod units;

pub use llm::Llm;
pub use null::Null;
pub use offline::Offline;
pub use or_else::OrElse;

#[cfg(test)]
mod tests;
