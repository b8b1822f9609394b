//! A prompt as input of a cache: blocks, each with the hash of everything up to
//! its end.

use jiff::SignedDuration;

use super::blocks::{Blocks, Piece, Sum, Unit};

/// Lifetime of an entry after its last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Life {
    /// Five minutes (Anthropic's default).
    Minutes5,
    /// An hour, at a higher write price.
    Hour,
}

impl Life {
    /// The lifetime as a duration.
    pub fn duration(self) -> SignedDuration {
        match self {
            Life::Minutes5 => SignedDuration::from_mins(5),
            Life::Hour => SignedDuration::from_hours(1),
        }
    }
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
    /// The part of the prompt that it belongs to.
    pub unit: Unit,
}

/// The blocks of one request, in the order in which they are sent. Copying is
/// cheap, and access to a block is logarithmic in their number.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// The blocks before the conversation.
    head: Blocks,
    body: Blocks,
    /// The breakpoints, as the blocks after which they are set, ascending.
    marks: Vec<(usize, Life)>,
}

impl Prompt {
    /// Adds a block with `parts` content blocks in the provider's sense.
    /// `content` is a hash of its bytes and its role.
    pub fn push(&mut self, content: u64, tokens: u64, parts: u32, unit: Unit) {
        self.body.push(Some(Piece { content, tokens, parts, unit }));
    }

    /// The blocks before the conversation.
    pub fn head(&self) -> &Blocks {
        &self.head
    }

    /// The blocks of the conversation.
    pub fn body(&self) -> &Blocks {
        &self.body
    }

    /// Number of blocks of the conversation.
    pub fn body_len(&self) -> usize {
        self.body.sum().blocks
    }

    /// Replaces the blocks before the conversation.
    pub fn set_head(&mut self, head: Blocks) {
        self.head = head;
    }

    /// The blocks of the conversation, to change them. Blocks before a
    /// breakpoint must not be removed.
    pub fn body_mut(&mut self) -> &mut Blocks {
        &mut self.body
    }

    /// Sets a breakpoint after a block, by its position.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub fn mark(&mut self, block: usize, life: Life) {
        assert!(block < self.len(), "a breakpoint stands behind a block");
        match self.marks.binary_search_by_key(&block, |(at, _)| *at) {
            Ok(at) => self.marks[at].1 = life,
            Err(at) => self.marks.insert(at, (block, life)),
        }
    }

    /// Sets breakpoints after these blocks, and removes all others.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub fn mark_only(&mut self, blocks: &[usize], life: Life) {
        self.marks.clear();
        blocks.iter().for_each(|&block| self.mark(block, life));
    }

    /// The breakpoints, as the blocks after which they are set, ascending, with
    /// their lifetimes.
    pub fn marks(&self) -> &[(usize, Life)] {
        &self.marks
    }

    /// Number of blocks in the prompt.
    pub fn len(&self) -> usize {
        self.head.sum().blocks + self.body.sum().blocks
    }

    /// Whether the prompt has no block.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sum of the first `blocks` blocks, and the block after them.
    fn leading(&self, blocks: usize) -> (Sum, Option<Piece>) {
        let head = self.head.sum();
        match blocks.checked_sub(head.blocks) {
            None => self.head.leading(blocks),
            Some(more) => {
                let (body, next) = self.body.leading(more);
                (head.then(body), next)
            }
        }
    }

    /// A block, by its position.
    pub fn block(&self, at: usize) -> Option<Block> {
        let (before, piece) = self.leading(at);
        let Piece { unit, .. } = piece?;
        let all = before.then(Sum::of(&piece?));
        Some(Block { prefix: all.digest(), end: all.tokens, parts: all.parts, unit })
    }

    /// All blocks; the cost is proportional to their number.
    pub fn blocks(&self) -> Vec<Block> {
        (0..self.len()).filter_map(|at| self.block(at)).collect()
    }

    /// Hash of the first `blocks` blocks; of all if there are fewer.
    pub fn prefix(&self, blocks: usize) -> u64 {
        self.leading(blocks).0.digest()
    }

    /// Tokens of the whole prompt.
    pub fn tokens(&self) -> u64 {
        self.head.sum().tokens + self.body.sum().tokens
    }

    /// Tokens of the first `blocks` blocks.
    pub fn end(&self, blocks: usize) -> u64 {
        self.leading(blocks).0.tokens
    }

    /// Number of leading blocks that another prompt has in common.
    pub fn common(&self, other: &Prompt) -> usize {
        let most = self.len().min(other.len());
        let same = |blocks: usize| self.prefix(blocks) == other.prefix(blocks);
        // The usual case: the other prompt only has further blocks.
        if same(most) {
            return most;
        }
        let (mut low, mut high) = (0, most);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if same(middle) { low = middle } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::Buckets;

    fn prompt(contents: &[u64]) -> Prompt {
        let mut prompt = Prompt::default();
        contents.iter().for_each(|&content| prompt.push(content, 10, 1, Unit::Input));
        prompt
    }

    #[test]
    fn equal_prefixes_have_equal_hashes_and_others_differ() {
        let hash = |contents: &[u64]| prompt(contents).prefix(contents.len());
        assert_eq!(hash(&[1, 2]), hash(&[1, 2]));
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        assert_ne!(hash(&[1, 2]), hash(&[2]));
        assert_ne!(hash(&[0]), hash(&[0, 0]));
        let last = prompt(&[1, 2]).block(1).unwrap();
        assert_eq!((last.prefix, last.end, last.parts), (hash(&[1, 2]), 20, 2));
        assert_eq!(prompt(&[1, 2]).block(2), None);
        let whole = prompt(&[1, 9]);
        assert_eq!((whole.tokens(), whole.end(0), whole.end(1)), (20, 0, 10));
    }

    #[test]
    fn the_common_prefix_of_two_prompts_is_found() {
        let long: Vec<u64> = (0..100).collect();
        for same in 0..100 {
            let mut other = long.clone();
            other[same] = 1_000;
            assert_eq!(prompt(&long).common(&prompt(&other)), same);
            assert_eq!(prompt(&long[..same]).common(&prompt(&long)), same);
        }
    }

    #[test]
    #[should_panic(expected = "buckets overlap")]
    fn buckets_that_overlap_are_a_bug() {
        Buckets::up_to(100, 60, 50, 80);
    }

    #[test]
    fn breakpoints_are_ordered_and_last_mark_wins() {
        let mut prompt = prompt(&[1, 2, 3]);
        assert!(!prompt.is_empty() && Prompt::default().is_empty());
        assert_eq!((prompt.len(), prompt.body_len()), (3, 3));
        prompt.mark(2, Life::Minutes5);
        prompt.mark(0, Life::Minutes5);
        prompt.mark(2, Life::Hour);
        assert_eq!(prompt.marks(), [(0, Life::Minutes5), (2, Life::Hour)]);
        prompt.mark_only(&[1], Life::Hour);
        assert_eq!(prompt.marks(), [(1, Life::Hour)]);
    }

    #[test]
    fn the_blocks_before_the_conversation_come_first() {
        let head = prompt(&[7, 8]);
        let mut both = prompt(&[1, 2, 3]);
        both.set_head(head.body().clone());
        assert_eq!((both.len(), both.body_len(), both.tokens(), both.end(3)), (5, 3, 50, 30));
        assert_eq!(both.head().sum().blocks, 2);
        assert_eq!(both.blocks(), prompt(&[7, 8, 1, 2, 3]).blocks());
        assert_eq!(both.common(&prompt(&[7, 8, 1, 9])), 3);
    }
}
