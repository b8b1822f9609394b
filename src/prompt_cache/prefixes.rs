//! Every prefix that a session sent, with the time of its last use: the
//! possible contents of an automatic cache.
//!
//! Prefixes are not stored one by one. Those of the newest prompt follow from
//! the prompt itself, and each earlier prompt is a branch: it shares a prefix
//! with the prompt after it, and ends differently. Prompts share unchanged
//! parts, so that a branch needs memory only for its changes.

use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHashMap;

use super::prompt::Prompt;

/// Number of changes after which a branch is forgotten: no prompt returns to a
/// state so many changes ago, and no known recording has as many requests.
pub(super) const KEPT: u64 = 4_096;

/// All prefixes that a session sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefixes {
    newest: Prompt,
    /// When each prefix of the newest prompt was first sent.
    first: Firsts,
    newest_at: Option<Timestamp>,
    /// Branches of the newest prompt and of earlier ones, by their first prefix
    /// that is on no other branch.
    left: FxHashMap<u64, Branch>,
    /// Number of branches so far.
    turns: u64,
    /// Which prefixes the next request finds.
    found: Found,
}

/// The rest of an earlier prompt, after the prefix that it shares with a later one.
#[derive(Clone, Debug)]
struct Branch {
    prompt: Prompt,
    first: Firsts,
    /// Time of the last use of its prefixes.
    used: Timestamp,
    /// Number of the change that created it.
    turn: u64,
}

/// When the prefixes of a prompt were first sent: pairs of a number of blocks
/// and a time. Longer prefixes came later.
#[derive(Clone, Debug, Default)]
struct Firsts(Vec<(usize, Timestamp)>);

impl Firsts {
    /// Removes the prefixes of more than `blocks` blocks and returns them.
    fn split_off(&mut self, blocks: usize) -> Self {
        let kept = self.0.partition_point(|(to, _)| *to <= blocks);
        let rest = self.0.split_off(kept);
        let before = self.0.last().map_or(0, |(to, _)| *to);
        if let Some((_, at)) = rest.first()
            && before < blocks
        {
            self.0.push((blocks, *at));
        }
        Self(rest)
    }

    /// How many leading blocks, up to `most`, were first sent at times for
    /// which `holds` is true; it must be true up to some time.
    fn leading(&self, most: usize, holds: impl Fn(Timestamp) -> bool) -> usize {
        let sent = self.0.partition_point(|(_, first)| holds(*first));
        sent.checked_sub(1).map_or(0, |last| self.0[last].0).min(most)
    }
}

/// The prefixes that a request finds. A different machine may answer the next
/// one, so nothing is removed permanently.
#[derive(Clone, Copy, Debug, Default)]
enum Found {
    /// Every prefix that has not expired.
    #[default]
    All,
    /// The prefixes that had first been sent by this time.
    SentBy(Timestamp),
}

impl Prefixes {
    /// How many leading blocks of the prompt were sent before and used within
    /// `life`.
    pub fn known(&self, prompt: &Prompt, at: Timestamp, life: SignedDuration) -> usize {
        let lives = |used: Timestamp| at.duration_since(used) <= life;
        let there = |first: Timestamp| match self.found {
            Found::SentBy(at) => first <= at,
            _ => true,
        };
        if !self.newest_at.is_some_and(lives) {
            // Older prefixes were last used even earlier.
            return 0;
        }
        let mut to = self.newest.common(prompt);
        let mut known = self.first.leading(to, there);
        while known == to
            && to < prompt.len()
            && let Some(branch) = self.left.get(&prompt.prefix(to + 1))
            && lives(branch.used)
        {
            to = branch.prompt.common(prompt);
            known = branch.first.leading(to, there).max(known);
        }
        known
    }

    /// Whether a request reads all of the newest prompt, and may therefore also
    /// read the model's answer to it.
    pub(super) fn ends_newest(&self, known: usize) -> bool {
        known > 0 && known == self.newest.len() && matches!(self.found, Found::All)
    }

