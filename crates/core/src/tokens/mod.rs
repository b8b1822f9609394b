//! Sizes: exact byte-pair counts and the estimators that agents use instead.
//!
//! Invariant: a session's messages are counted once per run, whatever the
//! number of strategies, windows and replicates ([`Sizes::of`](crate::tokens::Sizes::of)).

mod calibration;
mod estimator;
mod known;
mod measured;
mod unseen;
mod weight;

pub use calibration::{Reading, calibrate, readings};
pub use estimator::{Estimator, Reported};
pub use weight::{Shrink, Sizes, Weight, WeightTree};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use known::Known;

/// The vocabulary that texts are counted by: OpenAI's `o200k_base`.
const VOCABULARY: &str = "o200k";

/// How a run counts tokens: by a vocabulary, scaled or not. It also counts its
/// calls. A text that was counted lately is looked up: strategies send the same
/// results cut in the same way, at cut after cut.
#[derive(Clone, Debug)]
pub struct Counter {
    /// Whether sessions with usage are sized by the provider's reported counts (reference §0).
    calibrates: bool,
    factor: f64,
    texts: Arc<AtomicU64>,
    known: Arc<Known>,
}

impl Default for Counter {
    /// A counter that never scales.
    fn default() -> Self {
        let (texts, known) = (Arc::default(), Arc::default());
        Self { calibrates: false, factor: 1.0, texts, known }
    }
}

impl Counter {
    /// The counter of a run where nothing else is asked for: o200k, and the
    /// provider's own count where a recording reports it.
    pub fn where_reported() -> Self {
        Self { calibrates: true, ..Self::default() }
    }

    /// The same for a session whose provider counts `factor` tokens for one
    /// of ours. Texts are summed over both.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self { factor, ..self.clone() }
    }

    /// Whether a session with reported usage is sized by it.
    pub fn calibrates(&self) -> bool {
        self.calibrates
    }

    /// The vocabulary and how it was chosen, for the manifest.
    pub fn describe(&self) -> String {
        let reported = ", the provider's count where it is reported";
        format!("{VOCABULARY}{}", if self.calibrates { reported } else { "" })
    }

    /// Tokens of a text, without any chat framing (how-it-works §9).
    pub fn count(&self, text: &str) -> u64 {
        self.scale(self.unscaled(text))
    }

    /// Tokens of a text by the vocabulary alone.
    pub fn unscaled(&self, text: &str) -> u64 {
        self.texts.fetch_add(1, Ordering::Relaxed);
        self.known.count(text)
    }

    /// What is counted for a text that has so many by the vocabulary alone.
    pub fn scale(&self, unscaled: u64) -> u64 {
        scale(unscaled, self.factor)
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
        let counter = Counter::default();
        assert_eq!(counter.count("hello world"), 2);
        assert_eq!(counter.count(""), 0);
        assert_eq!(counter.count("[Old tool result cleared]"), 6);
    }

    #[test]
    fn scaled_counter_rounds_and_shares_text_count() {
        let counter = Counter::default();
        let scaled = counter.scaled(1.25);
        // 2 × 1.25 = 2.5 and 6 × 1.25 = 7.5: halves go up.
        assert_eq!(scaled.count("hello world"), 3);
        assert_eq!(scaled.count("[Old tool result cleared]"), 8);
        assert_eq!(counter.count("hello world"), 2);
        assert_eq!((counter.texts(), scaled.texts()), (3, 3));
    }

    #[test]
    fn a_text_is_counted_alike_the_second_time() {
        let counter = Counter::default();
        let text = "The same text, sent again and again. ".repeat(40);
        let first = recap_vocabulary::count(&text) as u64;
        assert_eq!((counter.count(&text), counter.count(&text)), (first, first));
        assert_eq!(counter.scaled(0.5).count(&text), scale(first, 0.5));
    }

    #[test]
    fn manifest_names_vocabulary_and_how_it_was_chosen() {
        assert_eq!(Counter::default().describe(), "o200k");
        let reported = Counter::where_reported().describe();
        assert_eq!(reported, "o200k, the provider's count where it is reported");
    }
}
