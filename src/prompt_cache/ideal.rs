//! An ideal cache, which never forgets: every prefix that was ever sent is
//! read.
//!
//! No provider has it. It shows what a strategy would cost with a perfect
//! cache, besides its cost with the real one (measures §2).

use jiff::Timestamp;

use super::PromptCache;
use super::prefixes::Prefixes;
use super::prompt::Prompt;
use crate::model::Buckets;

/// A cache that never forgets and charges nothing for writing.
#[derive(Clone, Debug, Default)]
pub struct Ideal(Prefixes);

impl PromptCache for Ideal {
    fn request(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets {
        let read = prompt.end(self.0.known(prompt, at, None));
        self.0.send(prompt, at);
        Buckets::up_to(prompt.tokens(), read, read, read)
    }

    fn is_warm(&self, at: Timestamp) -> bool {
        self.0.is_warm(at, None)
    }

    fn reset(&mut self, _prompt: &Prompt, kept: usize, _at: Timestamp) {
        self.0.reset(kept);
    }

    fn forget_after(&mut self, at: Timestamp) {
        self.0.forget_after(at);
    }

    /// What never expires needs no renewal.
    fn renew(&mut self, _at: Timestamp) {}
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{minutes, prompt};
    use super::*;

    #[test]
    fn every_earlier_prefix_is_read_whatever_its_age() {
        let mut cache = Ideal::default();
        let mut read = |blocks: &str, at| cache.request(&prompt(blocks), minutes(at)).read;
        // Blocks have 1,000 tokens each.
        assert_eq!(read("abc", 0), 0);
        assert_eq!(read("abcd", 1), 3_000);
        assert_eq!(read("ax", 2), 1_000);
        assert_eq!(read("abcde", 100_000), 4_000);
    }

    #[test]
    fn it_stays_warm_for_ever_once_something_was_sent_and_until_it_is_emptied() {
        let mut cache = Ideal::default();
        assert!(!cache.is_warm(minutes(0)));
        cache.request(&prompt("ab"), minutes(0));
        cache.request(&prompt("abcd"), minutes(2));
        assert!(cache.is_warm(minutes(1_000_000)));
        // A machine that saw the first request only.
        cache.forget_after(minutes(0));
        assert_eq!(cache.request(&prompt("abcde"), minutes(3)).read, 2_000);
        cache.reset(&prompt("abcde"), 1, minutes(4));
        assert!(cache.is_warm(minutes(4)), "others keep a block alive");
        assert_eq!(cache.request(&prompt("abcde"), minutes(4)).read, 1_000);
        cache.reset(&prompt("abcde"), 0, minutes(5));
        assert!(!cache.is_warm(minutes(5)));
        assert_eq!(cache.request(&prompt("abcde"), minutes(5)).read, 0);
    }
}
