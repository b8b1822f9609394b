//! Two runs beside each other: for a terminal, as Markdown for pull requests, as a page,
//! and as JSON for scripts.

use serde::Serialize;

use super::document::{
    Cell, Column, Group, Head, Narrow, Part, Row, Screen, Table, absent, figures, markdown, names,
    terminal, words,
};
use super::{block, number};
use recap_core::model::{
    ComparedMeasure, ComparedRow, Comparison, RowKind, TestOutcome, Unit, catalogue,
};

const MEASURES: &[Head] = &[
    names("measure"),
    figures("A"),
    figures("B"),
    Head { right: false, ..figures("B − A") },
    Head { narrow: Narrow::LeftOut(1), ..words("better/worse/same") },
];

/// The runs and what they are about.
pub(super) fn headline(comparison: &Comparison) -> String {
    format!(
        "A = {} · B = {} · {} · {}",
        comparison.a,
        comparison.b,
        comparison.title,
        block::counted(comparison.sessions as usize, "session")
    )
}

/// What the tests say, in one sentence.
pub(super) fn sentence(comparison: &Comparison) -> String {
    let measures = || comparison.rows.iter().flat_map(|row| &row.measures);
    let tested = || {
        let outcomes = measures().filter_map(|measure| measure.outcome);
        outcomes.filter(|outcome| *outcome != TestOutcome::Descriptive)
    };
    let count = |wanted: TestOutcome| tested().filter(|outcome| *outcome == wanted).count();
    let id = comparison.primary.id();
    if measures().all(|measure| measure.difference == 0.0) {
        return "Nothing that is compared differs.".to_owned();
    }
    match tested().count() {
        0 => format!("No row could be tested on {id}: the differences are only described."),
        all => format!(
            "Of {} tested on {id}, {} did better in B, {} did worse, {} did the same, and {} \
             cannot be told from chance.",
            block::counted(all, "row"),
            count(TestOutcome::Better),
            count(TestOutcome::Worse),
            count(TestOutcome::Tie),
            count(TestOutcome::Undecided)
        ),
    }
}

/// Window and data set of a row.
pub(super) fn place(row: &ComparedRow) -> String {
    let dataset = match row.dataset.as_str() {
        block::ALL => "all data sets",
        name => name,
    };
    format!("{} · {dataset}", block::titled(&row.window))
}

/// The strategy of a row, in both runs.
fn name(row: &ComparedRow) -> String {
    let (a, b) = (&row.strategy_a, &row.strategy_b);
    let name = if a == b { a.clone() } else { format!("{a} in A, {b} in B") };
    let note = if row.row_kind == RowKind::OfflineSummary { " (offline summaries)" } else { "" };
    format!("{name}{note}")
}

fn unit(measure: &ComparedMeasure) -> Unit {
    catalogue::find(&measure.measure).map_or(Unit::Count, |of| of.unit)
}

fn figure(measure: &ComparedMeasure, x: f64) -> String {
    number::of(unit(measure), x)
}

/// The difference with its interval, or with the lowest and the highest session.
fn difference(measure: &ComparedMeasure) -> Cell {
    let signed = |x: f64| {
        let text = match unit(measure) {
            Unit::Share => number::of(Unit::Difference, x),
            Unit::Points => number::of(Unit::Difference, x / 100.0),
            unit => number::of(unit, x),
        };
        if x > 0.0 { format!("+{text}") } else { text }
    };
    let spread = match (measure.interval, measure.dots.as_slice()) {
        (Some((lo, hi)), _) => {
            let mark = if measure.these_sessions_only { "†" } else { "" };
            Some(format!("[{} … {}]{mark}", signed(lo), signed(hi)))
        }
        (None, [first, .., last]) => Some(format!("{}…{}", signed(*first), signed(*last))),
        (None, _) => None,
    };
    Cell { text: signed(measure.difference), spread }
}

/// What may be said of the measure that is tested.
fn finding(measure: &ComparedMeasure) -> String {
    let Some(outcome) = measure.outcome else { return String::new() };
    let p = measure.p_holm.map_or_else(String::new, |p| format!(", p {p:.3} (Holm)"));
    let mde = match (outcome, measure.mde) {
        (TestOutcome::Undecided, Some(mde)) => format!("; found from {} on", figure(measure, mde)),
        _ => String::new(),
    };
    format!("{}{p}{mde}", outcome.as_str())
}

