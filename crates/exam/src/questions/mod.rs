//! Questions about a recording, made from the recording itself.
//!
//! At every cut the session is read as far as it goes there, and each kind of question looks for
//! what it can ask: files, commands, rules, decisions, values that changed, plans. The answer is in
//! the recorded calls and texts, so no model is needed, and the same recording gives the same
//! questions.
//!
//! Invariant: the questions depend on the session and the place alone, never
//! on a strategy or a window.

mod acts;
mod artifacts;
mod author;
mod commands;
mod constraints;
mod controls;
mod decisions;
mod draft;
mod plans;
mod sentences;
mod updates;
mod view;

pub use author::{Author, TYPICAL_QUESTIONS_TOKENS, Written};
pub use controls::{Controls, beside, controls};

use crate::facts::CutPlace;
use recap_core::model::{Question, Session};

/// Most places of a session that are asked about: with a cut at every request
/// questions would repeat each other.
const MOST_PLACES: usize = 20;

/// The questions at these places, by place.
pub fn generate(session: &Session, places: &[CutPlace]) -> Vec<Question> {
    let acts = acts::acts(session);
    let own = session.copied.last().map_or(0, |&last| last + 1);
    let step = places.len().div_ceil(MOST_PLACES).max(1);
    let mut questions: Vec<Question> = Vec::new();
    for place in places.iter().step_by(step) {
        let view = view::View::new(session, &acts, place);
        let mut drafts = drafts(&view);
        // The session that counts the copied history is asked about it.
        drafts.iter_mut().for_each(|form| form.retain(|draft| draft.is_about(own)));
        let chosen = draft::choose(&view, place, drafts, &questions);
        questions.extend(chosen);
    }
    // A recorded cut and another one may stand before the same request.
    let mut seen = std::collections::BTreeSet::new();
    questions.retain(|question| seen.insert(question.id.clone()));
    questions
}

/// The questions of every kind, by their form.
fn drafts(view: &view::View<'_>) -> Vec<Vec<draft::Draft>> {
    let mut forms = artifacts::questions(view);
    forms.extend(commands::questions(view));
    forms.extend(constraints::questions(view));
    forms.extend(decisions::questions(view));
    forms.extend(updates::questions(view));
    forms.extend(plans::questions(view));
    forms
}
