//! `sessions.csv`: every session under every strategy, the dearest recording first.

use std::cmp::Reverse;
use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, Source};
use crate::measure::session_rows;
use crate::model::{Measure, Unit, catalogue};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "sessions.csv",
    about: "one row per session, strategy, window and agent model, the dearest session first",
    render,
};

/// The measures, in the order of their columns, which have their names.
const MEASURES: [&Measure; 10] = [
    catalogue::COST_USD,
    catalogue::COST_SAVINGS,
    catalogue::TOKENS_SENT,
    catalogue::COMPACTIONS,
    catalogue::OVERFLOWS,
    catalogue::REFERENCE_RECALL,
    catalogue::FACTS_AT_STAKE,
    catalogue::KEPT_AT_CUT,
    catalogue::QUESTIONS_AT_CUT,
    catalogue::CONTINUITY_AT_CUT,
];

fn render(source: &Source<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let ids = MEASURES.map(|measure| measure.id);
    let header = format!(
        "dataset,transcript,project,strategy,window,agent_model,requests,recorded_usd,{}",
        ids.join(",")
    );
    let recorded = |unit: usize| {
        let spent = report.receipts.get(unit)?.all();
        spent.total().whole().filter(|_| spent.reported > 0)
    };
    let requests = |unit: usize| report.transcripts[unit].requests.len();
    let mut rows = session_rows(report, &ids);
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
        fields.extend(MEASURES.iter().zip(row.figures).map(|(measure, figure)| {
            let number = figure.and_then(|figure| figure.number());
            match measure.unit {
                Unit::Dollars => Field::maybe_dollars(number),
                _ => Field::maybe(number),
            }
        }));
        fields
    });
    sheet::csv(&header, fields, out)
}
