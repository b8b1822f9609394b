//! Session by session, the dearest recording first: `sessions.csv` with every strategy, and
//! a table of the strategy that the answer speaks of.

use std::cmp::Reverse;
use std::io::{Result, Write};

use super::document::{Part, TableOf, absent, figures, names};
use super::sheet::{Field, Sheet};
use super::{RenderInput, number, plain, sizes};
use recap_core::model::{Measure, Report, RowName, SESSION_MEASURES, SessionRow, Unit, catalogue};

/// `sessions.csv`.
pub(super) fn csv(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let mut names = vec!["dataset", "session", "project", "strategy", "window", "agent_model"];
    names.extend(["requests", "recorded_usd"]);
    names.extend(SESSION_MEASURES.map(|measure| measure.id));
    let mut sheet = Sheet::named(&names, out)?;
    for row in sorted(report) {
        let facts = &report.sessions[row.unit];
        let first: [Field; 8] = [
            facts.dataset.as_str().into(),
            facts.session.as_str().into(),
            facts.cluster.as_deref().into(),
            row.strategy.as_str().into(),
            row.window.as_str().into(),
            row.billed_as.as_str().into(),
            facts.requests.len().into(),
            Field::dollars(recorded(report, row.unit)),
        ];
        let figures = SESSION_MEASURES.iter().zip(&row.figures);
        let figures = figures.map(|(of, figure)| match of.unit {
            Unit::Dollars => Field::dollars(*figure),
            _ => (*figure).into(),
        });
        sheet.push_fields(first.into_iter().chain(figures))?;
    }
    sheet.finish()
}

/// What a session cost as recorded, where all of it is known.
fn recorded(report: &Report, unit: usize) -> Option<f64> {
    let spent = report.receipts.get(unit)?.all();
    spent.total().whole().filter(|_| spent.reported > 0)
}

/// The dearest session first; one without a bill comes last, the longest first.
fn sorted(report: &Report) -> Vec<&SessionRow> {
    let usd = |unit| recorded(report, unit).unwrap_or(f64::NEG_INFINITY);
    let requests = |unit: usize| report.sessions[unit].requests.len();
    let mut rows: Vec<&SessionRow> = report.session_rows.iter().collect();
    rows.sort_by(|a, b| {
        (usd(b.unit).total_cmp(&usd(a.unit)))
            .then_with(|| Reverse(requests(a.unit)).cmp(&Reverse(requests(b.unit))))
            .then_with(|| a.unit.cmp(&b.unit))
    });
    rows
}

/// Sessions that are listed beside the answer.
const MOST: usize = 20;

/// What the table shows of each session, after its requests and today's bill.
const SHOWN: [(&Measure, &str); 5] = [
    (catalogue::COST_USD, "with it"),
    (catalogue::FACTS_KEPT, "facts kept"),
    (catalogue::CONTINUITY_AT_CUT, "answers kept"),
    (catalogue::COMPACTIONS, "compactions"),
    (catalogue::OVERFLOWS, "refused"),
];

/// Each session at the size of the answer; else with the recommended strategy, or the first of the
/// ranking, and then nothing in a run of one session.
pub(super) fn parts(report: &Report) -> Vec<Part> {
    if let Some(Ok(curve)) = &report.curve {
        return sizes::sessions(report, curve);
    }
    let Some(place) = place(report).filter(|_| report.sessions.len() > 1) else {
        return Vec::new();
    };
    let billing_model = report.session_rows.first().map(|row| &row.billed_as);
    let of = |row: &&SessionRow| {
        (&row.strategy, &row.window) == (&place.strategy, &place.window)
            && Some(&row.billed_as) == billing_model
    };
    let rows: Vec<&SessionRow> = sorted(report).into_iter().filter(of).collect();
    let facts = |row: &SessionRow| &report.sessions[row.unit];
    let title = format!("Session by session with {}", place.strategy);
    let mut table = TableOf::new(&title, rows.iter().take(MOST))
        .column(names("session"), |row| plain::short_ids(report, &facts(row).session))
        .column(figures("requests"), |row| number::grouped(facts(row).requests.len() as u64))
        .column(figures("today"), |row| {
            recorded(report, row.unit).map_or_else(absent, number::dollars)
        });
    for (measure, head) in SHOWN {
        // A column that no session fills says nothing.
        let is_filled = rows.iter().any(|row| row.figure(measure).is_some());
        table = table.column_if(is_filled, figures(head), |row| {
            row.figure(measure).map_or_else(absent, |x| number::of(measure.unit, x))
        });
    }
    let more = match rows.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{more} more sessions and every other strategy: sessions.csv."),
        _ => "Every other strategy: sessions.csv.".to_owned(),
    };
    vec![Part::Heading(title), table.part(), Part::Text(more)]
}

/// The recommended row, else the first of the ranking.
fn place(report: &Report) -> Option<RowName> {
    let chosen = report.recommendation.as_ref().and_then(|of| of.row.clone());
    let ranked = report.rows.iter().filter(|row| row.rank.is_some());
    let first = ranked.min_by_key(|row| row.rank);
    chosen.or_else(|| {
        first.map(|row| RowName { strategy: row.strategy.clone(), window: row.window.clone() })
    })
}
