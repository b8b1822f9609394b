//! The blocks of a conversation as a tree, so that a change at one position
//! costs only the work for that position.
//!
//! The tree is balanced; each position has a block or none. A copy shares its
//! nodes with the original, and a node stores the hash of its blocks in their
//! order: two prompts are compared without visiting their blocks.

use std::sync::Arc;

/// The part of the prompt that a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Tool definitions, system prompt, notes.
    Preamble,
    /// Text for the model: a user's text, a tool's result, a summary.
    Input,
    /// Text that the model wrote earlier.
    Output,
}

/// A block by itself, independent of its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Hash of the block's bytes and its role.
    pub content: u64,
    /// Tokens of the block.
    pub tokens: u64,
    /// Number of its content blocks, as a provider counts them.
    pub parts: u32,
    /// The part of the prompt that it belongs to.
    pub unit: Unit,
}

/// The combined hash and counts of consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub blocks: usize,
    pub parts: u32,
    pub tokens: u64,
    /// A polynomial in [`BASE`] with the blocks as its coefficients: such a
    /// hash can be computed from the hashes of two halves.
    hash: u64,
    /// [`BASE`] to the power of the number of blocks.
    shift: u64,
}

/// A prime, so that different sequences of blocks have different hashes except by chance.
const PRIME: u64 = (1 << 61) - 1;
/// An arbitrary number without a pattern.
const BASE: u64 = 0x0bf5_8476_d1ce_4e5b;

impl Sum {
    pub const EMPTY: Self = Self { blocks: 0, parts: 0, tokens: 0, hash: 0, shift: 1 };

    pub fn of(piece: &Piece) -> Self {
        let (tokens, parts) = (piece.tokens, piece.parts);
        Self { blocks: 1, parts, tokens, hash: reduced(spread(piece.content)), shift: BASE }
    }

    /// The sum of this sequence followed by another.
    pub fn then(self, next: Self) -> Self {
        Self {
            blocks: self.blocks + next.blocks,
            parts: self.parts + next.parts,
            tokens: self.tokens + next.tokens,
            hash: reduced(times(self.hash, next.shift) + next.hash),
            shift: times(self.shift, next.shift),
        }
    }

    /// Hash of the sequence; every bit of it depends on every block.
    pub fn digest(self) -> u64 {
        spread(self.hash ^ (self.blocks as u64).rotate_left(32))
    }
}

/// A product modulo [`PRIME`], of numbers below it.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    reduced((product as u64 & PRIME) + (product >> 61) as u64)
}

/// A number modulo [`PRIME`]: two to the power of 61 is one more.
fn reduced(number: u64) -> u64 {
    let folded = (number & PRIME) + (number >> 61);
    if folded < PRIME { folded } else { folded - PRIME }
}

/// A bijection that mixes all bits (SplitMix64).
fn spread(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Number of positions in a leaf: fewer cost more nodes, more cost longer sums.
const LEAF: usize = 16;

/// The blocks of a conversation, as a tree that copies share.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    root: Half,
    /// Levels above the leaves.
    height: u32,
    places: usize,
}

type Half = Option<Arc<Node>>;

#[derive(Clone, Debug)]
struct Node {
    sum: Sum,
    kind: NodeKind,
}

#[derive(Clone, Debug)]
enum NodeKind {
    /// Positions, each with the sum of the leaf's blocks up to it, its own included.
    Leaf(Vec<(Option<Piece>, Sum)>),
    Fork([Half; 2]),
}

impl Blocks {
    /// Number of positions, with and without a block.
    pub fn places(&self) -> usize {
        self.places
    }

    /// The sum of all blocks.
    pub(super) fn sum(&self) -> Sum {
        sum(&self.root)
    }

    /// Adds a position at the end.
    pub fn push(&mut self, piece: Option<Piece>) {
        if self.places == LEAF << self.height {
            let all = self.root.take();
            self.root = Some(Arc::new(Node::new(NodeKind::Fork([all, None]))));
            self.height += 1;
        }
        insert(&mut self.root, self.height, self.places, piece);
        self.places += 1;
    }

    /// Replaces the block at a position.
    ///
    /// # Panics
    ///
    /// If there is no such position.
    pub fn set(&mut self, place: usize, piece: Option<Piece>) {
        assert!(place < self.places, "a block is replaced where there is a place for one");
        insert(&mut self.root, self.height, place, piece);
    }

