//! The page of `recap compare`: two runs on the same data in one picture, and
//! what changed, row by row.

use askama::Template;

use super::answer::points;
use super::answer::quadrant::{FRAMES, Quadrant};
use super::policy;
use crate::{comparison, document};
use recap_core::model::{ComparedRow, Comparison, Primary};

#[derive(Template)]
#[template(path = "compare/compare.html")]
struct Page {
    policy: String,
    styles: &'static [&'static str],
    headline: String,
    pictures: Vec<Pictured>,
    /// What differs, and every measure of each row.
    document: String,
}

/// The picture of one data set at one window.
struct Pictured {
    heading: String,
    drawings: Vec<Quadrant>,
}

/// Renders a comparison as a page without scripts.
pub fn comparison_html(comparison: &Comparison) -> String {
    let same_place =
        |a: &&ComparedRow, b: &&ComparedRow| (&a.dataset, &a.window) == (&b.dataset, &b.window);
    let mut rows: Vec<&ComparedRow> = comparison.rows.iter().collect();
    rows.sort_by(|a, b| (&a.dataset, &a.window).cmp(&(&b.dataset, &b.window)));
    let pictures = rows.chunk_by(same_place).filter_map(|rows| pictured(comparison.primary, rows));
    let page = Page {
        policy: policy::policy_without_scripts(),
        styles: policy::STYLES,
        headline: comparison::headline(comparison),
        pictures: pictures.collect(),
        document: document::html(&comparison::parts(comparison)),
    };
    page.render().expect("writing to memory cannot fail")
}

fn pictured(primary: Primary, rows: &[&ComparedRow]) -> Option<Pictured> {
    let picture = points::compared(primary, rows)?;
    Some(Pictured {
        heading: comparison::place(rows.first()?),
        drawings: FRAMES.iter().map(|frame| Quadrant::new(&picture, frame)).collect(),
    })
}
