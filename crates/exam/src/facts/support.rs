//! The words around an identifier that show what it means.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::occurrences::texts;
use recap_core::model::{Reference, Session};
use recap_core::text::{IdentifierOptions, Needle, around, identifiers, words};

/// Characters on either side of a source that support is taken from (reference §4).
const SOURCE_RADIUS: usize = 150;
/// Characters on either side of a carrier that support must stand in (reference §4).
const CARRIER_RADIUS: usize = 250;
/// Number of newest sources of an identifier that support is taken from. One is
/// too few: a summary tells what the session did with a file, and the last
/// source is often a call that holds the path alone.
pub(super) const SOURCES: usize = 10;
/// Rarest words that are kept of a source (reference §4).
const KEPT: usize = 5;
/// Words of the kept ones that support a carrier (reference §4), and common
/// words that make a sentence of it.
const NEEDED: usize = 2;
/// A word is common if one message in this many holds it, and at least
/// [`CURRENT_MESSAGES`] do: the articles and prepositions of any language.
const COMMON_SHARE: u64 = 5;
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
        self.is_spread(either, CURRENT_SHARE)
    }

    /// The frequent words of this conversation, which its sentences consist of.
    pub(super) fn common(&self) -> BTreeSet<String> {
        let spread = self.messages.iter().filter(|(_, (n, _))| self.is_spread(*n, COMMON_SHARE));
        spread.map(|(word, _)| word.clone()).collect()
    }

    fn is_spread(&self, messages: u32, share: u64) -> bool {
        u64::from(messages) * share >= self.total && messages >= CURRENT_MESSAGES
    }

    /// The rarest words around `place` in `text`, rarest first, ties by order;
    /// of the arguments of a call also those at the head of its `answer`, which
    /// tells what they were about.
    pub(super) fn support(&self, text: &str, place: &Range<usize>, answer: &str) -> Vec<String> {
        let own: Vec<String> = words(&text[place.clone()]).map(str::to_lowercase).collect();
        let mut near: Vec<(u32, String)> = Vec::new();
        let (before, after) = around(text, place, SOURCE_RADIUS);
        let (_, head) = around(answer, &(0..0), SOURCE_RADIUS);
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

/// Where `needle` first stands in `carrier`, in bytes, with words around it that
/// tell what it is: two of the reference's support, so that they are about this
/// identifier, and two of the `common` words outside identifiers, so that they
/// are a sentence and no list. What gives fewer of either asks for those it has.
pub(super) fn supported(
    reference: &Reference,
    common: &BTreeSet<String>,
    needle: &Needle,
    carrier: &str,
) -> Option<Range<usize>> {
    let wanted = NEEDED.min(reference.support.len());
    needle.places(carrier).find(|place| {
        let (before, after) = around(carrier, place, CARRIER_RADIUS);
        let near: Vec<String> = words(before).chain(words(after)).map(str::to_lowercase).collect();
        let row_kind = reference.support.iter().filter(|word| near.contains(word));
        row_kind.count() >= wanted
            && is_sentence(&[before, after], common)
            && !is_listed(carrier, place)
    })
}

/// Whether enough different common words stand in texts, outside identifiers.
fn is_sentence(texts: &[&str], common: &BTreeSet<String>) -> bool {
    let plain = texts.iter().flat_map(|text| plain_words(text)).map(str::to_lowercase);
    let found: BTreeSet<String> = plain.filter(|word| common.contains(word)).collect();
    found.len() >= NEEDED.min(common.len())
}

/// The words of a text outside identifiers.
fn plain_words(text: &str) -> Vec<&str> {
    let mut from = 0;
    let mut found = Vec::new();
    let identifiers = identifiers(text, IdentifierOptions::default()).into_iter();
    let ranges = identifiers.map(|identifier| identifier.range);
    for range in ranges.chain(std::iter::once(text.len()..text.len())) {
        found.extend(words(text.get(from..range.start).unwrap_or_default()));
        from = from.max(range.end);
    }
    found
}

/// Fewest names that are a list where they share a line.
const LISTED: usize = 3;

/// Whether a place is an entry of a list that names things and says nothing of
/// each: a line of its own without a word beside another such line, or one of
/// several names behind a colon.
fn is_listed(carrier: &str, place: &Range<usize>) -> bool {
    let start = carrier[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = carrier[place.end..].find('\n').map_or(carrier.len(), |at| place.end + at);
    let line = &carrier[start..end];
    let bare = |line: &str| !line.starts_with('#') && plain_words(line).is_empty();
    if !bare(line) {
        let head = line.find(": ").filter(|colon| *colon < place.start - start);
        let listed = head.map_or("", |colon| &line[colon..]);
        return listed.split(',').count() >= LISTED && listed.split(',').all(bare);
    }
    let is_blank = |line: &&str| line.trim().is_empty();
    let before = carrier[..start].lines().rev().find(|line| !is_blank(line)).unwrap_or_default();
    let after = carrier[end..].lines().find(|line| !is_blank(line)).unwrap_or_default();
    let indent = |line: &str| line.len() - line.trim_start().len();
    // What is said of an entry stands below it, further in.
    let explained = indent(after) > indent(line) && !bare(after);
    !explained && [before, after].iter().any(|other| !is_blank(other) && bare(other))
}

#[cfg(test)]
#[path = "support_tests.rs"]
mod tests;
