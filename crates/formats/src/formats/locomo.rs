//! LoCoMo: long chats of two people over many dated sessions, with questions
//! (Maharana et al., ACL 2024; `data/locomo10.json` of snap-research/LoCoMo).
//!
//! Choices: `speaker_b` is the assistant (how-it-works §4). Every turn begins
//! with the speaker's name, because the questions ask by name and a role says
//! none. A shared photo is its caption, as in the published systems; the
//! annotators' search strings (`query`) give answers away and are left out.
//! All turns of a session have the session's time, taken as UTC.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use serde::de::IgnoredAny;
use serde_json::Map;

use super::prelude::*;
use crate::draft::Places;
use recap_core::model::{Expectation, Question, QuestionKind};

/// The format of LoCoMo conversations with their questions.
pub(super) const FORMAT: Format = Format {
    name: "locomo",
    describe: "LoCoMo conversations with questions (a JSON list, as in locomo10.json)",
    tried: Tried::On { files: 1, compared: "conversations, turns, questions by category" },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has(&["/0/conversation/speaker_a"])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let samples: Vec<Sample> = source.document()?;
    for (n, sample) in samples.into_iter().enumerate() {
        let id = sample.sample_id.clone();
        let id = id.unwrap_or_else(|| format!("{}-{}", source.stem(), n + 1));
        let read = draft(id.clone(), sample);
        let draft = read.map_err(|problem| source.error(None, within(&id, problem)))?;
        if draft.session.messages.is_empty() {
            source.warn(format!("conversation {id} has no turns and was left out"));
        } else {
            take(source, draft)?;
        }
    }
    Ok(())
}

/// Adds the name of the conversation to a problem: the document has no usable lines.
fn within(id: &str, problem: Problem) -> Problem {
    match problem {
        Problem::Inconsistent(what) => Problem::Inconsistent(format!("{id}: {what}")),
        other => below(id, other),
    }
}

