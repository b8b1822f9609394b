//! Byte pair encoding by a list of tokens in the order of their ranks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;

use flate2::read::ZlibDecoder;
use rustc_hash::FxHashMap;

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
pub(super) struct Ranks(FxHashMap<&'static [u8], u32>);

impl Ranks {
    /// Unpacks the file, which takes some ten milliseconds. The bytes are kept
    /// until the program ends, so this is called once.
    pub(super) fn unpacked() -> Ranks {
        let mut bytes = Vec::new();
        ZlibDecoder::new(PACKED).read_to_end(&mut bytes).expect("the file was packed by zlib");
        let (lengths, mut rest) = bytes.leak().split_at(TOKENS);
        let tokens = lengths.iter().map(|length| {
            let (token, behind) = rest.split_at(usize::from(*length));
            rest = behind;
            token
        });
        Ranks(tokens.zip(0..).collect())
    }

    /// Number of tokens of a piece.
    pub(super) fn count(&self, piece: &[u8]) -> usize {
        piece.chunks(LONGEST).map(|part| self.merged(part)).sum()
    }

    /// Number of parts that are left when no two neighbours are a token together.
    fn merged(&self, piece: &[u8]) -> usize {
        if self.0.contains_key(piece) {
            return 1;
        }
        let mut parts = piece.len();
        // Where the part ends that begins at a byte, and where the one before it begins.
        let mut ends: Vec<usize> = (1..=parts).collect();
        let mut before: Vec<usize> = (0..parts).map(|at| at.saturating_sub(1)).collect();
        let rank =
            |start, end| self.0.get(&piece[start..end]).map(|rank| Reverse((*rank, start, end)));
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
        let Ranks(ranks) = Ranks::unpacked();
        let mut tokens: Vec<_> = ranks.into_iter().map(|(token, rank)| (rank, token)).collect();
        tokens.sort_unstable();
        let lines =
            tokens.iter().map(|(rank, token)| format!("{} {rank}\n", STANDARD.encode(token)));
        let hash = Sha256::digest(lines.collect::<String>());
        assert_eq!(hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), PUBLISHED);
    }
}
