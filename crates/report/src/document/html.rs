//! A document as part of a page.

use askama::Template;

use super::Part;
use crate::plain;

#[derive(Template)]
#[template(path = "document.html")]
struct Fragment<'a> {
    parts: &'a [Part],
}

/// The parts in order. The template escapes every text.
pub(crate) fn html(parts: &[Part]) -> String {
    Fragment { parts }.render().expect("writing to memory cannot fail")
}
