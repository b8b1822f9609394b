//! Compares presets at equal size (measures §8): a preset that sends twice as
//! much keeps more, which does not show how well it chooses.
//!
//! The windows of a preset are its sweep. The primary measure is interpolated
//! linearly on the logarithm of the size between two neighbours of the sweep,
//! and never beyond its ends. Rows over the window, rows with failed cells,
//! controls and stand-ins are left out.

use std::collections::BTreeMap;

use super::names::ALL;
use super::rows::Entry;
use crate::model::{Absent, AtSize, EqualSize, PresetRow, Primary, Standing, Value, catalogue};

/// The measures of size.
const SIZES: [&str; 2] = [catalogue::MEAN_TOKENS.id, catalogue::COST_USD.id];
/// Ratio of two sizes above which they are two points of a sweep.
const SAME: f64 = 1.0 + 1e-9;

/// Comparisons by data set and payer, if at least two presets have a sweep that
/// includes a common size. Rows are in printing order.
pub fn comparisons(table: &[Entry], primary: Primary) -> Vec<EqualSize> {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for Entry { row, .. } in table {
        if !keys.contains(&(&row.dataset, &row.agent_model)) {
            keys.push((&row.dataset, &row.agent_model));
        }
    }
    // With one data set the rows over all of them would repeat its rows.
    let datasets = keys.iter().filter(|(dataset, _)| *dataset != ALL);
    let names: std::collections::BTreeSet<&str> = datasets.map(|(dataset, _)| *dataset).collect();
    let tables = keys.iter().filter(|(dataset, _)| *dataset != ALL || names.len() > 1);
    let rows = |key: &(&str, &str)| -> Vec<&PresetRow> {
        let mine = |row: &&PresetRow| (row.dataset.as_str(), row.agent_model.as_str()) == *key;
        table.iter().map(|entry| &entry.row).filter(mine).collect()
    };
    tables
        .flat_map(|key| {
            let rows = rows(key);
            SIZES.into_iter().filter_map(move |size| comparison(&rows, primary, size))
        })
        .collect()
}

/// Figures by size, ascending and of distinct sizes; or why there are too few.
type Sweep = Result<Vec<(f64, f64)>, Absent>;

fn comparison(rows: &[&PresetRow], primary: Primary, size: &str) -> Option<EqualSize> {
    let first = rows.first()?;
    let mut presets: BTreeMap<&str, Vec<&PresetRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.standing == Standing::Ranked) {
        presets.entry(&row.strategy).or_default().push(row);
    }
    let sweeps: BTreeMap<&str, Sweep> =
        presets.into_iter().map(|(name, rows)| (name, sweep(&rows, primary, size))).collect();
    let at = size_of_most(sweeps.values().flatten())?;
    let mut presets: Vec<AtSize> = sweeps
        .into_iter()
        .map(|(strategy, sweep)| {
            let value = match sweep.and_then(|points| interpolated(&points, at)) {
                Ok(figure) => Value::Known(figure),
                Err(reason) => Value::Absent(reason),
            };
            AtSize { strategy: strategy.to_owned(), value }
        })
        .collect();
    // The sort is stable: presets without a figure keep the order of their
    // names.
    let merit = |preset: &AtSize| preset.value.number().unwrap_or(f64::NEG_INFINITY);
    presets.sort_by(|a, b| merit(b).total_cmp(&merit(a)));
    Some(EqualSize {
        dataset: first.dataset.clone(),
        agent_model: first.agent_model.clone(),
        measure: primary,
        size: size.to_owned(),
        at,
        presets,
    })
}

/// The points of one preset. Windows with the same size are one point.
fn sweep(rows: &[&PresetRow], primary: Primary, size: &str) -> Sweep {
    let fits =
        |row: &&&PresetRow| row.failed.is_empty() && row.number(catalogue::OVERFLOWS) == Some(0.0);
    let fitting: Vec<&&PresetRow> = rows.iter().filter(fits).collect();
    let point = |row: &&PresetRow| Some((row.number_of(size)?, row.number(primary.measure())?));
    let mut points: Vec<(f64, f64)> =
        fitting.iter().filter_map(|row| point(row)).filter(|(size, _)| *size > 0.0).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let apart = points.chunk_by(|a, b| b.0 <= a.0 * SAME);
    let mean = |group: &[(f64, f64)]| {
        (group[0].0, group.iter().map(|(_, y)| y).sum::<f64>() / group.len() as f64)
    };
    let distinct: Vec<(f64, f64)> = apart.map(mean).collect();
    match (rows.len(), fitting.len(), points.len(), distinct.len()) {
        (1, ..) => Err(Absent::OneWindow),
        (_, fitting, ..) if fitting < 2 => Err(Absent::FewFittingWindows),
        (.., found, _) if found < 2 => Err(Absent::FewFigures),
        (.., 1) => Err(Absent::OneSize),
        _ => Ok(distinct),
    }
}

/// The geometric middle of the longest range that most sweeps cover; `None` if
/// no two of them overlap.
fn size_of_most<'a>(sweeps: impl Iterator<Item = &'a Vec<(f64, f64)>>) -> Option<f64> {
    let end = |points: &'a Vec<(f64, f64)>| Some((points.first()?.0, points.last()?.0));
    let ranges: Vec<(f64, f64)> = sweeps.filter_map(end).collect();
    let mut ends: Vec<f64> = ranges.iter().flat_map(|(from, to)| [*from, *to]).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let stretch = |pair: &[f64]| {
        let covering = ranges.iter().filter(|(from, to)| *from <= pair[0] && pair[1] <= *to);
        (covering.count(), pair[1] / pair[0], (pair[0] * pair[1]).sqrt())
    };
    let best = ends.windows(2).map(stretch).filter(|(covering, ..)| *covering >= 2);
    best.reduce(|a, b| if (b.0, b.1) > (a.0, a.1) { b } else { a }).map(|(.., middle)| middle)
}

/// The figure at a size, interpolated linearly on the logarithm of the size.
pub(super) fn interpolated(points: &[(f64, f64)], at: f64) -> Result<f64, Absent> {
    let above = points.partition_point(|(size, _)| *size < at);
    let pair = above.checked_sub(1).and_then(|below| points.get(below..=above));
    match pair {
        Some([(from, low), (to, high)]) => {
            Ok(low + (high - low) * (at / from).ln() / (to / from).ln())
        }
        _ if points.first().is_some_and(|(size, _)| *size == at) => Ok(points[0].1),
        _ => Err(Absent::OutOfReach),
    }
}

#[cfg(test)]
#[path = "equal_size_tests.rs"]
mod tests;
