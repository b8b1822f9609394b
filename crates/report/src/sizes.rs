//! The table of sizes at which an agent's compaction would have fired.

use super::document::{Column, Part, Table, absent, figures, words};
use super::number;
use recap_core::model::{SizeCurve, SizeRow};
use recap_core::wording;

/// What the sessions would have cost at each size, and today.
pub(super) fn table(curve: &SizeCurve) -> Part {
    let mut columns: Vec<Column> = vec![words("").named(format!("{} compacts at", curve.agent))];
    columns.extend(curve.sizes.iter().map(|row| figures("").named(wording::size_name(row.size))));
    columns.push(Column::from(figures("today")));
    let row = |name: &str, of: &dyn Fn(&SizeRow) -> String, today: String| {
        let own = curve.sizes.iter().map(of);
        [name.to_owned()].into_iter().chain(own).chain([today]).collect::<Vec<String>>()
    };
    let rows = vec![
        row("bill", &|row| number::dollars(row.usd), number::dollars(curve.today_usd)),
        row("against today", &|row| number::change(-row.saving), absent()),
        row("at least", &|row| number::change(-row.lo), absent()),
        row("at most", &|row| number::change(-row.hi), absent()),
        row("compactions", &|row| row.compactions.to_string(), curve.compactions.to_string()),
        row("sessions cheaper", &|row| row.cheaper.to_string(), absent()),
        row("sessions dearer", &|row| row.dearer.to_string(), absent()),
    ];
    Part::Table(Table::with("What other sizes would have cost", columns, rows))
}
