//! Who sits in the seats that strategies and exams call on.
//!
//! Invariant: a seat sees only what its task carries, so a compactor can reach
//! neither probe nor answer.

pub mod answerer;
mod ask;
pub mod compactor;
pub mod embedder;
mod fence;
pub mod finder;
pub mod judge;

#[cfg(test)]
mod testkit;
