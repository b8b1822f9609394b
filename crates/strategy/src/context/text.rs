//! A text as it is sent, with what was found in it.

use std::any::Any;
use std::hash::BuildHasher;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxBuildHasher, FxHashSet};

use recap_core::text::{IdentifierOptions, identifiers, words};

/// A text as it is sent. What is found in it is found once, when it is first needed, for all
/// that share the text.
#[derive(Debug, Default)]
pub struct SentText {
    text: OnceLock<Arc<str>>,
    identifiers: OnceLock<Vec<Range<usize>>>,
    words: OnceLock<Vec<u64>>,
    hash: OnceLock<[u8; 32]>,
    derived: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl SentText {
    /// A text to be shared.
    pub fn new(text: impl Into<Arc<str>>) -> Arc<Self> {
        Arc::new(Self { text: OnceLock::from(text.into()), ..Self::default() })
    }

    /// The text alone, which `write` gives where it is not known yet.
    pub(super) fn known(&self, write: impl FnOnce() -> String) -> &Arc<str> {
        self.text.get_or_init(|| write().into())
    }

    /// The text alone.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(self.text.get().expect("a text is known before it is given out"))
    }

    /// The places of its different identifiers, in their order.
    pub(crate) fn identifiers(&self) -> &[Range<usize>] {
        self.identifiers.get_or_init(|| {
            let mut known = FxHashSet::default();
            let mut found = identifiers(self, IdentifierOptions::default());
            found.retain(|identifier| known.insert(identifier.text));
            found.into_iter().map(|identifier| identifier.range).collect()
        })
    }

    /// The hashes of its different words, ignoring case.
    pub(crate) fn words(&self) -> &[u64] {
        self.words.get_or_init(|| {
            let mut found: Vec<u64> = words(&without_escapes(self)).map(word_hash).collect();
            found.sort_unstable();
            found.dedup();
            found
        })
    }

    /// Its BLAKE3 hash.
    pub(crate) fn hash(&self) -> &[u8; 32] {
        self.hash.get_or_init(|| *blake3::hash(self.as_bytes()).as_bytes())
    }

    /// What the offline compactor finds in it.
    pub fn derived<T: Send + Sync + 'static>(&self, find: impl FnOnce(&str) -> T) -> &T {
        let found = self.derived.get_or_init(|| Box::new(find(self)));
        found.downcast_ref().expect("one type of value is derived from texts")
    }
}

impl Deref for SentText {
    type Target = str;

    fn deref(&self) -> &str {
        self.text.get().expect("a text is known before it is given out")
    }
}

impl PartialEq for SentText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SentText {}

/// The text with a space for every character of an escaped line feed or tab, as
/// in the arguments of a call: `\nfoo` is the word `foo`. Positions are those
/// of the text.
pub(crate) fn without_escapes(text: &str) -> String {
    ["\\n", "\\t", "\\r"].iter().fold(text.to_owned(), |text, escape| text.replace(escape, "  "))
}

/// The hash of a word, ignoring case. 64 bits: two words of one session share a hash with a
/// chance below one in a billion.
pub(crate) fn word_hash(word: &str) -> u64 {
    FxBuildHasher.hash_one(word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use recap_core::model::PreambleChange;
    use serde_json::json;

    use super::*;
    use crate::context::Recording;
    use crate::testkit::Talk;

    #[test]
    fn segments_share_the_texts_that_they_do_not_change() {
        let talk = Talk::new("S").user("u").calls(&[("c", "read", json!({}))]).result("c", "found");
        let recording = Recording::new(Arc::new(talk.end()), Arc::default());
        let part = recording.part(&[(1, None), (2, Some("cleared"))], Vec::new());
        assert!(Arc::ptr_eq(recording.text(1), part.text(0)));
        assert_eq!(&*recording.text(1).shared(), r#"{"name":"read","arguments":{}}"#);
        assert_eq!((&***recording.text(2), &***part.text(1)), ("found", "cleared"));
    }

    #[test]
    fn segments_share_the_preambles_that_stand_in_them() {
        let mut talk = Talk::new("first").user("0").user("1").user("2").user("3").end();
        talk.preamble_changes = [(1, "second"), (3, "third")]
            .map(|(before, system)| PreambleChange { before, system: vec![system.to_owned()] })
            .to_vec();
        let recording = Recording::new(Arc::new(talk), Arc::default());
        assert_eq!(&***recording.preamble(None), "first");
        let part = recording.part(&[(2, None), (3, None)], Vec::new());
        for (there, whole) in [(None, Some(0)), (Some(0), Some(1))] {
            assert!(Arc::ptr_eq(part.preamble(there), recording.preamble(whole)));
            assert_eq!(***part.preamble(there), *part.session.preamble_since(there));
        }
    }

    #[test]
    fn identifiers_and_words_are_found_once() {
        let text = SentText::new("Open src/lost.rs, not src/kept.rs: OPEN src/lost.rs\\nagain");
        let names = text.identifiers().iter().map(|place| &text[place.clone()]);
        assert_eq!(names.collect::<Vec<_>>(), ["src/lost.rs", "src/kept.rs"]);
        let is_word = |word| text.words().contains(&word_hash(word));
        assert!(is_word("open") && is_word("Again") && !is_word("nagain"));
        assert_eq!(text.derived(str::len), text.derived(|_| 0_usize));
    }
}
