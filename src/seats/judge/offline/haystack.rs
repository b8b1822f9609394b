//! Decides whether a long text states a value.

use super::page::{Page, Share};
use super::question::Question;
use super::sought::Sought;

/// A text that is searched for many values: parsed once, in time linear in its
/// length. A search for an absent value costs one or two look-ups.
#[derive(Debug)]
pub struct Haystack {
    page: Page,
    nothing_asked: Question,
}

impl Haystack {
    /// Parses a text for searches.
    pub fn new(text: &str) -> Haystack {
        Haystack { page: Page::new(text), nothing_asked: Question::default() }
    }

    /// Whether the text states `sought` and does not deny it in the same
    /// clause. All numbers and dates are required, and the words near each
    /// other: all of up to four words, four fifths of more. Yes and no are
    /// never stated ([`Sought::is_yes_no`]).
    pub fn states(&self, sought: &Sought) -> bool {
        !sought.is_yes_no() && self.page.find(sought, &self.nothing_asked, Share::Most).is_ok()
    }
}
