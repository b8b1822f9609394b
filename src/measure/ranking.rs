//! The order in which rows are printed, and who is ranked (`semantics` 40).

use std::cmp::Ordering;

use crate::model::{Manifest, PresetRow, Standing};

use super::rows::{ALL, BASELINE, Entry};

/// Controls below the ranking, in this order; others follow by name.
const SCALE: &[&str] = &["evidence", "empty", "id-list", "recorded"];

/// Sorts rows for printing and ranks them: data sets by name and `ALL` last,
/// windows and agent models as typed, then `full`, the ranked, the stand-ins,
/// other controls.
///
/// Ranked by the primary measure, then by the bill, then by tokens sent. A row that could not be
/// scored, or with cells that failed, has no rank: it sat another exam.
pub fn arrange(table: &mut [Entry], manifest: &Manifest, primary: &str) {
    table.sort_by(|a, b| {
        place(&a.row, manifest)
            .cmp(&place(&b.row, manifest))
            .then_with(|| by_merit(&a.row, &b.row, primary))
    });
    let mut rank = 0;
    let mut group: Option<(String, String, String)> = None;
    for Entry { row, .. } in table {
        let here = Some((row.dataset.clone(), row.window.clone(), row.agent_model.clone()));
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
type Place<'a> = (bool, &'a str, (usize, &'a str), (usize, &'a str), u8, usize);

fn place<'a>(row: &'a PresetRow, manifest: &Manifest) -> Place<'a> {
    let typed =
        |names: &[String], name: &str| names.iter().position(|n| n == name).unwrap_or(names.len());
    let window = (typed(&manifest.windows, &row.window), row.window.as_str());
    let payer = (typed(&manifest.agent_models, &row.agent_model), row.agent_model.as_str());
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
    (row.dataset == ALL, &row.dataset, window, payer, block, control)
}

fn by_merit(a: &PresetRow, b: &PresetRow, primary: &str) -> Ordering {
    let recall = |row: &PresetRow| row.number(primary).unwrap_or(f64::NEG_INFINITY);
    let least = |row: &PresetRow, id| row.number(id).unwrap_or(f64::INFINITY);
    let by = |id| least(a, id).total_cmp(&least(b, id));
    recall(b)
        .total_cmp(&recall(a))
        .then_with(|| by("cost_usd"))
        .then_with(|| by("tokens_sent"))
        .then_with(|| a.strategy.cmp(&b.strategy))
}
