//! Simulates the prompt caches of providers: which part of each prompt is read
//! from a cache, written to one, or billed in full.
//!
//! Rules are a pure function of the requests so far and the simulated clock. Each
//! file names its sources, and its assumptions where a provider publishes no
//! rule.
//!
//! Invariant: the buckets of a request are disjoint and sum to its tokens. Work
//! per request does not grow with the history: prompts store the hash of each
//! of their prefixes, share unchanged parts with their copies, and only the
//! changed part is processed.

mod anthropic;
mod automatic;
mod blocks;
mod gemini;
mod openai;
mod prompt;
mod rules;

pub use anthropic::Anthropic;
pub use blocks::{Blocks, Piece, Unit};
pub use prompt::{Block, Life, Prompt};
pub use rules::{Rules, reads_in_wide_steps};

use jiff::Timestamp;

use recap_core::model::Buckets;

/// A provider's cache during one session. Requests are sent in sequence: each
/// may read what earlier ones wrote.
pub trait PromptCache: Send {
    /// Bills a prompt that is sent at this time. Times must not run backwards.
    fn request(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets;

    /// The cache is lost: the next request reads no more than the first `left`
    /// tokens of its prompt, and of these surely those among its first `shared`
    /// tokens, which other sessions keep alive.
    fn lose(&mut self, _left: u64, _shared: u64) {}

    /// The next request reads at least this many tokens of its prompt, which
    /// other sessions keep alive.
    fn share(&mut self, _tokens: u64) {}

    /// Renews the entries of the last request, because of a request that is not recorded.
    fn renew(&mut self, _at: Timestamp) {}
}

/// Bounds on what the next request reads, whatever the cache holds.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    /// At most this many tokens, where the rest was lost.
    most: Option<u64>,
    /// At least this many.
    least: u64,
}

impl Bounds {
    fn lost(left: u64, shared: u64) -> Self {
        Self { most: Some(left), least: left.min(shared) }
    }

    fn shared(tokens: u64) -> Self {
        Self { most: None, least: tokens }
    }

    /// What is read of a prompt of which the cache holds `found` tokens, once.
    fn applied(&mut self, found: u64, prompt: u64) -> u64 {
        let Self { most, least } = std::mem::take(self);
        found.min(most.unwrap_or(u64::MAX)).max(least).min(prompt)
    }
}

#[cfg(test)]
mod testkit;
