//! `recap probes`.

use std::path::Path;

use clap::{Args, Subcommand};

use super::exit::{Exit, Failure};
use super::{generate, inputs, wire};
use crate::dataset::{KindCoverage, ProbeAudit, audit_probes, bundled};
use crate::text::counted;

/// Options of `recap probes`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List every violation with file and line, and what the questions cover; exit 2 where there is one
    ///
    /// Violations are broken references, evidence that stands behind the question or does not say
    /// any of the answers, repeated ids and questions, empty questions, answers that the question
    /// gives away, and stale values that equal an answer. Evidence is searched for the answer
    /// without regard to case, punctuation and the spelling of numbers. Kinds whose answers are
    /// worked out or shown by behaviour (temporal, multi-hop, constraint and so on) are searched
    /// for the table only.
    Check {
        /// A data set with questions: a bundled or native data set, LoCoMo, BEAM
        input: String,

        #[command(flatten)]
        reading: inputs::ReadOptions,
    },
    /// Make questions from recordings: files, commands, rules, decisions, changed values, plans
    ///
    /// The answers are in the recording itself, so that no model is needed and the same recording
    /// gives the same questions. They are asked at the cuts of a comparison, right behind a
    /// compaction. `recap bench` makes the same questions for sessions without their own; write
    /// them to a file to review or edit them, and give that file to `recap bench --questions`.
    Generate(generate::GenerateArguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Check { input, reading } => check(input, *reading),
        Action::Generate(arguments) => generate::run(arguments),
    }
}

fn check(input: &str, reading: inputs::ReadOptions) -> Result<Exit, Failure> {
    let audit = audit(input, reading)?;
    for warning in &audit.warnings {
        wire::say(&format!("warning: {warning}"));
    }
    if audit.probes() == 0 && audit.violations.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, format!("{input} has no probes"))
            .help("a native data set keeps them in probes.jsonl: datasets/probe.schema.json"));
    }
    wire::print(&shown(&audit))?;
    Ok(if audit.violations.is_empty() { Exit::Done } else { Exit::Usage })
}

fn audit(input: &str, reading: inputs::ReadOptions) -> Result<ProbeAudit, Failure> {
    // A file on disk takes precedence over a bundled name.
    if !Path::new(input).exists()
        && let Some(bundled) = bundled(input)
    {
        return Ok(ProbeAudit::of(&bundled?));
    }
    Ok(audit_probes(Path::new(input), &reading.options())?)
}

fn shown(audit: &ProbeAudit) -> String {
    let mut text = String::new();
    for violation in &audit.violations {
        let at = violation.line.map_or_else(String::new, |line| format!(":{line}"));
        // One violation a line, whatever the data contain.
        let what = violation.problem.to_string().replace(['\n', '\r'], " ");
        text.push_str(&format!("{}{at}: {what}\n", violation.file));
    }
    if !audit.violations.is_empty() {
        text.push('\n');
    }
    text.push_str(&row(["kind", "probes", "first", "middle", "last", "without", "answer in"]));
    text.push_str(&row(["", "", "third", "third", "third", "evidence", "evidence"]));
    for kind in &audit.coverage {
        let [first, middle, last] = kind.thirds.map(|n| n.to_string());
        let (probes, without) = (kind.probes.to_string(), kind.without_evidence.to_string());
        let name = kind.kind.as_str();
        text.push_str(&row([name, &probes, &first, &middle, &last, &without, &share_found(kind)]));
    }
    let uncovered: Vec<&str> = audit.uncovered().into_iter().map(|kind| kind.as_str()).collect();
    if !uncovered.is_empty() {
        text.push_str(&format!("not covered: {}\n", uncovered.join(", ")));
    }
    let violations = counted(audit.violations.len(), "violation");
    text.push_str(&format!("{}, {violations}\n", counted(audit.probes(), "probe")));
    text
}

/// A line of the table.
fn row([kind, probes, first, middle, last, without, said]: [&str; 7]) -> String {
    let cells =
        format!("{kind:16}{probes:>8}{first:>8}{middle:>8}{last:>8}{without:>10}{said:>14}");
    format!("{}\n", cells.trim_end())
}

/// The share of the checked answers that are found in the evidence.
fn share_found(row: &KindCoverage) -> String {
    match row.searched {
        0 => "–".to_owned(),
        searched => format!("{} of {searched}", row.said),
    }
}
