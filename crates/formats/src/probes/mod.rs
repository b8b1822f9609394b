//! Probes of a data set: their file, the rules that they must satisfy, and how
//! good they are.
//!
//! Invariant: a data set that loads has only probes that can be asked and
//! graded: everything they name exists, and no value is both right and wrong.

mod audit;
mod check;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;

pub use audit::{KindCoverage, ProbeAudit, audit_probes};
pub use check::ProbeFlaw;
pub(crate) use check::{broken, wording};
use serde::{Deserialize, Serialize};

use super::Dataset;
use super::error::{DatasetError, Problem};
use super::source::{Source, parse};
use super::walk::unreadable;
use recap_core::model::{Expectation, MessageIndex, Probe, ProbeKind};

/// Reads a file of probes, as a native data set has it, for the sessions of
/// these data sets; those of other sessions stand last.
///
/// # Errors
///
/// Everything that is wrong with the file, in the order of its lines; a probe of
/// another session is no error.
pub fn load_probes(path: &Path, datasets: &[Dataset]) -> Result<Vec<Probe>, Vec<DatasetError>> {
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|error| vec![unreadable(path, error)])?;
    let mut source = Source::new(&shown, &shown, Box::new(file));
    let mut problems = Vec::new();
    let mut left = read(&mut source, &mut problems).map_err(|error| vec![error])?;
    let mut known = Vec::new();
    for dataset in datasets {
        let ids: BTreeSet<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
        let (own, others): (Vec<Placed>, Vec<Placed>) =
            left.into_iter().partition(|one| ids.contains(one.probe.session.as_str()));
        problems.extend(broken(&dataset.sessions, &own));
        known.extend(own);
        left = others;
    }
    problems.sort_by_key(|problem| problem.line);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(known.into_iter().chain(left).map(|one| one.probe).collect())
}

/// A probe that was read, with its position in the file.
pub(crate) struct Placed {
    pub(crate) probe: Probe,
    /// Path of its file, as shown in errors.
    pub(crate) file: String,
    /// Line from 1; absent where the file is one document.
    pub(crate) line: Option<u64>,
}

impl Placed {
    fn error(&self, flaw: ProbeFlaw) -> DatasetError {
        let id = self.probe.id.clone();
        DatasetError {
            file: self.file.clone(),
            line: self.line,
            problem: Problem::Probe { id, flaw },
        }
    }
}

// `probes.jsonl`, described by `datasets/probe.schema.json`.

/// A probe as it is written in a line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireProbe {
    id: String,
    session: String,
    asked_at: MessageIndex,
    kind: ProbeKind,
    question: String,
    expect: WireExpectation,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stale: Vec<String>,
}

/// An object with exactly one of the three keys.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireExpectation {
    AnyOf(Vec<String>),
    Rubric(Vec<String>),
    Unanswerable(bool),
}

impl TryFrom<WireExpectation> for Expectation {
    type Error = Problem;

    fn try_from(wire: WireExpectation) -> Result<Expectation, Problem> {
        match wire {
            WireExpectation::AnyOf(values) => Ok(Expectation::AnyOf(values)),
            WireExpectation::Rubric(nuggets) => Ok(Expectation::Rubric(nuggets)),
            WireExpectation::Unanswerable(true) => Ok(Expectation::Unanswerable),
            WireExpectation::Unanswerable(false) => {
                Err(Problem::shape("expect.unanswerable", "expected true"))
            }
        }
    }
}

impl TryFrom<WireProbe> for Probe {
    type Error = Problem;

    fn try_from(wire: WireProbe) -> Result<Probe, Problem> {
        Ok(Probe {
            id: wire.id,
            session: wire.session,
            asked_at: wire.asked_at,
            kind: wire.kind,
            question: wire.question,
            expect: wire.expect.try_into()?,
            evidence: wire.evidence,
            stale: wire.stale,
        })
    }
}

impl From<&Probe> for WireProbe {
    fn from(probe: &Probe) -> WireProbe {
        let probe = probe.clone();
        WireProbe {
            id: probe.id,
            session: probe.session,
            asked_at: probe.asked_at,
            kind: probe.kind,
            question: probe.question,
            expect: match probe.expect {
                Expectation::AnyOf(values) => WireExpectation::AnyOf(values),
                Expectation::Rubric(nuggets) => WireExpectation::Rubric(nuggets),
                Expectation::Unanswerable => WireExpectation::Unanswerable(true),
            },
            evidence: probe.evidence,
            stale: probe.stale,
        }
    }
}

/// Reads every line; problems of lines go into `problems`.
///
/// # Errors
///
/// A problem that keeps the rest of the file from being read: invalid bytes, or
/// a line that is too long.
pub(crate) fn read(
    source: &mut Source<'_>,
    problems: &mut Vec<DatasetError>,
) -> Result<Vec<Placed>, DatasetError> {
    let mut placed = Vec::new();
    let file = source.name().to_owned();
    while let Some((line, text)) = source.next_line()? {
        match parse::<WireProbe>(text).and_then(Probe::try_from) {
            Ok(probe) => placed.push(Placed { probe, file: file.clone(), line: Some(line) }),
            Err(problem) => problems.push(source.error(Some(line), problem)),
        }
    }
    if source.torn() > 0 {
        let message = "the last line ends within a character".to_owned();
        problems.push(source.error(None, Problem::Syntax { message }));
    }
    Ok(placed)
}

/// Writes one probe a line.
///
/// # Errors
///
/// If the writer fails.
pub fn write_probes(probes: &[Probe], mut writer: impl Write) -> std::io::Result<()> {
    for probe in probes {
        serde_json::to_writer(&mut writer, &WireProbe::from(probe))?;
        writer.write_all(b"\n")?;
    }
    writer.flush()
}
