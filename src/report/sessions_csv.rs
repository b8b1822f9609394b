//! `sessions.csv`: every session under every strategy, the dearest recording first.

use std::cmp::Reverse;
use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, Source};
use crate::model::{SESSION_MEASURES, SessionRow, Unit};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "sessions.csv",
    about: "one row per session, strategy, window and agent model, the dearest session first",
    render,
};

fn render(source: &Source<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let ids = SESSION_MEASURES.map(|measure| measure.id);
    let header = format!(
        "dataset,transcript,project,strategy,window,agent_model,requests,recorded_usd,{}",
        ids.join(",")
    );
    let recorded = |unit: usize| {
        let spent = report.receipts.get(unit)?.all();
        spent.total().whole().filter(|_| spent.reported > 0)
    };
    let requests = |unit: usize| report.transcripts[unit].requests.len();
    let mut rows: Vec<&SessionRow> = report.session_rows.iter().collect();
    rows.sort_by(|a, b| {
        // A recording without a bill comes last, the longest first.
        let usd = |unit| recorded(unit).unwrap_or(f64::NEG_INFINITY);
        (usd(b.unit).total_cmp(&usd(a.unit)))
            .then_with(|| Reverse(requests(a.unit)).cmp(&Reverse(requests(b.unit))))
            .then_with(|| a.unit.cmp(&b.unit))
    });
    let fields = rows.into_iter().map(|row| {
        let facts = &report.transcripts[row.unit];
        let mut fields = vec![
            Field::text(&facts.dataset),
            Field::text(&facts.transcript),
            Field::maybe_text(facts.cluster.as_deref()),
            Field::text(&row.strategy),
            Field::text(&row.window),
            Field::text(&row.billed_as),
            Field::Count(requests(row.unit) as u64),
            Field::maybe_dollars(recorded(row.unit)),
        ];
        fields.extend(SESSION_MEASURES.iter().zip(&row.figures).map(
            |(of, figure)| match of.unit {
                Unit::Dollars => Field::maybe_dollars(*figure),
                _ => Field::maybe(*figure),
            },
        ));
        fields
    });
    sheet::csv(&header, fields, out)
}
