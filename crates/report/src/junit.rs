//! `junit.xml`: the gate's rules, and what an interrupted run lacks, as test cases for what shows
//! test results beside a build.
//!
//! No case takes time of its own and no clock is read, so every `time` is 0 and
//! the same run gives the same bytes.

use std::io::{Result, Write};
use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::gate::place;
use super::{RenderInput, plain};
use recap_core::model::{Check, CheckOutcome, Gate, Missing, UndecidedPolicy};

/// `junit.xml`.
pub(super) fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let title = format!("recap: {}", plain::line(&report.title));
    let mut junit = quick_junit::Report::new(title);
    junit.set_time(Duration::ZERO);
    junit.add_test_suites(report.missing.iter().map(incomplete));
    junit.add_test_suites(report.gate.iter().map(gate));
    let mut bytes = Vec::new();
    junit.serialize(&mut bytes).expect("writing to memory cannot fail");
    out.write_all(&bytes)
}

fn suite(name: &str, cases: impl IntoIterator<Item = TestCase>) -> TestSuite {
    let mut suite = TestSuite::new(name);
    suite.set_time(Duration::ZERO);
    suite.add_test_cases(cases.into_iter().map(|mut case| {
        case.set_classname(name).set_time(Duration::ZERO);
        case
    }));
    suite
}

/// A case with what was measured, in words.
fn case(name: String, status: TestCaseStatus, out: String) -> TestCase {
    let mut case = TestCase::new(name, status);
    if !out.is_empty() {
        case.set_system_out(out);
    }
    case
}

/// A rule forbids what is there; else there is no figure to look at, or something broke.
fn broken(kind: NonSuccessKind, reason: String) -> TestCaseStatus {
    let name = if kind == NonSuccessKind::Failure { "regression" } else { "incomplete" };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(reason).set_type(name);
    status
}

/// It is left open.
fn skipped(reason: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(reason);
    status
}

/// A case that says what an interrupted run lacks.
fn incomplete(missing: &Missing) -> TestSuite {
    let named: Vec<String> = missing.named.iter().map(|name| plain::line(name)).collect();
    let status = broken(NonSuccessKind::Error, plain::line(&missing.to_string()));
    let name = "every planned cell and cut is there".to_owned();
    suite("run", [case(name, status, named.join("\n"))])
}

/// One case for each rule on each row.
fn gate(gate: &Gate) -> TestSuite {
    let each = gate.rules.iter().flat_map(|rule| {
        rule.checks.iter().map(move |check| {
            let name = format!("{}: {}", plain::line(&rule.rule), row(check));
            case(name, status(check, gate.undecided), plain::line(&check.reason))
        })
    });
    suite("gate", each)
}

/// The row that a rule was looked at on.
fn row(check: &Check) -> String {
    let (dataset, agent_model) = (plain::line(&check.dataset), plain::line(&check.agent_model));
    format!("{} on {dataset}, billed as {agent_model}", place(check))
}

fn status(check: &Check, policy: UndecidedPolicy) -> TestCaseStatus {
    let reason = plain::line(&check.reason);
    match (check.finding, policy) {
        (CheckOutcome::Passed, _) => TestCaseStatus::success(),
        (CheckOutcome::Failed, _) | (CheckOutcome::Undecided, UndecidedPolicy::Fail) => {
            broken(NonSuccessKind::Failure, reason)
        }
        (CheckOutcome::Missing, _) => broken(NonSuccessKind::Error, reason),
        (CheckOutcome::Unchecked, _) => skipped(reason),
        (CheckOutcome::Undecided, UndecidedPolicy::Pass) => {
            skipped(format!("undecided, which counts as passed: {reason}"))
        }
        (CheckOutcome::Undecided, UndecidedPolicy::Incomplete) => {
            skipped(format!("undecided: {reason}"))
        }
    }
}

#[cfg(test)]
mod tests;
