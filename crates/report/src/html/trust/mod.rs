//! How far to trust the run: its problems and limits as the findings say them,
//! its gate, its bill against the recorded one, and how sure it is.

pub(super) mod gate;

use askama::Template;

use crate::document::Part;
use crate::{block, certainty, document, panel, plain, validation};
use recap_core::model::{Report, Severity};

/// The section.
#[derive(Template)]
#[template(path = "trust/trust.html")]
pub(super) struct Trust {
    problems: Vec<String>,
    limits: Vec<String>,
    gate: Option<gate::GatePanel>,
    /// How far the judges of a panel agree, the bill against the recorded one, and the tests.
    document: String,
}

/// The section of a report.
pub(super) fn trust(report: &Report) -> Trust {
    Trust {
        problems: problems(report),
        limits: of(report, Severity::Limit).collect(),
        gate: gate::gate(report),
        document: document::html(&parts(report)),
    }
}

fn parts(report: &Report) -> Vec<Part> {
    let panel = report.panel.iter().map(|panel| Part::Text(panel::sentence(panel)));
    let tests = report.family.iter().flat_map(certainty::parts);
    panel.chain(validation::parts(report)).chain(tests).collect()
}

/// What may mislead a reader of this run: its problems, and what failed in each cell.
pub(super) fn problems(report: &Report) -> Vec<String> {
    let failed = report.rows.iter().filter(|row| row.dataset != block::ALL).flat_map(|row| {
        row.failed.iter().map(|error| {
            let window = block::place(&row.window);
            format!("failed: {} at {window}: {}", plain::line(&row.strategy), plain::line(error))
        })
    });
    failed.chain(of(report, Severity::Problem)).collect()
}

fn of(report: &Report, severity: Severity) -> impl Iterator<Item = String> {
    let those = report.findings.iter().filter(move |finding| finding.severity == severity);
    those.map(|finding| plain::line(&finding.text))
}
