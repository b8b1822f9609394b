//! A model as judge: it sees one question, the expectation and the answer.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Grading, Judge, Statement};
use crate::roles::ask::{self, ModelClient};
use recap_core::model::{
    Expectation, Judgement, ModelRole, NoGrade, NoReply, QuestionKind, Source, Verdict,
};
use recap_llm::{self as llm, ModelRequest, Schema};

/// Version of the judge's prompt: grades by different versions are never
/// compared.
pub const JUDGE_PROMPT: u32 = 1;

const HEAD: &str = include_str!("head.md");
const ANY_OF: &str = include_str!("any-of.md");
const STALE: &str = include_str!("stale.md");
const UNANSWERABLE: &str = include_str!("unanswerable.md");
const RUBRIC: &str = include_str!("rubric.md");
const STATEMENTS: &str = include_str!("statements.md");

/// A description of the reply, for servers that do not enforce schemas.
const VERDICT_FORM: &str = "Reply with one JSON object: first `reason`, one short sentence that \
    names the words of the answer that decide, then `verdict`.";
const RUBRIC_FORM: &str = "Reply with one JSON object: first `reason`, one or two short sentences \
    that name the words of the answer that decide, then `abstained`, then `points` with a grade \
    for every point by its number.";

/// Largest length in tokens of a verdict with its reason.
const REPLY_TOKENS: u64 = 400;

/// Largest number of tokens that each point of a rubric adds.
const POINT_TOKENS: u64 = 12;

/// Typical length in tokens of a verdict with its reason: the requested object
/// with a sentence of twenty words.
pub const TYPICAL_VERDICT_TOKENS: u64 = 40;

/// Typical length in tokens of a reply of at most `bound` tokens, to estimate
/// the cost of a run. Grades of points are estimated at their bound.
pub fn typical_tokens(bound: u64) -> u64 {
    bound.min(TYPICAL_VERDICT_TOKENS + bound.saturating_sub(REPLY_TOKENS))
}

/// A model in the judge's role.
///
/// An answer without any letter or digit is wrong without a call, as it is for
/// the offline judge. An answer is unscored if the model refuses to grade it or
/// twice returns no verdict from the offered set.
pub struct Llm {
    llm: Arc<dyn llm::Llm>,
    name: String,
}

impl Llm {
    /// A judge that calls the model behind `llm`.
    pub fn new(llm: Arc<dyn llm::Llm>) -> Self {
        let name = llm.model().id();
        Self { llm, name }
    }
}

#[async_trait]
impl Judge for Llm {
    async fn grade(&self, grading: &Grading<'_>) -> Judgement {
        if !needs_call(grading) {
            return Judgement::scored(Verdict::Incorrect, 0.0, "the answer is empty".to_owned());
        }
        let line = ModelClient { llm: &*self.llm, role: ModelRole::Judge, replicate: 0 };
        let read = |said: ask::ReplyText<'_>| read(grading, said.text);
        match line.ask(question(grading), read, |_, _| {}).await {
            Ok(judgement) => judgement,
            Err(failure) => Judgement::unscored(NoGrade::Judge(failure.into())),
        }
    }

