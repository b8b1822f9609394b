//! Every prefix that a session sent, with the time of its last use: what an
//! automatic cache may hold.

use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHashMap;

use super::prompt::{Block, Prompt};

/// Prefixes by their hash. The newest prompt is kept apart: whatever it shares
/// with the next one was last used when it was sent, so that a growing prompt
/// costs only its new blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefixes {
    newest: Vec<Block>,
    newest_at: Option<Timestamp>,
    /// Last use of the prefixes that are not part of the newest prompt.
    left: FxHashMap<u64, Timestamp>,
}

impl Prefixes {
    /// How many leading blocks of the prompt were sent before and used within
    /// `life`; `None` lives for ever.
    pub fn known(&self, prompt: &Prompt, at: Timestamp, life: Option<SignedDuration>) -> usize {
        let lives = |used: Timestamp| life.is_none_or(|life| at.duration_since(used) <= life);
        let blocks = prompt.blocks();
        let shared = self.shared(blocks);
        if shared > 0 && !self.newest_at.is_some_and(lives) {
            // Older prefixes were used earlier still.
            return 0;
        }
        let older = blocks[shared..].iter();
        let older =
            older.take_while(|block| self.left.get(&block.prefix).is_some_and(|used| lives(*used)));
        shared + older.count()
    }

    /// Takes note of a prompt that is sent now.
    pub fn send(&mut self, prompt: &Prompt, at: Timestamp) {
        let blocks = prompt.blocks();
        let shared = self.shared(blocks);
        if let Some(used) = self.newest_at {
            self.left.extend(self.newest.drain(shared..).map(|block| (block.prefix, used)));
        }
        for block in &blocks[shared..] {
            self.left.remove(&block.prefix);
            self.newest.push(*block);
        }
        self.newest_at = Some(at);
    }

    /// Whether the newest prompt was used within `life`.
    pub fn is_warm(&self, at: Timestamp, life: Option<SignedDuration>) -> bool {
        let lives = |used: Timestamp| life.is_none_or(|life| at.duration_since(used) <= life);
        !self.newest.is_empty() && self.newest_at.is_some_and(lives)
    }

    /// Forgets everything but the first blocks of a prompt, used now.
    pub fn reset(&mut self, prompt: &Prompt, kept: usize, at: Timestamp) {
        self.left.clear();
        self.newest = prompt.blocks()[..kept].to_vec();
        self.newest_at = Some(at);
    }

    /// The newest prompt was used now.
    pub fn renew(&mut self, at: Timestamp) {
        self.newest_at = Some(at);
    }

    /// Leading blocks that the newest prompt has as well. Hashes are of whole
    /// prefixes, so they agree up to one point and nowhere behind it.
    fn shared(&self, blocks: &[Block]) -> usize {
        let most = self.newest.len().min(blocks.len());
        // Mostly the prompt has only grown.
        if most > 0 && self.newest[most - 1].prefix == blocks[most - 1].prefix {
            return most;
        }
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.newest[middle].prefix == blocks[middle].prefix {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{minutes, prompt};
    use super::*;

    const HALF_AN_HOUR: Option<SignedDuration> = Some(SignedDuration::from_mins(30));

    #[test]
    fn what_came_back_is_known_as_long_as_it_lives() {
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

    #[test]
    fn a_prefix_without_an_end_of_life_is_known_for_ever() {
        let mut sent = Prefixes::default();
        sent.send(&prompt("abc"), minutes(0));
        sent.send(&prompt("x"), minutes(1));
        assert_eq!(sent.known(&prompt("abz"), minutes(1_000_000), None), 2);
    }
}
