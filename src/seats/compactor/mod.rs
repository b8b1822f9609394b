//! The compactor's seat: who writes summaries.

mod cues;
mod files;
pub(crate) mod llm;
mod offline;
mod pool;
mod shapes;
mod units;

pub use llm::Llm;
pub use offline::Offline;

#[cfg(test)]
mod tests;
