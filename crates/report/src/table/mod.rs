//! The ranked table on a terminal (docs/result.md).

use std::collections::BTreeSet;

use super::document::{Group, Narrow, Part, Row, Table, absent, listed, terminal};
use super::{Screen, block, certainty, receipt, savers, sessions, settings, sizes, tuned};
use recap_core::model::{FULL, Interval, RECORDED, Report, RowKind, Severity, StrategyRow};
use recap_core::wording;

mod brief;
mod columns;

pub(super) use brief::kept_at_cuts;
pub(super) use columns::{StrategyColumn, all_columns, meanings};

/// Controls that stand for what is done today, the first one below the second.
const TODAY: [&str; 2] = [FULL, RECORDED];

/// Renders the comparison for a terminal: what an answer needs, or on a wide
/// screen everything.
pub fn table(report: &Report, screen: Screen) -> String {
    match &report.tuned {
        _ if screen.wide => terminal(&whole(report), screen),
        Some(tuned) => terminal(&tuned::parts(report, tuned), screen),
        None => brief::table(report, screen),
    }
}

/// The answer, one table per data set, window and agent model with what its
/// columns stand for, and all findings.
fn whole(report: &Report) -> Vec<Part> {
    let mut parts: Vec<Part> =
        report.tuned.iter().flat_map(|tuned| tuned::parts(report, tuned)).collect();
    parts.extend(answer(report));
    let mut columns = Vec::new();
    for block in block::blocks(report) {
        parts.push(Part::heading(heading(report, &block)));
        parts.extend(compared(report, &block));
        columns = all_columns(report.primary, &block.rows);
    }
    parts.push(meanings(&columns));
    parts.extend(savers::parts(report));
    parts.extend(sessions::parts(report));
    parts.extend(receipt::parts(report));
    parts.extend(report.family.iter().flat_map(certainty::parts));
    parts.extend(certainty::bill_errors(report));
    parts.extend(settings::model_calls(&report.calls));
    parts.extend(report.panel.iter().map(|panel| Part::Text(certainty::panel_sentence(panel))));
    parts.extend(findings(report));
    parts
}

/// The answer with its reasons.
pub(super) fn answer(report: &Report) -> Vec<Part> {
    let Some(answer) = &report.recommendation else { return Vec::new() };
    let sentences = |first: &String, others: Vec<&String>| {
        let all = [first].into_iter().chain(others).filter(|text| !text.is_empty());
        all.cloned().collect::<Vec<String>>().join(" ")
    };
    // What is said of a strategy's rivals follows the sentence that names it.
    let also = || answer.also.iter().collect();
    let (first, harness) = match &answer.harness {
        Some(harness) => (answer.answer.clone(), Some(sentences(harness, also()))),
        None => (sentences(&answer.answer, also()), None),
    };
    let labelled = [
        ("answer", Some(first)),
        ("sure", Some(sentences(&answer.how_sure, answer.doubt.iter().collect()))),
        ("today", receipt::sentence(report)),
        ("rebuilt", receipt::rebuilt(&report.receipt).map(|text| format!("{text}."))),
        ("harness", harness),
        ("next", answer.next.clone()),
    ];
    let labelled = labelled.into_iter();
    let mut parts: Vec<Part> =
        labelled.filter_map(|(label, text)| Some(Part::Labelled(label, text?))).collect();
    if let Some(Ok(curve)) = &report.curve {
        parts.extend(sizes::parts(curve));
    }
    parts
}

/// Every finding, in full.
pub(super) fn findings(report: &Report) -> Vec<Part> {
    let of = |head: &str, severity: Severity| listed(head, block::findings(report, severity));
    [
        of("What the figures show", Severity::Observation),
        of("Problems of this run", Severity::Problem),
        of("Limits of every figure here", Severity::Limit),
    ]
    .concat()
}

/// What a table is about: data set, sizes, window and who is billed.
pub(super) fn heading(report: &Report, block: &block::Block<'_>) -> String {
    let mut heading = block::headline(report, block.dataset, &[block.window]);
    if let Some(billing_model) = block::billing_model(report, block) {
        heading += &format!(" · {billing_model}");
    }
    heading
}

/// Every row of a block with every column, and what its columns and signs stand for.
pub(super) fn compared(report: &Report, block: &block::Block<'_>) -> Vec<Part> {
    let columns = all_columns(report.primary, &block.rows);
    let table = Part::Table(ranked(arranged(&block.rows), columns));
    let notes = notes(&block.rows, report).into_iter().map(Part::Text);
    let basis = wording::capital(&format!("{}.", brief::basis(report, block)));
    [Part::Text(basis), table].into_iter().chain(notes).collect()
}

/// What the columns and signs stand for, and why a column is empty throughout.
pub(super) fn notes(rows: &[&StrategyRow], report: &Report) -> Vec<String> {
    let intervals = rows.iter().filter_map(|row| row.intervals.get(report.primary.id()));
    let signs = intervals.map(|interval| match interval {
        Interval::Dots { .. } => {
            (0, "a…b: lowest and highest session or project; too few for an interval.")
        }
        Interval::Bounds { .. } => (1, "[a–b]: 95 % interval over sessions or projects."),
    });
    let signs: BTreeSet<(u8, &str)> = signs.collect();
    let mut notes: Vec<String> = signs.into_iter().map(|(_, sign)| sign.to_owned()).collect();
    notes.extend(block::over_window(rows));
    notes.extend(block::recovered(rows, &report.manifest));
    notes.extend(block::gaps(rows));
    notes
}

/// What is done today and the strategies, then the offline summaries, then the other
/// controls.
pub(super) fn arranged<'a>(rows: &[&'a StrategyRow]) -> [Vec<&'a StrategyRow>; 3] {
    let [mut today, mut strategies, mut summaries, mut controls] = [const { Vec::new() }; 4];
    for &row in rows {
        match row.row_kind {
            RowKind::Control if TODAY.contains(&row.strategy.as_str()) => today.insert(0, row),
            RowKind::Control => controls.push(row),
            RowKind::OfflineSummary => summaries.push(row),
            RowKind::Ranked | RowKind::Unusable => strategies.push(row),
        }
    }
    today.append(&mut strategies);
    [today, summaries, controls]
}

/// What stands above the second and the third group of [`arranged`].
const GROUPS: [&str; 3] =
    ["", "offline summaries: not ranked, a model's keep more or less", "controls"];

/// The rows of [`arranged`] under the columns that somebody fills.
pub(super) fn ranked(groups: [Vec<&StrategyRow>; 3], columns: Vec<StrategyColumn>) -> Table {
    // A column that nobody fills says nothing; one that cannot be left out stays.
    let says = |row: &StrategyRow, column: &StrategyColumn| {
        ![absent(), String::new()].contains(&(column.cell)(row).text)
    };
    let is_filled = |column: &StrategyColumn| {
        let stays = !matches!(column.head.narrow, Narrow::LeftOut(_));
        stays || groups.iter().flatten().any(|row| says(row, column))
    };
    let columns: Vec<StrategyColumn> = columns.into_iter().filter(is_filled).collect();
    let row = |row: &&StrategyRow| Row {
        cells: columns.iter().map(|column| (column.cell)(row)).collect(),
        dim: row.row_kind != RowKind::Ranked,
    };
    let groups = groups.iter().zip(GROUPS);
    Table {
        name: "Strategies".to_owned(),
        groups: groups
            .map(|(rows, title)| Group { title, rows: rows.iter().map(row).collect() })
            .collect(),
        columns: columns.iter().map(|column| column.head.clone()).collect(),
    }
}
