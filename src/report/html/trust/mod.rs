//! How far to trust the run: its problems, its gate, its self-check, how sure
//! it is, and what it cannot see.

mod blind;
mod certainty;
pub(super) mod checks;
pub(super) mod gate;
mod validation;

use askama::Template;

use crate::model::{Finding, Report};
use crate::report::{block, plain};

/// The section.
#[derive(Template)]
#[template(path = "trust/trust.html")]
pub(super) struct Trust {
    problems: Vec<String>,
    limits: Vec<String>,
    gate: Option<gate::Shown>,
    check_summary: String,
    checks: Vec<checks::Check>,
    validation: Option<validation::Table>,
    certainty: Option<certainty::Certainty>,
    blind: Vec<blind::Line>,
}

/// The section of a report.
pub(super) fn trust(report: &Report) -> Trust {
    let checks = checks::checks(report);
    Trust {
        problems: problems(report),
        limits: of(report, |finding| matches!(finding, Finding::Limit(_))).collect(),
        gate: gate::gate(report),
        check_summary: checks::summary(&checks),
        checks,
        validation: validation::table(report),
        certainty: certainty::certainty(report),
        blind: blind::lines(report),
    }
}

/// What may mislead a reader of this run: its problems, and what failed in each cell.
pub(super) fn problems(report: &Report) -> Vec<String> {
    let failed = report.rows.iter().filter(|row| row.dataset != block::ALL).flat_map(|row| {
        row.failed.iter().map(|error| {
            let window = block::place(&row.window);
            format!("failed: {} at {window}: {}", plain::line(&row.strategy), plain::line(error))
        })
    });
    failed.chain(of(report, |finding| matches!(finding, Finding::Problem(_)))).collect()
}

fn of(report: &Report, is: fn(&Finding) -> bool) -> impl Iterator<Item = String> {
    let those = report.findings.iter().filter(move |finding| is(finding));
    those.map(|finding| plain::line(&finding.to_string()))
}
