//! The ranked table on a terminal (`interface`, Output on a terminal).

use unicode_width::UnicodeWidthStr;

use super::grid::{GAP, paragraph, push_line, wrapped};
use super::{block, number, panel, plain, spend, validation};
use crate::model::{Family, Interval, Outranks, PresetRow, Report, Standing, Tested, Value};

/// Narrower than this the cells would be cut beyond use.
const NARROWEST: usize = 80;
/// Most strategies of one outcome that are named.
const NAMED: usize = 4;
/// Columns of the last column at least, so that a verdict's words stay whole.
const VERDICT_WIDTH: usize = 14;
/// The control that others are set against.
const BASELINE: &str = "full";

/// Renders the comparison for a terminal of `width` columns: what was run, one
/// table per data set, window and agent model, footnotes, sentences, how far
/// the simulated bill is from the recorded one, and warnings.
pub fn table(report: &Report, width: usize, color: bool) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    let columns = columns(&report.primary);
    for block in block::blocks(report) {
        let mut headline = block::headline(report, block.dataset, &[block.window]);
        if let Some(payer) = block::payer(report, &block) {
            headline += &format!(" · {payer}");
        }
        paragraph(&mut out, &format!("recap · {headline}"), width, "");
        out.push('\n');
        rows(&mut out, &block.rows, columns, width, color);
        for note in notes(&block.rows, report) {
            paragraph(&mut out, &note, width, " ");
        }
        out.push('\n');
    }
    for sentence in &report.sentences {
        paragraph(&mut out, &plain::line(&sentence.0), width, " ");
    }
    if let Some(family) = &report.family {
        paragraph(&mut out, &against_comparator(family), width, " ");
    }
    validation::section(&mut out, report, width, color);
    spend::section(&mut out, &report.calls, width, color);
    panel::section(&mut out, report, width);
    for warning in &report.warnings {
        let head = if color { "\u{1b}[33mwarning:\u{1b}[0m " } else { "warning: " };
        let mut text = String::new();
        paragraph(&mut text, &format!("warning: {}", plain::line(warning)), width, " ");
        out.push_str(&text.replacen("warning: ", head, 1));
    }
    out
}

