//! Sizes: exact byte-pair counts and the estimators that agents use instead.
//!
//! Invariant: a transcript's messages are counted once per run, whatever the
//! number of presets, windows and replicates ([`Sizes::of`](crate::tokens::Sizes::of)).

mod estimator;
mod weight;

pub use estimator::{Estimator, Reported};
pub use weight::{Sizes, Weight, WeightTree};

use std::sync::atomic::{AtomicU64, Ordering};

/// A byte-pair vocabulary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// OpenAI's `o200k_base` (GPT-4o and later): the default.
    #[default]
    O200k,
    /// OpenAI's `cl100k_base` (GPT-4, GPT-3.5).
    Cl100k,
}

impl Encoding {
    /// The name that `--tokens` takes.
    pub fn as_str(self) -> &'static str {
        match self {
            Encoding::O200k => "o200k",
            Encoding::Cl100k => "cl100k",
        }
    }
}

/// Counts tokens exactly, and counts how often it was asked.
#[derive(Debug, Default)]
pub struct Counter {
    encoding: Encoding,
    texts: AtomicU64,
}

impl Counter {
    /// A counter for one vocabulary.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, texts: AtomicU64::new(0) }
    }

    /// The vocabulary.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Tokens of a text, without any chat framing (`semantics` 9).
    pub fn count(&self, text: &str) -> u64 {
        self.texts.fetch_add(1, Ordering::Relaxed);
        let tokenizer = match self.encoding {
            Encoding::O200k => bpe_openai::o200k_base(),
            Encoding::Cl100k => bpe_openai::cl100k_base(),
        };
        tokenizer.count(text) as u64
    }

    /// Texts counted so far.
    pub fn texts(&self) -> u64 {
        self.texts.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o200k_counts_match_tiktoken() {
        // tiktoken 0.14: len(get_encoding("o200k_base").encode(text)).
        let counter = Counter::new(Encoding::O200k);
        assert_eq!(counter.count("hello world"), 2);
        assert_eq!(counter.count(""), 0);
        assert_eq!(counter.count("[Old tool result cleared]"), 6);
    }

    #[test]
    fn cl100k_counts_match_tiktoken() {
        let counter = Counter::new(Encoding::Cl100k);
        assert_eq!(counter.count("hello world"), 2);
        assert_eq!(counter.count("tiktoken is great!"), 6);
    }
}
