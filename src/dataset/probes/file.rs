//! `probes.jsonl`, described by `datasets/probe.schema.json`.

use std::io::Write;

use serde::{Deserialize, Serialize};

use super::Placed;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::source::{Source, parse};
use crate::model::{Expectation, MessageIndex, Probe, ProbeKind};

/// A probe as it is written in a line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireProbe {
    id: String,
    transcript: String,
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
                let at = "expect.unanswerable".to_owned();
                let message = "expected true".to_owned();
                Err(Problem::Shape { at, message })
            }
        }
    }
}

impl TryFrom<WireProbe> for Probe {
    type Error = Problem;

    fn try_from(wire: WireProbe) -> Result<Probe, Problem> {
        Ok(Probe {
            id: wire.id,
            transcript: wire.transcript,
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
            transcript: probe.transcript,
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
pub fn write(probes: &[Probe], mut writer: impl Write) -> std::io::Result<()> {
    for probe in probes {
        serde_json::to_writer(&mut writer, &WireProbe::from(probe))?;
        writer.write_all(b"\n")?;
    }
    writer.flush()
}