    /// The block at a position; `None` also if there is no such position.
    pub fn at(&self, place: usize) -> Option<Piece> {
        let (mut node, mut place, mut height) = (self.root.as_ref()?, place, self.height);
        loop {
            match &node.kind {
                NodeKind::Leaf(places) => return places.get(place)?.0,
                NodeKind::Fork(halves) => {
                    height -= 1;
                    let half = LEAF << height;
                    node = halves.get(place / half)?.as_ref()?;
                    place %= half;
                }
            }
        }
    }

    /// Number of blocks before a position.
    pub fn before(&self, place: usize) -> usize {
        let (mut node, mut place, mut height) = (self.root.as_ref(), place, self.height);
        let mut blocks = 0;
        while let Some(tree) = node {
            match &tree.kind {
                NodeKind::Leaf(places) => return blocks + through(places, place).blocks,
                NodeKind::Fork([first, second]) => {
                    height -= 1;
                    let half = LEAF << height;
                    node = first.as_ref();
                    if place >= half {
                        blocks += sum(first).blocks;
                        node = second.as_ref();
                        place -= half;
                    }
                }
            }
        }
        blocks
    }

    /// The sum of the first `blocks` blocks, and the block after them.
    pub(super) fn leading(&self, blocks: usize) -> (Sum, Option<Piece>) {
        let (mut node, mut all) = (self.root.as_ref(), Sum::EMPTY);
        while let Some(tree) = node {
            match &tree.kind {
                NodeKind::Leaf(places) => {
                    let end = place_behind(places, blocks - all.blocks);
                    let next = places.get(end).and_then(|(piece, _)| *piece);
                    return (all.then(through(places, end)), next);
                }
                NodeKind::Fork([first, second]) => {
                    let whole = sum(first);
                    let goes_on = all.blocks + whole.blocks <= blocks;
                    node = if goes_on { second.as_ref() } else { first.as_ref() };
                    all = if goes_on { all.then(whole) } else { all };
                }
            }
        }
        (all, None)
    }

    /// The position of a block, by its number from 0.
    pub fn place_of(&self, block: usize) -> Option<usize> {
        let (mut node, mut left, mut height) = (self.root.as_ref()?, block, self.height);
        let mut start = 0;
        loop {
            match &node.kind {
                NodeKind::Leaf(places) => {
                    let place = place_behind(places, left);
                    return (place < places.len()).then_some(start + place);
                }
                NodeKind::Fork([first, second]) => {
                    height -= 1;
                    let whole = sum(first).blocks;
                    if left < whole {
                        node = first.as_ref()?;
                    } else {
                        (node, left) = (second.as_ref()?, left - whole);
                        start += LEAF << height;
                    }
                }
            }
        }
    }
}

impl Node {
    fn new(kind: NodeKind) -> Self {
        let sum = match &kind {
            NodeKind::Leaf(places) => through(places, places.len()),
            NodeKind::Fork([first, second]) => sum(first).then(sum(second)),
        };
        Self { sum, kind }
    }

    fn empty(height: u32) -> Self {
        let leaf = || NodeKind::Leaf(Vec::with_capacity(LEAF));
        Self::new(if height == 0 { leaf() } else { NodeKind::Fork([None, None]) })
    }
}

fn sum(half: &Half) -> Sum {
    half.as_ref().map_or(Sum::EMPTY, |node| node.sum)
}

/// The sum of the first positions of a leaf.
fn through(places: &[(Option<Piece>, Sum)], first: usize) -> Sum {
    let last = first.min(places.len()).checked_sub(1);
    last.map_or(Sum::EMPTY, |last| places[last].1)
}

/// The position in a leaf of the block behind so many blocks; the end if there is none.
fn place_behind(places: &[(Option<Piece>, Sum)], blocks: usize) -> usize {
    places.partition_point(|(_, sum)| sum.blocks <= blocks)
}

