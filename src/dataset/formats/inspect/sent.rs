//! What the requests of a sample sent, against what had been said until then:
//! the compactions that the agent made.

use rustc_hash::{FxHashMap, FxHashSet};

use super::wire::WireMessage;
use super::{plain_text, role_of};
use crate::dataset::check::Draft;
use crate::dataset::error::Problem;
use crate::model::{MessageIndex, Piece, RecordedCompaction, RecordedTrigger, Role};

/// What stands in a request in front of the newest messages, and the first of
/// those.
#[derive(Default, PartialEq)]
struct Shape {
    front: Vec<Piece>,
    run: MessageIndex,
}

/// Follows the requests of a sample in their order.
#[derive(Default)]
pub(super) struct Requests {
    last: Shape,
    /// Calls whose results were cleared before.
    cleared: FxHashSet<String>,
    /// Prompt of the request before.
    pub(super) prompt: Option<u64>,
}

impl Requests {
    /// Takes the input of the request that message `at` answered.
    pub(super) fn take(
        &mut self,
        input: Vec<WireMessage>,
        at: MessageIndex,
        places: &FxHashMap<String, MessageIndex>,
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        let mut pieces = Vec::new();
        let mut cleared = Vec::new();
        for message in input.into_iter().filter(|message| message.role != "system") {
            let known = message.id.as_ref().and_then(|id| places.get(id)).copied();
            match known.filter(|index| *index < at) {
                Some(index) => {
                    cleared.extend(self.clears(message, index, draft));
                    pieces.push(Piece::Message(index));
                }
                None => pieces.extend(written(message, draft)),
            }
        }
        let shape = shape(pieces, at);
        let removes = shape.run > 0 || !shape.front.is_empty();
        if shape != self.last && removes && is_sorted(&shape) {
            let texts = shape.front.iter().filter_map(|piece| match piece {
                Piece::Text { text, .. } => Some(text.as_str()),
                Piece::Message(_) => None,
            });
            let summary = texts.collect::<Vec<_>>().join("\n");
            draft.compact(RecordedCompaction {
                after: at,
                kept_from: shape.run,
                summary: Some(summary).filter(|text| !text.is_empty()),
                pieces: shape.front.clone(),
                trigger: RecordedTrigger::Auto,
                tokens_before: self.prompt,
                ..RecordedCompaction::default()
            })?;
        } else if shape != self.last {
            draft.leave_out("request with another selection of messages", 1);
            return Ok(());
        }
        if !cleared.is_empty() {
            draft.compact(RecordedCompaction {
                after: at,
                kept_from: shape.run,
                cleared,
                trigger: RecordedTrigger::Auto,
                tokens_before: self.prompt,
                ..RecordedCompaction::default()
            })?;
        }
        self.last = shape;
        Ok(())
    }

    /// The call whose result was sent with another text than it had, once.
    fn clears(
        &mut self,
        message: WireMessage,
        index: MessageIndex,
        draft: &mut Draft,
    ) -> Option<String> {
        let (call, text) = draft.transcript.messages[index as usize].tool_result()?;
        let call = call.to_owned();
        (plain_text(&message) != text && self.cleared.insert(call.clone())).then_some(call)
    }
}

/// The newest messages without a gap, and what stands in front of them.
fn shape(mut pieces: Vec<Piece>, at: MessageIndex) -> Shape {
    let mut run = at;
    while run > 0 && pieces.last() == Some(&Piece::Message(run - 1)) {
        pieces.pop();
        run -= 1;
    }
    Shape { front: pieces, run }
}

/// Whether the messages in front stand in the order in which they were said.
fn is_sorted(shape: &Shape) -> bool {
    let messages = shape.front.iter().filter_map(|piece| match piece {
        Piece::Message(index) => Some(*index),
        Piece::Text { .. } => None,
    });
    messages.clone().is_sorted() && messages.clone().all(|index| index < shape.run)
}

/// A message that a compaction wrote.
fn written(message: WireMessage, draft: &mut Draft) -> Option<Piece> {
    let role = role_of(&message.role).filter(|role| *role != Role::Tool);
    let text = plain_text(&message);
    if role.is_none() || text.is_empty() {
        draft.leave_out("message of a request that is not in the conversation", 1);
        return None;
    }
    role.map(|role| Piece::Text { role, text })
}
