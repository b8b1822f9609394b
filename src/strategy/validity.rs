//! What a provider would say of a context: calls and results in pairs.

use std::collections::BTreeSet;

use super::context::Context;
use crate::model::MessageIndex;

/// Whether each visible result has its call, and each visible call its result,
/// as far as the result has been recorded by now (an interrupted call has
/// none). Returns the first violation. The cost is that of what is visible.
pub fn pairs_are_whole(context: &Context) -> Result<(), String> {
    let recording = context.recording();
    let visible: Vec<MessageIndex> = context.visible().filter_map(|id| id.index()).collect();
    let shown: BTreeSet<MessageIndex> = visible.iter().copied().collect();
    for &message in &visible {
        if let Some(call) = recording.call_of(message) {
            let known = &recording.calls[call.0 as usize];
            if !shown.contains(&known.message) || context.is_call_removed(known) {
                return Err(format!(
                    "the result of call `{}` ({}) is sent without its call",
                    known.id, known.tool
                ));
            }
        }
        for call in recording.calls_in(message) {
            let lost =
                |&result: &MessageIndex| result < context.seen_count() && !shown.contains(&result);
            if call.result.as_ref().is_some_and(lost) && !context.is_call_removed(call) {
                return Err(format!(
                    "call `{}` ({}) is sent without its result",
                    call.id, call.tool
                ));
            }
        }
    }
    Ok(())
}
