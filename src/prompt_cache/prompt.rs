//! A prompt as a cache sees it: blocks, each with the hash of everything up to
//! its end.

use std::hash::Hasher;

use jiff::SignedDuration;
use rustc_hash::FxHasher;

/// How long an entry lives after it was last used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Life {
    /// Five minutes (Anthropic's default).
    Minutes5,
    /// An hour, at a higher price to write.
    Hour,
}

impl Life {
    /// As a span of time.
    pub fn duration(self) -> SignedDuration {
        match self {
            Life::Minutes5 => SignedDuration::from_mins(5),
            Life::Hour => SignedDuration::from_hours(1),
        }
    }
}

/// What a block is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Tool definitions, system prompt, notes.
    Preamble,
    /// What is sent to the model: a user's text, a tool's result, a summary.
    Input,
    /// What the model wrote before.
    Output,
}

/// One block of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Hash of the prompt up to and including this block.
    pub prefix: u64,
    /// Tokens up to and including this block.
    pub end: u64,
    /// Content blocks, as a provider counts them, up to and including this one.
    pub parts: u32,
    /// What it is part of.
    pub unit: Unit,
}

/// The blocks of one request, in the order in which they are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    blocks: Vec<Block>,
    /// Breakpoints: behind which blocks, ascending.
    marks: Vec<(usize, Life)>,
}

impl Prompt {
    /// Adds a block of so many content blocks in the provider's sense.
    /// `content` is a hash of its bytes and its role.
    pub fn push(&mut self, content: u64, tokens: u64, parts: u32, unit: Unit) {
        let last = self.blocks.last();
        let (before, start, count) = last.map_or((0, 0, 0), |b| (b.prefix, b.end, b.parts));
        let mut hasher = FxHasher::default();
        hasher.write_u64(before);
        hasher.write_u64(content);
        // One bit tells an empty prefix from one that hashes to zero.
        let prefix = hasher.finish() | 1;
        let (end, parts) = (start + tokens, count + parts);
        self.blocks.push(Block { prefix, end, parts, unit });
    }

    /// Takes out every block from a position on.
    pub fn truncate(&mut self, blocks: usize) {
        self.blocks.truncate(blocks);
        self.marks.retain(|(block, _)| *block < blocks);
    }

    /// Sets a breakpoint behind a block, by its position.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn mark(&mut self, block: usize, life: Life) {
        assert!(block < self.blocks.len(), "a breakpoint stands behind a block");
        match self.marks.binary_search_by_key(&block, |(at, _)| *at) {
            Ok(at) => self.marks[at].1 = life,
            Err(at) => self.marks.insert(at, (block, life)),
        }
    }

    /// Sets breakpoints behind these blocks, and takes all others away.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn mark_only(&mut self, blocks: &[usize], life: Life) {
        self.marks.clear();
        blocks.iter().for_each(|&block| self.mark(block, life));
    }

    /// The breakpoints: behind which blocks, ascending, and for how long.
    pub fn marks(&self) -> &[(usize, Life)] {
        &self.marks
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Tokens of the whole prompt.
    pub fn tokens(&self) -> u64 {
        self.blocks.last().map_or(0, |last| last.end)
    }

    /// Tokens of the first so many blocks.
    pub fn end(&self, blocks: usize) -> u64 {
        blocks.checked_sub(1).map_or(0, |last| self.blocks[last].end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Buckets;

    fn prompt(contents: &[u64]) -> Prompt {
        let mut prompt = Prompt::default();
        contents.iter().for_each(|&content| prompt.push(content, 10, 1, Unit::Input));
        prompt
    }

    #[test]
    fn a_prefix_has_one_hash_and_another_prefix_another() {
        let hash = |contents: &[u64]| prompt(contents).blocks().last().unwrap().prefix;
        assert_eq!(hash(&[1, 2]), hash(&[1, 2]));
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        assert_ne!(hash(&[1, 2]), hash(&[2]));
        assert_ne!(hash(&[0]), hash(&[0, 0]));
        let mut cut = prompt(&[1, 2, 3]);
        cut.truncate(1);
        cut.push(9, 10, 1, Unit::Input);
        assert_eq!(cut, prompt(&[1, 9]));
        assert_eq!((cut.tokens(), cut.end(0), cut.end(1)), (20, 0, 10));
    }

    #[test]
    #[should_panic(expected = "buckets overlap")]
    fn buckets_that_overlap_are_a_bug() {
        Buckets::up_to(100, 60, 50, 80);
    }
}
