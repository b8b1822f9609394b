//! Full compaction: "finalize current session → reassign kept messages to new
//! session → set chat.CurrentSessionId to new session".

use serde_json::json;

use super::summary::Writer;
use super::{PARENT, fold, summaries};
use crate::context::{Context, EntryId, Op};
use crate::host::{Fallback, Host, MechanismError, Outcome, Record, Work};
use crate::mechanisms::folding::{Cuts, recorded_before};
use crate::mechanisms::notices::{Makeup, compacted};
use recap_core::model::MessageIndex;

/// Closes the session with a summary of all but the newest tokens.
pub(super) async fn run(
    writer: &Writer,
    keep_recent: u64,
    notify: bool,
    work: Work<'_>,
) -> Result<Outcome, MechanismError> {
    let Work { context, shared, host } = work;
    let mut outcome = Outcome::default();
    let split = split(context, host, keep_recent);
    let old = recorded_before(context, split);
    let Some(last) = old.last().and_then(|id| id.index()) else {
        return Ok(outcome);
    };
    let before = host.believed.unwrap_or_else(|| context.weight().tokens);
    let summary = match writer.write(context, shared, host, &old).await {
        Ok(summary) => summary,
        Err(error) => {
            let reason = error.to_string();
            outcome.fallback = Some(Fallback { to: Fallback::NONE.to_owned(), reason });
            return Ok(outcome);
        }
    };
    let older = summaries(context);
    if !older.is_empty() {
        context.apply(Op::Evict(older))?;
    }
    let messages = old.len();
    fold(context, old, PARENT, &summary)?;
    shared.boundary = Some(last);
    let (closed, rest) = shared.close_session(split, Some(summary), host.now);
    let opened = shared.start_session(closed, rest, host.now);
    let body =
        json!({"closed": closed, "opened": opened, "messages": messages, "by": "compaction"});
    outcome.records.push(Record { kind: "session".to_owned(), body });
    if notify {
        outcome.notices.push(compacted(before, Makeup::of(context), host.budget));
    }
    Ok(outcome)
}

/// The first message that stays: a walk back from the newest keeps messages
/// until the bound is reached. The newest always stays (ours), and a tail that
/// would begin with a result moves back to its call.
fn split(context: &Context, host: &Host<'_>, keep_recent: u64) -> MessageIndex {
    let mut sum = 0;
    let mut first_kept = context.seen_count();
    for (index, id) in context.stored().rev().filter_map(recorded) {
        sum += host.size(context.weight_of(id));
        if first_kept < context.seen_count() && sum > keep_recent {
            break;
        }
        first_kept = index;
    }
    Cuts::of(context).back_to_whole(first_kept)
}

fn recorded(id: EntryId) -> Option<(MessageIndex, EntryId)> {
    Some((id.index()?, id))
}
