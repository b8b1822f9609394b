//! The compactor's seat, which writes summaries.

mod cues;
mod files;
pub(crate) mod llm;
mod null;
mod offline;
mod pool;
mod rehearsed;
mod shapes;
mod unit;
mod units;

pub use llm::Llm;
pub use null::Null;
pub use offline::Offline;
pub use rehearsed::Rehearsed;

#[cfg(test)]
mod tests;