    /// Records a prompt that is sent now.
    pub fn send(&mut self, prompt: &Prompt, at: Timestamp) {
        let mut to = self.newest.common(prompt);
        let gone = self.first.split_off(to);
        if let Some(used) = self.newest_at {
            let newest = std::mem::take(&mut self.newest);
            self.turns += 1;
            self.leave(to, Branch { prompt: newest, first: gone, used, turn: self.turns });
        }
        // Blocks that are sent again become part of the newest prompt.
        while to < prompt.len()
            && let Some(mut branch) = self.left.remove(&prompt.prefix(to + 1))
        {
            to = branch.prompt.common(prompt);
            let rest = branch.first.split_off(to);
            self.first.0.append(&mut branch.first.0);
            self.leave(to, Branch { first: rest, ..branch });
        }
        if to < prompt.len() {
            self.first.0.push((prompt.len(), at));
        }
        self.newest = prompt.clone();
        self.newest_at = Some(at);
        self.found = Found::All;
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

    /// Whether the newest prompt was used within `life`.
    pub fn is_warm(&self, at: Timestamp, life: SignedDuration) -> bool {
        let lives = |used: Timestamp| at.duration_since(used) <= life;
        !self.newest.is_empty() && self.newest_at.is_some_and(lives)
    }

    /// The next request finds only prefixes that had been sent by this time.
    pub fn forget_after(&mut self, at: Timestamp) {
        self.found = Found::SentBy(at);
    }

    /// Renews the newest prompt.
    pub fn renew(&mut self, at: Timestamp) {
        self.newest_at = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::Unit;
    use super::super::testkit::{minutes, prompt};
    use super::*;

    const HALF_AN_HOUR: SignedDuration = SignedDuration::from_mins(30);

    #[test]
    fn a_prefix_that_was_sent_again_is_known_for_its_lifetime() {
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

    /// A simple model of [`Prefixes`]: a list of every prefix, each with the
    /// times of its first and last use.
    #[derive(Default)]
    struct Plain {
        sent: BTreeMap<Vec<u8>, (Timestamp, Timestamp)>,
        newest: Vec<u8>,
    }

    impl Plain {
        fn prefixes(letters: &[u8]) -> impl Iterator<Item = &[u8]> {
            (1..=letters.len()).map(|length| &letters[..length])
        }

        fn known(&self, letters: &[u8], at: Timestamp, by: Timestamp) -> usize {
            let lives = |(first, used): &(Timestamp, Timestamp)| {
                *first <= by && at.duration_since(*used) <= HALF_AN_HOUR
            };
            let known = |prefix: &&[u8]| self.sent.get(*prefix).is_some_and(lives);
            Self::prefixes(letters).take_while(known).count()
        }

        fn send(&mut self, letters: &[u8], at: Timestamp) {
            for prefix in Self::prefixes(letters) {
                self.sent.entry(prefix.to_vec()).or_insert((at, at)).1 = at;
            }
            self.newest = letters.to_vec();
        }

        fn renew(&mut self, at: Timestamp) {
            for prefix in Self::prefixes(&self.newest) {
                self.sent.insert(prefix.to_vec(), (self.sent[prefix].0, at));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn branches_find_the_same_prefixes_as_a_list_of_all_prefixes(
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
                // The cache of the next request has seen nothing of the last
                // hour.
                let by = if event == 1 { minutes(now - 60) } else { at };
                if event == 1 {
                    sent.forget_after(by);
                }
                let known = sent.known(&prompt(&letters), at, HALF_AN_HOUR);
                prop_assert_eq!(known, plain.known(letters.as_bytes(), at, by));
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
    fn memory_of_a_sliding_window_grows_with_the_requests_and_not_with_the_window() {
        for window in [10, 100, 1_000] {
            let mut sent = Prefixes::default();
            slide(&mut sent, 2_000, window);
            assert_eq!(sent.left.len(), 2_000 - window, "one branch a turn");
            assert!(sent.first.0.len() <= 2);
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
    fn a_prompt_that_is_sent_again_counts_from_the_first_time_that_it_was_sent() {
        let known = |prompts: &[(&str, i64)], by| {
            let mut sent = Prefixes::default();
            prompts.iter().for_each(|(blocks, at)| sent.send(&prompt(blocks), minutes(*at)));
            sent.forget_after(minutes(by));
            sent.known(&prompt("abcde"), minutes(9), HALF_AN_HOUR)
        };
        assert_eq!(known(&[("abcd", 0), ("abc", 1), ("abcd", 2)], 0), 4);
        let back = [("abc", 0), ("abcd", 5), ("abcX", 6), ("abcd", 7)];
        assert_eq!((known(&back, 5), known(&back, 4)), (4, 3));
    }

    #[test]
    fn branches_are_forgotten_once_there_are_twice_as_many_as_are_kept() {
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
    fn what_was_never_filled_is_neither_warm_nor_read_to_its_end() {
        let mut sent = Prefixes::default();
        assert!(!sent.is_warm(minutes(0), HALF_AN_HOUR) && !sent.ends_newest(0));
        sent.renew(minutes(0));
        assert!(!sent.is_warm(minutes(0), HALF_AN_HOUR));
        sent.send(&prompt("ab"), minutes(0));
        assert!(
            sent.is_warm(minutes(30), HALF_AN_HOUR) && !sent.is_warm(minutes(31), HALF_AN_HOUR)
        );
        assert!(sent.ends_newest(2) && !sent.ends_newest(1));
        sent.forget_after(minutes(0));
        assert!(sent.is_warm(minutes(0), HALF_AN_HOUR) && !sent.ends_newest(2));
    }
}
