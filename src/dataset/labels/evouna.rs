//! EVOUNA (Wang et al. 2023, "Evaluating Open-QA Evaluation"): an array of
//! questions, each with the answers of several models and a person's verdict
//! on each of them.

use serde_json::{Map, Value as Json};

use super::entries::Entries;
use super::{Asked, LabelFormat, Reader};
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::source::{Source, parse};
use crate::model::{Author, Expectation, Label, LabelledCase, ProbeKind};

pub(super) const FORMAT: LabelFormat = LabelFormat {
    name: "EVOUNA",
    about: "EVOUNA (JSON, `golden_answer` with `/` between alternatives)",
    sniff: |head| head.starts_with('[') && head.contains("\"golden_answer\""),
    read,
};

fn read(source: &mut Source<'_>, reader: &mut Reader) -> Result<(), DatasetError> {
    let text = source.text()?;
    let entries = Entries::new(text.trim_start_matches('\u{feff}'));
    for (number, (line, entry)) in (1..).zip(entries) {
        match entry.and_then(|entry| parse::<Map<String, Json>>(&entry)) {
            Ok(entry) => question(number, line, &entry, reader),
            Err(problem) => reader.problem(line, problem),
        }
    }
    Ok(())
}

fn question(number: u64, line: u64, entry: &Map<String, Json>, reader: &mut Reader) {
    let judged =
        || entry.iter().filter_map(|(key, label)| Some((key.strip_prefix("judge_")?, label)));
    match entry.get("improper") {
        Some(Json::Bool(true)) => {
            return reader.leave_out("answer to an improper question", judged().count() as u64);
        }
        None | Some(Json::Null | Json::Bool(false)) => {}
        Some(_) => reader.problem(line, shape("improper", "expected true or false")),
    }
    let text = |key: &str| {
        let value = entry.get(key).and_then(Json::as_str);
        value.map(str::to_owned).ok_or_else(|| shape(key, "expected a text"))
    };
    let (asked, gold) = match (text("question"), text("golden_answer")) {
        (Ok(asked), Ok(gold)) => (asked, gold),
        (asked, gold) => {
            for problem in [asked.err(), gold.err()].into_iter().flatten() {
                reader.problem(line, problem);
            }
            return;
        }
    };
    let values = gold.split('/').map(str::trim).filter(|value| !value.is_empty());
    let expect = Expectation::AnyOf(values.map(str::to_owned).collect());
    let (id, kind, stale) = (number.to_string(), ProbeKind::Fact, Vec::new());
    let asked = Asked { id: id.clone(), question: asked, kind, expect, stale };
    let Some(asked) = reader.question(line, asked) else { return };
    for (model, label) in judged() {
        let label = match label_of(label) {
            Ok(Some(true)) => Label::Correct,
            Ok(Some(false)) => Label::Incorrect,
            Ok(None) => {
                reader.leave_out("answer without a verdict", 1);
                continue;
            }
            Err(message) => {
                reader.problem(line, shape(&format!("judge_{model}"), message));
                continue;
            }
        };
        let key = format!("answer_{model}");
        let answer = match entry.get(&key) {
            Some(Json::String(answer)) => answer.clone(),
            // A model's empty answer has a verdict as well.
            Some(Json::Null) => String::new(),
            _ => {
                reader.problem(line, shape(&key, "expected a text"));
                continue;
            }
        };
        let (id, author) = (format!("{id}/{model}"), Author::Group(model.into()));
        let (asked, line) = (asked.clone(), Some(line));
        reader.labels.cases.push(LabelledCase { asked, id, line, answer, label, author });
    }
}

/// The verdict; `None` where there is none: null, or `NaN` as a text.
fn label_of(value: &Json) -> Result<Option<bool>, &'static str> {
    match value {
        Json::Bool(label) => Ok(Some(*label)),
        Json::Null => Ok(None),
        Json::String(text) if text.trim().eq_ignore_ascii_case("nan") => Ok(None),
        _ => Err("expected true, false or null"),
    }
}

fn shape(at: &str, message: &str) -> Problem {
    Problem::Shape { at: at.to_owned(), message: message.to_owned() }
}