    async fn check(&self, statements: &[Statement]) -> Result<Option<Vec<bool>>, NoReply> {
        if statements.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let line = ModelClient { llm: &*self.llm, role: ModelRole::Judge, replicate: 0 };
        let read = |said: ask::ReplyText<'_>| truths(ask::object(said.text)?, statements.len());
        let checked = line.ask(check(statements), read, |_, _| {}).await;
        checked.map(Some).map_err(NoReply::from)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn source(&self) -> Source {
        Source::Model
    }
}

/// Whether an answer is sent to the model.
pub(crate) fn needs_call(grading: &Grading<'_>) -> bool {
    grading.answer.contains(char::is_alphanumeric)
}

/// The request to grade an answer.
pub(crate) fn question(grading: &Grading<'_>) -> ModelRequest {
    let (criteria, form, schema) = match grading.expect {
        Expectation::AnyOf(_) => {
            let stale = if grading.stale.is_empty() { "" } else { STALE };
            (format!("{ANY_OF}{stale}"), VERDICT_FORM, verdict_schema(grading))
        }
        Expectation::Unanswerable => {
            (UNANSWERABLE.to_owned(), VERDICT_FORM, verdict_schema(grading))
        }
        Expectation::Rubric(points) => {
            (RUBRIC.to_owned(), RUBRIC_FORM, rubric_schema(points.len()))
        }
    };
    let graded = behaviour(grading.kind).map(|line| format!("{line}\n\n")).unwrap_or_default();
    let system = format!("{HEAD}\n{criteria}\n{graded}{form}");
    let points = match grading.expect {
        Expectation::Rubric(points) => points.len() as u64,
        _ => 0,
    };
    ModelRequest {
        schema: Some(schema),
        shared_system: true,
        ..ModelRequest::of(system, document(grading), REPLY_TOKENS + POINT_TOKENS * points)
    }
}

/// The request to check what a text says of names.
pub(crate) fn check(statements: &[Statement]) -> ModelRequest {
    let items: Map<String, Value> =
        (1..).map(item).zip(statements.iter().map(|one| json!(one))).collect();
    let document = serde_json::to_string_pretty(&items).expect("plain data serialises");
    let verdict = json!({"type": "string", "enum": ["yes", "no"]});
    let verdicts = (1..=statements.len()).map(|n| (item(n), verdict.clone())).collect();
    let schema = Schema { name: "statements".to_owned(), json: closed(Value::Object(verdicts)) };
    let bound = REPLY_TOKENS + POINT_TOKENS * statements.len() as u64;
    ModelRequest {
        schema: Some(schema),
        shared_system: true,
        ..ModelRequest::of(STATEMENTS.to_owned(), document, bound)
    }
}

fn item(number: usize) -> String {
    format!("item_{number}")
}

/// The verdicts on statements in a reply.
fn truths(given: Map<String, Value>, count: usize) -> Result<Vec<bool>, String> {
    if given.len() != count {
        return Err(format!("it has {} verdicts for {count} items", given.len()));
    }
    let verdict = |name: String| {
        let Some(word) = given.get(&name).and_then(Value::as_str) else {
            return Err(format!("it has no verdict `{name}`"));
        };
        Ok(one_of(&name, word, &["yes", "no"])? == "yes")
    };
    (1..=count).map(item).map(verdict).collect()
}

/// The behaviour that is graded if the answer shows something and does not
/// state it.
fn behaviour(kind: QuestionKind) -> Option<&'static str> {
    Some(match kind {
        QuestionKind::Constraint => {
            "The question asks for behaviour under a standing rule. Grade what the answer does: \
             one that recites the rule and then breaks it is wrong; one that keeps it without \
             naming it is right."
        }
        QuestionKind::Preference => {
            "The question asks for behaviour under a preference of the user. Grade whether the \
             answer follows it: one that names the preference and does not follow it is wrong; \
             one that follows it without naming it is right."
        }
        QuestionKind::Tone => {
            "The question asks for a tone. Grade the tone that the answer is written in, not what \
             it says about tone."
        }
        QuestionKind::SharedConcept => {
            "The question turns on what a word means between two speakers. Grade whether the \
             answer uses or explains it in that meaning: the meaning that it has for everybody \
             else is not enough."
        }
        _ => return None,
    })
}

/// Question, expectation and answer as JSON, in which no text can end its
/// string.
fn document(grading: &Grading<'_>) -> String {
    let expected = match grading.expect {
        Expectation::AnyOf(values) => json!(values),
        Expectation::Unanswerable => json!("the answer says that this is not known"),
        Expectation::Rubric(points) => {
            (1..).map(number).zip(points.iter().map(|p| json!(p))).collect()
        }
    };
    let mut document = json!({"question": grading.question, "expected": expected});
    if !grading.stale.is_empty() {
        document["outdated"] = json!(grading.stale);
    }
    document["answer"] = json!(grading.answer);
    serde_json::to_string_pretty(&document).expect("plain data serialises")
}

