//! BEAM, "Beyond a Million Tokens": long chats in dated batches, with questions
//! in a separate file (Tavakoli et al., arXiv 2510.27246).
//!
//! Choices: the generator's marker at the end of a message (`->-> 1,1`) states
//! its position and is removed; all messages of a batch have the batch's date;
//! the opening of a nugget ("LLM response should state:") is removed, since the
//! nugget is what the answer has to contain. A chat is named after its folder.

use jiff::civil::Date;
use serde_json::Map;

use super::prelude::*;
use crate::draft::Places;
use recap_core::model::{Expectation, Question, QuestionKind};
use recap_core::text::{Pattern, pattern};

/// The format of BEAM chats.
pub(super) const FORMAT: Format = Format {
    name: "beam",
    describe: "BEAM chats (chat.json or chat_trunecated.json, with probing_questions.json beside it)",
    tried: Tried::On { files: 15, compared: "messages, questions by type, evidence" },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has(&["/0/turns/0/0/role"])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    // The authors' own evaluation reads the shorter chat where there is one.
    let shorter = ["chat_trunecated.json", "chat_trunecated.json.gz"];
    let shorter = shorter.into_iter().find(|name| source.beside(name).is_some());
    if let Some(name) = shorter.filter(|_| source.in_folder) {
        source.warn(format!("left out, since {name} is in the same folder"));
        return Ok(());
    }
    let batches: Vec<Batch> = source.document()?;
    let mut draft = Draft::named(source.folder().unwrap_or(source.stem()));
    for batch in batches {
        source.whole(chat(batch, &mut draft))?;
    }
    // The published repository keeps them in a folder of their own.
    let files = ["probing_questions.json", "probing_questions/probing_questions.json"];
    if let Some(path) = files.into_iter().find_map(|name| source.beside(name)) {
        let mut asked = Source::open(&path, source.options)?;
        read_questions(&mut asked, &mut draft)?;
        source.read_with.push((path, asked.finish()?.0));
    }
    take(source, draft)
}

fn read_questions(source: &mut Source<'_>, draft: &mut Draft) -> Result<(), DatasetError> {
    let types: Map<String, Json> = source.document()?;
    draft.asked_in = Some(source.name().to_owned());
    let places = draft.places();
    for (kind, questions) in types {
        source.whole(add_questions(&kind, questions, &places, draft))?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Batch {
    time_anchor: Option<String>,
    turns: Vec<Vec<WireMessage>>,
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    id: u64,
    content: String,
    time_anchor: Option<String>,
}

fn chat(batch: Batch, draft: &mut Draft) -> Result<(), Problem> {
    let anchors = batch.turns.iter().flatten().map(|m| m.time_anchor.as_deref());
    let anchor = anchors.chain([batch.time_anchor.as_deref()]).flatten().next();
    let at = anchor.and_then(time);
    draft.leave_out("date of a batch that cannot be read", u64::from(at.is_none()));
    for wire in batch.turns.into_iter().flatten() {
        let role = match wire.role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return Err(Problem::UnknownRole(wire.role)),
        };
        let text = without_marker(&wire.content);
        draft.leave_out("position marker", u64::from(text.len() < wire.content.len()));
        let blocks = vec![Block::Text { text: text.to_owned() }];
        draft.push(Message::new(wire.id.to_string(), role, at, blocks));
    }
    Ok(())
}

/// A batch's date: `March-15-2024`.
fn time(text: &str) -> Option<Timestamp> {
    in_utc(Date::strptime("%B-%d-%Y", text.trim()).ok()?.into())
}

static MARKER: Pattern = pattern!(r"\s*->->\s*\d+\s*,\s*(?:\d+|N/A)\)?\s*$");

/// The text before the generator's marker (`->-> 1,1`, `->-> 2,N/A`, `->-> 1,5)`).
fn without_marker(text: &str) -> &str {
    MARKER.find(text).map_or(text, |found| &text[..found.start()])
}

#[derive(Deserialize)]
struct WireQuestion {
    question: String,
    answer: Option<String>,
    #[serde(default)]
    rubric: Vec<String>,
    #[serde(default)]
    source_chat_ids: Json,
}

/// The kinds of how-it-works §33.
fn kind_of(name: &str) -> Option<QuestionKind> {
    Some(match name {
        "information_extraction" => QuestionKind::Fact,
        "knowledge_update" => QuestionKind::Update,
        "temporal_reasoning" => QuestionKind::Temporal,
        "multi_session_reasoning" => QuestionKind::MultiHop,
        "instruction_following" => QuestionKind::Constraint,
        "preference_following" => QuestionKind::Preference,
        "abstention" => QuestionKind::Abstain,
        "event_ordering" => QuestionKind::Ordering,
        "summarization" => QuestionKind::Summary,
        "contradiction_resolution" => QuestionKind::Contradiction,
        _ => return None,
    })
}

fn add_questions(
    name: &str,
    questions: Json,
    places: &Places,
    draft: &mut Draft,
) -> Result<(), Problem> {
    let kind =
        kind_of(name).ok_or_else(|| Problem::shape(name, "not one of the ten question types"))?;
    let questions: Vec<WireQuestion> =
        from_json(&questions).map_err(|problem| below(name, problem))?;
    for (n, question) in questions.into_iter().enumerate() {
        let evidence = evidence(&question.source_chat_ids, places, draft);
        draft.questions.push(Question {
            id: format!("{name}-{}", n + 1),
            session: String::new(),
            asked_at: draft.next_index().saturating_sub(1),
            kind,
            question: question.question,
            expect: expectation(kind, question.answer, &question.rubric),
            evidence,
            stale: Vec::new(),
        });
    }
    Ok(())
}

/// A rubric with one nugget about a value expects that value, or the whole gold
/// answer; everything else is graded nugget by nugget, as published.
fn expectation(kind: QuestionKind, answer: Option<String>, rubric: &[String]) -> Expectation {
    use QuestionKind::{Abstain, Fact, MultiHop, Temporal, Update};
    let nuggets: Vec<String> = rubric.iter().map(|nugget| nugget_of(nugget)).collect();
    match kind {
        Abstain => Expectation::Unanswerable,
        Fact | Update | Temporal | MultiHop if nuggets.len() <= 1 => {
            let whole = answer.filter(|answer| !nuggets.contains(answer));
            Expectation::AnyOf(nuggets.into_iter().chain(whole).collect())
        }
        _ => Expectation::Rubric(nuggets),
    }
}

static OPENING: Pattern =
    pattern!(r"(?i)^\s*(?:the )?LLM response should (?:state|contain|mention|include)\s*:\s*");

/// A nugget without its opening words.
fn nugget_of(text: &str) -> String {
    OPENING.replace(text, "").trim().to_owned()
}

/// The evidence messages in the order of the chat: from a list of ids, or from
/// lists and single ids by name. Ids of no message are counted.
fn evidence(named: &Json, places: &Places, draft: &mut Draft) -> Vec<String> {
    let (mut open, mut ids) = (vec![named], Vec::new());
    while let Some(value) = open.pop() {
        match value {
            Json::Null => {}
            Json::Array(items) => open.extend(items),
            Json::Object(members) => open.extend(members.values()),
            id => ids.push(id.as_str().map_or_else(|| id.to_string(), str::to_owned)),
        }
    }
    let names = ids.iter().map(String::as_str);
    draft.in_order(names, places, "evidence that names no message")
}
