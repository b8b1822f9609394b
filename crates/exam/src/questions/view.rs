//! A session as it stands at a cut: the messages that may be compacted, and
//! what the agent did in them.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::acts::{Act, Moves};
use crate::facts::CutPlace;
use crate::roles::answerer::{AnswerContext, Passage};
use recap_core::model::call::{CallEffect, Change, ChangeKind};
use recap_core::model::{Block, MessageIndex, Role, Session};
use recap_core::text::Normal;

/// The part of a session that is asked about at a cut.
pub(super) struct View<'a> {
    pub session: &'a Session,
    /// The calls whose message and result are both in the material, in order.
    pub acts: Vec<&'a Act<'a>>,
    /// The messages of the material that stand as recorded, in order.
    pub messages: Vec<MessageIndex>,
    /// The changes of files that did not fail, in order, without those of files
    /// that are deleted.
    pub changes: Vec<Made<'a>>,
    /// Where the files that were moved are now.
    pub moves: Moves,
    /// The system prompt and the tools, which no compaction takes away.
    preamble: Normal,
}

/// A change of a file, with the call that made it.
pub(super) struct Made<'a> {
    pub act: &'a Act<'a>,
    pub change: &'a Change,
    /// Path below the folder of the session, where it is known, as it was then.
    pub path: String,
    /// The same as it is now.
    pub now: String,
}

impl<'a> View<'a> {
    pub fn new(session: &'a Session, acts: &'a [Act<'a>], place: &CutPlace) -> View<'a> {
        let kept = place.material.iter().filter(|kept| !kept.cleared);
        let messages: Vec<MessageIndex> = kept.map(|kept| kept.message).collect();
        let held: FxHashSet<MessageIndex> = messages.iter().copied().collect();
        let is_held = |act: &&Act<'_>| {
            held.contains(&act.message) && act.result.is_none_or(|at| held.contains(&at))
        };
        let acts: Vec<&Act<'_>> = acts.iter().filter(is_held).collect();
        let (changes, moves) = changes(session, &acts);
        let preamble = Normal::new(&preamble_text(session, place.from));
        View { session, acts, messages, changes, moves, preamble }
    }

    /// Whether the system prompt or a tool's description has one of these
    /// values, so that a question for it needs no conversation.
    pub fn states_any(&self, values: &[String]) -> bool {
        values.iter().any(|value| self.preamble.contains(&Normal::new(value)))
    }

    /// The texts of a role, each with its message, in order.
    pub fn said(&self, role: Role) -> impl Iterator<Item = (MessageIndex, &'a str)> + '_ {
        let all = self.messages.iter().map(|&at| (at, &self.session.messages[at as usize]));
        let of_role = all.filter(move |(_, message)| message.role == role);
        of_role.flat_map(|(at, message)| {
            let texts = message.blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                _ => None,
            });
            texts.map(move |text| (at, text))
        })
    }
}

/// The changes of files with their paths now, and what moved the files.
fn changes<'a>(session: &Session, acts: &[&'a Act<'a>]) -> (Vec<Made<'a>>, Moves) {
    let (mut changes, mut moves) = (Vec::new(), Moves::default());
    let below = |path: &str| below(session, path);
    for act in acts.iter().rev().filter(|act| act.is_done()) {
        if let CallEffect::Changed(all) = &act.what {
            changes.extend(all.iter().rev().filter_map(|change| {
                let path = below(&change.path);
                let now = match &change.kind {
                    ChangeKind::Moved(to) => moves.now(&below(to)),
                    ChangeKind::Deleted => None,
                    ChangeKind::Written | ChangeKind::Edited => moves.now(&path),
                };
                Some(Made { act, change, path, now: now? })
            }));
        }
        moves.put_before(act, below);
    }
    changes.reverse();
    (changes, moves)
}

/// A path without the folder that the session works in, with the slashes of Unix.
fn below(session: &Session, path: &str) -> String {
    let slashed = |path: &str| match path.get(1..3) {
        Some(":\\") => path.replace('\\', "/"),
        _ => path.to_owned(),
    };
    let path = slashed(path);
    let rests = session.metadata.iter().filter_map(|text| {
        let folder = slashed(text);
        let is_folder = folder.starts_with('/') || folder.get(1..3) == Some(":/");
        let rest = path.strip_prefix(folder.trim_end_matches('/')).filter(|_| is_folder)?;
        // `/home/ada` is no project, and agents enter folders within theirs.
        Some((folder.split('/').count() <= 3, folder.len(), rest.strip_prefix('/')?))
    });
    let rest = rests.min().map_or(path.as_str(), |(_, _, rest)| rest);
    rest.trim_start_matches("./").to_owned()
}

// What a question is asked in: the messages at a cut, as a model reads them.

/// The system prompt and the tools as they stand before a message.
pub(super) fn preamble_text(session: &Session, before: MessageIndex) -> String {
    session.preamble_since(session.preamble_change(before))
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
