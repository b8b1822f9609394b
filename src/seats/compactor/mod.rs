//! The compactor's seat: who writes summaries.

mod cues;
mod files;
mod offline;
mod pool;
mod shapes;
mod units;

pub use offline::Offline;

#[cfg(test)]
mod tests;
