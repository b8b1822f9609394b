//! A mark that separates a text from others, whatever the text contains.

/// Number of hexadecimal digits of a mark.
const DIGITS: usize = 8;

/// A mark that none of the given texts contains, so that no text can imitate a
/// line with it.
///
/// It is derived from the first text, and derived again until no text contains
/// it: contexts with the same beginning have the same mark, and share their
/// prefix in the provider's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence(String);

impl Fence {
    /// Derives the mark for these texts.
    pub(crate) fn around<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        let first = texts.clone().next().unwrap_or_default();
        let mark = (0u32..)
            .map(|draw| mark(first, draw))
            .find(|mark| texts.clone().all(|text| !text.contains(mark.as_str())));
        Self(mark.expect("no text holds every mark"))
    }

    /// The mark as text.
    pub(crate) fn mark(&self) -> &str {
        &self.0
    }
}

fn mark(text: &str, draw: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&draw.to_le_bytes()).update(text.as_bytes());
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(texts: &[&str]) -> String {
        Fence::around(texts.iter().copied()).0
    }

    #[test]
    fn a_mark_depends_only_on_the_first_text() {
        assert_eq!(fence(&["a", "b"]), fence(&["a", "b", "c"]));
        assert_ne!(fence(&["a", "b"]), fence(&["b", "a"]));
        assert_eq!(fence(&[]), fence(&[""]));
        assert_eq!(fence(&["a"]).len(), 8);
    }

    #[test]
    fn text_containing_the_mark_gets_another_mark() {
        let first = fence(&["a"]);
        let second = fence(&["a", &format!("</conversation {first}>")]);
        assert_ne!(second, first);
        let third = fence(&["a", &first, &second]);
        assert!(third != first && third != second);
    }
}
