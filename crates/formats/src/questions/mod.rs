//! Questions of a data set: their file, the rules that they must satisfy, and how
//! good they are.
//!
//! Invariant: a data set that loads has only questions that can be asked and
//! graded: everything they name exists, and no value is both right and wrong.

mod audit;
mod check;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;

pub use audit::{KindCoverage, QuestionAudit, audit_questions};
pub use check::QuestionFlaw;
pub(crate) use check::{broken, wording};
use serde::{Deserialize, Serialize};

use super::Dataset;
use super::error::{DatasetError, Problem};
use super::source::{Source, parse};
use super::walk::unreadable;
use recap_core::model::{Expectation, MessageIndex, Question, QuestionKind};

/// Reads a file of questions, as a native data set has it, for the sessions of
/// these data sets; those of other sessions stand last.
///
/// # Errors
///
/// Everything that is wrong with the file, in the order of its lines; a question of
/// another session is no error.
pub fn load_questions(
    path: &Path,
    datasets: &[Dataset],
) -> Result<Vec<Question>, Vec<DatasetError>> {
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|error| vec![unreadable(path, error)])?;
    let mut source = Source::new(&shown, &shown, Box::new(file));
    let mut problems = Vec::new();
    let mut left = read(&mut source, &mut problems).map_err(|error| vec![error])?;
    let mut known = Vec::new();
    for dataset in datasets {
        let ids: BTreeSet<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
        let (own, others): (Vec<Placed>, Vec<Placed>) =
            left.into_iter().partition(|one| ids.contains(one.question.session.as_str()));
        problems.extend(broken(&dataset.sessions, &own));
        known.extend(own);
        left = others;
    }
    problems.sort_by_key(|problem| problem.line);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(known.into_iter().chain(left).map(|one| one.question).collect())
}

/// A question that was read, with its position in the file.
pub(crate) struct Placed {
    pub(crate) question: Question,
    /// Path of its file, as shown in errors.
    pub(crate) file: String,
    /// Line from 1; absent where the file is one document.
    pub(crate) line: Option<u64>,
}

impl Placed {
    fn error(&self, flaw: QuestionFlaw) -> DatasetError {
        let id = self.question.id.clone();
        DatasetError {
            file: self.file.clone(),
            line: self.line,
            problem: Problem::Question { id, flaw },
        }
    }
}

// `questions.jsonl`, described by `datasets/question.schema.json`.

/// A question as it is written in a line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireQuestion {
    id: String,
    session: String,
    asked_at: MessageIndex,
    kind: QuestionKind,
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

impl TryFrom<WireQuestion> for Question {
    type Error = Problem;

    fn try_from(wire: WireQuestion) -> Result<Question, Problem> {
        Ok(Question {
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

impl From<&Question> for WireQuestion {
    fn from(question: &Question) -> WireQuestion {
        let question = question.clone();
        WireQuestion {
            id: question.id,
            session: question.session,
            asked_at: question.asked_at,
            kind: question.kind,
            question: question.question,
            expect: match question.expect {
                Expectation::AnyOf(values) => WireExpectation::AnyOf(values),
                Expectation::Rubric(nuggets) => WireExpectation::Rubric(nuggets),
                Expectation::Unanswerable => WireExpectation::Unanswerable(true),
            },
            evidence: question.evidence,
            stale: question.stale,
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
        match parse::<WireQuestion>(text).and_then(Question::try_from) {
            Ok(question) => placed.push(Placed { question, file: file.clone(), line: Some(line) }),
            Err(problem) => problems.push(source.error(Some(line), problem)),
        }
    }
    problems.extend(source.torn_error());
    Ok(placed)
}

/// Writes one question a line.
///
/// # Errors
///
/// If the writer fails.
pub fn write_questions(questions: &[Question], mut writer: impl Write) -> std::io::Result<()> {
    for question in questions {
        serde_json::to_writer(&mut writer, &WireQuestion::from(question))?;
        writer.write_all(b"\n")?;
    }
    writer.flush()
}
