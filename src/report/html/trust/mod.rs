//! How far to trust the run: its problems, its gate, its self-check, how sure
//! it is, and what it cannot see.

mod blind;
mod certainty;
pub(super) mod checks;
pub(super) mod gate;
mod validation;

use askama::Template;

use crate::model::Report;
use crate::report::{block, plain};

/// The section.
#[derive(Template)]
#[template(path = "trust/trust.html")]
pub(super) struct Trust {
    problems: Vec<String>,
    gate: Option<gate::Shown>,
    checks: Vec<checks::Check>,
    validation: Option<validation::Table>,
    certainty: Option<certainty::Certainty>,
    blind: Vec<blind::Line>,
}

/// The section of a report.
pub(super) fn trust(report: &Report) -> Trust {
    Trust {
        problems: problems(report),
        gate: gate::gate(report),
        checks: checks::checks(report),
        validation: validation::table(report),
        certainty: certainty::certainty(report),
        blind: blind::lines(report),
    }
}

/// What a reader has to know before trusting the figures, the worst first:
/// failures, what the self-check doubts, and the limits of the run.
pub(super) fn problems(report: &Report) -> Vec<String> {
    let failed = report.rows.iter().filter(|row| row.dataset != block::ALL).flat_map(|row| {
        row.failed.iter().map(|error| {
            let window = block::place(&row.window);
            format!("failed: {} at {window}: {}", plain::line(&row.strategy), plain::line(error))
        })
    });
    let doubts = checks::doubts(report).into_iter().map(|(name, found)| {
        let first = found.first().map_or("", |found| found.trim_start_matches("! "));
        format!("the self-check doubts “{name}”: {first}")
    });
    let warnings = report.warnings.iter().map(|warning| plain::line(warning));
    failed.chain(doubts).chain(warnings).collect()
}
