//! A question before it is chosen.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::view::View;
use crate::facts::CutPlace;
use recap_core::model::{Expectation, MessageIndex, Question, QuestionKind};
use recap_core::text::language::{is_stop, stem};
use recap_core::text::{Normal, one_line, redact};

/// A question with its answer, and the messages that give it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    pub kind: QuestionKind,
    pub question: String,
    pub expect: Expectation,
    pub evidence: Vec<MessageIndex>,
    /// What was true before.
    pub stale: Vec<String>,
}

impl Draft {
    /// A question that any of these values answers.
    pub fn new(
        kind: QuestionKind,
        question: String,
        answers: impl IntoIterator<Item = String>,
        evidence: impl IntoIterator<Item = MessageIndex>,
    ) -> Draft {
        let mut seen = BTreeSet::new();
        let answers = answers.into_iter().filter(|answer| seen.insert(answer.clone()));
        let expect = Expectation::AnyOf(answers.collect());
        Draft { kind, question, expect, evidence: ascending(evidence), stale: Vec::new() }
    }

    /// A question whose answer has all of these parts, which a model judges.
    pub fn rubric(
        kind: QuestionKind,
        question: String,
        parts: Vec<String>,
        evidence: impl IntoIterator<Item = MessageIndex>,
    ) -> Draft {
        let (expect, evidence) = (Expectation::Rubric(parts), ascending(evidence));
        Draft { kind, question, expect, evidence, stale: Vec::new() }
    }

    /// Whether its answer rests on a message from this one on.
    pub fn is_about(&self, from: MessageIndex) -> bool {
        self.evidence.last().is_some_and(|&last| last >= from)
    }

    /// The same with values that were true before and are wrong now.
    pub fn with_stale(self, stale: impl IntoIterator<Item = String>) -> Draft {
        let mut stale: Vec<String> = stale.into_iter().collect();
        stale.retain(|value| !self.expect.alternatives().contains(value));
        stale.sort();
        stale.dedup();
        Draft { stale, ..self }
    }
}

fn ascending(evidence: impl IntoIterator<Item = MessageIndex>) -> Vec<MessageIndex> {
    let mut evidence: Vec<MessageIndex> = evidence.into_iter().collect();
    evidence.sort_unstable();
    evidence.dedup();
    evidence
}

// Chooses the questions of a place: those that are sound, spread over the
// kinds, the forms of questions and the conversation.

/// Most questions of one kind at a place.
const A_KIND: usize = 4;
/// Most characters of a question and of an answer.
const LONGEST: (usize, usize) = (320, 240);

/// The questions that are asked at a place. `forms` holds the drafts of each
/// form of question.
pub(super) fn choose(
    view: &View<'_>,
    place: &CutPlace,
    forms: Vec<Vec<Draft>>,
    before: &[Question],
) -> Vec<Question> {
    let mut asked = BTreeSet::new();
    // What was not asked at an earlier place comes first.
    let again = |question: &str| before.iter().filter(|p| p.question == question).count();
    let mut kinds: BTreeMap<QuestionKind, Vec<Vec<(String, Draft)>>> = BTreeMap::new();
    for form in forms {
        let mut sound: BTreeMap<QuestionKind, Vec<(String, Draft)>> = BTreeMap::new();
        for draft in form {
            let draft = Draft { question: one_line(&draft.question), ..draft };
            let is_stated = view.states_any(draft.expect.alternatives());
            if !is_stated && is_sound(&draft) && asked.insert(Normal::new(&draft.question)) {
                let id = id(view, place, &draft);
                sound.entry(draft.kind).or_default().push((id, draft));
            }
        }
        for (kind, drafts) in sound {
            kinds.entry(kind).or_default().push(drafts);
        }
    }
    let questions = kinds.into_values().flat_map(|forms| spread(view, forms, again));
    questions.map(|(id, draft)| question(view, place, id, draft)).collect()
}

fn question(view: &View<'_>, place: &CutPlace, id: String, draft: Draft) -> Question {
    let name = |at: &MessageIndex| view.session.messages[*at as usize].id.clone();
    Question {
        id,
        session: view.session.id.clone(),
        asked_at: place.from.saturating_sub(1),
        kind: draft.kind,
        question: draft.question,
        expect: draft.expect,
        evidence: draft.evidence.iter().map(name).collect(),
        stale: draft.stale,
    }
}

