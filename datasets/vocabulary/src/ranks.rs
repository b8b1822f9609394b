//! Byte pair encoding by a list of tokens in the order of their ranks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hasher;
use std::io::Read;

use flate2::read::ZlibDecoder;
use rustc_hash::FxHasher;

/// The tokens of OpenAI's file `o200k_base.tiktoken` (MIT licence) in their order:
/// the length of each in a byte, then the bytes of all, packed by zlib. A test
/// holds it against the SHA-256 that OpenAI's library tiktoken publishes.
const PACKED: &[u8] = include_bytes!("../o200k_base.zlib");
/// Number of tokens in the file.
const TOKENS: usize = 199_998;

/// Longest part of a piece that is encoded at once, in bytes: it bounds the
/// memory of hostile texts. A longer piece, such as a megabyte of one letter, may
/// count one token more for each such part.
const LONGEST: usize = 1 << 16;

/// The rank of every token. Of two neighbours in a text, those are merged first
/// whose bytes together are the token of the lowest rank.
pub(super) struct Ranks {
    /// The length of every token, then the bytes of all, in the order of their ranks, and where
    /// each ends.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// For every hash of a token its rank and, above that, other bits of its hash, by which most
    /// of what is no token is told without a look at the bytes; [`FREE`] in other slots. A token
    /// whose slot is taken has the next free one.
    slots: Vec<u32>,
}

/// Slots: about five for two tokens, so that few are taken.
const SLOTS: usize = 1 << 19;
/// Bits of a slot that hold a rank.
const RANK: u32 = TOKENS.ilog2() + 1;
/// No rank is so high.
const FREE: u32 = u32::MAX;

impl Ranks {
    /// Unpacks the file, which takes some ten milliseconds, so this is called once.
    pub(super) fn unpacked() -> Ranks {
        let mut bytes = Vec::with_capacity(PACKED.len() * 2);
        ZlibDecoder::new(PACKED).read_to_end(&mut bytes).expect("the file was packed by zlib");
        let mut end = TOKENS as u32;
        let sum = |length: &u8| {
            end += u32::from(*length);
            end
        };
        let ends = bytes[..TOKENS].iter().map(sum).collect();
        let mut ranks = Ranks { bytes, ends, slots: vec![FREE; SLOTS] };
        for rank in 0..TOKENS as u32 {
            let (mut slot, mark) = place(ranks.token(rank));
            while ranks.slots[slot] != FREE {
                slot = (slot + 1) % SLOTS;
            }
            ranks.slots[slot] = mark | rank;
        }
        ranks
    }

    /// The bytes of a token.
    fn token(&self, rank: u32) -> &[u8] {
        let start = rank.checked_sub(1).map_or(TOKENS as u32, |before| self.ends[before as usize]);
        &self.bytes[start as usize..self.ends[rank as usize] as usize]
    }

    /// The rank of a token; `None` for other bytes.
    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        let (mut slot, mark) = place(bytes);
        loop {
            let (found, rank) = (self.slots[slot], self.slots[slot] & ((1 << RANK) - 1));
            if found == FREE {
                return None;
            }
            if found - rank == mark && self.token(rank) == bytes {
                return Some(rank);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// Number of tokens of a piece.
    pub(super) fn count(&self, piece: &[u8]) -> usize {
        piece.chunks(LONGEST).map(|part| self.merged(part)).sum()
    }

    /// Number of parts that are left when no two neighbours are a token together.
    fn merged(&self, piece: &[u8]) -> usize {
        if self.rank(piece).is_some() {
            return 1;
        }
        let mut parts = piece.len();
        // Where the part ends that begins at a byte, and where the one before it begins.
        let mut ends: Vec<usize> = (1..=parts).collect();
        let mut before: Vec<usize> = (0..parts).map(|at| at.saturating_sub(1)).collect();
        let rank =
            |start, end| self.rank(&piece[start..end]).map(|rank| Reverse((rank, start, end)));
        // The lowest rank first, and of equal ones the first in the text.
        let mut pairs: BinaryHeap<_> = (2..=parts).filter_map(|end| rank(end - 2, end)).collect();
        while let Some(Reverse((_, start, end))) = pairs.pop() {
            let middle = ends[start];
            // A part of the pair was merged with another meanwhile.
            if middle >= end || ends[middle] != end {
                continue;
            }
            parts -= 1;
            (ends[start], ends[middle]) = (end, GONE);
            if start > 0 {
                pairs.extend(rank(before[start], end));
            }
            if end < piece.len() {
                before[end] = start;
                pairs.extend(rank(start, ends[end]));
            }
        }
        parts
    }
}

/// The first slot of some bytes, and the bits of their hash that stand above a rank.
fn place(bytes: &[u8]) -> (usize, u32) {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    let hash = hasher.finish();
    (hash as usize % SLOTS, (hash >> u32::BITS) as u32 >> RANK << RANK)
}

/// The end of a part that was merged into the one before it.
const GONE: usize = usize::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    /// `tiktoken_ext/openai_public.py` of OpenAI's tiktoken.
    const PUBLISHED: &str = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

    #[test]
    fn tokens_are_those_of_the_published_file() {
        let ranks = Ranks::unpacked();
        let lines = (0..TOKENS as u32).map(|rank| {
            let token = ranks.token(rank);
            assert_eq!(ranks.rank(token), Some(rank));
            format!("{} {rank}\n", STANDARD.encode(token))
        });
        let hash = Sha256::digest(lines.collect::<String>());
        assert_eq!(hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), PUBLISHED);
    }
}