#[derive(Deserialize)]
struct Sample {
    sample_id: Option<String>,
    conversation: Map<String, Json>,
    #[serde(default)]
    qa: Vec<WireQuestion>,
    event_summary: Option<IgnoredAny>,
    observation: Option<IgnoredAny>,
    session_summary: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    #[serde(default)]
    text: String,
    img_url: Option<IgnoredAny>,
    blip_caption: Option<String>,
    query: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WireQuestion {
    question: String,
    #[serde(default)]
    answer: Json,
    #[serde(default)]
    adversarial_answer: Json,
    #[serde(default)]
    evidence: Vec<String>,
    category: u8,
}

fn draft(id: String, sample: Sample) -> Result<Draft, Problem> {
    let mut draft = Draft::named(id);
    turns(sample.conversation, &mut draft)?;
    let annotations = [sample.event_summary, sample.observation, sample.session_summary];
    let annotations = annotations.into_iter().flatten().count() as u64;
    draft.leave_out("annotation beside the conversation", annotations);
    if !draft.session.messages.is_empty() {
        let places = draft.places();
        for (n, question) in sample.qa.into_iter().enumerate() {
            let question = read_question(n, question, &places, &mut draft)?;
            draft.questions.push(question);
        }
    }
    Ok(draft)
}

fn turns(mut conversation: Map<String, Json>, draft: &mut Draft) -> Result<(), Problem> {
    let assistant = text_of(conversation.remove("speaker_b"), "conversation.speaker_b")?;
    let user = text_of(conversation.remove("speaker_a"), "conversation.speaker_a")?;
    // Their keys stand in no order.
    let numbers = conversation.keys().filter_map(|key| key.strip_prefix("session_")?.parse().ok());
    let numbers: BTreeSet<u32> = numbers.collect();
    for n in numbers {
        let Some(turns) = conversation.remove(&format!("session_{n}")) else { continue };
        let date = conversation.remove(&format!("session_{n}_date_time"));
        let at = date.as_ref().and_then(Json::as_str).and_then(time);
        draft.leave_out("session date that cannot be read", u64::from(at.is_none()));
        let turns: Vec<Turn> = from_json(&turns)
            .map_err(|problem| below(&format!("conversation.session_{n}"), problem))?;
        for turn in turns {
            let role = match &turn.speaker {
                speaker if *speaker == assistant => Role::Assistant,
                speaker if *speaker == user => Role::User,
                speaker => return Err(Problem::UnknownRole(speaker.clone())),
            };
            let message = message(turn, role, at, draft);
            draft.push(message);
        }
    }
    for key in conversation.keys() {
        let is_date = key.starts_with("session_") && key.ends_with("_date_time");
        let reason = if is_date {
            "date without a session".to_owned()
        } else {
            format!("`{key}` of a conversation")
        };
        draft.leave_out(reason, 1);
    }
    Ok(())
}

fn text_of(value: Option<Json>, at: &str) -> Result<String, Problem> {
    match value {
        Some(Json::String(text)) => Ok(text),
        _ => Err(Problem::shape(at, "expected a name")),
    }
}

/// A session's time: `1:56 pm on 8 May, 2023`.
fn time(text: &str) -> Option<Timestamp> {
    in_utc(DateTime::strptime("%I:%M %p on %d %B, %Y", text.trim()).ok()?)
}

fn message(turn: Turn, role: Role, at: Option<Timestamp>, draft: &mut Draft) -> Message {
    draft.leave_out("image search string", u64::from(turn.query.is_some()));
    let mut text = format!("{}: {}", turn.speaker, turn.text);
    if let Some(caption) = &turn.blip_caption {
        text.push_str(&format!("\n[photo: {caption}]"));
    }
    let mut blocks = vec![Block::Text { text }];
    if turn.img_url.is_some() && turn.blip_caption.is_none() {
        blocks.push(Block::Image { media_type: None });
    }
    Message::new(turn.dia_id, role, at, blocks)
}

fn read_question(
    n: usize,
    question: WireQuestion,
    places: &Places,
    draft: &mut Draft,
) -> Result<Question, Problem> {
    let answer = value(question.answer, n, "answer")?;
    let wrong = value(question.adversarial_answer, n, "adversarial_answer")?;
    let kind = match (question.category, &answer) {
        (1, Some(_)) => QuestionKind::MultiHop,
        (2, Some(_)) => QuestionKind::Temporal,
        (3, Some(_)) => QuestionKind::OpenDomain,
        // A few adversarial questions do have an answer.
        (4 | 5, Some(_)) => QuestionKind::Fact,
        (5, None) => QuestionKind::Abstain,
        (1..=4, None) => return Err(Problem::Inconsistent(format!("question {n} has no answer"))),
        (other, _) => {
            return Err(Problem::Inconsistent(format!("question {n} has category {other}")));
        }
    };
    let evidence = evidence(&question.evidence, places, draft);
    Ok(Question {
        // Position in the list: published audits number the questions so.
        id: format!("qa{n}"),
        session: String::new(),
        asked_at: draft.next_index().saturating_sub(1),
        kind,
        question: question.question,
        expect: answer.map_or(Expectation::Unanswerable, |a| Expectation::AnyOf(vec![a])),
        evidence,
        stale: wrong.into_iter().collect(),
    })
}

/// A gold answer; some are numbers.
fn value(value: Json, n: usize, key: &str) -> Result<Option<String>, Problem> {
    match value {
        Json::Null => Ok(None),
        Json::String(text) => Ok(Some(text)),
        Json::Number(number) => Ok(Some(number.to_string())),
        _ => Err(Problem::shape(format!("qa[{n}].{key}"), "expected text or a number")),
    }
}

/// The evidence turns in the order of the conversation. Some entries hold
/// several (`D8:6; D9:17`); ids of no turn are counted.
fn evidence(named: &[String], places: &Places, draft: &mut Draft) -> Vec<String> {
    let separator = |c: char| c.is_whitespace() || c == ';' || c == ',';
    let names = named.iter().flat_map(|entry| entry.split(separator)).filter(|n| !n.is_empty());
    draft.in_order(names, places, "evidence that names no turn")
}
