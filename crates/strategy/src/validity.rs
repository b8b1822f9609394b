//! Whether a provider would accept a context: calls and results in pairs.

use std::collections::BTreeSet;

use super::context::{Context, EntryId};
use recap_core::model::{CallId, LedgerState, MessageIndex};

/// Whether each visible result has its call, and each visible call its result,
/// as far as the result has been recorded by now (an interrupted call has
/// none). The cost depends on the visible entries.
///
/// # Errors
/// The first call or result that is sent alone.
pub fn pairs_are_whole(context: &Context) -> Result<(), String> {
    for message in context.visible().filter_map(EntryId::index) {
        for call in calls_about(context, message) {
            if is_broken(context, call) {
                let known = &context.recording().calls[call.0 as usize];
                let (id, tool) = (&known.id, &known.tool);
                return Err(if known.message == message {
                    format!("call `{id}` ({tool}) is sent without its result")
                } else {
                    format!("the result of call `{id}` ({tool}) is sent without its call")
                });
            }
        }
    }
    Ok(())
}

/// The answered calls of which a message makes or answers some.
fn calls_about(context: &Context, message: MessageIndex) -> impl Iterator<Item = CallId> {
    let recording = context.recording();
    let made = recording.calls_in(message).iter().filter_map(|call| call.result);
    let answers = made.filter_map(|result| recording.call_of(result));
    answers.chain(recording.call_of(message))
}

/// The broken pairs of a context, updated at the cost of the changes.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    broken: BTreeSet<CallId>,
}

impl Pairs {
    /// Checks the pairs of these messages again. It must be called for every
    /// message that was appended, or whose state changed.
    pub fn recheck_pairs(
        &mut self,
        context: &Context,
        messages: impl IntoIterator<Item = MessageIndex>,
    ) {
        for message in messages {
            for call in calls_about(context, message) {
                if is_broken(context, call) {
                    self.broken.insert(call);
                } else {
                    self.broken.remove(&call);
                }
            }
        }
    }

    /// Whether every pair is complete: the same result as [`pairs_are_whole`].
    pub fn are_whole(&self) -> bool {
        self.broken.is_empty()
    }
}

/// Whether only one half of an answered call is sent.
fn is_broken(context: &Context, call: CallId) -> bool {
    let known = &context.recording().calls[call.0 as usize];
    let Some(result) = known.result.filter(|&result| result < context.seen_count()) else {
        return false;
    };
    let sent =
        |message| matches!(context.state(message), LedgerState::Verbatim | LedgerState::Edited);
    let called = sent(known.message) && !context.is_call_removed(known);
    called != sent(result)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::{Op, Recording};
    use crate::testkit::Talk;

    /// A question, two calls, their results, and an answer.
    fn context(messages: u32) -> Context {
        let call = |id| (id, "read", serde_json::json!({}));
        let talk = Talk::new("S").user("u").calls(&[call("a"), call("b")]);
        let talk = talk.result("a", "one").result("b", "two").assistant("done");
        let mut context = Context::new(Recording::new(Arc::new(talk.end()), Arc::default()));
        (0..messages).for_each(|_| context.append());
        context
    }

    #[test]
    fn call_and_result_are_sent_together_or_neither() {
        let result =
            |id: &str| Err(format!("the result of call `{id}` (read) is sent without its call"));
        let call = |id: &str| Err(format!("call `{id}` (read) is sent without its result"));
        for (hidden, found) in [
            (&[][..], Ok(())),
            (&[0, 4], Ok(())),
            (&[1, 2, 3], Ok(())),
            (&[1], result("a")),
            (&[1, 2], result("b")),
            (&[2], call("a")),
            (&[3], call("b")),
        ] {
            let mut context = context(5);
            let also = hidden.iter().map(|&at| EntryId::message(at)).collect();
            context.apply(Op::Hide { before: 0, also }).unwrap();
            assert_eq!(pairs_are_whole(&context), found, "{hidden:?}");
            let mut pairs = Pairs::default();
            pairs.recheck_pairs(&context, 0..5);
            assert_eq!(pairs.are_whole(), found.is_ok(), "{hidden:?}");
            context.begin_stage(0);
            pairs.recheck_pairs(&context, hidden.iter().copied());
            assert!(pairs.are_whole(), "all is shown again");
        }
        // Results that are still to come are not missed.
        for messages in [2, 3] {
            let mut pairs = Pairs::default();
            pairs.recheck_pairs(&context(messages), 0..messages);
            assert!(pairs.are_whole() && pairs_are_whole(&context(messages)).is_ok());
        }
        let mut removed = context(5);
        removed.apply(Op::RemoveCall(CallId(0))).unwrap();
        let mut pairs = Pairs::default();
        pairs.recheck_pairs(&removed, 0..5);
        assert!(pairs.are_whole() && pairs_are_whole(&removed).is_ok());
    }
}
