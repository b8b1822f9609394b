//! Every strategy against the targets that GenCode's design sets for its own
//! compression (measures §9; the seed's table of performance metrics).

use super::comparison::class;
use crate::model::{Cell, PresetRow, Report, Standing, catalogue};
use crate::report::{block, number, plain};

/// Fewest messages gone, as a share: 60 to 70 %.
const MESSAGES: f64 = 0.60;
/// Longest wait for a summary, in milliseconds.
const SUMMARY_MS: f64 = 5_000.0;
/// Fewest tokens gone at a compaction, as a share: 50 to 60 %.
const TOKENS: f64 = 0.50;
/// Longest pruning, in milliseconds.
const PRUNING_MS: f64 = 100.0;

/// The strategies of one data set at one window.
pub(super) struct Targets {
    pub(super) title: String,
    pub(super) rows: Vec<Row>,
}

/// One of them.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) class: &'static str,
    /// Messages gone, wait for a summary, tokens gone, what is kept.
    pub(super) cells: [Found; 4],
    /// How long it prunes: the one figure that no two runs share.
    pub(super) pruning: Found,
}

/// What was measured.
pub(super) struct Found {
    pub(super) text: String,
    /// Whether it meets its target; nothing without a figure.
    pub(super) mark: &'static str,
}

impl Found {
    fn of(figure: Option<f64>, show: fn(f64) -> String, met: impl Fn(f64) -> bool) -> Self {
        let mark = figure.map_or("", |x| if met(x) { "✓" } else { "✗" });
        Found { text: figure.map_or_else(|| "–".to_owned(), show), mark }
    }
}

/// A table for each data set and window; what is measured here is the same
/// whoever pays.
pub(super) fn targets(report: &Report) -> Vec<Targets> {
    let blocks = block::blocks(report);
    let mut tables = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let same = |other: &block::Block<'_>| {
            (other.dataset, other.window) == (block.dataset, block.window)
        };
        if blocks[..at].iter().any(same) {
            continue;
        }
        let judged = block.rows.iter().filter(|row| row.standing != Standing::Control);
        let rows: Vec<Row> = judged.map(|row| of(report, row)).collect();
        if !rows.is_empty() {
            let window = block::titled(block.window);
            tables
                .push(Targets { title: format!("{}, {window}", plain::line(block.dataset)), rows });
        }
    }
    tables
}

fn of(report: &Report, row: &PresetRow) -> Row {
    let gone = |measure| row.number(measure).map(|left| 1.0 - left);
    let summary = row.number(catalogue::BLOCKING_MS_P95).filter(|wait| *wait > 0.0);
    let kept = row.number(report.primary.measure()).map(|kept| kept / report.primary.most());
    Row {
        name: plain::line(&row.strategy),
        class: class(row.standing),
        cells: [
            Found::of(gone(catalogue::MESSAGE_RATIO), number::percent, |share| share >= MESSAGES),
            Found::of(summary, number::time, |wait| wait < SUMMARY_MS),
            Found::of(gone(catalogue::COMPRESSION_RATIO), number::percent, |share| share >= TOKENS),
            Found::of(kept, number::percent, |share| share >= 1.0),
        ],
        pruning: Found::of(slowest(report, row), number::time, |ms| ms < PRUNING_MS),
    }
}

/// Own CPU time of the slowest compaction that called no model.
fn slowest(report: &Report, row: &PresetRow) -> Option<f64> {
    let mine = |cell: &&Cell| {
        cell.key.strategy == row.strategy
            && cell.key.window == row.window
            && (row.dataset == block::ALL || cell.key.dataset == row.dataset)
    };
    let rows = report.cells.iter().filter(mine).filter_map(Cell::rows);
    let pruned = rows.flat_map(|rows| &rows.compactions).filter(|one| one.model_calls == 0);
    pruned.map(|one| one.cpu_ms).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Absent, CellOutcome, Value};
    use crate::report::testkit::Kit;

    fn told(found: &Found) -> (&str, &str) {
        (&found.text, found.mark)
    }

    #[test]
    fn a_figure_on_the_target_meets_it_and_none_is_no_miss() {
        let mut report = Kit::default().report();
        for row in &mut report.rows {
            for (id, value) in [
                ("message_ratio", 0.4),
                ("compression_ratio", 0.51),
                ("blocking_ms_p95", 5_000.0),
                ("reference_recall", 1.0),
            ] {
                row.values.insert(id.into(), Value::Known(value));
            }
        }
        let tables = targets(&report);
        let row = &tables[0].rows[0];
        assert_eq!(told(&row.cells[0]), ("60 %", "✓"));
        assert_eq!(told(&row.cells[1]).1, "✗");
        assert_eq!(told(&row.cells[2]), ("49 %", "✗"));
        assert_eq!(told(&row.cells[3]), ("100 %", "✓"));
        for row in &mut report.rows {
            row.values.insert("message_ratio".into(), Value::Absent(Absent::NoRequest));
        }
        assert_eq!(told(&targets(&report)[0].rows[0].cells[0]), ("–", ""));
    }

    #[test]
    fn pruning_is_as_slow_as_its_slowest_compaction_without_a_model() {
        let mut report = Kit::default().report();
        let of = |cell: &Cell| (cell.key.strategy.clone(), cell.key.window.clone());
        let busy = |cell: &&Cell| cell.rows().is_some_and(|rows| !rows.compactions.is_empty());
        let key = of(report.cells.iter().find(busy).unwrap());
        for cell in report.cells.iter_mut().filter(|cell| of(cell) == key) {
            let CellOutcome::Done(rows) = &mut cell.outcome else { continue };
            let mut slow = rows.compactions[0].clone();
            (slow.cpu_ms, slow.model_calls) = (120.0, 0);
            let summary =
                crate::model::CompactionRow { cpu_ms: 900.0, model_calls: 1, ..slow.clone() };
            let quick = crate::model::CompactionRow { cpu_ms: 7.0, ..slow.clone() };
            rows.compactions = vec![quick, slow, summary];
        }
        let row = report.rows.iter().find(|r| (r.strategy.clone(), r.window.clone()) == key);
        assert_eq!(slowest(&report, row.unwrap()), Some(120.0));
    }
}
