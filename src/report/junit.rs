//! `junit.xml`: the gate and the kinds of probes as test cases, for what shows
//! test results beside a build.
//!
//! The layout is the part that Maven Surefire's schema, Jenkins' and those of
//! other readers have in common: `testsuites`, `testsuite` with its counts, and
//! in a `testcase` at most one of `failure`, `error` and `skipped` before
//! `system-out`. No case takes time of its own and no clock is read, so every
//! `time` is 0 and the same run gives the same bytes.

use std::collections::BTreeSet;
use std::io::Error;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::{Format, Source, block, number, plain};
use crate::model::{
    Check, CheckOutcome, Gate, Missing, PresetRow, ProbeKind, Report, UndecidedPolicy, Value,
};

pub(super) const FORMAT: Format = Format {
    name: "junit",
    file: "junit.xml",
    about: "the gate's rules and the kinds of probes as test cases, for CI",
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

struct Suite {
    name: String,
    cases: Vec<Case>,
}

fn render(source: &Source<'_>) -> Vec<u8> {
    let report = source.report;
    let mut suites: Vec<Suite> = report.missing.iter().map(incomplete).collect();
    suites.extend(report.gate.iter().map(gate));
    suites.extend(kinds(report));
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut writer, report, &suites).expect("writing to memory cannot fail");
    let mut bytes = writer.into_inner();
    bytes.push(b'\n');
    bytes
}

/// A case that says what an interrupted run lacks.
fn incomplete(missing: &Missing) -> Suite {
    let case = Case {
        name: "every planned cell and cut is there".to_owned(),
        outcome: Outcome::Error(plain::line(&missing.to_string())),
        out: missing.named.iter().map(|name| plain::line(name)).collect::<Vec<_>>().join("\n"),
    };
    Suite { name: "run".to_owned(), cases: vec![case] }
}

