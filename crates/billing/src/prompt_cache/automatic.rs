//! Automatic caches, free to write, without breakpoints: a request reads the
//! longest prefix that was sent recently.
//!
//! Sources: platform.openai.com, prompt caching; ai.google.dev and
//! api-docs.deepseek.com, context caching.

use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHashMap;

use super::blocks::Unit;
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

// Every prefix that a session sent, with the time of its last use: the
// possible contents of an automatic cache.
//
// Prefixes are not stored one by one. Those of the newest prompt follow from
// the prompt itself, and each earlier prompt is a branch: it shares a prefix
// with the prompt after it, and ends differently. Prompts share unchanged
// parts, so that a branch needs memory only for its changes.

/// Number of changes after which a branch is forgotten: no prompt returns to a
/// state so many changes ago, and no known recording has as many requests.
const KEPT: u64 = 4_096;

/// All prefixes that a session sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefixes {
    newest: Prompt,
    newest_at: Option<Timestamp>,
    /// Branches of the newest prompt and of earlier ones, by their first prefix
    /// that is on no other branch.
    left: FxHashMap<u64, Branch>,
    /// Number of branches so far.
    turns: u64,
}

/// The rest of an earlier prompt, after the prefix that it shares with a later one.
#[derive(Clone, Debug)]
struct Branch {
    prompt: Prompt,
    /// Time of the last use of its prefixes.
    used: Timestamp,
    /// Number of the change that created it.
    turn: u64,
}

impl Prefixes {
    /// How many leading blocks of the prompt were sent before and used within
    /// `life`.
    pub fn known(&self, prompt: &Prompt, at: Timestamp, life: SignedDuration) -> usize {
        let lives = |used: Timestamp| at.duration_since(used) <= life;
        if !self.newest_at.is_some_and(lives) {
            // Older prefixes were last used even earlier.
            return 0;
        }
        let mut to = self.newest.common(prompt);
        while to < prompt.len()
            && let Some(branch) = self.left.get(&prompt.prefix(to + 1))
            && lives(branch.used)
        {
            to = branch.prompt.common(prompt);
        }
        to
    }

    /// Whether a request reads all of the newest prompt, and may therefore also
    /// read the model's answer to it.
    fn ends_newest(&self, known: usize) -> bool {
        known > 0 && known == self.newest.len()
    }

    /// Records a prompt that is sent now.
    pub fn send(&mut self, prompt: &Prompt, at: Timestamp) {
        let mut to = self.newest.common(prompt);
        if let Some(used) = self.newest_at {
            let newest = std::mem::take(&mut self.newest);
            self.turns += 1;
            self.leave(to, Branch { prompt: newest, used, turn: self.turns });
        }
        // Blocks that are sent again become part of the newest prompt.
        while to < prompt.len()
            && let Some(branch) = self.left.remove(&prompt.prefix(to + 1))
        {
            to = branch.prompt.common(prompt);
            self.leave(to, branch);
        }
        self.newest = prompt.clone();
        self.newest_at = Some(at);
    }

    /// Stores the rest of a branch after `blocks` blocks, if it has any.
    fn leave(&mut self, blocks: usize, branch: Branch) {
        if blocks < branch.prompt.len() {
            self.left.insert(branch.prompt.prefix(blocks + 1), branch);
        }
        if self.left.len() as u64 > 2 * KEPT {
            let turns = self.turns;
            self.left.retain(|_, branch| branch.turn + KEPT > turns);
        }
    }

