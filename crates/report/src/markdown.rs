//! `report.md`: the comparison on a page, for a pull request's comment and a
//! job's summary.
//!
//! GitHub takes 65,536 characters of a comment, and people read the first
//! screen; so what can be left out is, until the rest is short, and everything
//! has a bound of its own. Text of strangers passes [`escaped`] without
//! exception.

use std::fmt::Write as _;

use super::document::markdown::{escaped, folded, markdown, rows};
use super::document::{Column, Group, Narrow, Row, Table, absent, figures};
use super::{Format, RenderInput, block, receipt, sizes, table, tuned};
use recap_core::model::{
    Check, CheckOutcome, Finding, Gate, Recommendation, Report, RowKind, Severity, StrategyRow,
    UndecidedPolicy,
};

pub(super) const FORMAT: Format = Format {
    name: "md",
    file: "report.md",
    about: "the gate, the verdict and the ranking in a page, for pull requests and job summaries",
    render: |source, out| out.write_all(&render(source)),
};

/// Bytes to aim at: a few screens.
const SHORT: usize = 12_000;
/// Bytes at most, whatever the names and reasons are: no comment is refused.
const MOST: usize = 60_000;

/// Findings of the gate that are told.
const CHECKS: usize = 12;
/// Rows of a table.
const ROWS: usize = 16;
/// Tables.
const TABLES: usize = 8;
/// Sentences, limits and doubts of each sort.
const LISTED: usize = 6;
/// Characters of a sentence.
const SENTENCE: usize = 500;
/// Columns that a terminal leaves out in this order or before it stay away.
const LEFT_OUT: u8 = 4;

