//! Counts tokens by OpenAI's vocabulary `o200k_base`, as the crate bpe-openai
//! does. That one embeds 32 MB of tables, of which counting uses 16; these are
//! what this crate embeds.

use std::sync::LazyLock;

use bpe_openai::Tokenizer;

/// How a text is split before its pieces are encoded. As in bpe-openai 0.3.2,
/// which does not hand it out without its tables.
const PIECES: [&str; 6] = [
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+$",
];

static O200K_BASE: LazyLock<Tokenizer> = LazyLock::new(|| {
    let tables = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base"));
    let encoding = rmp_serde::from_slice(tables).expect("the build script wrote the tables");
    // The last character of white space belongs to what follows: it is only looked at.
    let patterns = [(&*PIECES.join("|"), false), (r"\s+\s", true), (r"\s+", false)];
    Tokenizer::new_lookahead(encoding, &patterns, false).expect("the patterns are valid")
});

/// Tokens of a text.
pub fn count(text: &str) -> usize {
    O200K_BASE.count(text)
}