/// A column between margins of its own.
pub(super) struct Column {
    pub(super) head: [&'static str; 2],
    pub(super) right: bool,
    /// Dropped first on a narrow terminal: the highest number.
    pub(super) dispensable: u8,
    pub(super) cell: fn(&PresetRow) -> String,
}

const STRATEGY: Column =
    Column { head: ["strategy", ""], right: false, dispensable: 0, cell: block::label };
const CONTINUITY: Column =
    Column { head: ["continuity", ""], right: false, dispensable: 0, cell: continuity };
const RECALL: Column = Column {
    head: ["recall", ""],
    right: true,
    dispensable: 0,
    cell: |row| row.number("recall").map_or_else(absent, number::share),
};
const GONE: Column = Column {
    head: ["evidence", "gone"],
    right: true,
    dispensable: 4,
    cell: |row| row.number("evidence_gone").map_or_else(absent, number::percent),
};
const KEPT: Column =
    Column { head: ["needed facts", "kept"], right: false, dispensable: 0, cell: kept };
const KEPT_BESIDE: Column = Column {
    head: ["needed", "facts"],
    right: true,
    dispensable: 2,
    cell: |row| row.number("reference_recall").map_or_else(absent, number::share),
};
const GAIN: Column = Column {
    head: ["gain over", "recency"],
    right: false,
    dispensable: 0,
    cell: |row| row.number("recency_gain").map_or_else(absent, number::gain),
};
const COST: Column =
    Column { head: ["session cost", ""], right: false, dispensable: 0, cell: cost };
const TOKENS: Column = Column {
    head: ["tokens", ""],
    right: true,
    dispensable: 1,
    cell: |row| block::token_share(row).map_or_else(absent, number::multiple),
};
const WAIT: Column = Column {
    head: ["wait", "p95"],
    right: true,
    dispensable: 3,
    cell: |row| row.number("blocking_ms_p95").map_or_else(absent, number::time),
};
const PEAK: Column = Column {
    head: ["peak", ""],
    right: true,
    dispensable: 5,
    cell: |row| row.number("peak_tokens").map_or_else(absent, number::tokens),
};
const COMPACTIONS: Column = Column {
    head: ["compac-", "tions"],
    right: true,
    dispensable: 6,
    cell: |row| row.number("compactions").map_or_else(absent, number::any),
};
const VERDICT: Column =
    Column { head: ["verdict", ""], right: false, dispensable: 0, cell: verdict };

const KEPT_AT_CUT: Column = Column {
    head: ["kept at cuts", ""],
    right: false,
    dispensable: 0,
    cell: |row| measured(row, "kept_at_cut", number::share),
};
const KEPT_AT_CUT_BESIDE: Column = Column {
    head: ["kept", "at cuts"],
    right: true,
    dispensable: 2,
    cell: |row| row.number("kept_at_cut").map_or_else(absent, number::share),
};
const KEPT_FIRST: Column = Column {
    head: ["after", "first"],
    right: true,
    dispensable: 1,
    cell: |row| row.number("kept_at_cut_first").map_or_else(absent, number::share),
};
const CARRIED: Column = Column {
    head: ["carried", ""],
    right: true,
    dispensable: 3,
    cell: |row| row.number("carried_share").map_or_else(absent, number::share),
};
const ADDED: Column = Column {
    head: ["added", "over null"],
    right: true,
    dispensable: 2,
    cell: |row| row.added().map_or_else(absent, |(added, _)| number::gain(added)),
};
const SIZE_AT_CUT: Column = Column {
    head: ["tokens", "at cuts"],
    right: true,
    dispensable: 4,
    cell: |row| row.number("tokens_at_cut").map_or_else(absent, number::multiple),
};

/// Columns where rows are ranked by what is kept at cuts.
const BY_CUTS: &[&Column] = &[
    &STRATEGY,
    &KEPT_AT_CUT,
    &KEPT_FIRST,
    &CARRIED,
    &ADDED,
    &SIZE_AT_CUT,
    &COST,
    &WAIT,
    &COMPACTIONS,
    &VERDICT,
];

/// Columns where rows are ranked by what can be answered.
const BY_PROBES: &[&Column] = &[
    &STRATEGY,
    &CONTINUITY,
    &RECALL,
    &KEPT_AT_CUT_BESIDE,
    &GONE,
    &KEPT_BESIDE,
    &COST,
    &TOKENS,
    &WAIT,
    &PEAK,
    &COMPACTIONS,
    &VERDICT,
];

/// Columns where there are no probes.
const BY_REFERENCES: &[&Column] =
    &[&STRATEGY, &KEPT, &GAIN, &COST, &TOKENS, &WAIT, &PEAK, &COMPACTIONS, &VERDICT];

/// The columns for what ranks.
pub(super) fn columns(primary: &str) -> &'static [&'static Column] {
    match primary {
        "continuity" => BY_PROBES,
        "kept_at_cut" => BY_CUTS,
        _ => BY_REFERENCES,
    }
}

/// What stands where there is no figure.
pub(super) fn absent() -> String {
    "–".to_owned()
}

fn kept(row: &PresetRow) -> String {
    measured(row, "reference_recall", number::share)
}

fn continuity(row: &PresetRow) -> String {
    measured(row, "continuity", |points| format!("{points:.0}"))
}

/// The bill and what it is more or less than that of `full`. The star marks a
/// bill that no provider would have made out.
fn cost(row: &PresetRow) -> String {
    let usd = match row.values.get("cost_usd") {
        Some(Value::Known(usd)) => number::dollars(*usd),
        Some(Value::Absent(reason)) if reason.starts_with("the price of ") => "unknown".to_owned(),
        _ => return absent(),
    };
    let star = if block::overflows(row).is_some() { " *" } else { "" };
    let savings = row.number("cost_savings").filter(|_| row.strategy != BASELINE);
    let change = savings.map(|savings| format!("  {}", number::change(-savings)));
    format!("{usd}{star}{}", change.unwrap_or_default())
}