/// A part of the page. Those that can be missed go first where it is too long,
/// the last before the first.
struct Part {
    text: String,
    kept: DropOrder,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DropOrder {
    /// Only where there is room.
    IfShort,
    /// Longer than the former.
    Longer,
    Always,
}

fn render(source: &RenderInput<'_>) -> Vec<u8> {
    let report = source.report;
    let mut parts = vec![always(state(report)), always(answer(report))];
    parts.extend(report.gate.iter().map(|gate| always(findings(gate))));
    parts.extend(tables(report));
    parts.push(always(observations(report)));
    parts.push(always(problems(report)));
    parts.push(Part { text: limits(report), kept: DropOrder::IfShort });
    let missing = shorten(&mut parts);
    parts.push(always(files(missing)));
    let texts: Vec<&str> =
        parts.iter().map(|p| p.text.trim_end()).filter(|t| !t.is_empty()).collect();
    format!("{}\n", texts.join("\n\n")).into_bytes()
}

fn always(text: String) -> Part {
    Part { text, kept: DropOrder::Always }
}

/// Leaves out what can be missed until the rest is short; whether anything was.
/// The first part stays always.
fn shorten(parts: &mut Vec<Part>) -> bool {
    let mut missing = false;
    for (kept, most) in
        [(DropOrder::IfShort, SHORT), (DropOrder::Longer, SHORT), (DropOrder::Always, MOST)]
    {
        while parts.iter().map(|part| part.text.len()).sum::<usize>() > most {
            let last = parts.iter().rposition(|part| part.kept == kept);
            let Some(at @ 1..) = last else { break };
            parts.remove(at);
            missing = true;
        }
    }
    missing
}

/// The first line: what the gate came to, and why.
fn state(report: &Report) -> String {
    let title = escaped::name(&report.title);
    let Some(gate) = &report.gate else {
        return match report.missing {
            None => format!("**recap: measured, no gate was set** · {title}"),
            Some(_) => format!("⚠️ **recap: no verdict, the run is incomplete** · {title}"),
        };
    };
    let finding = gate.finding();
    let (sign, words) = match finding {
        CheckOutcome::Passed => ("✅", "recap: the gate passed"),
        CheckOutcome::Failed => ("❌", "recap: the gate failed"),
        CheckOutcome::Undecided => ("⚠️", "recap: no verdict, the data leave the gate undecided"),
        CheckOutcome::Missing => ("⚠️", "recap: no verdict, the gate lacks figures"),
    };
    let because = match failed_checks(gate).into_iter().find(|(_, found, _)| *found == finding) {
        Some((rule, _, check)) if finding != CheckOutcome::Passed => {
            format!(" · {} on {}: {}", escaped::name(rule), row_of(check), reason(check))
        }
        _ => {
            let checks = block::counted(gate.checks().count(), "check");
            format!(" · {checks} of {}", block::counted(gate.rules.len(), "rule"))
        }
    };
    format!("{sign} **{words}** · {title}{because}")
}

/// Every check that did not pass, the worst first, as its policy counts it.
fn failed_checks(gate: &Gate) -> Vec<(&str, CheckOutcome, &Check)> {
    let all = gate.rules.iter().flat_map(|rule| {
        rule.checks.iter().map(|check| (rule.rule.as_str(), counted(gate, check), check))
    });
    let mut failed_checks: Vec<_> =
        all.filter(|(_, _, check)| check.finding != CheckOutcome::Passed).collect();
    failed_checks.sort_by_key(|(_, found, _)| std::cmp::Reverse(*found));
    failed_checks
}

fn counted(gate: &Gate, check: &Check) -> CheckOutcome {
    match (check.finding, gate.undecided) {
        (CheckOutcome::Undecided, UndecidedPolicy::Fail) => CheckOutcome::Failed,
        (finding, _) => finding,
    }
}

fn row_of(check: &Check) -> String {
    let window = escaped::prose(&block::at(&check.window), SENTENCE);
    format!("{} at {window}", escaped::name(&check.strategy))
}

fn reason(check: &Check) -> String {
    escaped::prose(&check.reason, SENTENCE)
}

/// What to use, how sure that is and what it rests on.
fn answer(report: &Report) -> String {
    let mut text = String::new();
    if let Some(tuned) = &report.tuned {
        line(&mut text, &format!("**{}**", escaped::prose(&tuned::sentence(tuned), 2 * SENTENCE)));
        text += &format!("\n{}", rows(&tuned::table(tuned)));
    }
    let rebuilt = receipt::rebuilt(&report.receipt).map(|said| format!("Of today's bill {said}."));
    if let Some(Recommendation { answer, how_sure, doubt, basis, also, harness, .. }) =
        &report.recommendation
    {
        let first = format!("**{}**", escaped::prose(answer, 2 * SENTENCE));
        line(&mut text, &first);
        let harness = harness.as_ref().map(|said| format!("For a harness of your own: {said}"));
        let sentences = harness.iter().chain(also).chain([how_sure]).chain(doubt);
        for sentence in sentences.chain([basis]).chain(&rebuilt) {
            line(&mut text, &escaped::prose(sentence, SENTENCE));
        }
    }
    if let Some(Ok(curve)) = &report.curve {
        text += &format!("\n{}", markdown(&sizes::parts(curve)));
    }
    text
}

/// What did not pass, with its figures.
fn findings(gate: &Gate) -> String {
    let failed_checks = failed_checks(gate);
    let mut text = String::new();
    for (rule, _, check) in failed_checks.iter().take(CHECKS) {
        let sign = match (check.finding, gate.undecided) {
            (CheckOutcome::Failed, _) => "❌ failed",
            (CheckOutcome::Undecided, UndecidedPolicy::Fail) => {
                "❌ undecided, which counts as failed"
            }
            (CheckOutcome::Undecided, UndecidedPolicy::Pass) => {
                "➖ undecided, which counts as passed"
            }
            (CheckOutcome::Undecided, UndecidedPolicy::Incomplete) => "⚠️ undecided",
            (CheckOutcome::Missing, _) => "⚠️ missing",
            (CheckOutcome::Passed, _) => "✅ passed",
        };
        line(
            &mut text,
            &format!(
                "{sign}: {} on {}, {}: {}",
                escaped::name(rule),
                row_of(check),
                escaped::name(&check.dataset),
                reason(check)
            ),
        );
    }
    more(&mut text, failed_checks.len(), CHECKS, "such finding");
    let passed = gate.checks().count() - failed_checks.len();
    if passed > 0 && !failed_checks.is_empty() {
        line(&mut text, &format!("✅ {} passed", block::counted(passed, "check")));
    }
    let baseline = gate.baseline.as_deref().map(escaped::name);
    let baseline = baseline.map_or_else(String::new, |name| format!("Baseline: {name}.\n\n"));
    format!("{baseline}{text}")
}

/// An entry of a list.
fn line(text: &mut String, entry: &str) {
    writeln!(text, "- {entry}").expect("a string takes everything");
}

/// What a list leaves out.
fn more(text: &mut String, all: usize, limit: usize, noun: &str) {
    if let Some(rest @ 1..) = all.checked_sub(limit) {
        line(text, &format!("… and {} more", block::counted(rest, noun)));
    }
}

/// A table for each window, over all data sets: what is ranked stands open,
/// offline summaries and controls below it, folded.
fn tables(report: &Report) -> Vec<Part> {
    let blocks = block::blocks(report);
    let several = blocks.iter().any(|block| block.dataset == block::ALL);
    let shown: Vec<_> =
        blocks.iter().filter(|b| !several || b.dataset == block::ALL).take(TABLES).collect();
    let mut parts = Vec::new();
    for (at, block) in shown.iter().enumerate() {
        let headline = match at {
            0 => block::headline(report, block.dataset, &[block.window]),
            _ => block::titled(block.window),
        };
        let billing_model =
            block::billing_model(report, block).map_or_else(String::new, |p| format!(" · {p}"));
        let headline = escaped::prose(&format!("{headline}{billing_model}"), SENTENCE);
        // Why a row with unusable replies has no rank is not to be folded away.
        let stands_open =
            |row: &StrategyRow| matches!(row.row_kind, RowKind::Ranked | RowKind::Unusable);
        let (ranked, others): (Vec<&StrategyRow>, Vec<&StrategyRow>) =
            block.rows.iter().partition(|row| stands_open(row));
        let ranked_rows = match ranked.is_empty() {
            true => "No row is ranked.\n".to_owned(),
            false => ranking(report, &ranked),
        };
        let notes = table::notes(&block.rows, report);
        let notes: Vec<String> = notes.iter().map(|n| escaped::prose(n, SENTENCE)).collect();
        parts.push(Part {
            text: format!("#### {headline}\n\n{ranked_rows}"),
            kept: if at == 0 { DropOrder::Always } else { DropOrder::Longer },
        });
        if !others.is_empty() {
            let count = block::counted(others.len(), "row");
            let inside = format!("{}\n{}", ranking(report, &others), notes.join("<br>\n"));
            parts.push(Part {
                text: folded(
                    &format!("{count} without a rank: offline summaries and controls"),
                    &inside,
                ),
                kept: DropOrder::IfShort,
            });
        }
    }
    parts
}

/// The terminal's columns as a table of Markdown, below their ranks.
fn ranking(report: &Report, all: &[&StrategyRow]) -> String {
    let shown = |column: &&&table::TableColumn| {
        let known = all.iter().any(|row| (column.cell)(row).text != absent());
        let narrow = column.head.narrow;
        known && !matches!(narrow, Narrow::LeftOut(order) if order >= LEFT_OUT)
    };
    let columns = table::all_columns(report.primary, all);
    let columns: Vec<_> = columns.iter().filter(shown).collect();
    let row = |row: &&StrategyRow| {
        let rank = row.rank.map_or_else(String::new, |rank| rank.to_string());
        let cells = columns.iter().map(|column| (column.cell)(row));
        Row { cells: [rank.into()].into_iter().chain(cells).collect(), dim: false }
    };
    let mut text = rows(&Table {
        name: "Strategies".to_owned(),
        columns: [figures("")]
            .into_iter()
            .chain(columns.iter().map(|column| column.head))
            .map(Column::from)
            .collect(),
        groups: vec![Group { title: "", rows: all.iter().take(ROWS).map(row).collect() }],
    });
    if let Some(rest @ 1..) = all.len().checked_sub(ROWS) {
        let _ = writeln!(text, "\n… and {} more in `summary.csv`.", block::counted(rest, "row"));
    }
    text
}

/// What the figures show.
fn observations(report: &Report) -> String {
    list(report, Severity::Observation, LISTED).0
}

/// What about this run may mislead.
fn problems(report: &Report) -> String {
    match list(report, Severity::Problem, 2 * LISTED) {
        (_, 0) => String::new(),
        (text, _) => format!("**Know this of the run before using the figures:**\n\n{text}"),
    }
}

/// Limits of the method and of the data, folded.
fn limits(report: &Report) -> String {
    match list(report, Severity::Limit, 2 * LISTED) {
        (_, 0) => String::new(),
        (text, n) => folded(&block::counted(n, "limit"), &text),
    }
}

/// The first findings of a severity, a line each, how many more there are, and their number.
fn list(report: &Report, severity: Severity, most: usize) -> (String, usize) {
    let all = report.findings.iter();
    let findings: Vec<&Finding> = all.filter(|finding| finding.severity == severity).collect();
    let mut text = String::new();
    for finding in findings.iter().take(most) {
        line(&mut text, &escaped::prose(&finding.text, SENTENCE));
    }
    more(&mut text, findings.len(), most, "finding");
    (text, findings.len())
}

/// Where the rest stands. Names and no links: a comment lies elsewhere.
fn files(missing: bool) -> String {
    let more = if missing { "Left out here for length: more tables and limits. " } else { "" };
    format!(
        "{more}In the same folder: `report.html` (everything, with charts), `summary.csv`, \
         `junit.xml`, `manifest.json` (what was run)."
    )
}

#[cfg(test)]
mod tests;
