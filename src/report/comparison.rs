//! Two runs beside each other: for a terminal, as Markdown for pull requests,
//! and as JSON for scripts.

use serde::Serialize;

use super::grid::{Fit, Grid, paragraph};
use super::markdown::escaped;
use super::{block, number, plain};
use crate::model::{ComparedMeasure, ComparedRow, Comparison, Outranks, Standing};

/// Heads of the columns.
pub(super) const HEADS: [&str; 7] =
    ["measure", "A", "B", "B − A", "95 % interval", "better/worse/same", "finding"];

/// The runs and what they are about.
pub(super) fn headline(comparison: &Comparison) -> String {
    format!(
        "A = {} · B = {} · {} · {}",
        plain::line(&comparison.a),
        plain::line(&comparison.b),
        plain::line(&comparison.title),
        block::counted(comparison.transcripts as usize, "session")
    )
}

/// What a row is about.
pub(super) fn title(row: &ComparedRow) -> String {
    let (a, b) = (plain::line(&row.strategy_a), plain::line(&row.strategy_b));
    let preset = if a == b { a } else { format!("{a} in A, {b} in B") };
    let stand_in = if row.standing == Standing::StandIn { " (stand-in)" } else { "" };
    format!("{preset}{stand_in} · {}", place(row))
}

/// Window and data set of a row.
pub(super) fn place(row: &ComparedRow) -> String {
    let dataset = match row.dataset.as_str() {
        block::ALL => "all data sets".to_owned(),
        name => plain::line(name),
    };
    format!("{} · {dataset}", block::titled(&row.window))
}

/// The cells of a measure, under [`HEADS`].
pub(super) fn cells(measure: &ComparedMeasure) -> Vec<String> {
    let show = |x: f64| match number::is_in_dollars(&measure.measure) {
        true => number::dollars(x),
        false => number::any(x),
    };
    let signed = |x: f64| if x > 0.0 { format!("+{}", show(x)) } else { show(x) };
    let interval = match (measure.interval, measure.dots.as_slice()) {
        (Some((lo, hi)), _) => {
            let mark = if measure.these_sessions_only { "†" } else { "" };
            format!("[{} … {}]{mark}", signed(lo), signed(hi))
        }
        (None, [first, .., last]) => format!("{}…{}", signed(*first), signed(*last)),
        (None, _) => "–".to_owned(),
    };
    vec![
        measure.measure.clone(),
        show(measure.a),
        show(measure.b),
        signed(measure.difference),
        interval,
        format!("{}/{}/{}", measure.better, measure.worse, measure.alike),
        finding(measure),
    ]
}

/// What may be said of the measure that is tested.
fn finding(measure: &ComparedMeasure) -> String {
    let Some(outcome) = measure.outcome else { return String::new() };
    let p = measure.p_holm.map_or_else(String::new, |p| format!(", p {p:.3} (Holm)"));
    let mde = match (outcome, measure.mde) {
        (Outranks::Undecided, Some(mde)) => format!("; found from {} on", number::any(mde)),
        _ => String::new(),
    };
    format!("{}{p}{mde}", outcome.as_str())
}

/// What is said of the probes of a row.
pub(super) fn probes(row: &ComparedRow) -> Option<String> {
    let probes = row.probes?;
    Some(format!(
        "probes right in both {}, only in A {}, only in B {}, in neither {}",
        probes.both, probes.only_a, probes.only_b, probes.neither
    ))
}

/// What must be known beside the tables.
pub(super) fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let measures = || comparison.rows.iter().flat_map(|row| &row.measures);
    if measures().any(|measure| measure.these_sessions_only) {
        notes.push(
            "†: over the requests or probes of these sessions only; says nothing of others."
                .to_owned(),
        );
    }
    if measures().any(|measure| measure.interval.is_none() && measure.dots.len() > 1) {
        notes.push(
            "a…b: lowest and highest difference of a session or project; too few for an interval."
                .to_owned(),
        );
    }
    if comparison.family > 0 {
        notes.push(format!(
            "Tested: {} over {}, corrected by Holm; everything else is described.",
            comparison.primary.id(),
            block::counted(comparison.family as usize, "row")
        ));
    }
    notes.extend(comparison.limit.iter().map(|limit| format!("{limit}.")));
    for (run, only) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !only.is_empty() {
            let names: Vec<String> = only.iter().map(|name| plain::line(name)).collect();
            notes.push(format!("Only {run} has {}.", names.join(", ")));
        }
    }
    notes.extend(comparison.notes.iter().map(|note| format!("{}.", plain::line(note))));
    notes
}

/// Renders a comparison for a terminal of `width` columns.
pub fn comparison_table(comparison: &Comparison, width: usize, color: bool) -> String {
    let mut out = String::new();
    paragraph(&mut out, &format!("recap compare · {}", headline(comparison)), width, "");
    for row in &comparison.rows {
        out.push('\n');
        paragraph(&mut out, &title(row), width, " ");
        let heads = HEADS.map(|head| [head, ""]);
        let grid = Grid { heads: &heads, right: |at| (1..4).contains(&at), fit: Fit::Over };
        grid.push(&mut out, row.measures.iter().map(cells).collect(), width, color);
        if let Some(probes) = probes(row) {
            paragraph(&mut out, &probes, width, " ");
        }
    }
    out.push('\n');
    for note in notes(comparison) {
        paragraph(&mut out, &note, width, " ");
    }
    out
}

/// Renders a comparison as Markdown.
pub fn comparison_md(comparison: &Comparison) -> String {
    let words = |text: &str| escaped::prose(text, usize::MAX);
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| words(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = format!("## recap compare\n\n{}\n", words(&headline(comparison)));
    for row in &comparison.rows {
        out += &format!("\n### {}\n\n", words(&title(row)));
        out += &line(&HEADS.map(str::to_owned));
        out += "| --- | ---: | ---: | ---: | --- | --- | --- |\n";
        for measure in &row.measures {
            out += &line(&cells(measure));
        }
        if let Some(probes) = probes(row) {
            out += &format!("\n{}\n", words(&probes));
        }
    }
    for note in notes(comparison) {
        out += &format!("\n{}\n", words(&note));
    }
    out
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