/// Puts a block at a position below a node, or at the first free one. Nodes
/// that are shared with a copy are not changed.
fn insert(half: &mut Half, height: u32, place: usize, piece: Option<Piece>) {
    let node = Arc::make_mut(half.get_or_insert_with(|| Arc::new(Node::empty(height))));
    match &mut node.kind {
        NodeKind::Leaf(places) => {
            match places.get_mut(place) {
                Some((known, _)) => *known = piece,
                None => places.push((piece, Sum::EMPTY)),
            }
            let mut all = through(places, place);
            for (piece, sum) in places.iter_mut().skip(place) {
                all = piece.as_ref().map_or(all, |piece| all.then(Sum::of(piece)));
                *sum = all;
            }
        }
        NodeKind::Fork(halves) => {
            let width = LEAF << (height - 1);
            insert(&mut halves[place / width], height - 1, place % width, piece);
        }
    }
    let kind = std::mem::replace(&mut node.kind, NodeKind::Fork([None, None]));
    *node = Node::new(kind);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece(content: u64) -> Piece {
        let unit = Unit::Input;
        Piece { content, tokens: content % 7 + 1, parts: content as u32 % 3 + 1, unit }
    }

    fn row(pieces: impl IntoIterator<Item = Option<u64>>) -> Blocks {
        let mut blocks = Blocks::default();
        pieces.into_iter().for_each(|content| blocks.push(content.map(piece)));
        blocks
    }

    /// The expected sum, computed block by block.
    fn by_hand(pieces: &[Option<u64>]) -> Sum {
        let there = pieces.iter().flatten();
        there.fold(Sum::EMPTY, |all, &content| all.then(Sum::of(&piece(content))))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn changed_tree_equals_tree_built_with_the_change(
            mut places in prop::collection::vec(prop::option::of(0u64..9), 1..90),
            changes in prop::collection::vec((any::<usize>(), prop::option::of(0u64..9)), 0..40),
        ) {
            let mut blocks = row(places.iter().copied());
            for (place, content) in changes {
                let place = place % places.len();
                let (copy, before) = (blocks.clone(), by_hand(&places));
                blocks.set(place, content.map(piece));
                places[place] = content;
                prop_assert_eq!(copy.sum(), before, "a copy stays as it was");
            }
            prop_assert_eq!(blocks.sum(), by_hand(&places));
            let mut blocks_before = 0;
            for (place, content) in places.iter().enumerate() {
                prop_assert_eq!(blocks.at(place), content.map(piece));
                prop_assert_eq!(blocks.before(place), blocks_before);
                if let Some(content) = content {
                    let (leading, next) = blocks.leading(blocks_before);
                    prop_assert_eq!(leading, by_hand(&places[..place]));
                    prop_assert_eq!(next, Some(piece(*content)));
                    prop_assert_eq!(blocks.place_of(blocks_before), Some(place));
                    blocks_before += 1;
                }
            }
            prop_assert_eq!(blocks.place_of(blocks_before), None);
        }
    }

    #[test]
    fn empty_positions_do_not_change_the_hash() {
        let gaps = row([None, Some(1), None, Some(2)]);
        assert_eq!(gaps.sum(), row([Some(1), Some(2)]).sum());
        assert_ne!(gaps.sum(), row([Some(2), Some(1)]).sum());
        assert_ne!(row([Some(0)]).sum().digest(), row([Some(0), Some(0)]).sum().digest());
    }

    #[test]
    fn a_digest_uses_all_bits() {
        let digests = || (0..4_096).map(|content| row([Some(content)]).sum().digest());
        for bit in 0..64 {
            let set = digests().filter(|digest| digest >> bit & 1 == 1).count();
            assert!((1_850..2_250).contains(&set), "bit {bit} is set {set} times in 4,096");
        }
        // The number of digests with equal lowest 16 bits is that of random
        // numbers.
        let mut low: Vec<u64> = digests().map(|digest| digest & 0xffff).collect();
        low.sort_unstable();
        low.dedup();
        assert!(low.len() > 3_900, "{} of 4,096", low.len());
    }

    /// Reference values: a generator that starts at 0 gives these three first.
    #[test]
    fn bits_are_mixed_as_by_splitmix64() {
        let step = 0x9e37_79b9_7f4a_7c15_u64;
        let mixed = [0, step, step.wrapping_mul(2)].map(spread);
        assert_eq!(mixed, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn products_are_taken_modulo_the_prime() {
        assert_eq!(times(3, 5), 15);
        assert_eq!(times(1 << 60, 2), 1, "two to the power of 61 is one more than the prime");
        assert_eq!(times(1 << 60, 12), 6);
        assert_eq!(times(PRIME - 1, PRIME - 1), 1);
        assert_eq!(times(PRIME - 1, 7), PRIME - 7);
    }

    #[test]
    fn digest_depends_on_every_bit_and_block_count() {
        let digest = |blocks, hash| Sum { blocks, hash, ..Sum::EMPTY }.digest();
        let mut all: Vec<u64> = (0..61).map(|bit| digest(3, 1 << bit)).collect();
        all.push(digest(3, 0));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 62);
        assert!(digest(3, 0) != digest(4, 0) && digest(0, 0) != digest(3, 0));
    }
}
