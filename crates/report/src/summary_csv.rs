//! `summary.csv`: one row per data set, strategy, window and agent model, with the
//! measures that have a column; `summary.json` has all of them.

use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_core::model::{Column, Measure, RowKind, StrategyRow, Unit, Value, catalogue};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "summary.csv",
    about: "one row per data set, strategy, window and billing model: the measures that tables need",
    render,
};

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let columns: Vec<_> = catalogue::all().filter(|of| of.column == Column::Csv).collect();
    let mut rows: Vec<&StrategyRow> = report.rows.iter().collect();
    rows.sort_by_key(|row| (&row.dataset, &row.strategy, &row.window, &row.agent_model));
    let fields = rows.into_iter().map(|row| {
        let mut fields = vec![
            Field::text(&row.dataset),
            Field::text(&row.strategy),
            Field::text(&row.window),
            Field::text(&row.agent_model),
        ];
        fields.extend(columns.iter().map(|measure| field(row, measure)));
        fields
    });
    let mut header = "dataset,strategy,window,agent_model".to_owned();
    columns.iter().for_each(|measure| header += &format!(",{}", measure.id));
    sheet::csv(&header, fields, out)
}

/// A measure of a row. What the row carries in a typed field is read there.
fn field(row: &StrategyRow, measure: &Measure) -> Field {
    match measure.id {
        "offline_summary" => Field::Flag(row.row_kind == RowKind::OfflineSummary),
        "rank" => row.rank.map_or(Field::Empty, |rank| Field::Count(u64::from(rank))),
        "verdict_vs_full" => Field::maybe_text(row.verdict.map(|v| v.as_str())),
        id => match row.values.get(id) {
            Some(Value::Known(x)) if measure.unit == Unit::Dollars => Field::Dollars(*x),
            Some(Value::Known(x)) => Field::Number(*x),
            Some(Value::Text(text)) => Field::text(text),
            Some(Value::Absent(_)) | None => Field::Empty,
        },
    }
}
