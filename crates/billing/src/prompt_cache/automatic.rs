//! Automatic caches, free to write, without breakpoints: a request reads the
//! longest prefix that was sent recently.
//!
//! Sources: platform.openai.com, prompt caching; ai.google.dev and
//! api-docs.deepseek.com, context caching.

use jiff::{SignedDuration, Timestamp};

use super::blocks::Unit;
use super::prefixes::Prefixes;
use super::prompt::Prompt;
use super::{Bounds, PromptCache};
use recap_core::model::Buckets;

/// Tokens at the end of an answer that are not read with it. Of 533 recorded
/// requests of Codex and OpenCode this predicts 280 exactly, 27 a step low and 56
/// a step high (64: 271, 62 and 33; none: 229, 0 and 129).
const ANSWERS_END: u64 = 40;

/// A provider's automatic cache.
#[derive(Clone, Debug)]
pub struct Automatic {
    sent: Prefixes,
    /// Lifetime without use.
    pub(super) life: SignedDuration,
    /// Shortest prefix in tokens that is read.
    minimum: u64,
    /// The step in tokens by which a prefix grows beyond the minimum.
    step: u64,
    /// Whether the model's answer to the last prompt is stored with the prompt.
    answers: bool,
    /// What the next request reads, besides what was sent.
    bounds: Bounds,
}

impl Automatic {
    /// OpenAI's rules up to GPT-5.4: from 1,024 tokens on, in steps of 128.
    ///
    /// The documentation gives 5 to 10 minutes without use, an hour at most; ten
    /// minutes are assumed, counted from the last use.
    ///
    /// The model's answer to the last prompt is stored with the prompt: of 395
    /// recorded requests of Codex and OpenCode that read the whole prompt before,
    /// 258 also read a part of the answer, up to its end and never beyond.
    pub fn openai() -> Self {
        Self { answers: true, ..Self::of(SignedDuration::from_mins(10), 1_024, 128) }
    }

    /// The rules of GPT-5.5, as seven recordings of Codex show them: every read
    /// is 384 above a step of 512, and 956 of 1,033 are the last such step of the
    /// prompt before, without the answer to it. The rest as before.
    pub fn openai_wide() -> Self {
        Self::of(SignedDuration::from_mins(10), 1_024 + 384, 512)
    }

    fn of(life: SignedDuration, minimum: u64, step: u64) -> Self {
        let (sent, bounds) = (Prefixes::default(), Bounds::default());
        Self { sent, life, minimum, step, answers: false, bounds }
    }

    /// Gemini's implicit cache, enabled by default, without a guarantee, from the
    /// model's minimum on. No lifetime is published; an hour without use is
    /// assumed, the default of explicit content.
    pub fn gemini(minimum: u64) -> Self {
        Self::of(SignedDuration::from_hours(1), minimum, 1)
    }

    /// DeepSeek's cache on disk. A hit needs a complete stored unit of 64 tokens or
    /// more: units end where inputs and outputs end, which are the ends of our
    /// blocks. Stored prefixes live for "a few hours to a few days"; four hours
    /// without use are assumed.
    pub fn deepseek() -> Self {
        Self::of(SignedDuration::from_hours(4), 64, 1)
    }
}

