//! LongMemEval: dated chats of one user with an assistant, each with a question
//! (Wu et al., ICLR 2025; `longmemeval_s.json` of xiaowu0162/LongMemEval).
//!
//! Read from the description of its files, without the files at hand. Every
//! question has a history of its own and becomes a session of its own. Dates are
//! taken as UTC; the model sees them only where a message says them. Evidence of
//! an answer are the marked messages; where no message of a session that answers
//! is marked, all of its messages.

use jiff::civil::DateTime;
use jiff::{Timestamp, tz::TimeZone};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use serde_json::Value as Json;

use super::recorder::{Recorder, Turn};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::Source;
use crate::model::{Expectation, Probe, ProbeKind, Role};

/// The format of LongMemEval's questions with their histories.
pub(super) struct LongMemEval;

impl Format for LongMemEval {
    fn name(&self) -> &'static str {
        "longmemeval"
    }

    fn describe(&self) -> &'static str {
        "LongMemEval histories with a question each (a JSON list, as in longmemeval_s.json; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let is_instance = |record: &Json| {
            let first = record.get(0);
            first.is_some_and(|one| {
                one.get("haystack_sessions").is_some() && one.get("question_id").is_some()
            })
        };
        let long = head.records.is_empty()
            && head.first_char() == Some('[')
            && head.mentions(&["question_id", "haystack_dates"]);
        head.any(is_instance) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let instances: Vec<Instance> = source.document()?;
        let mut drafts = Vec::new();
        for instance in instances {
            let id = instance.question_id.clone();
            let draft = history(instance).map_err(|problem| source.error(None, problem))?;
            if draft.transcript.messages.is_empty() {
                source.warn(format!("question {id} has no history and was left out"));
            } else {
                drafts.push(draft);
            }
        }
        Ok(drafts)
    }
}

#[derive(Deserialize)]
struct Instance {
    question_id: String,
    question_type: String,
    question: String,
    question_date: Option<String>,
    #[serde(default)]
    answer: Json,
    #[serde(default)]
    haystack_dates: Vec<String>,
    #[serde(default)]
    haystack_session_ids: Vec<String>,
    haystack_sessions: Vec<Vec<WireTurn>>,
    #[serde(default)]
    answer_session_ids: Vec<String>,
}

#[derive(Deserialize)]
struct WireTurn {
    role: String,
    content: String,
    has_answer: Option<bool>,
}

/// The history in the order of its dates; some files list it in another.
fn history(instance: Instance) -> Result<Draft, Problem> {
    let mut recorder = Recorder::new(&instance.question_id);
    let mut dates = instance.haystack_dates.iter().map(|date| time(date));
    let mut names = instance.haystack_session_ids.iter();
    let mut sessions: Vec<_> = Vec::new();
    for (number, turns) in (1..).zip(instance.haystack_sessions) {
        let name = names.next().cloned().unwrap_or_else(|| format!("session-{number}"));
        sessions.push((dates.next().flatten(), name, turns));
    }
    let undated = sessions.iter().filter(|(at, ..)| at.is_none()).count() as u64;
    recorder.draft.leave_out("session date that cannot be read", undated);
    if undated == 0 {
        sessions.sort_by_key(|(at, ..)| *at);
    }
    let mut evidence = Vec::new();
    let is_abstention = instance.question_id.ends_with("_abs");
    let mut answering: FxHashSet<String> = instance.answer_session_ids.into_iter().collect();
    for (at, name, turns) in sessions {
        let answers = answering.remove(&name) && !is_abstention;
        let any_marked = turns.iter().any(|turn| turn.has_answer == Some(true));
        for (number, wire) in (1..).zip(turns) {
            let role = match wire.role.as_str() {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                _ => return Err(Problem::UnknownRole { role: wire.role }),
            };
            let mut turn = Turn::new(role);
            (turn.id, turn.at) = (Some(format!("{name}-{number}")), at);
            turn.text(wire.content);
            let before = recorder.count();
            recorder.turn(turn);
            let is_evidence = wire.has_answer == Some(true) || (answers && !any_marked);
            if is_evidence && recorder.count() > before {
                let added = recorder.transcript().messages.last();
                evidence.extend(added.map(|message| message.id.clone()));
            }
        }
    }
    let missing = "session with the answer that is not in the history";
    recorder.draft.leave_out(missing, answering.len() as u64);
    let asked_at = recorder.count().saturating_sub(1);
    let mut draft = recorder.finish();
    let answer = match instance.answer {
        Json::String(text) => text,
        Json::Number(number) => number.to_string(),
        _ => {
            let at = format!("{}.answer", instance.question_id);
            let message = "expected text or a number".to_owned();
            return Err(Problem::Shape { at, message });
        }
    };
    let kind = if is_abstention { ProbeKind::Abstain } else { kind(&instance.question_type)? };
    // Questions say "today", as the published systems are asked them.
    let question = match instance.question_date {
        Some(date) => format!("Current date: {date}. {}", instance.question),
        None => instance.question,
    };
    draft.probes.push(Probe {
        id: "question".to_owned(),
        transcript: String::new(),
        asked_at,
        kind,
        question,
        expect: match kind {
            ProbeKind::Abstain => Expectation::Unanswerable,
            // What an answer that suits the user takes into account.
            ProbeKind::Preference => Expectation::Rubric(vec![answer]),
            _ => Expectation::AnyOf(vec![answer]),
        },
        evidence,
        stale: Vec::new(),
    });
    Ok(draft)
}

fn kind(name: &str) -> Result<ProbeKind, Problem> {
    Ok(match name {
        "single-session-user" | "single-session-assistant" => ProbeKind::Fact,
        "single-session-preference" => ProbeKind::Preference,
        "temporal-reasoning" => ProbeKind::Temporal,
        "knowledge-update" => ProbeKind::Update,
        "multi-session" => ProbeKind::MultiHop,
        other => {
            let what =
                format!("a question is of the unknown type `{}`", crate::text::excerpt(other));
            return Err(Problem::Inconsistent(what));
        }
    })
}

/// A session's time: `2023/05/20 (Sat) 02:21`.
fn time(text: &str) -> Option<Timestamp> {
    let (day, rest) = text.trim().split_once(' ')?;
    let hour = rest.rsplit(' ').next()?;
    let time = DateTime::strptime("%Y/%m/%d %H:%M", format!("{day} {hour}")).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
