//! How rare words are in a session.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::candidates::texts;
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
                    if word.is_ascii() {
                        lower.push_str(word);
                        lower.make_ascii_lowercase();
                    } else {
                        lower.extend(word.chars().flat_map(char::to_lowercase));
                    }
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
mod tests {
    use super::Rarity;
    use recap_core::model::{Block, Message, Role, Session};

    const PATH: &str = "src/net/pool_guard.rs";

    fn message(role: Role, block: Block) -> Message {
        Message::new(String::new(), role, None, vec![block])
    }

    fn user(text: &str) -> Message {
        message(Role::User, Block::Text { text: text.into() })
    }

    #[test]
    fn words_within_150_characters_are_near() {
        let rarity = Rarity::new(&Session::default());
        let taken = |gap: usize| {
            let space = " ".repeat(gap);
            let text = format!("zebra{space}{PATH}{space}okapi");
            let from = "zebra".len() + gap;
            rarity.near(&text, &(from..from + PATH.len()), "")
        };
        // With five letters, a gap of 145 ends at the 150th character.
        assert_eq!(taken(145), ["zebra", "okapi"]);
        assert_eq!(taken(146), [""; 0]);
    }

    #[test]
    fn of_an_answer_the_first_150_characters_count() {
        let rarity = Rarity::new(&Session::default());
        let taken = |gap: usize| {
            let answer = format!("zebra{}okapi", " ".repeat(gap));
            rarity.near(PATH, &(0..PATH.len()), &answer)
        };
        // Two words of five letters: with a gap of 140 the second ends at the 150th.
        assert_eq!(taken(140), ["zebra", "okapi"]);
        assert_eq!(taken(141), ["zebra"]);
    }

    #[test]
    fn own_and_repeated_words_are_left_out() {
        let rarity = Rarity::new(&Session::default());
        let text = format!("src zebra pool_guard zebra {PATH} okapi Zebra");
        let from = text.find(PATH).unwrap();
        let found = rarity.near(&text, &(from..from + PATH.len()), "okapi tapir");
        assert_eq!(found, ["zebra", "okapi", "tapir"]);
    }

    #[test]
    fn five_rarest_words_are_kept() {
        let messages = vec![user("zebra zebra zebra"), user("okapi"), user("Okapi lemur")];
        let rarity = Rarity::new(&Session { messages, ..Session::default() });
        let text = format!("okapi zebra lemur tapir heron gecko quagga {PATH}");
        let from = text.find(PATH).unwrap();
        let found = rarity.near(&text, &(from..from + PATH.len()), "");
        assert_eq!(found, ["tapir", "heron", "gecko", "quagga", "zebra"]);
    }

    #[test]
    fn word_of_a_tenth_of_the_messages_is_current() {
        let of = |with: usize, all: usize| {
            let messages = (0..all).map(|at| user(if at < with { "lane" } else { "so" })).collect();
            let rarity = Rarity::new(&Session { messages, ..Session::default() });
            (rarity.is_current("lane"), rarity.is_current("lanes"))
        };
        assert_eq!(of(8, 80), (true, true));
        assert_eq!(of(8, 81), (false, false));
        assert_eq!(of(7, 20), (false, false));
    }
}