impl PromptCache for Automatic {
    fn request(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets {
        let blocks = self.sent.known(prompt, at, self.life);
        let mut known = prompt.end(blocks);
        let answer = prompt.block(blocks).filter(|block| block.unit == Unit::Output);
        if let Some(answer) = answer.filter(|_| self.answers && self.sent.ends_newest(blocks)) {
            known = answer.end.saturating_sub(ANSWERS_END).max(known);
        }
        self.sent.send(prompt, at);
        let beyond = known.checked_sub(self.minimum);
        let read = beyond.map_or(0, |more| self.minimum + more / self.step * self.step);
        let read = self.bounds.applied(read, prompt.tokens());
        Buckets::up_to(prompt.tokens(), read, read, read)
    }

    fn is_warm(&self, at: Timestamp) -> bool {
        self.bounds.most.is_none() && self.sent.is_warm(at, self.life)
    }

    fn lose(&mut self, left: u64, shared: u64) {
        self.bounds = Bounds::lost(left, shared);
    }

    fn share(&mut self, tokens: u64) {
        self.bounds = Bounds::shared(tokens);
    }

    fn renew(&mut self, at: Timestamp) {
        self.sent.renew(at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{minutes, prompt, prompt_of, seconds};
    use super::*;

    #[test]
    fn ten_stepped_cache_requests_match_hand_calculation() {
        let mut cache = Automatic::openai();
        let mut read = |blocks: &str, at: Timestamp| {
            let buckets = cache.request(&prompt(blocks), at);
            assert_eq!((buckets.write, buckets.write_1h), (0, 0), "writing is free");
            buckets.read
        };
        // Steps above 1,024: 2,000 → 1,920; 3,000 → 2,944; 4,000 → 3,968.
        assert_eq!(read("a", minutes(0)), 0);
        assert_eq!(read("ab", minutes(1)), 0, "1,000 common tokens are below the minimum");
        assert_eq!(read("abc", minutes(2)), 1_920);
        assert_eq!(read("abcd", minutes(3)), 2_944);
        assert_eq!(read("abXd", minutes(4)), 1_920, "an edit in the middle ends the prefix");
        assert_eq!(read("abcde", minutes(5)), 3_968, "what was there before is there still");
        assert_eq!(read("abcde", minutes(15)), 4_992, "ten minutes are not too long");
        assert_eq!(read("abcde", seconds(25 * 60 + 1)), 0, "ten minutes and a second are");
        assert_eq!(read("xabcde", minutes(26)), 0, "a changed start changes everything");
        assert_eq!(read("xabcdef", minutes(27)), 5_888);
    }

    #[test]
    fn stepped_cache_also_reads_the_model_answer() {
        let mut cache = Automatic::openai();
        let question = (1, 2_000, Unit::Input);
        cache.request(&prompt_of(&[question]), minutes(0));
        let answered = prompt_of(&[question, (2, 1_000, Unit::Output), (3, 500, Unit::Input)]);
        // 2,000 and 1,000 less 40 are 2,960: 1,024 and 15 steps of 128, which
        // are 2,944.
        assert_eq!(cache.clone().request(&answered, minutes(1)).read, 2_944);
        cache.request(&answered, minutes(1));
        let longer = [question, (2, 1_000, Unit::Output), (3, 500, Unit::Input)];
        let longer = prompt_of(&[&longer[..], &[(4, 700, Unit::Input)]].concat());
        // A machine that had the first prompt alone never wrote an answer.
        cache.lose(1_920, 0);
        assert_eq!(cache.request(&longer, minutes(2)).read, 1_920);
        // The next request finds everything again.
        assert_eq!(cache.request(&longer, minutes(3)).read, 4_096);
        cache.lose(0, 0);
        assert_eq!(cache.request(&longer, minutes(4)).read, 0);
        assert_eq!(cache.request(&longer, minutes(5)).read, 4_096);
    }

    #[test]
    fn stepped_cache_reads_prefixes_from_1024_tokens() {
        let read = |tokens| {
            let mut cache = Automatic::openai();
            let question = prompt_of(&[(1, tokens, Unit::Input)]);
            cache.request(&question, minutes(0));
            cache.request(&question, minutes(1)).read
        };
        assert_eq!([1_023, 1_024, 1_151, 1_152, 1_280].map(read), [0, 1_024, 1_024, 1_152, 1_280]);
    }

    #[test]
    fn session_starting_with_answer_first_reads_nothing() {
        let mut cache = Automatic::openai();
        let answer = prompt_of(&[(1, 5_000, Unit::Output), (2, 100, Unit::Input)]);
        assert_eq!(cache.request(&answer, minutes(0)).read, 0);
    }

    #[test]
    fn ten_requests_of_the_implicit_cache_by_hand() {
        let mut cache = Automatic::gemini(4_096);
        let mut read = |blocks: &str, at| cache.request(&prompt(blocks), minutes(at)).read;
        assert_eq!(read("abcd", 0), 0);
        assert_eq!(read("abcde", 1), 0, "4,000 common tokens are below 4,096");
        assert_eq!(read("abcdef", 2), 5_000);
        assert_eq!(read("abcdXf", 3), 0, "4,000 again");
        assert_eq!(read("abcdefg", 4), 6_000);
        assert_eq!(read("abcdefg", 64), 7_000, "an hour is not too long");
        assert_eq!(read("abcdefgh", 125), 0, "61 minutes are");
        assert_eq!(read("xyz", 126), 0);
        assert_eq!(read("abcdefghi", 127), 8_000);
        assert_eq!(read("abcdefghi", 128), 9_000);
    }

    #[test]
    fn ten_disk_cache_requests_match_hand_calculation() {
        let mut cache = Automatic::deepseek();
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
    fn a_prefix_of_exactly_the_minimum_is_read() {
        let read = |mut cache: Automatic, tokens| {
            let one = prompt_of(&[(1, tokens, Unit::Input)]);
            cache.request(&one, minutes(0));
            cache.request(&one, minutes(1)).read
        };
        assert_eq!([63, 64].map(|tokens| read(Automatic::deepseek(), tokens)), [0, 64]);
        assert_eq!([4_095, 4_096].map(|tokens| read(Automatic::gemini(4_096), tokens)), [0, 4_096]);
    }
}