/// Standing or verdict, and what the star of the bill stands for.
fn verdict(row: &PresetRow) -> String {
    // Everyone knows that the whole conversation is a control.
    let plain = row.strategy == BASELINE;
    let over = block::overflows(row).map(|n| {
        let what = if plain { "over the window" } else { "over" };
        format!("* {what} {}×", number::any(n))
    });
    let plain = plain && over.is_some();
    let own = Some(block::verdict(row)).filter(|words| !plain && *words != absent());
    let parts = [own, over];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { absent() } else { parts.join("; ") }
}

/// A figure with what its interval allows to be printed.
fn measured(row: &PresetRow, id: &str, show: fn(f64) -> String) -> String {
    let Some(figure) = row.number(id) else { return absent() };
    let figure = show(figure);
    match row.intervals.get(id) {
        None => figure,
        Some(Interval::Dots { values }) => match (values.first(), values.last()) {
            (Some(lo), Some(hi)) => format!("{figure}  {}…{}", show(*lo), show(*hi)),
            _ => figure,
        },
        Some(Interval::ThisSessionOnly { lo, hi }) => {
            format!("{figure}  [{}–{}]†", show(*lo), show(*hi))
        }
        Some(Interval::Student { lo, hi } | Interval::Wider { lo, hi }) => {
            format!("{figure}  [{}–{}]", show(*lo), show(*hi))
        }
    }
}

/// What the signs in the table mean, and why a column is empty throughout.
pub(super) fn notes(rows: &[&PresetRow], report: &Report) -> Vec<String> {
    let primary = report.primary.as_str();
    let mut notes = Vec::new();
    if primary == "continuity" {
        notes.push(
            "continuity: of what the whole conversation answers right, what the preset still \
             does, in per cent."
                .to_owned(),
        );
    }
    notes.extend(block::at_cuts(rows, report));
    let has =
        |f: fn(&Interval) -> bool| rows.iter().any(|r| r.intervals.get(primary).is_some_and(f));
    if has(|i| matches!(i, Interval::Dots { .. })) {
        notes.push(
            "a…b: lowest and highest session or project; too few for an interval.".to_owned(),
        );
    }
    if has(|i| matches!(i, Interval::ThisSessionOnly { .. })) {
        notes.push(
            "†: over what was asked in this session only; says nothing of others.".to_owned(),
        );
    }
    if has(|i| matches!(i, Interval::Student { .. } | Interval::Wider { .. })) {
        notes.push("[a–b]: 95 % interval over sessions or projects.".to_owned());
    }
    notes.extend(block::starred(rows));
    notes.extend(block::recovered(rows, &report.manifest));
    notes.extend(against_recorded(rows));
    notes.extend(block::gaps(rows));
    notes
}

/// What the tests against the comparator come to, or why there are none.
fn against_comparator(family: &Family) -> String {
    let made: Vec<&Tested> = family.tests.iter().filter(|test| test.p.is_some()).collect();
    let comparator = plain::line(&family.comparator);
    if made.is_empty() {
        let limit = family.limit.as_deref().unwrap_or("nothing is tested");
        return format!("against {comparator}: {limit}.");
    }
    let outcomes = [Outranks::Better, Outranks::Worse, Outranks::Tie, Outranks::Undecided];
    let told = outcomes.into_iter().filter_map(|outcome| {
        let of = made.iter().filter(|test| test.outranks == outcome);
        let names: Vec<String> = of
            .map(|test| {
                let window = block::at(&test.window);
                format!("{} at {window}", plain::line(&test.strategy))
            })
            .collect();
        match names.len() {
            0 => None,
            1..=NAMED => Some(format!("{}: {}", outcome.as_str(), names.join(", "))),
            n => Some(format!("{}: {n}", outcome.as_str())),
        }
    });
    let told: Vec<String> = told.collect();
    let tests = block::counted(made.len(), "test");
    format!("against {comparator}, Holm over {tests}: {}.", told.join("; "))
}

