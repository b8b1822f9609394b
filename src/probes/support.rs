//! The words around an identifier that tell what it was about.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::occurrences::texts;
use crate::model::{Reference, Transcript};
use crate::text::{Needle, around, words};

/// Characters on either side of the last source that support is taken from (`measures` §4).
const SOURCE_RADIUS: usize = 150;
/// Characters on either side of a carrier that support must stand in (`measures` §4).
const CARRIER_RADIUS: usize = 250;
/// Rarest words that are kept (`measures` §4).
const KEPT: usize = 5;
/// Words of the kept ones that support a carrier (`measures` §4).
const NEEDED: usize = 2;
/// A word is current in a conversation if one message in this many holds it …
const CURRENT_SHARE: u64 = 10;
/// … and at least so many do.
const CURRENT_MESSAGES: u32 = 8;

/// In how many messages of a transcript each word stands.
pub(super) struct Rarity {
    messages: FxHashMap<String, (u32, u32)>,
    total: u64,
}

impl Rarity {
    pub(super) fn new(transcript: &Transcript) -> Rarity {
        let mut messages: FxHashMap<String, (u32, u32)> = FxHashMap::default();
        let mut lower = String::new();
        for (ordinal, message) in (1u32..).zip(&transcript.messages) {
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
        Rarity { messages, total: transcript.messages.len() as u64 }
    }

    /// Whether the conversation uses a word everywhere: whoever works on it
    /// could put a compound of such words together.
    pub(super) fn is_current(&self, word: &str) -> bool {
        let count = |word: &str| self.messages.get(word).map_or(0, |(count, _)| *count);
        let either = count(word).max(word.strip_suffix('s').map_or(0, count));
        u64::from(either) * CURRENT_SHARE >= self.total && either >= CURRENT_MESSAGES
    }

    /// The rarest words around `place` in `text`, rarest first, ties by order.
    pub(super) fn support(&self, text: &str, place: &Range<usize>) -> Vec<String> {
        let own: Vec<String> = words(&text[place.clone()]).map(str::to_lowercase).collect();
        let mut near: Vec<(u32, String)> = Vec::new();
        let (before, after) = around(text, place, SOURCE_RADIUS);
        for word in words(before).chain(words(after)).map(str::to_lowercase) {
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

/// Whether some place of `needle` in `carrier` has enough of the reference's
/// support around it. A source too poor to give two words asks for those it gave.
pub(super) fn supports(reference: &Reference, needle: &Needle, carrier: &str) -> bool {
    supported(reference, needle, carrier).is_some()
}

/// The first such place, in bytes.
pub(super) fn supported(
    reference: &Reference,
    needle: &Needle,
    carrier: &str,
) -> Option<Range<usize>> {
    let wanted = NEEDED.min(reference.support.len());
    needle.places(carrier).find(|place| {
        let (before, after) = around(carrier, place, CARRIER_RADIUS);
        let near: Vec<String> = words(before).chain(words(after)).map(str::to_lowercase).collect();
        let standing = reference.support.iter().filter(|word| near.contains(word));
        standing.count() >= wanted
    })
}
