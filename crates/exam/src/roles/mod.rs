//! The models in the roles, and what stands in for them offline: compactor, answerer, judge,
//! embedder.
//!
//! Invariant: a role sees only the content of its task, so a compactor has
//! access to neither questions nor answers.

pub mod answerer;
pub(crate) mod ask;
pub mod compactor;
pub mod embedder;
pub mod finder;
pub mod judge;

#[cfg(test)]
mod testkit;

pub use ask::NoReply;