/// One case for each rule on each row.
fn gate(gate: &Gate) -> Suite {
    let each = gate.rules.iter().flat_map(|rule| {
        rule.checks.iter().map(move |check| Case {
            name: format!("{}: {}", plain::line(&rule.rule), place(check)),
            outcome: outcome(check, gate.undecided),
            out: plain::line(&check.reason),
        })
    });
    Suite { name: "gate".to_owned(), cases: each.collect() }
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

/// A suite for each data set at each window, with a case for each preset and
/// kind of probe. What is kept is the same whoever pays, so the first agent
/// model speaks for all.
fn kinds(report: &Report) -> Vec<Suite> {
    let blocks = block::blocks(report);
    // With one data set the rows over all of them are left out.
    let alone = blocks.iter().all(|block| block.dataset != block::ALL);
    let mut seen = BTreeSet::new();
    let each = blocks.iter().filter(|block| seen.insert((block.dataset, block.window)));
    let suites = each.map(|block| {
        let asked = asked(report, block.dataset);
        let cases = block.rows.iter().flat_map(|row| {
            let broken = (!row.failed.is_empty()).then(|| broken(row));
            let kinds =
                asked.iter().map(|(kind, probes)| of_kind(report, row, *kind, *probes, alone));
            kinds.chain(broken).collect::<Vec<Case>>()
        });
        Suite {
            name: format!("{} at {}", plain::line(block.dataset), block::at(block.window)),
            cases: cases.collect(),
        }
    });
    suites.filter(|suite| !suite.cases.is_empty()).collect()
}

/// Kinds that are asked for in a data set, each with its probes.
fn asked(report: &Report, dataset: &str) -> Vec<(ProbeKind, usize)> {
    let facts = report.transcripts.iter().filter(|t| dataset == block::ALL || t.dataset == dataset);
    let kinds: Vec<ProbeKind> = facts.flat_map(|t| &t.probes).map(|p| p.probe.kind).collect();
    let count = |kind: &ProbeKind| kinds.iter().filter(|k| *k == kind).count();
    let counted = ProbeKind::ALL.into_iter().map(|kind| (kind, count(&kind)));
    counted.filter(|(_, probes)| *probes > 0).collect()
}

/// The recall of one kind under one preset: it fails only where a rule says so.
fn of_kind(report: &Report, row: &PresetRow, kind: ProbeKind, probes: usize, alone: bool) -> Case {
    let measure = format!("recall_{}", kind.as_str());
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
        Some(Value::Known(recall)) => (
            format!("recall {} over {}", number::share(*recall), block::counted(probes, "probe")),
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

/// Cells that failed, so that a preset is judged by fewer sessions than it says.
fn broken(row: &PresetRow) -> Case {
    let errors: Vec<String> = row.failed.iter().map(|error| plain::line(error)).collect();
    let cells = block::counted(errors.len(), "cell");
    Case {
        name: format!("{}: every cell runs through", plain::line(&row.strategy)),
        outcome: Outcome::Error(format!("{cells} failed")),
        out: errors.join("; "),
    }
}

/// How many cases there are, and of which sort.
#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn of<'a>(cases: impl Iterator<Item = &'a Case>) -> Self {
        let mut counts = Counts::default();
        for case in cases {
            counts.tests += 1;
            match case.outcome {
                Outcome::Passed => {}
                Outcome::Failed(_) => counts.failures += 1,
                Outcome::Error(_) => counts.errors += 1,
                Outcome::Skipped(_) => counts.skipped += 1,
            }
        }
        counts
    }

    fn attributes(&self) -> [(&'static str, String); 3] {
        [
            ("tests", self.tests.to_string()),
            ("failures", self.failures.to_string()),
            ("errors", self.errors.to_string()),
        ]
    }
}

type Out = Writer<Vec<u8>>;

fn write(writer: &mut Out, report: &Report, suites: &[Suite]) -> Result<(), Error> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = Counts::of(suites.iter().flat_map(|suite| &suite.cases)).attributes();
    let title = format!("recap: {}", plain::line(&report.title));
    writer
        .create_element("testsuites")
        .with_attribute(("name", title.as_str()))
        .with_attributes(counts.iter().map(|(name, n)| (*name, n.as_str())))
        .with_attribute(("time", "0"))
        .write_inner_content(|writer| {
            suites.iter().try_for_each(|suite| write_suite(writer, suite))
        })?;
    Ok(())
}

fn write_suite(writer: &mut Out, suite: &Suite) -> Result<(), Error> {
    let counts = Counts::of(suite.cases.iter());
    let skipped = counts.skipped.to_string();
    writer
        .create_element("testsuite")
        .with_attribute(("name", suite.name.as_str()))
        .with_attributes(counts.attributes().iter().map(|(name, n)| (*name, n.as_str())))
        .with_attributes([("skipped", skipped.as_str()), ("time", "0")])
        .write_inner_content(|writer| {
            suite.cases.iter().try_for_each(|case| write_case(writer, &suite.name, case))
        })?;
    Ok(())
}

fn write_case(writer: &mut Out, suite: &str, case: &Case) -> Result<(), Error> {
    let found = match &case.outcome {
        Outcome::Passed => None,
        Outcome::Failed(reason) => Some(("failure", Some("regression"), reason)),
        Outcome::Error(reason) => Some(("error", Some("incomplete"), reason)),
        Outcome::Skipped(reason) => Some(("skipped", None, reason)),
    };
    writer
        .create_element("testcase")
        .with_attributes([("name", case.name.as_str()), ("classname", suite), ("time", "0")])
        .write_inner_content(|writer| {
            if let Some((element, kind, reason)) = found {
                let element = writer.create_element(element);
                let element = element.with_attribute(("message", reason.as_str()));
                let kind = kind.map(|kind| ("type", kind));
                element.with_attributes(kind).write_empty()?;
            }
            if !case.out.is_empty() {
                writer
                    .create_element("system-out")
                    .write_text_content(BytesText::new(&case.out))?;
            }
            Ok(())
        })?;
    Ok(())
}

#[cfg(test)]
mod tests;
