//! `junit.xml`: the gate's rules and what failed as test cases, for what shows test
//! results beside a build.
//!
//! No case takes time of its own and no clock is read, so every `time` is 0 and
//! the same run gives the same bytes.

use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{Format, RenderInput, block, plain};
use recap_core::model::{Check, CheckOutcome, Gate, Missing, Report, StrategyRow, UndecidedPolicy};

pub(super) const FORMAT: Format = Format {
    name: "junit",
    file: "junit.xml",
    about: "the gate's rules, and what failed, as test cases for CI",
    render: |source, out| out.write_all(&render(source)),
};

/// What came of a case, with the reason.
enum Outcome {
    Passed,
    /// A rule forbids what is there.
    Failed(String),
    /// There is no figure to look at, or something broke.
    Error(String),
    /// It is left open.
    Skipped(String),
}

struct Case {
    name: String,
    outcome: Outcome,
    /// What was measured, in words.
    out: String,
}

fn render(source: &RenderInput<'_>) -> Vec<u8> {
    let report = source.report;
    let title = format!("recap: {}", plain::line(&report.title));
    let mut junit = quick_junit::Report::new(title);
    junit.set_time(Duration::ZERO);
    junit.add_test_suites(report.missing.iter().map(incomplete));
    junit.add_test_suites(report.gate.iter().map(gate));
    junit.add_test_suites(broken_rows(report));
    let mut bytes = Vec::new();
    junit.serialize(&mut bytes).expect("writing to memory cannot fail");
    bytes
}

fn suite(name: &str, cases: impl IntoIterator<Item = Case>) -> TestSuite {
    let mut suite = TestSuite::new(name);
    suite.set_time(Duration::ZERO);
    suite.add_test_cases(cases.into_iter().map(|Case { name: case, outcome, out }| {
        let mut case = TestCase::new(case, status(&outcome));
        case.set_classname(name).set_time(Duration::ZERO);
        if !out.is_empty() {
            case.set_system_out(out);
        }
        case
    }));
    suite
}

fn status(outcome: &Outcome) -> TestCaseStatus {
    let (mut status, kind, reason) = match outcome {
        Outcome::Passed => return TestCaseStatus::success(),
        Outcome::Failed(reason) => {
            (TestCaseStatus::non_success(NonSuccessKind::Failure), Some("regression"), reason)
        }
        Outcome::Error(reason) => {
            (TestCaseStatus::non_success(NonSuccessKind::Error), Some("incomplete"), reason)
        }
        Outcome::Skipped(reason) => (TestCaseStatus::skipped(), None, reason),
    };
    status.set_message(reason.as_str());
    if let Some(kind) = kind {
        status.set_type(kind);
    }
    status
}

/// A case that says what an interrupted run lacks.
fn incomplete(missing: &Missing) -> TestSuite {
    let case = Case {
        name: "every planned cell and cut is there".to_owned(),
        outcome: Outcome::Error(plain::line(&missing.to_string())),
        out: missing.named.iter().map(|name| plain::line(name)).collect::<Vec<_>>().join("\n"),
    };
    suite("run", [case])
}

/// One case for each rule on each row.
fn gate(gate: &Gate) -> TestSuite {
    let each = gate.rules.iter().flat_map(|rule| {
        rule.checks.iter().map(move |check| Case {
            name: format!("{}: {}", plain::line(&rule.rule), place(check)),
            outcome: outcome(check, gate.undecided),
            out: plain::line(&check.reason),
        })
    });
    suite("gate", each)
}

/// The row that a rule was looked at on.
fn place(check: &Check) -> String {
    format!(
        "{} at {} on {}, billed as {}",
        plain::line(&check.strategy),
        block::at(&check.window),
        plain::line(&check.dataset),
        plain::line(&check.agent_model)
    )
}

fn outcome(check: &Check, policy: UndecidedPolicy) -> Outcome {
    let reason = plain::line(&check.reason);
    match (check.finding, policy) {
        (CheckOutcome::Passed, _) => Outcome::Passed,
        (CheckOutcome::Failed, _) | (CheckOutcome::Undecided, UndecidedPolicy::Fail) => {
            Outcome::Failed(reason)
        }
        (CheckOutcome::Missing, _) => Outcome::Error(reason),
        (CheckOutcome::Unchecked, _) => Outcome::Skipped(reason),
        (CheckOutcome::Undecided, UndecidedPolicy::Pass) => {
            Outcome::Skipped(format!("undecided, which counts as passed: {reason}"))
        }
        (CheckOutcome::Undecided, UndecidedPolicy::Incomplete) => {
            Outcome::Skipped(format!("undecided: {reason}"))
        }
    }
}

/// A suite for each table in which something failed, with a case for each such row.
fn broken_rows(report: &Report) -> Vec<TestSuite> {
    let suites = block::blocks(report).into_iter().map(|block| {
        let rows = block.rows.iter().filter(|row| !row.failed.is_empty());
        suite(
            &format!("{} at {}", plain::line(block.dataset), block::at(block.window)),
            rows.map(|row| broken(row)),
        )
    });
    suites.filter(|suite| !suite.test_cases.is_empty()).collect()
}

/// Cells that failed, so that a strategy is judged by fewer sessions than it says.
fn broken(row: &StrategyRow) -> Case {
    let errors: Vec<String> = row.failed.iter().map(|error| plain::line(error)).collect();
    let cells = block::counted(errors.len(), "cell");
    Case {
        name: format!("{}: every cell runs through", plain::line(&row.strategy)),
        outcome: Outcome::Error(format!("{cells} failed")),
        out: errors.join("; "),
    }
}

#[cfg(test)]
mod tests;
