//! `report.md`: the comparison on a page, for a pull request's comment and a
//! job's summary.
//!
//! GitHub takes 65,536 characters of a comment, and people read the first screen; so everything has
//! a bound of its own, and what does not fit is left out.

use std::io::{Result, Write};

use super::document::markdown::markdown;
use super::document::{Narrow, Part};
use super::{RenderInput, block, gate, plain, table, tuned};
use recap_core::model::{Report, RowKind, Severity, StrategyRow};

/// Bytes at most, whatever the names and reasons are: no comment is refused.
const MOST: usize = 60_000;

/// Rows of a table.
const ROWS: usize = 16;
/// Tables.
const TABLES: usize = 3;
/// Findings of each sort.
const LISTED: usize = 8;
/// Columns that a terminal leaves out in this order or before it stay away.
const LEFT_OUT: u8 = 4;

/// `report.md`.
pub(super) fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    out.write_all(page(source.report).as_bytes())
}

fn page(report: &Report) -> String {
    let mut pieces = vec![vec![state(report)]];
    if let Some(tuned) = &report.tuned {
        pieces.push(vec![Part::Text(tuned::sentence(tuned)), tuned::table(tuned)]);
    }
    pieces.push(table::answer(report));
    pieces.extend(report.gate.iter().map(gate::parts));
    pieces.extend(tables(report));
    pieces.push(findings(report));
    let limits = listed(report, Severity::Limit);
    let limits =
        limits.map(|list| Part::Folded("Limits of every figure here".to_owned(), vec![list]));
    pieces.extend(limits.map(|limits| vec![limits]));
    let rows: Vec<&StrategyRow> = report.rows.iter().collect();
    pieces.push(vec![table::meanings(&table::all_columns(report.primary, &rows))]);
    let (mut text, mut missing) = (String::new(), false);
    for piece in pieces {
        let piece = markdown(&piece);
        if text.len() + piece.len() > MOST {
            missing = true;
        } else if !piece.is_empty() {
            text += &format!("{}\n\n", piece.trim_end());
        }
    }
    text + &markdown(&[files(missing)])
}

/// The first line: what the gate came to, and why.
fn state(report: &Report) -> Part {
    let title = plain::shortened(&plain::line(&report.title), 60);
    let Some(gate) = &report.gate else {
        let words = match report.missing {
            None => "recap: measured, no gate was set",
            Some(_) => "⚠️ recap: no verdict, the run is incomplete",
        };
        return Part::Labelled(words, format!("· {title}"));
    };
    let verdict = gate::verdict(gate);
    Part::Labelled(verdict.words, format!("· recap: {title} · {}", verdict.because))
}

/// A table for each window, over all data sets: what is ranked stands open,
/// offline summaries and controls below it, folded.
fn tables(report: &Report) -> Vec<Vec<Part>> {
    let blocks = block::blocks(report);
    let several = blocks.iter().any(|block| block.dataset == block::ALL);
    let shown = blocks.iter().filter(|block| !several || block.dataset == block::ALL);
    let mut pieces = Vec::new();
    for block in shown.take(TABLES) {
        // Why a row with unusable replies has no rank is not to be folded away.
        let [strategies, summaries, controls] = table::arranged(&block.rows);
        let others: Vec<&StrategyRow> = summaries.into_iter().chain(controls).collect();
        let mut parts = vec![Part::Heading(table::heading(report, block))];
        if strategies.iter().all(|row| row.row_kind == RowKind::Control) {
            parts.push(Part::text("No row is ranked."));
        }
        parts.extend(rows(report, strategies));
        pieces.push(parts);
        let count = block::counted(others.len(), "row");
        let mut inside = rows(report, others);
        inside.extend(table::notes(&block.rows, report).into_iter().map(Part::Text));
        let summary = format!("{count} of offline summaries and controls, and notes");
        pieces.push(vec![Part::Folded(summary, inside)]);
    }
    pieces
}

/// Rows under the columns that matter most.
fn rows(report: &Report, rows: Vec<&StrategyRow>) -> Vec<Part> {
    if rows.is_empty() {
        return Vec::new();
    }
    let narrow = |head: Narrow| !matches!(head, Narrow::LeftOut(order) if order >= LEFT_OUT);
    let mut columns = table::all_columns(report.primary, &rows);
    columns.retain(|column| narrow(column.head.narrow));
    let more = rows.len().saturating_sub(ROWS);
    let shown = rows.into_iter().take(ROWS).collect();
    let table = table::ranked([shown, Vec::new(), Vec::new()], columns);
    let more = (more > 0)
        .then(|| Part::Text(format!("… and {} more in summary.csv.", block::counted(more, "row"))));
    [Part::Table(table)].into_iter().chain(more).collect()
}

/// What the figures show, and what about this run may mislead.
fn findings(report: &Report) -> Vec<Part> {
    let observations = listed(report, Severity::Observation);
    let problems = listed(report, Severity::Problem);
    let head = "Know this of the run before using the figures:";
    let problems =
        problems.into_iter().flat_map(|list| [Part::Labelled(head, String::new()), list]);
    observations.into_iter().chain(problems).collect()
}

/// The first findings of a sort, and how many more there are.
fn listed(report: &Report, severity: Severity) -> Option<Part> {
    let mut findings = block::findings(report, severity);
    if let Some(more @ 1..) = findings.len().checked_sub(LISTED) {
        findings.truncate(LISTED);
        findings.push(format!("… and {} more", block::counted(more, "finding")));
    }
    (!findings.is_empty()).then_some(Part::List(findings))
}

/// Where the rest stands. Names and no links: a comment lies elsewhere.
fn files(missing: bool) -> Part {
    let more = if missing { "Left out here for length: more tables and limits. " } else { "" };
    Part::Text(format!(
        "{more}In the same folder: report.html (everything, with charts), summary.csv, junit.xml, \
         manifest.json (what was run)."
    ))
}

#[cfg(test)]
mod tests;
