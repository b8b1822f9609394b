//! Two runs beside each other: for a terminal, as Markdown for pull requests, as a page,
//! and as JSON for scripts.

use std::cmp::Ordering;

use serde::Serialize;

use super::document::{
    Cell, Part, Screen, TableOf, absent, figures, markdown, names, terminal, words,
};
use super::{block, number};
use recap_core::model::{
    ComparedMeasure, ComparedRow, Comparison, Measure, RowKind, TestOutcome, Unit, catalogue,
};
use recap_core::wording;

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

/// How much a measure differs: first what its interval tells from zero, or what has none, then
/// by the difference as a share of the larger figure.
fn size(measure: &ComparedMeasure) -> (bool, f64) {
    let share = measure.difference.abs() / measure.a.abs().max(measure.b.abs());
    (!is_near_zero(measure), if share.is_finite() { share } else { 0.0 })
}

fn is_near_zero(measure: &ComparedMeasure) -> bool {
    measure.interval.is_some_and(|(lo, hi)| lo <= 0.0 && hi >= 0.0)
}

/// The larger difference first.
fn by_size(x: &ComparedMeasure, y: &ComparedMeasure) -> Ordering {
    let (x, y) = (size(x), size(y));
    y.0.cmp(&x.0).then(y.1.total_cmp(&x.1))
}

/// The difference as a share of A, or how many times A it is; absent where A is nothing.
fn change(measure: &ComparedMeasure) -> Option<String> {
    let times = (measure.a > 0.0).then(|| measure.b / measure.a)?;
    Some(if times >= 2.0 { format!("{times:.1} times") } else { number::change(times - 1.0) })
}

/// What the tests say, in one sentence.
fn tested(comparison: &Comparison) -> String {
    let outcomes = comparison.rows.iter().flat_map(|row| &row.measures).filter_map(|m| m.outcome);
    let outcomes: Vec<TestOutcome> =
        outcomes.filter(|outcome| *outcome != TestOutcome::Descriptive).collect();
    let count = |wanted: TestOutcome| outcomes.iter().filter(|found| **found == wanted).count();
    let id = comparison.primary.id();
    if outcomes.is_empty() {
        return format!("No row could be tested on {id}: the differences are only described.");
    }
    format!(
        "Of {} tested on {id}, {} did better in B, {} did worse, {} did the same, and {} cannot be \
         told from chance; everything else is described.",
        block::counted(outcomes.len(), "row"),
        count(TestOutcome::Better),
        count(TestOutcome::Worse),
        count(TestOutcome::Tie),
        count(TestOutcome::Undecided)
    )
}

/// Window and data set of a row.
fn place(row: &ComparedRow) -> String {
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
        (Some((lo, hi)), _) => Some(format!("[{} … {}]", signed(lo), signed(hi))),
        (None, [first, .., last]) => Some(format!("{}…{}", signed(*first), signed(*last))),
        (None, _) => None,
    };
    Cell { spread, ..Cell::figure(measure.difference, signed(measure.difference)) }
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
fn overview(comparison: &Comparison) -> Part {
    let rows = &comparison.rows;
    let several = rows.iter().any(|row| place(row) != place(&rows[0]));
    let lead = comparison.primary.measure();
    let of = |row: &&ComparedRow, measure: &Measure| {
        row.measures.iter().find(|own| own.measure == measure.id).cloned()
    };
    let both = |row: &&ComparedRow, measure: &Measure| {
        of(row, measure)
            .map_or_else(absent, |own| format!("{} → {}", figure(&own, own.a), figure(&own, own.b)))
    };
    let less = |row: &&ComparedRow, measure: &Measure| {
        of(row, measure).map_or_else(|| absent().into(), |own| difference(&own))
    };
    TableOf::new("What differs, row by row", rows)
        .column(names("strategy"), |row| name(row))
        .column_if(several, words("where"), |row| place(row))
        .column(figures(format!("{}\nA → B", lead.label())), |row| both(row, lead))
        .column(words("\nB − A"), |row| less(row, lead))
        .column(figures("bill\nA → B"), |row| both(row, catalogue::COST_USD))
        .column(words("\nB − A"), |row| less(row, catalogue::COST_USD))
        .column(words("finding").wrapped(), |row| {
            of(row, lead).map(|own| finding(&own)).unwrap_or_default()
        })
        .dim(|row| row.row_kind != RowKind::Ranked)
        .part()
}

