//! Anthropic's prompt cache: entries at marked breakpoints.
//!
//! Rules (platform.claude.com, prompt caching; figures of `prompt_cache_min_tokens`
//! from the price list): the prefix must match exactly, in the order tools,
//! system, messages; at most 4 breakpoints a request; a breakpoint finds the
//! longest entry within the 20 blocks before it, itself included; a prefix
//! below the model's minimum is silently not cached; an entry lives for five
//! minutes or an hour after its last use, and a read renews it free of charge.
//! Tokens up to the longest entry found are read; from there to the last
//! breakpoint of an hour they are written for an hour, and to the last
//! breakpoint for five minutes; the rest is billed in full.

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::prompt::{Block, Life, Prompt};
use super::{Bounds, PromptCache};
use recap_core::model::Buckets;

/// Most breakpoints of a request; the last ones are used.
const BREAKPOINTS: usize = 4;
/// Blocks that a breakpoint looks at, its own included.
const LOOKBACK: u32 = 20;

/// Number of entries up to which expired ones are not removed.
const FEW: usize = 64;

/// Anthropic's prompt cache, with entries at marked breakpoints.
#[derive(Clone, Debug)]
pub struct Anthropic {
    minimum: u64,
    /// The entries by the hash of their prefix.
    entries: FxHashMap<u64, Entry>,
    /// Number of entries after expired ones were last removed.
    alive: usize,
    /// The last breakpoint of the last request that had one.
    newest: Option<u64>,
    /// What the next request reads, besides what the entries say.
    bounds: Bounds,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    used: Timestamp,
    life: Life,
}

impl Entry {
    fn lives(&self, at: Timestamp) -> bool {
        at.duration_since(self.used) <= self.life.duration()
    }
}

/// A breakpoint: the block after which it is set, by its position and with what is before it.
struct Mark {
    number: usize,
    block: Block,
    life: Life,
}

impl Anthropic {
    /// An empty cache of a model that caches prefixes of at least `minimum`
    /// tokens.
    pub fn new(minimum: u64) -> Self {
        let (entries, bounds) = (FxHashMap::default(), Bounds::default());
        Self { minimum, entries, alive: 0, newest: None, bounds }
    }

    /// The last block of the longest valid entry that a breakpoint finds.
    fn found(&self, prompt: &Prompt, breakpoint: &Mark, at: Timestamp) -> Option<Block> {
        let reach = breakpoint.block.parts.saturating_sub(LOOKBACK);
        let before = (0..breakpoint.number).rev().map_while(|number| prompt.block(number));
        let blocks = std::iter::once(breakpoint.block).chain(before);
        let mut seen = blocks.take_while(|block| block.parts > reach);
        seen.find(|block| self.entries.get(&block.prefix).is_some_and(|entry| entry.lives(at)))
    }

    /// Removes expired entries, once their number has doubled: only a renewal
    /// of the newest entry can make one valid again.
    fn forget(&mut self, at: Timestamp) {
        if self.entries.len() > 2 * self.alive + FEW {
            let newest = self.newest;
            self.entries.retain(|prefix, entry| entry.lives(at) || Some(*prefix) == newest);
            self.alive = self.entries.len();
        }
    }

    fn keep(&mut self, prefix: u64, at: Timestamp, life: Life) {
        let entry = self.entries.entry(prefix).or_insert(Entry { used: at, life });
        // A use renews an entry and never shortens its lifetime; one that has
        // expired is written anew.
        let life = if entry.lives(at) { entry.life.max(life) } else { life };
        (entry.used, entry.life) = (at, life);
    }
}

