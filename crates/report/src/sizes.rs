//! The table of sizes at which an agent's compaction would have fired.

use serde_json::{Value as Json, json};

use super::document::{Column, Part, Table, absent, figures, words};
use super::number;
use recap_core::model::{NoCurve, SizeCurve, SizeRow};
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
        row("95 % interval", &interval, absent()),
        row("compactions", &|row| row.compactions.to_string(), curve.compactions.to_string()),
        row("cheaper, dearer", &|row| format!("{}, {}", row.cheaper, row.dearer), absent()),
    ];
    let three = |row: &SizeRow| row.three_families.map_or_else(absent, number::percent);
    let mut rows = rows;
    if curve.families > 3 {
        rows.insert(3, row("by three families", &three, absent()));
    }
    Part::Table(Table::with("What other sizes would have cost", columns, rows))
}

/// From the greatest saving to the least: `−17…−3`.
fn interval(row: &SizeRow) -> String {
    let end = |share: f64| number::change(-share).replace(" %", "");
    format!("{}…{}", end(row.hi), end(row.lo))
}

/// The same as JSON, with every fraction at six decimals, so that equal figures are equal bytes.
pub(super) fn json(curve: &Result<SizeCurve, NoCurve>) -> Json {
    rounded(match curve {
        Ok(curve) => json!(curve),
        Err(why) => json!({"none": why, "text": wording::no_sizes(why)}),
    })
}

fn rounded(value: Json) -> Json {
    match value {
        Json::Number(number) if number.is_f64() => json!(number.as_f64().and_then(number::rounded)),
        Json::Array(items) => items.into_iter().map(rounded).collect(),
        Json::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, rounded(value))).collect()
        }
        other => other,
    }
}

/// The table, and how the advised size is set.
pub(super) fn parts(curve: &SizeCurve) -> Vec<Part> {
    let apply = curve.apply.as_ref().map(|one| Part::Labelled("apply", wording::apply(one)));
    [table(curve)].into_iter().chain(apply).collect()
}
