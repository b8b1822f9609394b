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
