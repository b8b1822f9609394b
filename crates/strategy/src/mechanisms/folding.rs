//! Helpers of the folding mechanisms: where a conversation may be cut, and how
//! its messages are presented to the compactor.

use std::sync::Arc;

use serde::Deserialize;

use crate::compactor::{Compactor, Live, TaskMessage};
use crate::context::{Context, EntryId, Op, OpError};
use crate::mechanism::Host;
use crate::prompt::Prompt;
use recap_core::model::{MessageIndex, images};

/// For every position between two messages, the nearest one at or before it
/// that does not separate a call from its result.
pub(super) struct Cuts {
    /// By message: the oldest call whose result is at or after it, or not
    /// received yet.
    oldest_call: Vec<MessageIndex>,
}

impl Cuts {
    /// Collects the positions from every stored call.
    pub(super) fn of(context: &Context) -> Self {
        let seen = context.seen_count();
        let mut oldest_call: Vec<MessageIndex> = (0..=seen).collect();
        for call in &context.recording().calls[..] {
            if call.message >= seen || !context.contains(EntryId::message(call.message)) {
                continue;
            }
            // A call without a result yet counts as if the result were last.
            let Some(result) = call.result.map(|result| result.min(seen)) else {
                continue;
            };
            let stored = result == seen || context.contains(EntryId::message(result));
            if stored && !context.is_call_removed(call) {
                let at = &mut oldest_call[result as usize];
                *at = call.message.min(*at);
            }
        }
        for at in (0..seen as usize).rev() {
            oldest_call[at] = oldest_call[at].min(oldest_call[at + 1]);
        }
        Self { oldest_call }
    }

    /// Whether cutting before a message separates no call from its result.
    pub(super) fn is_whole(&self, cut: MessageIndex) -> bool {
        self.oldest_call[cut as usize] == cut
    }

    /// The nearest such cut at or before one: a tail that would begin with a
    /// result moves back to its call (how-it-works §19).
    pub(super) fn back_to_whole(&self, mut cut: MessageIndex) -> MessageIndex {
        while !self.is_whole(cut) {
            cut = self.oldest_call[cut as usize];
        }
        cut
    }
}

/// The stored recorded messages with a smaller index, oldest first.
pub(super) fn recorded_before(context: &Context, cut: MessageIndex) -> Vec<EntryId> {
    context.stored().filter(|id| id.index().is_some_and(|i| i < cut)).collect()
}

/// Entries as the compactor gets them: as they are sent, edits included.
pub(super) fn task_messages(context: &Context, range: &[EntryId]) -> Vec<TaskMessage> {
    let shown = range.iter().filter_map(|&id| {
        let entry = context.entry(id)?;
        let images = id.index().map_or(0, |index| images(&context.blocks(index)));
        let text = Arc::clone(context.text(id)?);
        Some(TaskMessage { role: entry.role, text, images, tokens: entry.weight.tokens })
    });
    shown.collect()
}

/// Sets a note unless it already has that text.
pub(super) fn set_note(
    context: &mut Context,
    key: &str,
    text: Option<String>,
) -> Result<(), OpError> {
    let now = context.notes().find(|(known, _)| *known == key).map(|(_, text)| text);
    if now != text.as_deref() {
        context.apply(Op::Note { key: key.to_owned(), text })?;
    }
    Ok(())
}

/// What is sent to the summariser (how-it-works §26).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Request {
    /// The live conversation with the prompt after it, whose cache is read.
    Prefix,
    /// The messages to fold, in a separate request.
    Fresh,
}

/// The conversation as it would be sent now, for a compactor that reads it.
pub(super) fn live(context: &Context, compactor: &dyn Compactor) -> Live {
    let tokens = context.weight().tokens;
    if !compactor.reads_live() {
        return Live { tokens, ..Live::default() };
    }
    let visible: Vec<EntryId> = context.visible().collect();
    Live { tokens, system: context.head(), messages: task_messages(context, &visible) }
}

/// The numbered points of the template, which are the headings of the reply.
pub(super) fn headings(template: &Prompt) -> Vec<String> {
    let numbered = |line: &str| {
        let (number, rest) = line.trim().split_once(". ")?;
        number.bytes().all(|b| b.is_ascii_digit()).then(|| rest.trim().to_owned())
    };
    template.source().lines().filter_map(numbered).collect()
}

/// The first message that stays where the newest stay within a bound: a walk back
/// from the newest. The newest always stays (ours), and a tail that would begin with
/// a result moves back to its call.
pub(super) fn kept_from(
    context: &Context,
    host: &Host<'_>,
    entries: impl Iterator<Item = EntryId>,
    bound: u64,
) -> Option<MessageIndex> {
    let mut sum = 0;
    let mut first_kept = None;
    for id in entries {
        sum += host.size(context.weight_of(id));
        if first_kept.is_some() && sum > bound {
            break;
        }
        first_kept = Some(id);
    }
    first_kept.and_then(EntryId::index).map(|cut| Cuts::of(context).back_to_whole(cut))
}
