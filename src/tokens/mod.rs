//! Sizes: exact byte-pair counts and the estimators that agents use instead.
//!
//! Invariant: a transcript's messages are counted once per run, whatever the
//! number of presets, windows and replicates ([`Sizes::of`](crate::tokens::Sizes::of)).

mod calibration;
mod estimator;
mod measured;
mod unseen;
mod weight;

pub use calibration::{Reading, calibrate, readings};
pub use estimator::{Estimator, Reported};
pub use weight::{Shrink, Sizes, Weight, WeightTree};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A byte-pair vocabulary of OpenAI.
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

/// Which transcripts are sized by the provider's reported counts (measures §0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calibrate {
    /// None: every count is the vocabulary's own.
    #[default]
    Never,
    /// Every transcript with usage.
    WhereReported,
}

/// How a run counts tokens: by a vocabulary, scaled or not. It also counts its
/// calls.
#[derive(Clone, Debug)]
pub struct Counter {
    encoding: Encoding,
    calibrate: Calibrate,
    factor: f64,
    texts: Arc<AtomicU64>,
}

impl Default for Counter {
    fn default() -> Self {
        Self::new(Encoding::default())
    }
}

impl Counter {
    /// A counter for one vocabulary, never scaled.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, calibrate: Calibrate::Never, factor: 1.0, texts: Arc::default() }
    }

    /// The counter of a run where nothing else is asked for: o200k, and the
    /// provider's own count where a recording reports it.
    pub fn where_reported() -> Self {
        Self::default().calibrating(Calibrate::WhereReported)
    }

    /// The same, which scales the counts of these transcripts.
    #[must_use]
    pub fn calibrating(self, calibrate: Calibrate) -> Self {
        Self { calibrate, ..self }
    }

    /// The same for a transcript whose provider counts `factor` tokens for one
    /// of ours. Texts are summed over both.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self { factor, ..self.clone() }
    }

    /// The vocabulary that it counts with.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether a transcript with reported usage is sized by it.
    pub fn calibrates(&self) -> bool {
        self.calibrate == Calibrate::WhereReported
    }

    /// The vocabulary and how it was chosen, for the manifest.
    pub fn describe(&self) -> String {
        let vocabulary = self.encoding.as_str();
        match self.calibrate {
            Calibrate::Never => vocabulary.to_owned(),
            Calibrate::WhereReported => {
                format!("{vocabulary}, the provider's count where it is reported")
            }
        }
    }

    /// Tokens of a text, without any chat framing (semantics §9).
    pub fn count(&self, text: &str) -> u64 {
        self.texts.fetch_add(1, Ordering::Relaxed);
        let tokenizer = match self.encoding {
            Encoding::O200k => bpe_openai::o200k_base(),
            Encoding::Cl100k => bpe_openai::cl100k_base(),
        };
        scale(tokenizer.count(text) as u64, self.factor)
    }

    /// Texts counted so far.
    pub fn texts(&self) -> u64 {
        self.texts.load(Ordering::Relaxed)
    }
}

/// The provider's tokens for `tokens` of ours.
fn scale(tokens: u64, factor: f64) -> u64 {
    (tokens as f64 * factor).round() as u64
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

    #[test]
    fn a_scaled_counter_rounds_and_shares_the_number_of_texts() {
        let counter = Counter::new(Encoding::O200k);
        let scaled = counter.scaled(1.25);
        // 2 × 1.25 = 2.5 and 6 × 1.25 = 7.5: halves go up.
        assert_eq!(scaled.count("hello world"), 3);
        assert_eq!(scaled.count("[Old tool result cleared]"), 8);
        assert_eq!(counter.count("hello world"), 2);
        assert_eq!((counter.texts(), scaled.texts()), (3, 3));
    }

    #[test]
    fn the_manifest_is_told_the_vocabulary_and_how_it_was_chosen() {
        let described = |calibrate| Counter::default().calibrating(calibrate).describe();
        assert_eq!(described(Calibrate::Never), "o200k");
        assert_eq!(
            described(Calibrate::WhereReported),
            "o200k, the provider's count where it is reported"
        );
    }
}
