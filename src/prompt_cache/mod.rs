//! Providers' prompt caches, simulated: which part of each prompt is read
//! from a cache, written to one, or billed in full.
//!
//! Each provider's rules are one file and a pure function of the requests so
//! far and the simulated clock. Sources are named there; where a provider
//! publishes no rule, the assumption is.
//!
//! Invariant: the buckets of a request are disjoint and sum to its tokens.
//! Work per request does not grow with the history: prompts know the hash of
//! each of their prefixes, share with their copies what did not change, and
//! only what changed is looked at.

mod anthropic;
mod blocks;
mod deepseek;
mod gemini;
mod ideal;
mod openai;
mod prefixes;
mod prompt;
mod rules;

pub use anthropic::Anthropic;
pub use blocks::Unit;
pub(crate) use blocks::{Blocks, Piece};
pub use deepseek::DeepSeek;
pub use gemini::{GeminiExplicit, GeminiImplicit};
pub use ideal::Ideal;
pub use openai::{OpenAiMarked, OpenAiSteps};
pub use prompt::{Block, Life, Prompt};
pub use rules::{NoCache, Rules};

use jiff::Timestamp;

use crate::model::Buckets;

/// A provider's cache during one session. Requests come one after the other:
/// each may read what the ones before it wrote.
pub trait PromptCache: Send {
    /// Bills a prompt that is sent at this time. Times must not run backwards.
    fn request(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets;

    /// Whether the cache entries of the last request can still be read.
    fn is_warm(&self, at: Timestamp) -> bool;

    /// Empties the cache except for the first blocks of the prompt, which other
    /// sessions keep alive: a restart, or an eviction.
    fn reset(&mut self, prompt: &Prompt, kept: usize, at: Timestamp);

    /// The next request finds nothing that was first sent after an instant: it
    /// was answered by a machine that has only seen the requests up to then.
    fn forget_after(&mut self, at: Timestamp);

    /// Renews the entries of the last request, because of a request that is not recorded.
    fn renew(&mut self, at: Timestamp);
}

#[cfg(test)]
mod testkit;
