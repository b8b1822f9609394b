//! OpenAI's prompt cache at breakpoints, of GPT-5.6 and later.
//!
//! Sources: platform.openai.com, prompt caching; openai/codex#35300 and the API's
//! generated clients, as marked.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use super::blocks::Unit;
use super::prompt::Prompt;
use super::{Bounds, PromptCache};
use recap_core::model::Buckets;

/// Shortest prompt, and shortest prefix, that is cached.
const MINIMUM: u64 = 1_024;

/// The rules from GPT-5.6 on: entries at breakpoints, which cost to write. The
/// newest message is an implicit breakpoint, in addition to at most three
/// marked ones; a prompt must match an entry exactly, at any of the 80 newest,
/// without steps and without a limit of blocks; entries live for 30 minutes.
#[derive(Clone, Debug, Default)]
pub struct OpenAiMarked {
    /// The entries, the newest last.
    entries: VecDeque<Entry>,
    /// What the next request reads, besides what the entries say.
    bounds: Bounds,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    prefix: u64,
    /// Position of its last block.
    block: usize,
    used: Timestamp,
}

/// Most explicit breakpoints besides the implicit one.
const EXPLICIT: usize = 3;
/// Number of breakpoints that are searched for a match.
const REMEMBERED: usize = 80;
/// Lifetime of an entry without use.
pub(super) const LIFE: SignedDuration = SignedDuration::from_mins(30);

impl OpenAiMarked {
    /// Positions of the blocks after which entries are written, last first: the
    /// newest input, and the latest explicit marks.
    fn breakpoints(prompt: &Prompt) -> Vec<usize> {
        let eligible = |block: &usize| prompt.end(block + 1) >= MINIMUM;
        let is_input = |block: &usize| prompt.block(*block).is_some_and(|b| b.unit != Unit::Output);
        let implicit = (0..prompt.len()).rev().find(is_input);
        let explicit = prompt.marks().iter().rev().map(|(block, _)| *block);
        let explicit = explicit.filter(|at| Some(*at) != implicit).take(EXPLICIT);
        let mut all: Vec<usize> = implicit.into_iter().chain(explicit).filter(eligible).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all
    }

    fn keep(&mut self, prompt: &Prompt, block: usize, at: Timestamp) {
        let prefix = prompt.prefix(block + 1);
        self.entries.retain(|entry| entry.prefix != prefix);
        self.entries.push_back(Entry { prefix, block, used: at });
        if self.entries.len() > REMEMBERED {
            self.entries.pop_front();
        }
    }
}

