//! The order in which rows are printed, and who is ranked (`semantics` 40).

use std::cmp::Ordering;

use crate::model::{PresetRow, Standing};

use super::rows::{ALL, BASELINE, Entry};

/// Controls below the ranking, in this order; others follow by name.
const SCALE: &[&str] = &["evidence", "empty", "id-list", "recorded"];

/// Sorts rows for printing and ranks them: data sets by name and `ALL` last,
/// windows as typed, then `full`, the ranked, the stand-ins, other controls.
///
/// Ranked by the primary measure, then by tokens sent. A row that could not be
/// scored, or with cells that failed, has no rank: it sat another exam.
pub fn arrange(table: &mut [Entry], windows: &[String], primary: &str) {
    table.sort_by(|a, b| {
        place(&a.row, windows)
            .cmp(&place(&b.row, windows))
            .then_with(|| by_merit(&a.row, &b.row, primary))
    });
    let mut rank = 0;
    let mut group: Option<(String, String)> = None;
    for Entry { row, .. } in table {
        let here = Some((row.dataset.clone(), row.window.clone()));
        if group != here {
            group = here;
            rank = 0;
        }
        let scored = row.number(primary).is_some() && row.failed.is_empty();
        if row.standing == Standing::Ranked && scored {
            rank += 1;
            row.rank = Some(rank);
        }
    }
}

/// Everything that stands above merit.
fn place<'a>(row: &'a PresetRow, windows: &[String]) -> (bool, &'a str, usize, &'a str, u8, usize) {
    let window = windows.iter().position(|w| *w == row.window).unwrap_or(windows.len());
    let block = match row.standing {
        Standing::Control if row.strategy == BASELINE => 0,
        Standing::Ranked if row.failed.is_empty() => 1,
        Standing::Ranked => 2,
        Standing::StandIn => 3,
        Standing::Control => 4,
    };
    let control = match row.standing {
        Standing::Control => {
            SCALE.iter().position(|name| *name == row.strategy).unwrap_or(SCALE.len())
        }
        Standing::Ranked | Standing::StandIn => 0,
    };
    (row.dataset == ALL, &row.dataset, window, &row.window, block, control)
}

fn by_merit(a: &PresetRow, b: &PresetRow, primary: &str) -> Ordering {
    let recall = |row: &PresetRow| row.number(primary).unwrap_or(f64::NEG_INFINITY);
    let sent = |row: &PresetRow| row.number("tokens_sent").unwrap_or(f64::INFINITY);
    recall(b)
        .total_cmp(&recall(a))
        .then_with(|| sent(a).total_cmp(&sent(b)))
        .then_with(|| a.strategy.cmp(&b.strategy))
}
