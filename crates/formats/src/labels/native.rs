//! Labelled answers as JSON lines, described by `datasets/labelled.schema.json`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use super::{LabelFormat, Reader};
use crate::error::{DatasetError, Problem};
use crate::questions::{QuestionFlaw, WireExpectation};
use crate::source::{Source, parse};
use recap_core::model::{Expectation, Label, LabelledCase, LabelledQuestion, QuestionKind};

pub(super) const FORMAT: LabelFormat = LabelFormat {
    name: "native",
    about: "recap's own labelled answers (JSON lines, datasets/labelled.schema.json)",
    sniff: |head| {
        let first = head.lines().next().unwrap_or("");
        // A broken first line must be reported, rather than an unknown format.
        let broken = || serde_json::from_str::<Json>(first).is_err();
        let known = |key: &str| first.contains(&format!("\"{key}\""));
        first.starts_with('{') && (known("label") || known("answer") && broken())
            || first.starts_with('{') && known("expect") && known("question")
    },
    read,
};

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

fn read(source: &mut Source<'_>, reader: &mut Reader) -> Result<(), DatasetError> {
    let mut ids = BTreeSet::new();
    while let Some((line, text)) = source.next_line()? {
        let read = parse::<WireCase>(text).and_then(|wire| {
            let expect = wire.expect.try_into()?;
            let label = label(&wire.label, &expect)?;
            let kind = wire.kind.unwrap_or(match expect {
                Expectation::Unanswerable => QuestionKind::Abstain,
                _ => QuestionKind::Fact,
            });
            let (id, question) = (wire.id, wire.question);
            let group = wire.answered_by.map(Into::into);
            let (file, stale) = (Arc::clone(&reader.file), wire.stale);
            let asked = LabelledQuestion { file, id, question, kind, expect, stale };
            Ok((asked, wire.answer, label, group))
        });
        match read {
            Err(problem) => reader.problem(line, problem),
            Ok((asked, answer, label, group)) => {
                let id = asked.id.clone();
                if !ids.insert(id.clone()) {
                    reader.flaw(line, &id, QuestionFlaw::RepeatedId);
                }
                let Some(asked) = reader.question(line, asked) else { continue };
                reader.labels.cases.push(LabelledCase { asked, id, line, answer, label, group });
            }
        }
    }
    source.torn_error().map_or(Ok(()), Err)
}

fn label(value: &Json, expect: &Expectation) -> Result<Label, Problem> {
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