impl PromptCache for OpenAiMarked {
    fn request(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets {
        let fits = |entry: &&Entry| {
            at.duration_since(entry.used) <= LIFE && prompt.prefix(entry.block + 1) == entry.prefix
        };
        let found = self.entries.iter().filter(fits).map(|entry| entry.block).max();
        let read = found.map_or(0, |block| prompt.end(block + 1));
        if self.bounds.most.is_some() {
            // What was lost does not come back.
            self.entries.clear();
        }
        let read = self.bounds.applied(read, prompt.tokens());
        let breakpoints = Self::breakpoints(prompt);
        let written = breakpoints.first().map_or(0, |&block| prompt.end(block + 1)).max(read);
        for block in breakpoints.into_iter().rev().chain(found) {
            self.keep(prompt, block, at);
        }
        Buckets::up_to(prompt.tokens(), read, read, written)
    }

    fn lose(&mut self, left: u64, shared: u64) {
        self.bounds = Bounds::lost(left, shared);
    }

    fn share(&mut self, tokens: u64) {
        self.bounds = Bounds::shared(tokens);
    }

    fn renew(&mut self, at: Timestamp) {
        self.entries.iter_mut().for_each(|entry| entry.used = at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Life;
    use super::super::testkit::{marked, minutes, prompt, prompt_of, seconds};
    use super::*;

    #[test]
    fn ten_requests_of_the_newer_cache_by_hand() {
        let mut cache = OpenAiMarked::default();
        let mut sent = |blocks: &str, at: Timestamp| {
            let b = cache.request(&prompt(blocks), at);
            (b.uncached, b.read, b.write)
        };
        // There are no steps: the common prefix is read to the token, the new
        // part is billed.
        assert_eq!(sent("a", minutes(0)), (1_000, 0, 0), "below 1,024 nothing is written");
        assert_eq!(sent("ab", minutes(1)), (0, 0, 2_000));
        assert_eq!(sent("abc", minutes(2)), (0, 2_000, 1_000));
        assert_eq!(sent("abXd", minutes(3)), (0, 2_000, 2_000), "the entry behind `b`");
        assert_eq!(sent("aYb", minutes(4)), (0, 0, 3_000), "no entry behind `a` alone");
        assert_eq!(sent("abcd", minutes(5)), (0, 3_000, 1_000));
        assert_eq!(sent("abcd", minutes(35)), (0, 4_000, 0), "thirty minutes are not too long");
        assert_eq!(sent("abcde", seconds(65 * 60 + 1)), (0, 0, 5_000));
        assert_eq!(sent("abcdef", minutes(66)), (0, 5_000, 1_000));
        assert_eq!(sent("q", minutes(67)), (1_000, 0, 0));
    }

    #[test]
    fn changing_last_message_reads_only_marked_stable_part() {
        // openai/codex#35300: 9k of stable prefix, another question each time.
        let mut cache = OpenAiMarked::default();
        for question in ["x", "y"] {
            let blocks = format!("abcdefghi{question}");
            assert_eq!(cache.request(&prompt(&blocks), minutes(0)).read, 0);
        }
        let mut cache = OpenAiMarked::default();
        let ask = |cache: &mut OpenAiMarked, question: &str| {
            let blocks = format!("abcdefghi{question}");
            cache.request(&marked(&blocks, &[(8, Life::Minutes5)]), minutes(0)).read
        };
        assert_eq!(ask(&mut cache, "x"), 0);
        assert_eq!(ask(&mut cache, "y"), 9_000);
    }

    #[test]
    fn last_model_answer_is_not_a_breakpoint() {
        let mut cache = OpenAiMarked::default();
        let ends_with_output = prompt_of(&[(1, 2_000, Unit::Input), (2, 500, Unit::Output)]);
        let buckets = cache.request(&ends_with_output, minutes(0));
        assert_eq!((buckets.uncached, buckets.write), (500, 2_000));
    }

    #[test]
    fn the_eighty_newest_breakpoints_are_remembered() {
        let mut cache = OpenAiMarked::default();
        let ask = |cache: &mut OpenAiMarked, content: u64| {
            cache.request(&prompt_of(&[(content, 2_000, Unit::Input)]), minutes(0)).read
        };
        for content in 0..81 {
            ask(&mut cache, content);
        }
        assert_eq!(ask(&mut cache.clone(), 0), 0);
        assert_eq!(ask(&mut cache, 1), 2_000);
    }

    #[test]
    fn three_marks_count_besides_the_newest_message() {
        let read = |marks: &[usize]| {
            let mut cache = OpenAiMarked::default();
            let marks: Vec<(usize, Life)> = marks.iter().map(|at| (*at, Life::Minutes5)).collect();
            cache.request(&marked("abcdef", &marks), minutes(0));
            cache.request(&prompt("abX"), minutes(1)).read
        };
        assert_eq!(read(&[1, 2, 3, 5]), 2_000);
        assert_eq!(read(&[1, 2, 3, 4]), 0, "the last three");
        assert_eq!(read(&[2, 3, 4, 5]), 0);
    }

    #[test]
    fn shorter_prompt_does_not_read_longer_entry() {
        let mut cache = OpenAiMarked::default();
        cache.request(&prompt("abc"), minutes(0));
        assert_eq!(cache.request(&prompt("ab"), minutes(1)).read, 0);
    }
}
