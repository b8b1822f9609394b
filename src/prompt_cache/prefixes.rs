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
    /// When each of its prefixes was first sent.
    first: Vec<Timestamp>,
    newest_at: Option<Timestamp>,
    /// First and last use of the prefixes that are not part of the newest prompt.
    left: FxHashMap<u64, (Timestamp, Timestamp)>,
    /// What the next request finds of all this.
    found: Found,
}

/// What a request finds. Another machine may answer the one after it, so that
/// nothing is lost for good.
#[derive(Clone, Copy, Debug, Default)]
enum Found {
    /// Whatever lives.
    #[default]
    All,
    /// The first blocks of its prompt, which others keep alive.
    Blocks(usize),
    /// What had first been sent by then.
    SentBy(Timestamp),
}

impl Prefixes {
    /// How many leading blocks of the prompt were sent before and used within
    /// `life`; `None` lives for ever.
    pub fn known(&self, prompt: &Prompt, at: Timestamp, life: Option<SignedDuration>) -> usize {
        if let Found::Blocks(blocks) = self.found {
            return blocks;
        }
        let lives = |used: Timestamp| life.is_none_or(|life| at.duration_since(used) <= life);
        let there = |first: Timestamp| match self.found {
            Found::SentBy(at) => first <= at,
            _ => true,
        };
        let blocks = prompt.blocks();
        let shared = self.shared(blocks);
        if shared > 0 && !self.newest_at.is_some_and(lives) {
            // Older prefixes were used earlier still.
            return 0;
        }
        let newest = self.first[..shared].iter().take_while(|first| there(**first)).count();
        if newest < shared {
            return newest;
        }
        let known = |block: &Block| {
            let left = self.left.get(&block.prefix);
            left.is_some_and(|(first, used)| lives(*used) && there(*first))
        };
        shared + blocks[shared..].iter().take_while(|block| known(block)).count()
    }

    /// Whether a request reads all of the newest prompt, and so may read on
    /// into what the model answered.
    pub fn ends_newest(&self, known: usize) -> bool {
        known > 0 && known == self.newest.len() && matches!(self.found, Found::All)
    }

    /// Takes note of a prompt that is sent now.
    pub fn send(&mut self, prompt: &Prompt, at: Timestamp) {
        let blocks = prompt.blocks();
        let shared = self.shared(blocks);
        if let Some(used) = self.newest_at {
            let gone = self.newest.drain(shared..).zip(self.first.drain(shared..));
            self.left.extend(gone.map(|(block, first)| (block.prefix, (first, used))));
        }
        for block in &blocks[shared..] {
            let known = self.left.remove(&block.prefix);
            self.newest.push(*block);
            self.first.push(known.map_or(at, |(first, _)| first));
        }
        self.newest_at = Some(at);
        self.found = Found::All;
    }

    /// Whether the newest prompt was used within `life`.
    pub fn is_warm(&self, at: Timestamp, life: Option<SignedDuration>) -> bool {
        let lives = |used: Timestamp| life.is_none_or(|life| at.duration_since(used) <= life);
        let found = !matches!(self.found, Found::Blocks(0));
        found && !self.newest.is_empty() && self.newest_at.is_some_and(lives)
    }

    /// The next request finds nothing but the first blocks of its prompt.
    pub fn reset(&mut self, kept: usize) {
        self.found = Found::Blocks(kept);
    }

    /// The next request finds what had been sent by then.
    pub fn forget_after(&mut self, at: Timestamp) {
        self.found = Found::SentBy(at);
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
