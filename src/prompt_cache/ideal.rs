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

    fn renew(&mut self, at: Timestamp) {
        self.0.renew(at);
    }
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
}