/// The verdicts that the model may return.
fn offered(grading: &Grading<'_>) -> &'static [&'static str] {
    match grading.expect {
        Expectation::Unanswerable => &["abstained", "incorrect"],
        _ if grading.stale.is_empty() => &["correct", "incorrect", "abstained"],
        _ => &["correct", "incorrect", "abstained", "stale"],
    }
}

fn verdict_schema(grading: &Grading<'_>) -> Schema {
    let verdict = json!({"type": "string", "enum": offered(grading)});
    let properties = json!({"reason": {"type": "string"}, "verdict": verdict});
    Schema { name: "verdict".to_owned(), json: closed(properties) }
}

/// The schema of a rubric. Each point is a property, which fixes their number
/// and order on every server that enforces schemas: bounds of arrays are not
/// enforced everywhere (Anthropic, "Structured outputs").
fn rubric_schema(points: usize) -> Schema {
    let grade = json!({"type": "string", "enum": ["yes", "partly", "no"]});
    let points: Map<String, Value> = (1..=points).map(|n| (number(n), grade.clone())).collect();
    let properties = json!({
        "reason": {"type": "string"},
        "abstained": {"type": "string", "enum": ["yes", "no"]},
        "points": closed(Value::Object(points)),
    });
    Schema { name: "rubric".to_owned(), json: closed(properties) }
}

fn number(point: usize) -> String {
    format!("point_{point}")
}

/// The schema of an object with exactly these properties.
fn closed(properties: Value) -> Value {
    let names: Vec<String> =
        properties.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Given {
    reason: String,
    verdict: String,
}

#[derive(Deserialize)]
struct Graded {
    reason: String,
    abstained: String,
    points: Map<String, Value>,
}

/// Parses the judgement in a reply.
fn read(grading: &Grading<'_>, text: &str) -> Result<Judgement, String> {
    match grading.expect {
        Expectation::Rubric(points) => rubric(ask::object(text)?, points.len()),
        _ => verdict(grading, ask::object(text)?),
    }
}

fn verdict(grading: &Grading<'_>, Given { reason, verdict }: Given) -> Result<Judgement, String> {
    let verdict = one_of("verdict", &verdict, offered(grading))?;
    let is_right = match grading.expect {
        Expectation::Unanswerable => verdict == "abstained",
        _ => verdict == "correct",
    };
    let verdict = match verdict {
        "correct" => Verdict::Correct,
        "stale" => Verdict::Stale,
        "abstained" => Verdict::Abstained,
        _ => Verdict::Incorrect,
    };
    Ok(Judgement::scored(verdict, f64::from(u8::from(is_right)), reason))
}

fn rubric(graded: Graded, count: usize) -> Result<Judgement, String> {
    let Graded { reason, abstained, points } = graded;
    let abstained = one_of("abstained", &abstained, &["yes", "no"])? == "yes";
    if points.len() != count {
        return Err(format!("`points` has {} grades for {count} points", points.len()));
    }
    // Points are summed in halves, so that the sum is exact.
    let mut halves = 0_u32;
    for name in (1..=count).map(number) {
        let Some(grade) = points.get(&name).and_then(Value::as_str) else {
            return Err(format!("`points` has no grade `{name}`"));
        };
        halves += match one_of(&name, grade, &["yes", "partly", "no"])? {
            "yes" => 2,
            "partly" => 1,
            _ => 0,
        };
    }
    let score = f64::from(halves) / (2 * count) as f64;
    let verdict = match score {
        1.0 => Verdict::Correct,
        0.0 if abstained => Verdict::Abstained,
        0.0 => Verdict::Incorrect,
        share => Verdict::Partial(share),
    };
    Ok(Judgement::scored(verdict, score, reason))
}

/// The offered word that matches the model's word.
fn one_of(field: &str, word: &str, offered: &[&'static str]) -> Result<&'static str, String> {
    let meant = offered.iter().find(|known| known.eq_ignore_ascii_case(word.trim()));
    meant.copied().ok_or_else(|| {
        let list = offered.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        format!("`{field}` has to be one of {list}")
    })
}

#[cfg(test)]
mod tests;
