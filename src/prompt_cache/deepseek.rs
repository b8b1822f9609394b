//! DeepSeek's cache on disk: automatic, free to write, without breakpoints.
//!
//! Source: api-docs.deepseek.com, context caching. A hit needs a complete
//! stored unit: units end where inputs and outputs end, which are the ends of
//! our blocks. Stored prefixes live for "a few hours to a few days"; four hours
//! without use are assumed. There is no minimum beyond a unit of 64 tokens.

use jiff::{SignedDuration, Timestamp};

use super::PromptCache;
use super::prefixes::Prefixes;
use super::prompt::Prompt;
use crate::model::Buckets;

/// Assumed lifetime without use.
const LIFE: SignedDuration = SignedDuration::from_hours(4);
/// Length in tokens of a unit; shorter content is not cached.
const UNIT: u64 = 64;

/// DeepSeek's automatic cache on disk.
#[derive(Clone, Debug, Default)]
pub struct DeepSeek(Prefixes);

impl PromptCache for DeepSeek {
    fn request(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets {
        let known = prompt.end(self.0.known(prompt, at, LIFE));
        self.0.send(prompt, at);
        let read = if known < UNIT { 0 } else { known };
        Buckets::up_to(prompt.tokens(), read, read, read)
    }

    fn is_warm(&self, at: Timestamp) -> bool {
        self.0.is_warm(at, LIFE)
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
    use super::super::Unit;
    use super::super::testkit::{minutes, prompt, prompt_of};
    use super::*;

    #[test]
    fn ten_requests_by_hand() {
        let mut cache = DeepSeek::default();
        let mut read = |blocks: &str, at| {
            let buckets = cache.request(&prompt(blocks), minutes(at));
            assert_eq!(buckets.write, 0, "writing is free");
            (buckets.uncached, buckets.read)
        };
        assert_eq!(read("a", 0), (1_000, 0));
        assert_eq!(read("ab", 1), (1_000, 1_000));
        assert_eq!(read("abc", 2), (1_000, 2_000));
        assert_eq!(read("aXc", 3), (2_000, 1_000));
        assert_eq!(read("abcd", 4), (1_000, 3_000));
        assert_eq!(read("abcd", 244), (0, 4_000));
        assert_eq!(read("abcde", 485), (5_000, 0));
        assert_eq!(read("z", 486), (1_000, 0));
        assert_eq!(read("abcdef", 487), (1_000, 5_000));
        assert_eq!(read("zy", 488), (1_000, 1_000));
    }

    #[test]
    fn less_than_a_unit_is_not_cached() {
        let mut cache = DeepSeek::default();
        let short = prompt_of(&[(1, 63, Unit::Input)]);
        cache.request(&short, minutes(0));
        assert_eq!(cache.request(&short, minutes(1)).read, 0);
    }

    #[test]
    fn a_whole_unit_is_cached() {
        let mut cache = DeepSeek::default();
        let unit = prompt_of(&[(1, 64, Unit::Input)]);
        cache.request(&unit, minutes(0));
        assert_eq!(cache.request(&unit, minutes(1)).read, 64);
    }
}
