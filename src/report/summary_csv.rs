//! `summary.csv`: one row per data set, strategy, window and agent model, with every measure.

use std::io::{Result, Write};

use super::number;
use super::sheet::{self, Field, Kind};
use super::{Format, Source};
use crate::model::{Column, Measure, PresetRow, Report, Standing, Unit, Value, catalogue};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "summary.csv",
    about: "one row per data set, strategy, window and agent model: every measure",
    render,
};

const KEY: [&str; 4] = ["dataset", "strategy", "window", "agent_model"];

fn render(source: &Source<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let columns: Vec<(&Measure, Kind)> =
        columns(report).into_iter().map(|measure| (measure, kind(report, measure))).collect();
    let mut rows: Vec<&PresetRow> = report.rows.iter().collect();
    rows.sort_by_key(|row| (&row.dataset, &row.strategy, &row.window, &row.agent_model));
    let fields = rows.into_iter().map(|row| {
        let mut fields = vec![
            Field::text(&row.dataset),
            Field::text(&row.strategy),
            Field::text(&row.window),
            Field::text(&row.agent_model),
        ];
        fields.extend(columns.iter().map(|(measure, kind)| field(row, measure, *kind)));
        fields
    });
    let key = KEY.into_iter().map(|name| (name, Kind::Text));
    sheet::csv(key.chain(columns.iter().map(|(measure, kind)| (measure.id, *kind))), fields, out)
}

/// What a column holds. A figure that is told apart by a word where it is not
/// known is text in every row.
fn kind(report: &Report, measure: &Measure) -> Kind {
    let is_word = |row: &PresetRow| matches!(row.values.get(measure.id), Some(Value::Text(_)));
    match measure.unit {
        Unit::Flag => Kind::Flag,
        Unit::Place => Kind::Count,
        Unit::Word => Kind::Text,
        _ if report.rows.iter().any(is_word) => Kind::Text,
        Unit::Dollars => Kind::Dollars,
        _ => Kind::Number,
    }
}

/// The columns that every run has, in the order of the catalogue, then by name
/// those of which some row of this run says something.
fn columns(report: &Report) -> Vec<&'static Measure> {
    let (always, mut more): (Vec<_>, Vec<_>) =
        catalogue::all().partition(|measure| measure.column == Column::Always);
    more.retain(|measure| report.rows.iter().any(|row| row.values.contains_key(measure.id)));
    more.sort_by_key(|measure| measure.id);
    always.into_iter().chain(more).collect()
}

/// A measure of a row. What the row carries in a typed field is read there.
fn field(row: &PresetRow, measure: &Measure, kind: Kind) -> Field {
    match measure.id {
        "stand_in" => Field::Flag(row.standing == Standing::StandIn),
        "rank" => row.rank.map_or(Field::Empty, |rank| Field::Count(u64::from(rank))),
        "verdict_vs_full" => Field::maybe_text(row.verdict.map(|v| v.as_str())),
        id => match (row.values.get(id), kind) {
            (Some(Value::Known(x)), Kind::Text) => Field::maybe_text(number::plain(*x).as_deref()),
            (Some(Value::Known(x)), _) => Field::Number(*x),
            (Some(Value::Text(text)), _) => Field::text(text),
            (Some(Value::Absent(_)) | None, _) => Field::Empty,
        },
    }
}
