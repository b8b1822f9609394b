//! Counts tokens by OpenAI's vocabulary `o200k_base`, as OpenAI's tiktoken does.

mod ascii;
mod ranks;

use std::cell::RefCell;
use std::sync::LazyLock;

use ranks::Ranks;
use regex_automata::{Anchored, Input, meta::Regex};

/// How a text is split before its pieces are encoded: the pattern of `o200k_base`
/// in tiktoken (`tiktoken_ext/openai_public.py`). Its negative look-ahead
/// `\s+(?!\S)` stands here as `\s+$`, and as [`LOOKS_AHEAD`].
const PATTERN: [&str; 6] = [
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+$",
];
/// The last character of white space belongs to what follows: it is only looked at.
const LOOKS_AHEAD: &str = r"\s+\s";

static SPLIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new_many(&[&*PATTERN.join("|"), LOOKS_AHEAD, r"\s+"]).expect("the patterns are valid")
});

static O200K_BASE: LazyLock<Ranks> = LazyLock::new(Ranks::unpacked);

/// Tokens of a text.
pub fn count(text: &str) -> usize {
    KNOWN.with_borrow_mut(|known| pieces(text).map(|(rest, piece)| known.count(rest, piece)).sum())
}

/// The pieces that are encoded one by one: what is left of the text, and the length of the piece
/// at its front.
fn pieces(text: &str) -> impl Iterator<Item = (&[u8], usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let length = ascii::piece(rest).or_else(|| piece_by_patterns(rest))?;
        let piece = (rest.as_bytes(), length);
        rest = &rest[length..];
        Some(piece)
    })
}

/// The length of the first piece of a text; `None` if it is empty.
fn piece_by_patterns(text: &str) -> Option<usize> {
    let found = SPLIT.find(Input::new(text).anchored(Anchored::Yes))?;
    let piece = &text[found.range()];
    let ahead = if found.pattern().as_usize() == 1 { piece.chars().next_back() } else { None };
    Some(piece.len() - ahead.map_or(0, char::len_utf8))
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::new(Known { pieces: vec![0; SLOTS], tokens: vec![0; SLOTS] });
}

/// The tokens of pieces that were counted before. Nearly every piece of a text is
/// a word that came already, and to look it up costs a tenth of encoding it.
struct Known {
    /// The bytes of the piece in each slot, with their number as the last one; 0: none.
    pieces: Vec<u128>,
    tokens: Vec<u8>,
}

/// Number of slots: as many as a processor's second cache holds. A piece has one
/// slot, and takes it from the piece that was there.
const SLOTS: usize = 1 << 15;

impl Known {
    /// Tokens of so many bytes at the front of a text.
    fn count(&mut self, text: &[u8], length: usize) -> usize {
        const WIDTH: usize = size_of::<u128>();
        let anew = || O200K_BASE.count(&text[..length]);
        if length >= WIDTH {
            return anew();
        }
        let bytes = text.first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0; WIDTH];
            bytes[..text.len()].copy_from_slice(text);
            bytes
        });
        let piece = u128::from_le_bytes(bytes) & ((1 << (8 * length)) - 1);
        let key = piece | (length as u128) << (8 * (WIDTH - 1));
        // Fibonacci hashing of both halves.
        let mixed =
            (key as u64 ^ ((key >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = (mixed >> (u64::BITS - SLOTS.ilog2())) as usize;
        if self.pieces[slot] != key {
            self.pieces[slot] = key;
            self.tokens[slot] = anew() as u8;
        }
        usize::from(self.tokens[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_pieces_count_as_the_first_time() {
        let text = "Hello, hello world!\n\n  fn naïve_count(x: u32) -> 日本語のテキスト 🦀🦀 123456 …—’s \t\t\r\n \
                    supercalifragilisticexpialidocious ============================ a\0b \0 \0\0";
        for piece in (0..text.len()).filter(|at| text.is_char_boundary(*at)).map(|at| &text[at..]) {
            let anew = pieces(piece).map(|(rest, length)| O200K_BASE.count(&rest[..length])).sum();
            assert_eq!((count(piece), count(piece)), (anew, anew), "{piece:?}");
        }
    }
}