/// A name that stays the same when the questions are generated again.
fn id(view: &View<'_>, place: &CutPlace, draft: &Draft) -> String {
    let key = format!("{}\0{}\0{}", view.session.id, place.request, draft.question);
    let hash = blake3::hash(key.as_bytes()).to_hex();
    format!("{}-{}-{}", draft.kind.as_str(), place.request, &hash[..10])
}

/// Whether a question can be asked and graded, and does not answer itself.
pub(super) fn is_sound(draft: &Draft) -> bool {
    let (question, values) = (&draft.question, draft.expect.alternatives());
    let long = |text: &String, most| text.chars().count() > most;
    let secret = |text: &str| !redact::ranges(text).is_empty();
    if long(question, LONGEST.0) || secret(question) || values.iter().any(|v| long(v, LONGEST.1)) {
        return false;
    }
    let known = Normal::new(question);
    let given = |value: &String| {
        let normal = Normal::new(value);
        normal.is_empty() || known.contains(&normal) || is_guessable(value, question)
    };
    let wrong = draft.stale.iter().any(|old| values.iter().any(|value| clash(value, old)));
    !draft.evidence.is_empty()
        && !values.iter().any(|value| given(value) || secret(value))
        && !wrong
}

/// Whether two values cannot be told apart by their words.
fn clash(value: &str, old: &str) -> bool {
    let (value, old) = (Normal::new(value), Normal::new(old));
    value.contains(&old) || old.contains(&value)
}

/// Whether every word of a value is a word of the question, in any form.
fn is_guessable(value: &str, question: &str) -> bool {
    let stems = |text: &str| -> BTreeSet<String> {
        let mut parts = String::new();
        let mut chars = text.chars().peekable();
        let mut before = ' ';
        while let Some(c) = chars.next() {
            // `CLIVersion` has two words, as `cliVersion` has.
            let begins = chars.peek().is_some_and(|next| next.is_lowercase());
            let joint = before.is_lowercase() || before.is_uppercase() && begins;
            if c.is_uppercase() && joint || !c.is_alphanumeric() {
                parts.push(' ');
            }
            parts.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
            before = c;
        }
        parts.split_whitespace().filter(|word| !is_stop(word)).map(stem).collect()
    };
    // The extension of a file says little.
    let stemmed = match value.rsplit_once('.') {
        Some((name, end)) if end.len() <= 4 && !name.is_empty() => name,
        _ => value,
    };
    let own = stems(stemmed);
    let asked = stems(question);
    // `parse` and `parser` are close enough.
    let close = |a: &str, b: &str| {
        a == b || a.len().min(b.len()) >= 4 && (a.starts_with(b) || b.starts_with(a))
    };
    !own.is_empty() && own.iter().all(|word| asked.iter().any(|other| close(word, other)))
}

/// At most [`A_KIND`] of the questions of a kind, in turn one of each form, and in turn from
/// the first, the middle and the last third of the conversation.
fn spread(
    view: &View<'_>,
    forms: Vec<Vec<(String, Draft)>>,
    again: impl Fn(&str) -> usize,
) -> Vec<(String, Draft)> {
    let third = |draft: &Draft| {
        let last = draft.evidence.last().copied().unwrap_or(0);
        let at = view.messages.partition_point(|message| *message < last);
        (at * 3 / view.messages.len().max(1)).min(2)
    };
    let mut left: Vec<[Vec<(String, Draft)>; 3]> = Vec::new();
    for form in forms {
        let mut thirds: [Vec<(String, Draft)>; 3] = Default::default();
        form.into_iter().for_each(|one| thirds[third(&one.1)].push(one));
        // The ids are hashes: their order favours nothing.
        let rank = |one: &(String, Draft)| (again(&one.1.question), one.0.clone());
        thirds.iter_mut().for_each(|part| part.sort_by_cached_key(|one| Reverse(rank(one))));
        left.push(thirds);
    }
    let mut chosen = Vec::new();
    let mut turn = 0;
    while chosen.len() < A_KIND && !left.is_empty() {
        let form = turn % left.len();
        let first = turn / left.len() + form;
        let next = (first..first + 3).find_map(|part| left[form][part % 3].pop());
        match next {
            Some(next) => {
                chosen.push(next);
                turn += 1;
            }
            None => _ = left.remove(form),
        }
    }
    chosen.sort_by(|a, b| a.0.cmp(&b.0));
    chosen
}
