//! Answers that people graded, used to measure a judge: JSON lines, described by
//! `datasets/labelled.schema.json`.
//!
//! Invariant: every line becomes a case or is an error with its place; all
//! errors of a file are found at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use super::error::{DatasetError, Problem};
use super::questions::{QuestionFlaw, WireExpectation, wording};
use super::source::{Source, parse};
use super::walk;
use recap_core::model::{Expectation, Label, LabelledCase, LabelledQuestion, QuestionKind};

/// Reads a file of labelled answers, in the order of its lines.
///
/// # Errors
///
/// Everything that is wrong with the file, in the order of its lines; the first
/// alone where no line is a labelled answer.
pub fn load_labels(path: &Path) -> Result<Vec<LabelledCase>, Vec<DatasetError>> {
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|e| vec![walk::unreadable(path, e)])?;
    let mut source = Source::new(&shown, &shown, Box::new(file));
    let mut reader = Reader::new(&shown);
    if let Err(error) = reader.read(&mut source) {
        reader.problems.push(error);
    }
    if reader.cases.is_empty() {
        // Another kind of file: one error, not one a line.
        let first = reader.problems.into_iter().next();
        return Err(vec![first.map_or_else(
            || source.error(None, Problem::Empty),
            |DatasetError { file, line, problem }| {
                let problem = Problem::NoLabels { first: Box::new(problem) };
                DatasetError { file, line, problem }
            },
        )]);
    }
    if reader.problems.is_empty() { Ok(reader.cases) } else { Err(reader.problems) }
}

/// A case as it is written in a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCase {
    id: String,
    question: String,
    #[serde(default)]
    kind: Option<QuestionKind>,
    expect: WireExpectation,
    #[serde(default)]
    stale: Vec<String>,
    answer: String,
    label: Json,
    #[serde(default)]
    answered_by: Option<String>,
}

/// Collects what a file holds.
struct Reader {
    file: Arc<str>,
    cases: Vec<LabelledCase>,
    ids: BTreeSet<String>,
    questions: BTreeMap<String, Arc<LabelledQuestion>>,
    problems: Vec<DatasetError>,
}

impl Reader {
    fn new(file: &str) -> Reader {
        let (cases, ids, questions, problems) =
            <(Vec<_>, BTreeSet<_>, BTreeMap<_, _>, Vec<_>)>::default();
        Reader { file: Arc::from(file), cases, ids, questions, problems }
    }

    fn read(&mut self, source: &mut Source<'_>) -> Result<(), DatasetError> {
        while let Some((line, text)) = source.next_line()? {
            if let Err(problem) = parse(text).and_then(|wire| self.case(line, wire)) {
                self.problem(line, problem);
            }
        }
        source.torn_error().map_or(Ok(()), Err)
    }

    fn case(&mut self, line: u64, wire: WireCase) -> Result<(), Problem> {
        let WireCase { id, question, kind, expect, stale, answer, label, answered_by } = wire;
        let expect = expect.try_into()?;
        let label = label_of(&label, &expect)?;
        let kind = kind.unwrap_or(match expect {
            Expectation::Unanswerable => QuestionKind::Abstain,
            _ => QuestionKind::Fact,
        });
        if !self.ids.insert(id.clone()) {
            self.flaw(line, &id, QuestionFlaw::RepeatedId);
        }
        let (file, group) = (Arc::clone(&self.file), answered_by.map(Into::into));
        let asked = LabelledQuestion { file, id: id.clone(), question, kind, expect, stale };
        if let Some(asked) = self.question(line, asked) {
            self.cases.push(LabelledCase { asked, id, line, answer, label, group });
        }
        Ok(())
    }

    /// The question, shared by all answers to it; `None` where it cannot be
    /// asked or graded, which is reported.
    fn question(&mut self, line: u64, asked: LabelledQuestion) -> Option<Arc<LabelledQuestion>> {
        let LabelledQuestion { id, question, kind, expect, stale, .. } = &asked;
        let flaws = wording(question, *kind, expect, stale);
        if !flaws.is_empty() {
            flaws.into_iter().for_each(|flaw| self.flaw(line, id, flaw));
            return None;
        }
        let key = serde_json::to_string(&(question, kind, expect, stale))
            .expect("strings and names are JSON");
        Some(Arc::clone(self.questions.entry(key).or_insert_with(|| Arc::new(asked))))
    }

    fn flaw(&mut self, line: u64, id: &str, flaw: QuestionFlaw) {
        let id = id.to_owned();
        self.problem(line, Problem::Case { id, flaw });
    }

    fn problem(&mut self, line: u64, problem: Problem) {
        let (file, line) = (self.file.to_string(), Some(line));
        self.problems.push(DatasetError { file, line, problem });
    }
}

fn label_of(value: &Json, expect: &Expectation) -> Result<Label, Problem> {
    let is_rubric = matches!(expect, Expectation::Rubric(_));
    let wrong = |message: &str| Err(Problem::shape("label", message));
    match value {
        Json::Bool(true) => Ok(Label::Correct),
        Json::Bool(false) => Ok(Label::Incorrect),
        Json::String(word) => {
            let known = [Label::Correct, Label::Incorrect, Label::Abstained, Label::Stale];
            let found = known.into_iter().find(|label| label.as_str() == Some(word));
            found.map_or_else(|| wrong("expected correct, incorrect, abstained or stale"), Ok)
        }
        Json::Number(score) => match score.as_f64() {
            Some(score) if is_rubric && (0.0..=1.0).contains(&score) => Ok(Label::Score(score)),
            Some(_) if is_rubric => wrong("expected a score from 0 to 1"),
            _ => wrong("only answers to a rubric are labelled with a score"),
        },
        _ => wrong("expected true, false, a word, or a score from 0 to 1"),
    }
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
