//! Helpers of the folding mechanisms: where a conversation may be cut, and how
//! its messages are presented to the compactor.

use crate::compactor::{CompactorError, FailedCall, Produced, Reply, TaskMessage};
use crate::context::{Context, EntryId, Op, OpError};
use recap_core::model::{Block, MessageIndex};

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
        let images = id.index().map_or(0, |index| images(context, index));
        let tokens = entry.weight.tokens;
        Some(TaskMessage { role: entry.role, text: entry.text.into_owned(), images, tokens })
    });
    shown.collect()
}

fn images(context: &Context, message: MessageIndex) -> u32 {
    let count = |block: &Block| match block {
        Block::Image { .. } => 1,
        Block::ToolResult { images, .. } => *images,
        _ => 0,
    };
    match context.original(EntryId::message(message)) {
        Some(original) if !context.is_edited(EntryId::message(message)) => original.images(),
        _ => context.blocks(message).iter().map(count).sum(),
    }
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

/// The reply in the requested shape; any other shape is a failure of the
/// compactor, not of the strategy.
pub(super) fn in_shape<T>(
    reply: Result<Reply, FailedCall>,
    shape: &str,
    read: fn(Produced) -> Option<T>,
) -> Result<T, CompactorError> {
    let produced = reply.map_err(|failed| failed.error)?.produced;
    read(produced).ok_or_else(|| CompactorError::Malformed(format!("a {shape} was asked for")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::Recording;
    use crate::testkit::Talk;
    use recap_core::model::CallId;

    fn calls(ids: &[&'static str]) -> Vec<(&'static str, &'static str, serde_json::Value)> {
        ids.iter().map(|&id| (id, "read", serde_json::json!({}))).collect()
    }

    fn context(talk: Talk, messages: u32) -> Context {
        let mut context = Context::new(Recording::new(Arc::new(talk.end()), Arc::default()));
        (0..messages).for_each(|_| context.append());
        context
    }

    /// The whole cut at or before each place.
    fn back(context: &Context) -> Vec<MessageIndex> {
        let cuts = Cuts::of(context);
        (0..=context.seen_count()).map(|cut| cuts.back_to_whole(cut)).collect()
    }

    #[test]
    fn cut_between_call_and_result_moves_before_call() {
        let talk = || {
            let talk = Talk::new("S").user("u").calls(&calls(&["a", "b"])).result("a", "r");
            let talk = talk.user("v").result("b", "late").calls(&calls(&["c", "never"]));
            talk.result("c", "r").assistant("done")
        };
        assert_eq!(back(&context(talk(), 8)), [0, 1, 1, 1, 1, 5, 5, 7, 8]);
        // A result that is still to come holds the end as well.
        assert_eq!(back(&context(talk(), 4)), [0, 1, 1, 1, 1]);
        assert_eq!(back(&context(talk(), 5)), [0, 1, 1, 1, 1, 5]);
        let mut removed = context(talk(), 8);
        removed.apply(Op::RemoveCall(CallId(1))).unwrap();
        assert_eq!(back(&removed), [0, 1, 1, 3, 4, 5, 5, 7, 8]);
        for gone in [5, 6] {
            let mut context = context(talk(), 8);
            context.apply(Op::Evict(vec![EntryId::message(gone)])).unwrap();
            assert_eq!(back(&context), [0, 1, 1, 1, 1, 5, 6, 7, 8], "{gone} has left");
        }
    }

    #[test]
    fn overlapping_calls_move_cut_back_one_by_one() {
        let talk = Talk::new("S").user("u").calls(&calls(&["a"])).calls(&calls(&["b"]));
        let talk = talk.result("a", "r").result("b", "r").assistant("done");
        assert_eq!(back(&context(talk, 6)), [0, 1, 1, 1, 1, 5, 6]);
    }
}
