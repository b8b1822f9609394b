//! The page of `recap compare`: two runs on the same data in one picture, and
//! what changed, row by row.

use askama::Template;

use super::answer::points;
use super::answer::quadrant::{FRAMES, Quadrant};
use super::policy;
use crate::model::{ComparedRow, Comparison, Outranks, Primary, catalogue};
use crate::report::{block, comparison};

#[derive(Template)]
#[template(path = "compare/compare.html")]
struct Page {
    policy: String,
    styles: &'static [&'static str],
    headline: String,
    sentence: String,
    pictures: Vec<Pictured>,
    /// The measure that is tested.
    tested: &'static str,
    heads: [&'static str; 7],
    rows: Vec<Row>,
    notes: Vec<String>,
}

/// The picture of one data set at one window.
struct Pictured {
    heading: String,
    drawings: Vec<Quadrant>,
}

/// A preset at a window.
struct Row {
    title: String,
    /// Figures of the tested measure in both runs, their difference and its
    /// interval.
    kept: Vec<String>,
    /// The finding of the test.
    finding: String,
    /// The cost in both runs and the difference.
    cost: Vec<String>,
    /// Every measure.
    measures: Vec<Vec<String>>,
    probes: Option<String>,
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
        sentence: sentence(comparison),
        pictures: pictures.collect(),
        tested: comparison.primary.id(),
        heads: comparison::HEADS,
        rows: comparison.rows.iter().map(|row| table(comparison.primary, row)).collect(),
        notes: comparison::notes(comparison),
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

/// What the tests say, in one sentence.
fn sentence(comparison: &Comparison) -> String {
    let tested = || {
        let measures = comparison.rows.iter().flat_map(|row| &row.measures);
        let outcomes = measures.filter_map(|measure| measure.outcome);
        outcomes.filter(|outcome| *outcome != Outranks::Descriptive)
    };
    let count = |wanted: Outranks| tested().filter(|outcome| *outcome == wanted).count();
    let id = comparison.primary.id();
    match tested().count() {
        0 => format!("No row could be tested on {id}: the differences are only described."),
        all => format!(
            "Of {} tested on {id}, {} did better in B, {} did worse, {} did the same, and {} \
             cannot be told from chance.",
            block::counted(all, "row"),
            count(Outranks::Better),
            count(Outranks::Worse),
            count(Outranks::Tie),
            count(Outranks::Undecided)
        ),
    }
}

fn table(primary: Primary, row: &ComparedRow) -> Row {
    let cells = |id: &str| {
        let measure = row.measures.iter().find(|measure| measure.measure == id);
        measure.map(comparison::cells)
    };
    let kept = cells(primary.id());
    let part = |cells: Option<&Vec<String>>, to: usize| {
        cells.map_or_else(|| vec!["–".to_owned(); to - 1], |cells| cells[1..to].to_vec())
    };
    Row {
        title: comparison::title(row),
        finding: kept.as_ref().map(|cells| cells[6].clone()).unwrap_or_default(),
        kept: part(kept.as_ref(), 5),
        cost: part(cells(catalogue::COST_USD.id).as_ref(), 4),
        measures: row.measures.iter().map(comparison::cells).collect(),
        probes: comparison::probes(row),
    }
}
