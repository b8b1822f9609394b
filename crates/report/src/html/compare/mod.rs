//! The page of `recap compare`: what changed between two runs on the same data.

use askama::Template;

use super::policy;
use crate::{comparison, document};
use recap_core::model::Comparison;

#[derive(Template)]
#[template(path = "compare/compare.html")]
struct Page {
    policy: String,
    styles: &'static [&'static str],
    headline: String,
    /// What differs, and every measure of each row.
    document: String,
}

/// Renders a comparison as a page without scripts.
pub fn comparison_html(comparison: &Comparison) -> String {
    let page = Page {
        policy: policy::policy_without_scripts(),
        styles: policy::STYLES,
        headline: comparison::headline(comparison),
        document: document::html(&comparison::parts(comparison)),
    };
    page.render().expect("writing to memory cannot fail")
}