impl PromptCache for Anthropic {
    fn request(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets {
        // From the last to the first; a prefix that is too short is not cached.
        let marks = prompt.marks().iter().rev().take(BREAKPOINTS);
        let marks = marks.filter_map(|&(number, life)| {
            let block = prompt.block(number)?;
            Some(Mark { number, block, life })
        });
        let marks: Vec<Mark> = marks.filter(|mark| mark.block.end >= self.minimum).collect();
        let mut found: Vec<Block> =
            marks.iter().filter_map(|mark| self.found(prompt, mark, at)).collect();
        let read = found.iter().map(|block| block.end).max().unwrap_or(0);
        let lost = self.bounds.most.is_some();
        let read = self.bounds.applied(read, prompt.tokens());
        if lost {
            // What was lost does not come back.
            found.retain(|block| block.end <= read);
            self.entries.retain(|prefix, _| found.iter().any(|block| block.prefix == *prefix));
        }
        for block in &found {
            self.keep(block.prefix, at, self.entries[&block.prefix].life);
        }
        let last = |wanted: fn(Life) -> bool| {
            let mark = marks.iter().find(|mark| wanted(mark.life));
            mark.map_or(0, |mark| mark.block.end)
        };
        let hour = last(|life| life == Life::Hour).max(read);
        let written = last(|_| true).max(hour);
        if let Some(newest) = marks.first() {
            self.newest = Some(newest.block.prefix);
        }
        self.forget(at);
        for Mark { block, life, .. } in marks {
            self.keep(block.prefix, at, life);
        }
        Buckets::up_to(prompt.tokens(), read, hour, written)
    }

    fn lose(&mut self, left: u64, shared: u64) {
        self.newest = None;
        self.bounds = Bounds::lost(left, shared);
    }

    fn share(&mut self, tokens: u64) {
        self.bounds = Bounds::shared(tokens);
    }

    fn renew(&mut self, at: Timestamp) {
        if let Some(entry) = self.newest.and_then(|prefix| self.entries.get_mut(&prefix)) {
            entry.used = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{marked, minutes, prompt, seconds};
    use super::*;

    fn buckets(uncached: u64, read: u64, write: u64) -> Buckets {
        Buckets { uncached, read, write, ..Buckets::default() }
    }

    /// Blocks of 1,000 tokens; a breakpoint after the preamble `p` and one
    /// after the newest block.
    fn ask(cache: &mut Anthropic, blocks: &str, at: Timestamp) -> Buckets {
        let last = blocks.len() - 1;
        cache.request(&marked(blocks, &[(0, Life::Minutes5), (last, Life::Minutes5)]), at)
    }

    #[test]
    fn ten_requests_by_hand() {
        let mut cache = Anthropic::new(1_024);
        let mut sent = |blocks: &str, at: Timestamp| ask(&mut cache, blocks, at);
        // 1: the preamble alone is below the minimum; the whole prompt is written.
        assert_eq!(sent("pa", minutes(0)), buckets(0, 0, 2_000));
        // 2: grown by two blocks: the entry after `a` is found.
        assert_eq!(sent("pabc", minutes(1)), buckets(0, 2_000, 2_000));
        // 3: five minutes after its last use an entry is still there.
        assert_eq!(sent("pabcd", minutes(6)), buckets(0, 4_000, 1_000));
        // 4: a second later than five minutes no entry is left.
        assert_eq!(sent("pabcde", seconds(11 * 60 + 1)), buckets(0, 0, 6_000));
        // 5: a block in the middle was edited: entries are whole prefixes, and
        // only the entry after `a`, of request 1, would match; it has expired.
        assert_eq!(sent("pabXde", seconds(11 * 60 + 2)), buckets(0, 0, 6_000));
        // 6: back to the prompt of request 4, one block longer.
        assert_eq!(sent("pabcdef", seconds(11 * 60 + 3)), buckets(0, 6_000, 1_000));
        // 7: the same prompt again: all of it is read.
        assert_eq!(sent("pabcdef", seconds(11 * 60 + 4)), buckets(0, 7_000, 0));
        // 8: everything but the preamble is replaced.
        assert_eq!(sent("pxy", seconds(11 * 60 + 5)), buckets(0, 0, 3_000));
        // 9: a prompt below the minimum is not cached at all.
        assert_eq!(sent("q", seconds(11 * 60 + 6)), buckets(1_000, 0, 0));
        // 10: the request before was not cached either.
        assert_eq!(sent("qr", seconds(11 * 60 + 7)), buckets(0, 0, 2_000));
    }

    #[test]
    fn entry_over_twenty_blocks_back_is_not_found() {
        let long = |blocks: usize| -> String { "abcdefghijklmnopqrstuvwxyz"[..blocks].to_owned() };
        let last_only = |cache: &mut Anthropic, blocks: usize| {
            let text = long(blocks);
            cache.request(&marked(&text, &[(blocks - 1, Life::Minutes5)]), minutes(0))
        };
        // The entry after block 2 is the 20th that a breakpoint after 21 sees.
        let mut cache = Anthropic::new(0);
        last_only(&mut cache, 2);
        assert_eq!(last_only(&mut cache, 21), buckets(0, 2_000, 19_000));
        let mut cache = Anthropic::new(0);
        last_only(&mut cache, 2);
        assert_eq!(last_only(&mut cache, 22), buckets(0, 0, 22_000));
        // A second breakpoint between them is found.
        let mut cache = Anthropic::new(0);
        last_only(&mut cache, 2);
        let bridged = marked(&long(22), &[(9, Life::Minutes5), (21, Life::Minutes5)]);
        assert_eq!(cache.request(&bridged, minutes(0)), buckets(0, 2_000, 20_000));
    }

    #[test]
    fn only_the_last_four_breakpoints_count() {
        let mut cache = Anthropic::new(0);
        let marks: Vec<(usize, Life)> = (0..5).map(|block| (block, Life::Minutes5)).collect();
        cache.request(&marked("abcde", &marks), minutes(0));
        // The entry of the first of five breakpoints was not stored, that of
        // the second was.
        let ask = |cache: &mut Anthropic, blocks: &str| {
            cache.request(&marked(blocks, &[(blocks.len() - 1, Life::Minutes5)]), minutes(0)).read
        };
        assert_eq!(ask(&mut cache.clone(), "ax"), 0);
        assert_eq!(ask(&mut cache, "abx"), 2_000);
    }

    #[test]
    fn hour_writes_precede_five_minute_writes_and_outlast() {
        let mut cache = Anthropic::new(0);
        let plan = [(1, Life::Hour), (2, Life::Minutes5)];
        let first = cache.request(&marked("abcd", &plan), minutes(0));
        let expected =
            Buckets { uncached: 1_000, write: 1_000, write_1h: 2_000, ..Buckets::default() };
        assert_eq!(first, expected);
        // After a longer break only the part written for an hour is left.
        let later = cache.request(&marked("abcd", &plan), minutes(50));
        assert_eq!(later, buckets(1_000, 2_000, 1_000));
        // The read renewed it for another hour.
        assert_eq!(cache.request(&marked("abcd", &plan), minutes(109)).read, 2_000);
    }

    #[test]
    fn read_renews_unmarked_entry_marks_never_shorten_life() {
        let at = |cache: &mut Anthropic, blocks: &str, minute| {
            let last = blocks.len() - 1;
            cache.request(&marked(blocks, &[(last, Life::Minutes5)]), minutes(minute)).read
        };
        let mut cache = Anthropic::new(0);
        at(&mut cache, "pa", 0);
        assert_eq!(at(&mut cache, "pab", 4), 2_000);
        assert_eq!(at(&mut cache, "pac", 8), 2_000, "the entry behind `a` was renewed at 4");
        let mut cache = Anthropic::new(0);
        cache.request(&marked("pa", &[(1, Life::Hour)]), minutes(0));
        assert_eq!(at(&mut cache, "pa", 1), 2_000);
        assert_eq!(at(&mut cache, "pa", 50), 2_000, "it still lives for an hour");
    }

    #[test]
    fn lost_entries_stay_lost_and_remaining_ones_live() {
        let plan = [(0, Life::Hour), (2, Life::Hour)];
        let after = |left, blocks: &str, last| {
            let mut cache = Anthropic::new(0);
            cache.request(&marked("pab", &plan), minutes(0));
            cache.lose(left, 0);
            // Written in another form, so that the old entry is not written anew.
            let read = cache.request(&marked("pxy", &plan), minutes(1)).read;
            (
                read,
                cache
                    .request(&marked(blocks, &[(0, Life::Hour), (last, Life::Hour)]), minutes(2))
                    .read,
            )
        };
        // All of `pab` is gone, and `p` was written anew.
        assert_eq!(after(0, "pabc", 3), (0, 1_000));
        // 1,000 tokens were left: the entry after `p`.
        assert_eq!(after(1_000, "pabc", 3), (1_000, 1_000));
        assert_eq!(after(999, "pxyz", 3), (999, 3_000));
    }

    #[test]
    fn without_a_breakpoint_nothing_is_cached() {
        let mut cache = Anthropic::new(0);
        for _ in 0..2 {
            assert_eq!(cache.request(&prompt("abc"), minutes(0)), buckets(3_000, 0, 0));
        }
    }

    /// Sends a prompt of one block with a breakpoint behind it.
    fn one(cache: &mut Anthropic, content: u64, life: Life, at: Timestamp) -> Buckets {
        let mut prompt = Prompt::default();
        prompt.push(content, 1_000, 1, super::super::Unit::Input);
        prompt.mark(0, life);
        cache.request(&prompt, at)
    }

    #[test]
    fn expired_hour_entry_is_rewritten_with_new_lifetime() {
        let mut cache = Anthropic::new(0);
        one(&mut cache, 1, Life::Hour, minutes(0));
        assert_eq!(one(&mut cache, 1, Life::Minutes5, minutes(61)), buckets(0, 0, 1_000));
        assert_eq!(one(&mut cache.clone(), 1, Life::Minutes5, minutes(66)), buckets(0, 1_000, 0));
        assert_eq!(one(&mut cache, 1, Life::Minutes5, minutes(67)), buckets(0, 0, 1_000));
    }

    #[test]
    fn expired_entries_are_dropped_beyond_sixty_four() {
        let mut cache = Anthropic::new(0);
        let mut kept = Vec::new();
        for number in 0..66_u32 {
            one(&mut cache, number.into(), Life::Minutes5, minutes(10 * i64::from(number)));
            kept.push(cache.entries.len());
        }
        assert_eq!((kept[63], kept[64], kept[65]), (64, 65, 1));
        // Entries that live are kept, however many they are, and then only twice
        // as many are looked through again.
        let mut cache = Anthropic::new(0);
        (0..66).for_each(|number| {
            one(&mut cache, number, Life::Minutes5, minutes(0));
        });
        assert_eq!((cache.entries.len(), cache.alive), (66, 65));
        (66..195).for_each(|number| {
            one(&mut cache, number, Life::Minutes5, minutes(10));
        });
        assert_eq!(cache.entries.len(), 195, "130 and 64 may be there before a request");
        one(&mut cache, 195, Life::Minutes5, minutes(20));
        assert_eq!(cache.entries.len(), 1);
    }

    /// A request that was not recorded may renew it.
    #[test]
    fn newest_breakpoint_entry_is_kept_after_expiry() {
        let mut cache = Anthropic::new(0);
        (0..65).for_each(|number| {
            one(&mut cache, number, Life::Minutes5, minutes(0));
        });
        cache.request(&prompt("z"), minutes(10));
        assert_eq!(cache.entries.len(), 1);
        cache.renew(minutes(10));
        assert_eq!(one(&mut cache, 64, Life::Minutes5, minutes(15)).read, 1_000);
    }
}