    /// Renews the newest prompt.
    pub fn renew(&mut self, at: Timestamp) {
        self.newest_at = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt_cache::testkit::{minutes, prompt, prompt_of, seconds};

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

#[cfg(test)]
mod prefixes_tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::prompt_cache::Unit;
    use crate::prompt_cache::testkit::{minutes, prompt};

    const HALF_AN_HOUR: SignedDuration = SignedDuration::from_mins(30);

    #[test]
    fn resent_prefix_stays_known_for_its_lifetime() {
        let mut sent = Prefixes::default();
        let known = |sent: &Prefixes, blocks: &str, at| {
            sent.known(&prompt(blocks), minutes(at), HALF_AN_HOUR)
        };
        assert_eq!(known(&sent, "abc", 0), 0);
        sent.send(&prompt("abcd"), minutes(0));
        assert_eq!(known(&sent, "abcde", 10), 4);
        sent.send(&prompt("abx"), minutes(10));
        // `abcd` was last used at 0, `ab` at 10.
        assert_eq!(known(&sent, "abcd", 30), 4);
        assert_eq!(known(&sent, "abcd", 31), 2);
        assert_eq!(known(&sent, "abcd", 41), 0);
        sent.send(&prompt("abcd"), minutes(20));
        assert_eq!(known(&sent, "abxy", 40), 3);
        assert_eq!(known(&sent, "abxy", 41), 2);
    }

    /// A simple model of [`Prefixes`]: a list of every prefix, each with the time
    /// of its last use.
    #[derive(Default)]
    struct Plain {
        sent: BTreeMap<Vec<u8>, Timestamp>,
        newest: Vec<u8>,
    }

    impl Plain {
        fn prefixes(letters: &[u8]) -> impl Iterator<Item = &[u8]> {
            (1..=letters.len()).map(|length| &letters[..length])
        }

        fn known(&self, letters: &[u8], at: Timestamp) -> usize {
            let lives = |used: &Timestamp| at.duration_since(*used) <= HALF_AN_HOUR;
            let known = |prefix: &&[u8]| self.sent.get(*prefix).is_some_and(lives);
            Self::prefixes(letters).take_while(known).count()
        }

        fn send(&mut self, letters: &[u8], at: Timestamp) {
            for prefix in Self::prefixes(letters) {
                self.sent.insert(prefix.to_vec(), at);
            }
            self.newest = letters.to_vec();
        }

        fn renew(&mut self, at: Timestamp) {
            for prefix in Self::prefixes(&self.newest) {
                self.sent.insert(prefix.to_vec(), at);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn branches_find_same_prefixes_as_full_list(
            requests in prop::collection::vec(("[ab]{1,7}", 0i64..25, 0u8..8), 1..60),
        ) {
            let (mut sent, mut plain, mut now) = (Prefixes::default(), Plain::default(), 0);
            for (letters, pause, event) in requests {
                now += pause;
                let at = minutes(now);
                if event == 0 && !plain.newest.is_empty() {
                    sent.renew(at);
                    plain.renew(at);
                }
                let known = sent.known(&prompt(&letters), at, HALF_AN_HOUR);
                prop_assert_eq!(known, plain.known(letters.as_bytes(), at));
                sent.send(&prompt(&letters), at);
                plain.send(letters.as_bytes(), at);
            }
        }
    }

    /// Sends a window of this many blocks that moves by one with every request.
    fn slide(sent: &mut Prefixes, requests: usize, window: usize) {
        let mut moving = Prompt::default();
        for request in 0..requests {
            moving.push(request as u64, 10, 1, Unit::Input);
            if let Some(out) = request.checked_sub(window) {
                moving.body_mut().set(out, None);
            }
            sent.send(&moving, minutes(0));
        }
    }

    #[test]
    fn sliding_window_memory_grows_only_with_requests() {
        for window in [10, 100, 1_000] {
            let mut sent = Prefixes::default();
            slide(&mut sent, 2_000, window);
            assert_eq!(sent.left.len(), 2_000 - window, "one branch a turn");
        }
    }

    #[test]
    fn old_branches_are_forgotten() {
        let mut sent = Prefixes::default();
        slide(&mut sent, 5 * KEPT as usize, 3);
        assert!(sent.left.len() as u64 <= 2 * KEPT, "{}", sent.left.len());
        let window = |first: u64| {
            let mut prompt = Prompt::default();
            (first..first + 3).for_each(|block| prompt.push(block, 10, 1, Unit::Input));
            prompt
        };
        let known = |first| sent.known(&window(first), minutes(0), HALF_AN_HOUR);
        assert_eq!((known(0), known(4 * KEPT + 10), known(5 * KEPT - 3)), (0, 3, 3));
    }

    #[test]
    fn branches_are_pruned_at_twice_the_kept_number() {
        // The first three requests only grow; each later one leaves a branch.
        let left = |branches: u64| {
            let mut sent = Prefixes::default();
            slide(&mut sent, branches as usize + 3, 3);
            sent.left.len() as u64
        };
        assert_eq!(left(2 * KEPT), 2 * KEPT);
        assert_eq!(left(2 * KEPT + 1), KEPT);
    }

    #[test]
    fn never_filled_prefixes_are_not_complete() {
        let mut sent = Prefixes::default();
        assert!(!sent.ends_newest(0));
        sent.send(&prompt("ab"), minutes(0));
        assert!(sent.ends_newest(2) && !sent.ends_newest(1));
    }
}