/// Savings against what was really sent, where the bill of `full` is hypothetical.
fn against_recorded(rows: &[&PresetRow]) -> Option<String> {
    let ranked = rows.iter().filter(|row| row.standing == Standing::Ranked);
    let each = ranked.filter_map(|row| {
        let savings = row.number("cost_savings_vs_recorded")?;
        Some(format!("{} {}", block::label(row), number::change(-savings)))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!("session cost against that of what the recorded agent sent: {}.", each.join(", "))
    })
}

fn rows(out: &mut String, rows: &[&PresetRow], columns: &[&Column], width: usize, color: bool) {
    // A column that nobody fills says nothing; one that cannot be left out stays.
    let filled = |column: &&&Column| {
        column.dispensable == 0 || rows.iter().any(|row| (column.cell)(row) != absent())
    };
    let mut columns: Vec<&Column> = columns.iter().filter(filled).copied().collect();
    let cells = |columns: &[&Column]| -> Vec<Vec<String>> {
        rows.iter().map(|row| columns.iter().map(|c| (c.cell)(row)).collect()).collect()
    };
    let mut body = cells(&columns);
    let mut widths = natural(&columns, &body);
    while taken(&widths) + VERDICT_WIDTH > width {
        let Some(at) = (0..columns.len())
            .filter(|&at| columns[at].dispensable > 0)
            .max_by_key(|&at| columns[at].dispensable)
        else {
            break;
        };
        columns.remove(at);
        body = cells(&columns);
        widths = natural(&columns, &body);
    }
    let last = widths.len() - 1;
    let over = (taken(&widths) + VERDICT_WIDTH).saturating_sub(width);
    widths[0] = widths[0].saturating_sub(over).max(8);
    widths[last] = width.saturating_sub(taken(&widths)).max(VERDICT_WIDTH);
    let right: Vec<bool> = columns.iter().map(|c| c.right).collect();
    for line in 0..2 {
        let cells: Vec<String> = columns.iter().map(|c| c.head[line].to_owned()).collect();
        if cells.iter().all(String::is_empty) {
            continue;
        }
        push_line(out, &right, &widths, &cells, color.then_some("1"));
    }
    for (row, cells) in rows.iter().zip(body) {
        push_row(out, &right, &widths, cells, style(row, color));
    }
}

/// Grey for what is not ranked.
fn style(row: &PresetRow, color: bool) -> Option<&'static str> {
    (color && row.standing != Standing::Ranked).then_some("2")
}

/// Width of each column; the last one takes what is left.
fn natural(columns: &[&Column], body: &[Vec<String>]) -> Vec<usize> {
    let column = |at: usize| {
        let head = columns[at].head.iter().map(|h| h.width()).max().unwrap_or(0);
        body.iter().map(|cells| cells[at].width()).fold(head, usize::max)
    };
    (0..columns.len()).map(column).collect()
}

/// Columns taken by everything but the last column.
fn taken(widths: &[usize]) -> usize {
    1 + widths.iter().rev().skip(1).map(|w| w + GAP.len()).sum::<usize>()
}

/// A row whose verdict runs over several lines where it must.
fn push_row(
    out: &mut String,
    right: &[bool],
    widths: &[usize],
    mut cells: Vec<String>,
    style: Option<&str>,
) {
    let verdict = cells.pop().unwrap_or_default();
    let mut lines = wrapped(&verdict, widths[widths.len() - 1]).into_iter();
    cells.push(lines.next().unwrap_or_default());
    push_line(out, right, widths, &cells, style);
    for more in lines {
        let mut cells = vec![String::new(); right.len() - 1];
        cells.push(more);
        push_line(out, right, widths, &cells, style);
    }
}
