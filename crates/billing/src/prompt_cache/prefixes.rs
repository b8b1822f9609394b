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
    pub(super) fn ends_newest(&self, known: usize) -> bool {
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

    /// Whether the newest prompt was used within `life`.
    pub fn is_warm(&self, at: Timestamp, life: SignedDuration) -> bool {
        let lives = |used: Timestamp| at.duration_since(used) <= life;
        !self.newest.is_empty() && self.newest_at.is_some_and(lives)
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
    fn never_filled_prefixes_are_neither_warm_nor_complete() {
        let mut sent = Prefixes::default();
        assert!(!sent.is_warm(minutes(0), HALF_AN_HOUR) && !sent.ends_newest(0));
        sent.renew(minutes(0));
        assert!(!sent.is_warm(minutes(0), HALF_AN_HOUR));
        sent.send(&prompt("ab"), minutes(0));
        assert!(
            sent.is_warm(minutes(30), HALF_AN_HOUR) && !sent.is_warm(minutes(31), HALF_AN_HOUR)
        );
        assert!(sent.ends_newest(2) && !sent.ends_newest(1));
    }
}
