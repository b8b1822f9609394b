//! The compactor's seat: who writes summaries.

mod cues;
mod offline;
mod pool;
mod shapes;
mod units;

pub use offline::Offline;
