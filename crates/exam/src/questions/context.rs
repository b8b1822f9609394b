//! What a question is asked in: the messages at a cut, as a model reads them.

use std::sync::Arc;

use crate::facts::CutPlace;
use crate::roles::answerer::{AnswerContext, Passage};
use recap_core::model::{MessageIndex, Preamble, Role, Session};

/// The system prompt and the tools as they stand before a message.
pub(super) fn preamble_text(session: &Session, before: MessageIndex) -> String {
    let changed = session.preamble_changes.iter().rev().find(|c| c.before <= before);
    match changed {
        None => session.preamble.sent(),
        Some(change) => {
            let system = change.system.clone();
            Preamble { system, ..session.preamble.clone() }.sent()
        }
    }
}

/// The same as the only context.
pub(super) fn preamble(session: &Session, before: MessageIndex) -> AnswerContext {
    let text = preamble_text(session, before);
    let passage = Passage { role: Role::System, at: None, text: Arc::from(text.as_str()) };
    let passages = if text.is_empty() { Vec::new() } else { vec![passage] };
    AnswerContext { passages, now: None }
}

/// Everything that the recorded agent had at a place.
pub(super) fn passages(session: &Session, place: &CutPlace) -> AnswerContext {
    let mut shown = preamble(session, place.from);
    let kept = place.material.iter().filter(|kept| !kept.cleared);
    shown.passages.extend(kept.map(|kept| {
        let message = &session.messages[kept.message as usize];
        let text = Arc::from(message.sent().as_str());
        Passage { role: message.role, at: message.at, text }
    }));
    let before = session.messages[..place.from as usize].iter();
    shown.now = before.rev().find_map(|message| message.at);
    shown
}
