//! How rare words are in a session.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::occurrences::texts;
use recap_core::model::Session;
use recap_core::text::{around, words};

/// Characters on either side of an identifier in which words are near it.
const NEAR: usize = 150;
/// Rarest words near it that a search asks for (how-it-works §45).
const KEPT: usize = 5;
/// A word is current in a conversation if one message in this many holds it …
const CURRENT_SHARE: u64 = 10;
/// … and at least this many messages do.
const CURRENT_MESSAGES: u32 = 8;

/// For each word, the number of messages of a session that contain it.
pub(super) struct Rarity {
    messages: FxHashMap<String, (u32, u32)>,
    total: u64,
}

impl Rarity {
    pub(super) fn new(session: &Session) -> Rarity {
        let mut messages: FxHashMap<String, (u32, u32)> = FxHashMap::default();
        let mut lower = String::new();
        for (ordinal, message) in (1u32..).zip(&session.messages) {
            texts(message, &mut |_, text| {
                for word in words(text) {
                    lower.clear();
                    lower.extend(word.chars().flat_map(char::to_lowercase));
                    match messages.get_mut(lower.as_str()) {
                        Some((count, last)) if *last != ordinal => {
                            *count += 1;
                            *last = ordinal;
                        }
                        Some(_) => {}
                        None => {
                            messages.insert(lower.clone(), (1, ordinal));
                        }
                    }
                }
            });
        }
        Rarity { messages, total: session.messages.len() as u64 }
    }

    /// Whether a word is used throughout the conversation, so that a compound
    /// of such words can be formed without having read it.
    pub(super) fn is_current(&self, word: &str) -> bool {
        let count = |word: &str| self.messages.get(word).map_or(0, |(count, _)| *count);
        let either = count(word).max(word.strip_suffix('s').map_or(0, count));
        u64::from(either) * CURRENT_SHARE >= self.total && either >= CURRENT_MESSAGES
    }

    /// The rarest words around `place` in `text`, rarest first, ties by order;
    /// of the arguments of a call also those at the head of its `answer`, which
    /// tells what they were about.
    pub(super) fn near(&self, text: &str, place: &Range<usize>, answer: &str) -> Vec<String> {
        let own: Vec<String> = words(&text[place.clone()]).map(str::to_lowercase).collect();
        let mut near: Vec<(u32, String)> = Vec::new();
        let (before, after) = around(text, place, NEAR);
        let (_, head) = around(answer, &(0..0), NEAR);
        let all = [before, after, head].into_iter().flat_map(words);
        for word in all.map(str::to_lowercase) {
            if !own.contains(&word) && !near.iter().any(|(_, known)| *known == word) {
                let count = self.messages.get(&word).map_or(0, |(count, _)| *count);
                near.push((count, word));
            }
        }
        near.sort_by_key(|(count, _)| *count);
        near.truncate(KEPT);
        near.into_iter().map(|(_, word)| word).collect()
    }
}

#[cfg(test)]
#[path = "rarity_tests.rs"]
mod tests;