/// A line for each row, in their order: what differs most stands first.
fn overview(comparison: &Comparison) -> Table {
    let places: Vec<String> = comparison.rows.iter().map(place).collect();
    let several = places.iter().any(|place| *place != places[0]);
    let lead = comparison.primary.measure();
    let row = |row: &ComparedRow| {
        let of = |id: &str| row.measures.iter().find(|measure| measure.measure == id);
        let both = |measure: &ComparedMeasure| -> Cell {
            format!("{} → {}", figure(measure, measure.a), figure(measure, measure.b)).into()
        };
        let pair = |id: &str| match of(id) {
            Some(measure) => [both(measure), difference(measure)],
            None => [absent().into(), absent().into()],
        };
        let mut cells = vec![Cell::from(name(row))];
        cells.extend(several.then(|| Cell::from(place(row))));
        cells.extend(pair(lead.id));
        cells.extend(pair(catalogue::COST_USD.id));
        cells.push(of(lead.id).map(finding).unwrap_or_default().into());
        Row { cells, dim: row.row_kind != RowKind::Ranked }
    };
    let two = |first, second| Head { words: [first, second], ..figures("") };
    let mut heads = vec![Head { words: ["strategy", ""], ..names("") }];
    heads.extend(several.then(|| words("where")));
    heads.extend([
        Head { words: [lead.label(), "A → B"], ..figures("") },
        Head { right: false, ..two("", "B − A") },
        two("bill", "A → B"),
        Head { right: false, ..two("", "B − A") },
        Head { words: ["finding", ""], narrow: Narrow::Wrapped, ..words("") },
    ]);
    Table {
        name: "What differs, row by row".to_owned(),
        columns: heads.into_iter().map(Column::from).collect(),
        groups: vec![Group { title: "", rows: comparison.rows.iter().map(row).collect() }],
    }
}

/// Every measure of a row that differs.
fn every_measure(row: &ComparedRow) -> Option<Part> {
    let differ = row.measures.iter().filter(|measure| measure.difference != 0.0);
    let cells = |measure: &ComparedMeasure| Row {
        cells: vec![
            measure.measure.clone().into(),
            figure(measure, measure.a).into(),
            figure(measure, measure.b).into(),
            difference(measure),
            format!("{}/{}/{}", measure.better, measure.worse, measure.alike).into(),
        ],
        dim: false,
    };
    let rows: Vec<Row> = differ.map(cells).collect();
    let alike = row.measures.len() - rows.len();
    let title = format!("{} · {}", name(row), place(row));
    let mut parts = vec![Part::Table(Table {
        name: format!("Measures of {title}"),
        columns: MEASURES.iter().copied().map(Column::from).collect(),
        groups: vec![Group { title: "", rows }],
    })];
    let same =
        (alike > 0).then(|| format!("The same in both: {}.", block::counted(alike, "measure")));
    parts.extend(same.map(Part::Text));
    parts.extend(questions(row).map(Part::Text));
    (alike < row.measures.len()).then_some(Part::Folded(title, parts))
}

/// What is said of the questions of a row.
fn questions(row: &ComparedRow) -> Option<String> {
    let questions = row.questions?;
    Some(format!(
        "Questions right in both: {}; only in A: {}; only in B: {}; in neither: {}.",
        questions.both, questions.only_a, questions.only_b, questions.neither
    ))
}

/// What must be known beside the tables.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let measures = || comparison.rows.iter().flat_map(|row| &row.measures);
    if measures().any(|measure| measure.these_sessions_only) {
        notes.push("†: holds for these sessions only.".to_owned());
    }
    if measures().any(|measure| measure.interval.is_none() && measure.dots.len() > 1) {
        notes.push(
            "a…b: lowest and highest difference of a session or project; too few for an interval."
                .to_owned(),
        );
    }
    if measures().any(|measure| measure.p_holm.is_some()) {
        notes.push(format!(
            "Tested: {} over {}, corrected by Holm; everything else is described.",
            comparison.primary.id(),
            block::counted(comparison.family as usize, "row")
        ));
    }
    notes.extend(comparison.limit.iter().map(|limit| format!("{limit}.")));
    for (run, only) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !only.is_empty() {
            notes.push(format!("Only {run} has {}.", only.join(", ")));
        }
    }
    notes.extend(comparison.notes.iter().map(|note| format!("{note}.")));
    notes
}

/// What differs, and every measure of each row.
pub(super) fn parts(comparison: &Comparison) -> Vec<Part> {
    let mut parts = vec![Part::Text(sentence(comparison)), Part::Table(overview(comparison))];
    parts.extend(notes(comparison).into_iter().map(Part::Text));
    parts.extend(comparison.rows.iter().filter_map(every_measure));
    parts
}

fn titled(comparison: &Comparison) -> Vec<Part> {
    let title = Part::Title(format!("recap compare · {}", headline(comparison)));
    [title].into_iter().chain(parts(comparison)).collect()
}

/// Renders a comparison for a terminal.
pub fn comparison_table(comparison: &Comparison, screen: Screen) -> String {
    terminal(&titled(comparison), screen)
}

/// Renders a comparison as Markdown.
pub fn comparison_md(comparison: &Comparison) -> String {
    markdown::markdown(&titled(comparison))
}

/// Version of the JSON layout; fields are only ever added under one version.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Renders a comparison as JSON.
pub fn comparison_json(comparison: &Comparison) -> String {
    let versioned = Versioned { version: VERSION, comparison };
    let json = serde_json::to_string_pretty(&versioned).expect("every key is a string");
    json + "\n"
}
