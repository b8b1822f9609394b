//! Prompts for tests: a letter is a block of 1,000 tokens.

use jiff::{SignedDuration, Timestamp};

use super::blocks::Unit;
use super::prompt::{Life, Prompt};

/// A prompt of blocks with content, tokens and unit.
pub fn prompt_of(blocks: &[(u64, u64, Unit)]) -> Prompt {
    let mut prompt = Prompt::default();
    blocks.iter().for_each(|&(content, tokens, unit)| prompt.push(content, tokens, 1, unit));
    prompt
}

/// A prompt in which each letter is a block of input of 1,000 tokens; equal
/// letters have equal content.
pub fn prompt(letters: &str) -> Prompt {
    let blocks: Vec<_> =
        letters.bytes().map(|letter| (u64::from(letter), 1_000, Unit::Input)).collect();
    prompt_of(&blocks)
}

/// A prompt of letters with breakpoints after some blocks.
pub fn marked(letters: &str, marks: &[(usize, Life)]) -> Prompt {
    let mut prompt = prompt(letters);
    marks.iter().for_each(|&(block, life)| prompt.mark(block, life));
    prompt
}

/// A time this many seconds into the session.
pub fn seconds(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

/// A time this many minutes into the session.
pub fn minutes(minutes: i64) -> Timestamp {
    seconds(minutes * 60)
}
