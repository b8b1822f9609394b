//! An API key, which is sent and never shown.

use std::fmt;

use thiserror::Error;

/// The text that replaces a key.
pub(super) const SCRUBBED: &str = "[key]";

/// Length up to which a key counts as a placeholder, not a secret: servers that
/// accept any key are given words such as `none`, `EMPTY` or `ollama`, and
/// texts must not lose these words.
const PLACEHOLDER: usize = 6;

/// The API key of a user at a provider. It has no [`Display`](fmt::Display),
/// and [`Debug`] hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// Why a text cannot be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The text is empty or only white space.
    #[error("the key is empty")]
    Empty,
    /// The text has characters that are not allowed in an HTTP header.
    #[error("the key holds spaces or other characters that no key has")]
    Unsendable,
}

impl Key {
    /// A key as read from a file or a variable, where white space around it is
    /// common.
    ///
    /// # Errors
    /// If nothing is left, or it is not of visible ASCII characters (RFC 9110
    /// §5.5 would allow more, no provider does). The error does not repeat it.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Unsendable);
        }
        Ok(Self(text.to_owned()))
    }

    /// The key itself, to be sent in a header only.
    pub(super) fn value(&self) -> &str {
        &self.0
    }

    /// Whether a text contains the key. A placeholder does not count.
    pub fn is_in(&self, text: &str) -> bool {
        self.is_secret() && text.contains(&self.0)
    }

    /// A text without the key.
    pub fn scrub(&self, text: &str) -> String {
        if self.is_in(text) { text.replace(&self.0, SCRUBBED) } else { text.to_owned() }
    }

    fn is_secret(&self) -> bool {
        self.0.len() > PLACEHOLDER
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCRUBBED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::new(" sk-canary\n").unwrap();
        assert_eq!(key.value(), "sk-canary");
        assert_eq!(format!("{:?}", Some(&key)), "Some([key])");
    }

    #[test]
    fn a_text_is_scrubbed_of_every_copy() {
        let key = Key::new("sk-canary").unwrap();
        assert!(key.is_in("Bearer sk-canary"));
        assert!(!key.is_in("Bearer sk-other"));
        assert_eq!(key.scrub("<sk-canary>, sk-canarysk-canary"), "<[key]>, [key][key]");
        assert_eq!(key.scrub("nothing here"), "nothing here");
    }

    #[test]
    fn placeholder_key_words_are_not_scrubbed() {
        for word in ["none", "EMPTY", "ollama"] {
            let key = Key::new(word).unwrap();
            assert!(!key.is_in(word), "{word}");
            assert_eq!(key.scrub(word), word);
        }
        assert!(Key::new("sk-test").unwrap().is_in("sk-test"));
    }

    #[test]
    fn what_no_header_may_carry_is_no_key() {
        assert_eq!(Key::new(" \n"), Err(KeyError::Empty));
        for text in ["two words", "line\nbreak", "schlüssel"] {
            let error = Key::new(text).unwrap_err();
            assert_eq!(error, KeyError::Unsendable);
            assert!(!error.to_string().contains(text), "{error}");
        }
    }
}