/// Every measure of a row that differs.
fn every_measure(row: &ComparedRow) -> Option<Part> {
    let mut differ: Vec<&ComparedMeasure> =
        row.measures.iter().filter(|measure| measure.difference != 0.0).collect();
    differ.sort_by(|x, y| by_size(x, y));
    let alike = row.measures.len() - differ.len();
    let title = format!("{} · {}", name(row), place(row));
    let table = TableOf::new(format!("Measures of {title}"), differ)
        .column(names("measure"), |measure| measure.measure.clone())
        .column(figures("A"), |measure| figure(measure, measure.a))
        .column(figures("B"), |measure| figure(measure, measure.b))
        .column(words("B − A"), |measure| difference(measure))
        .column(figures("change"), |measure| change(measure).unwrap_or_else(absent))
        .column(words("better/worse/same").left_out(1), |measure| {
            format!("{}/{}/{}", measure.better, measure.worse, measure.alike)
        });
    let mut parts = vec![table.part()];
    let same =
        (alike > 0).then(|| format!("The same in both: {}.", block::counted(alike, "measure")));
    parts.extend(same.map(Part::Text));
    (alike < row.measures.len()).then_some(Part::Folded(title, parts))
}

/// What must be known beside the tables.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = vec![tested(comparison)];
    let measures = || comparison.rows.iter().flat_map(|row| &row.measures);
    if measures().any(|measure| measure.interval.is_none() && measure.dots.len() > 1) {
        notes.push(
            "a…b: lowest and highest difference of a session or project; too few for an interval."
                .to_owned(),
        );
    }
    notes.extend(comparison.limit.iter().map(|limit| wording::capital(&format!("{limit}."))));
    for (run, only) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !only.is_empty() {
            notes.push(format!("Only {run} has {}.", only.join(", ")));
        }
    }
    notes.extend(comparison.notes.iter().map(|note| format!("{note}.")));
    notes
}

/// Each row, the one that differs most first, and every measure of each row that differs.
pub(super) fn parts(comparison: &Comparison) -> Vec<Part> {
    let mut differ = comparison.rows.iter().flat_map(|row| &row.measures);
    let mut parts = if differ.any(|measure| measure.difference != 0.0) {
        vec![overview(comparison)]
    } else {
        vec![Part::text("Nothing that is compared differs.")]
    };
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
const VERSION: u32 = 2;

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

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::Primary;

    fn measure(of: &Measure, a: f64, b: f64, interval: Option<(f64, f64)>) -> ComparedMeasure {
        ComparedMeasure {
            measure: of.id.to_owned(),
            a,
            b,
            difference: b - a,
            interval,
            dots: Vec::new(),
            sessions: 9,
            clusters: 9,
            better: 0,
            worse: 9,
            alike: 0,
            p: None,
            p_holm: None,
            mde: None,
            outcome: (of == catalogue::CONTINUITY).then_some(TestOutcome::Tie),
        }
    }

    fn row(strategy: &str, row_kind: RowKind, measures: Vec<ComparedMeasure>) -> ComparedRow {
        ComparedRow {
            dataset: "d".to_owned(),
            strategy_a: strategy.to_owned(),
            strategy_b: strategy.to_owned(),
            window: "200k".to_owned(),
            row_kind,
            measures,
        }
    }

    fn comparison(rows: Vec<ComparedRow>) -> Comparison {
        Comparison {
            a: "old".to_owned(),
            b: "new".to_owned(),
            title: "sessions".to_owned(),
            sessions: 9,
            primary: Primary::Continuity,
            family: 2,
            limit: None,
            only_a: Vec::new(),
            only_b: Vec::new(),
            notes: Vec::new(),
            rows,
        }
    }

    /// Shares of the larger figure: compactions 516 / 631 = 0.82, the bill 12.5 / 25 = 0.5, tokens
    /// 0.1; the wait, 0.9, may be chance.
    #[test]
    fn what_differs_most_comes_first_and_chance_last() {
        let prune = vec![
            measure(catalogue::CONTINUITY, 80.0, 80.0, None),
            measure(catalogue::TOKENS_SENT, 1e6, 9e5, None),
            measure(catalogue::COST_USD, 12.5, 25.0, Some((2.0, 23.0))),
            measure(catalogue::COMPACTIONS, 115.0, 631.0, None),
            measure(catalogue::BLOCKING_MS_P95, 100.0, 1_000.0, Some((-5.0, 1_805.0))),
        ];
        let text = comparison_md(&comparison(vec![row("prune", RowKind::Ranked, prune)]));
        let (_, measures) = text.split_once("<details>").unwrap();
        let place = |id: &Measure| {
            let name = id.id.replace('_', "\\_");
            measures.find(&name).unwrap_or_else(|| panic!("{name}: {text}"))
        };
        let order = [
            catalogue::COMPACTIONS,
            catalogue::COST_USD,
            catalogue::TOKENS_SENT,
            catalogue::BLOCKING_MS_P95,
        ];
        assert!(order.map(place).is_sorted(), "{text}");
    }

    #[test]
    fn runs_that_are_alike_have_no_difference() {
        let same = vec![measure(catalogue::COST_USD, 12.5, 12.5, None)];
        let found = comparison(vec![row("prune", RowKind::Ranked, same)]);
        assert!(comparison_md(&found).contains("Nothing that is compared differs."));
        // A change from nothing has no ratio.
        assert_eq!(change(&measure(catalogue::OVERFLOWS, 0.0, 3.0, None)), None);
    }
}
