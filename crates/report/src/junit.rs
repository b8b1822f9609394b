//! `junit.xml`: the gate and the kinds of questions as test cases, for what shows
//! test results beside a build.
//!
//! No case takes time of its own and no clock is read, so every `time` is 0 and
//! the same run gives the same bytes.

use std::collections::BTreeSet;
use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{Format, RenderInput, block, number, plain};
use recap_core::model::{
    Check, CheckOutcome, Gate, Missing, QuestionKind, Report, StrategyRow, UndecidedPolicy, Value,
};

pub(super) const FORMAT: Format = Format {
    name: "junit",
    file: "junit.xml",
    about: "the gate's rules and the kinds of questions as test cases, for CI",
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
    junit.add_test_suites(kinds(report));
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
        (CheckOutcome::Undecided, UndecidedPolicy::Pass) => {
            Outcome::Skipped(format!("undecided, which counts as passed: {reason}"))
        }
        (CheckOutcome::Undecided, UndecidedPolicy::Incomplete) => {
            Outcome::Skipped(format!("undecided: {reason}"))
        }
    }
}

/// A suite for each data set at each window, with a case for each strategy and
/// kind of question. What is kept is the same whoever pays, so the first agent
/// model speaks for all.
fn kinds(report: &Report) -> Vec<TestSuite> {
    let blocks = block::blocks(report);
    // With one data set the rows over all of them are left out.
    let alone = blocks.iter().all(|block| block.dataset != block::ALL);
    let mut seen = BTreeSet::new();
    let each = blocks.iter().filter(|block| seen.insert((block.dataset, block.window)));
    let suites = each.map(|block| {
        let asked = asked(report, block.dataset);
        let cases = block.rows.iter().flat_map(|row| {
            let broken = (!row.failed.is_empty()).then(|| broken(row));
            let kinds = asked
                .iter()
                .map(|(kind, questions)| of_kind(report, row, *kind, *questions, alone));
            kinds.chain(broken).collect::<Vec<Case>>()
        });
        suite(&format!("{} at {}", plain::line(block.dataset), block::at(block.window)), cases)
    });
    suites.filter(|suite| !suite.test_cases.is_empty()).collect()
}

/// Kinds that are asked for in a data set, each with its questions.
fn asked(report: &Report, dataset: &str) -> Vec<(QuestionKind, usize)> {
    let facts = report.sessions.iter().filter(|t| dataset == block::ALL || t.dataset == dataset);
    let kinds: Vec<QuestionKind> =
        facts.flat_map(|t| &t.questions).map(|p| p.question.kind).collect();
    let count = |kind: &QuestionKind| kinds.iter().filter(|k| *k == kind).count();
    let counted = QuestionKind::ALL.into_iter().map(|kind| (kind, count(&kind)));
    counted.filter(|(_, questions)| *questions > 0).collect()
}

/// The continuity of one kind under one strategy: it fails only where a rule says so.
fn of_kind(
    report: &Report,
    row: &StrategyRow,
    kind: QuestionKind,
    questions: usize,
    alone: bool,
) -> Case {
    let measure = format!("continuity_{}", kind.as_str());
    let mine = |check: &&Check| {
        check.measure == measure
            && check.strategy == row.strategy
            && check.window == row.window
            && (check.dataset == row.dataset || alone && check.dataset == block::ALL)
    };
    let checks = report.gate.iter().flat_map(|gate| {
        gate.checks().filter(mine).map(|check| (check.finding, outcome(check, gate.undecided)))
    });
    let worst = checks.max_by_key(|(finding, _)| *finding).map(|(_, outcome)| outcome);
    let (out, unruled) = match row.values.get(&measure) {
        Some(Value::Known(points)) => (
            format!("continuity {points:.0} over {}", block::counted(questions, "question")),
            Outcome::Passed,
        ),
        Some(Value::Absent(reason)) => {
            let reason = plain::line(&reason.to_string());
            (reason.clone(), Outcome::Skipped(reason))
        }
        Some(Value::Text(_)) | None => {
            ("not measured".to_owned(), Outcome::Skipped("not measured".to_owned()))
        }
    };
    Case {
        name: format!("{}: {}", plain::line(&row.strategy), kind.as_str()),
        outcome: worst.unwrap_or(unruled),
        out,
    }
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
