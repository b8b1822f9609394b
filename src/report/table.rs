//! The ranked table on a terminal (docs/result.md).

use unicode_width::UnicodeWidthStr;

use super::grid::{GAP, NARROWEST, paragraph, push_blocks, push_line, wrapped};
use super::{block, number, panel, plain, spend, validation};
use crate::model::{
    Family, Interval, Outranks, PresetRow, Primary, Report, Standing, Tested, catalogue,
};

mod brief;
mod columns;
mod ending;

pub(super) use columns::{Column, absent, all_columns};

/// Most strategies of one outcome that are named.
const NAMED: usize = 4;
/// Columns of the last column at least, so that a verdict's words stay whole.
const VERDICT_WIDTH: usize = 14;
/// Controls that stand for what is done today, the first one below the second.
const TODAY: [&str; 2] = ["full", "recorded"];

/// What a terminal is like, and how much of a report it is to show.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Columns; below 80 a table is folded into a block for each preset.
    pub width: usize,
    /// Whether text may be set apart.
    pub color: bool,
    /// Every column, note and finding, instead of what an answer needs.
    pub wide: bool,
}

/// Renders the comparison for a terminal: what an answer needs, or on a wide
/// screen everything.
pub fn table(report: &Report, screen: Screen) -> String {
    if screen.wide { whole(report, screen) } else { brief::table(report, screen) }
}

/// The answer, one table per data set, window and agent model with what its
/// columns stand for, and all findings.
fn whole(report: &Report, screen: Screen) -> String {
    let Screen { width, color, .. } = screen;
    let mut out = String::new();
    ending::answer(&mut out, report, screen);
    for block in block::blocks(report) {
        let mut headline = block::headline(report, block.dataset, &[block.window]);
        if let Some(payer) = block::payer(report, &block) {
            headline += &format!(" · {payer}");
        }
        paragraph(&mut out, &format!("recap · {headline}"), width, "");
        out.push('\n');
        let columns = all_columns(report.primary);
        let spread = rows(&mut out, &arranged(&block.rows), columns, screen);
        for note in notes(&block.rows, report, spread) {
            paragraph(&mut out, &note, width, " ");
        }
        out.push('\n');
    }
    if let Some(family) = &report.family {
        paragraph(&mut out, &against_comparator(family), width, " ");
    }
    validation::section(&mut out, report, width, color);
    spend::section(&mut out, &report.calls, width, color);
    panel::section(&mut out, report, width);
    ending::findings(&mut out, report, screen);
    out
}

/// What the columns and signs stand for, and why a column is empty throughout.
/// `spread`: intervals and extremes stand in the table.
pub(super) fn notes(rows: &[&PresetRow], report: &Report, spread: bool) -> Vec<String> {
    let primary = report.primary;
    let mut notes = Vec::new();
    if primary == Primary::Continuity {
        notes.push(
            "answers kept: of the questions that the whole conversation answers right, the share \
             that the strategy still does."
                .to_owned(),
        );
    }
    notes.extend(block::at_cuts(rows, report));
    let has = |f: fn(&Interval) -> bool| {
        spread && rows.iter().any(|r| r.intervals.get(primary.id()).is_some_and(f))
    };
    if has(|i| matches!(i, Interval::Dots { .. })) {
        notes.push(
            "a…b: lowest and highest session or project; too few for an interval.".to_owned(),
        );
    }
    if has(|i| matches!(i, Interval::ThisSessionOnly { .. })) {
        notes.push(
            "[a–b]: over what was asked in this session only; says nothing of others.".to_owned(),
        );
    }
    if has(|i| matches!(i, Interval::Student { .. } | Interval::Wider { .. })) {
        notes.push("[a–b]: 95 % interval over sessions or projects.".to_owned());
    }
    notes.extend(block::over_window(rows));
    notes.extend(block::bill_checks(rows, report));
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
        let savings = row.number(catalogue::COST_SAVINGS_VS_RECORDED)?;
        Some(format!("{} {}", block::label(row), number::change(-savings)))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty())
        .then(|| format!("bill against that of what the recorded agent sent: {}.", each.join(", ")))
}

/// A block for each row, with every column that somebody fills.
fn folded(out: &mut String, rows: &[&PresetRow], columns: &[&Column], screen: Screen) {
    let labels: Vec<String> = columns.iter().map(|column| column.label()).collect();
    let blocks = rows.iter().map(|row| {
        let cells = columns.iter().map(|column| (column.cell)(row)).collect();
        (cells, style(row, screen.color))
    });
    push_blocks(out, &labels, blocks, screen.width);
}

