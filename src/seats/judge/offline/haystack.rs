//! Whether a long text states a value at all.

use super::page::{Page, Share};
use super::question::Question;
use super::sought::Sought;

/// A text that many values are looked for in: read once, in time linear in its
/// length. Looking for a value that is not there costs a look-up or two.
#[derive(Debug)]
pub struct Haystack {
    page: Page,
    nothing_asked: Question,
}

impl Haystack {
    /// Reads a text.
    pub fn new(text: &str) -> Haystack {
        Haystack { page: Page::new(text), nothing_asked: Question::default() }
    }

    /// Whether the text says `sought`, not denied in the same clause: its
    /// numbers and dates, and its words near each other: all of up to four,
    /// four fifths of more. Yes and no are never stated
    /// ([`Sought::is_yes_no`]).
    pub fn states(&self, sought: &Sought) -> bool {
        !sought.is_yes_no() && self.page.find(sought, &self.nothing_asked, Share::Most).is_ok()
    }
}