/// What is done today and the presets, then the stand-ins, then the other
/// controls.
fn arranged<'a>(rows: &[&'a PresetRow]) -> [Vec<&'a PresetRow>; 3] {
    let of = |standing: Standing| move |row: &&PresetRow| row.standing == standing;
    let (controls, presets): (Vec<&PresetRow>, Vec<&PresetRow>) =
        rows.iter().copied().partition(of(Standing::Control));
    let (stand_ins, presets): (Vec<&PresetRow>, Vec<&PresetRow>) =
        presets.into_iter().partition(of(Standing::StandIn));
    let (today, controls): (Vec<&PresetRow>, Vec<&PresetRow>) =
        controls.into_iter().partition(|row| TODAY.contains(&row.strategy.as_str()));
    [today.into_iter().rev().chain(presets).collect(), stand_ins, controls]
}

/// What stands above the second and the third group of [`arranged`].
const GROUPS: [&str; 3] =
    ["", "offline summaries: not ranked, a model's keep more or less", "controls"];

/// Writes the rows; returns whether intervals stand in them.
fn rows(
    out: &mut String,
    groups: &[Vec<&PresetRow>; 3],
    columns: &[&Column],
    screen: Screen,
) -> bool {
    let rows: Vec<&PresetRow> = groups.iter().flatten().copied().collect();
    // A column that nobody fills says nothing; one that cannot be left out stays.
    let filled = |column: &&&Column| {
        let says = |row: &&PresetRow| ![absent(), String::new()].contains(&(column.cell)(row));
        column.dispensable == 0 || rows.iter().any(says)
    };
    let mut columns: Vec<&Column> = columns.iter().filter(filled).copied().collect();
    let Screen { width, color, .. } = screen;
    if width < NARROWEST {
        folded(out, &rows, &columns, screen);
        return true;
    }
    let cells = |columns: &[&Column]| -> Vec<Vec<String>> {
        rows.iter().map(|row| columns.iter().map(|c| (c.cell)(row)).collect()).collect()
    };
    let mut body = cells(&columns);
    let mut widths = natural(&columns, &body);
    let last_width = |body: &[Vec<String>]| {
        let longest = body.iter().filter_map(|cells| cells.last()).map(|cell| cell.width()).max();
        longest.unwrap_or(0).min(VERDICT_WIDTH)
    };
    let mut spread = true;
    while taken(&widths) + last_width(&body) > width {
        if !narrower(&mut columns, screen.wide, &mut spread) {
            break;
        }
        body = cells(&columns);
        widths = natural(&columns, &body);
    }
    let last = widths.len() - 1;
    let least = last_width(&body);
    let over = (taken(&widths) + least).saturating_sub(width);
    widths[0] = widths[0].saturating_sub(over).max(8);
    if !columns[last].right {
        widths[last] = width.saturating_sub(taken(&widths)).max(least);
    }
    let right: Vec<bool> = columns.iter().map(|c| c.right).collect();
    for line in 0..2 {
        let cells: Vec<String> = columns.iter().map(|c| c.head[line].to_owned()).collect();
        if cells.iter().all(String::is_empty) {
            continue;
        }
        push_line(out, &right, &widths, &cells, color.then_some("1"));
    }
    let mut body = rows.iter().zip(body);
    for (group, title) in groups.iter().zip(GROUPS) {
        if !group.is_empty() && !title.is_empty() {
            let rule = format!("── {title} ");
            let rest = (taken(&widths).min(width) - 1).saturating_sub(rule.width());
            let rule = vec![rule + &"─".repeat(rest)];
            push_line(out, &[false], &[width], &rule, color.then_some("2"));
        }
        for (row, cells) in body.by_ref().take(group.len()) {
            push_row(out, &right, &widths, cells, style(row, color));
        }
    }
    spread
}

/// Leaves out a column, or an interval: on a screen that is not wide the
/// interval first, and `spread` says so. `false` where nothing can be spared.
fn narrower(columns: &mut Vec<&Column>, wide: bool, spread: &mut bool) -> bool {
    let spare = (0..columns.len()).filter(|&at| columns[at].dispensable > 0);
    let spare = spare.max_by_key(|&at| columns[at].dispensable);
    let interval = columns.iter().enumerate().find_map(|(at, column)| Some((at, column.plain?)));
    match (spare, interval) {
        (Some(at), None) => {
            columns.remove(at);
        }
        (Some(at), Some(_)) if wide => {
            columns.remove(at);
        }
        (_, Some((at, plain))) => {
            columns[at] = plain;
            *spread = false;
        }
        (None, None) => return false,
    }
    true
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
