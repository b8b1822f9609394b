//! The effects of the user's commands `/new`, `/clear` and `/resume`.
//!
//! The message with the command opens the next session (ours): Lis answers
//! commands itself, but a recording continues with a response, which needs a
//! message to answer.

use serde_json::json;

use super::summary::Writer;
use super::{OWN, PARENT, before_newest, entries, fold, summaries};
use crate::chain::Rest;
use crate::context::{Context, EntryId, Op};
use crate::host::{Fallback, MechanismError, Outcome, Record, Work};
use crate::mechanisms::folding::recorded_before;
use crate::state::StrategyState;
use recap_core::model::MessageIndex;

/// Closes the session; its messages stay with it.
pub(super) fn new(work: Work<'_>) -> Result<Outcome, MechanismError> {
    let Work { context, shared, host } = work;
    let mut outcome = Outcome::default();
    let Some(cut) = before_newest(context) else { return Ok(outcome) };
    if let Some(messages) = leave(context, cut)? {
        let (closed, rest) = shared.close_session(cut, None, host.now);
        let opened = shared.start_session(closed, rest, host.now);
        let body = json!({"closed": closed, "opened": opened, "messages": messages, "by": "new"});
        outcome.records.push(Record { kind: "session".to_owned(), body });
    }
    Ok(outcome)
}

/// Drops the entries before a message, and returns the number of messages;
/// `None` where there were none.
fn leave(context: &mut Context, cut: MessageIndex) -> Result<Option<usize>, MechanismError> {
    let old = recorded_before(context, cut);
    let messages = old.len();
    if messages == 0 {
        return Ok(None);
    }
    context.apply(Op::Evict([old, summaries(context)].concat()))?;
    Ok(Some(messages))
}

/// Writes the summaries of closed sessions that have none, the oldest first.
/// The parent's summary is put into the context.
pub(super) async fn summarise(writer: &Writer, work: Work<'_>) -> Result<Outcome, MechanismError> {
    let Work { context, shared, host } = work;
    let mut outcome = Outcome::default();
    let parent = shared.chain.open.and_then(|open| shared.chain.known.get(&open.number)?.parent);
    for at in 0..shared.sessions.len() {
        let session = &shared.sessions[at];
        let Some(number) = session.id.parse().ok().filter(|_| session.summary.is_none()) else {
            continue;
        };
        let messages = shared.session_messages(number, context.seen_count());
        match writer.write(context, shared, host, &entries(messages)).await {
            Ok(summary) => {
                shared.sessions[at].summary = Some(summary);
                if parent == Some(number) && summaries(context).is_empty() {
                    inject(context, shared, number)?;
                }
            }
            Err(error) => {
                let reason = error.to_string();
                outcome.fallback = Some(Fallback { to: Fallback::NONE.to_owned(), reason });
                break;
            }
        }
    }
    Ok(outcome)
}

/// Puts the summary of a closed session into the context, in place of its messages.
fn inject(
    context: &mut Context,
    shared: &StrategyState,
    number: u32,
) -> Result<(), MechanismError> {
    let Some(summary) = shared.session_summary(number) else { return Ok(()) };
    let messages = shared.session_messages(number, context.seen_count());
    context.apply(Op::Recall(messages.clone()))?;
    fold(context, entries(messages), PARENT, summary)?;
    Ok(())
}

/// Returns to a closed session: completely where it is small enough, else in a
/// new session that continues from its summary.
pub(super) fn resume(within: f64, work: Work<'_>) -> Result<Outcome, MechanismError> {
    let Work { context, shared, host } = work;
    let mut outcome = Outcome::default();
    let Some(cut) = before_newest(context) else { return Ok(outcome) };
    let Some(target) = target(context, shared) else { return Ok(outcome) };
    let messages = shared.session_messages(target, context.seen_count());
    let tokens = messages.iter().map(|&m| context.weight_of(EntryId::message(m)).tokens).sum();
    let in_full = fits(tokens, host.budget, within);
    let left = leave(context, cut)?;
    let closed = match left {
        Some(_) => shared.close_session(cut, None, host.now).0,
        // The abandoned session is empty; its message belongs to another one now.
        None => {
            context.apply(Op::Evict(summaries(context)))?;
            None
        }
    };
    let opened = if in_full {
        reopen(context, shared, target, messages)?;
        shared.reopen_session(target, cut);
        target
    } else {
        inject(context, shared, target)?;
        shared.start_session(Some(target), Rest::from(cut), host.now)
    };
    let body = json!({
        "closed": closed, "opened": opened, "target": target, "tokens": tokens,
        "inFull": in_full, "by": "resume",
    });
    outcome.records.push(Record { kind: "session".to_owned(), body });
    Ok(outcome)
}

/// Whether a session is reopened in full (`LIS_RESUME_TOKEN_BUDGET`: at most).
fn fits(tokens: u64, budget: u64, within: f64) -> bool {
    tokens <= (budget as f64 * within) as u64
}

/// Restores a session: its parent's summary, its own, its messages.
fn reopen(
    context: &mut Context,
    shared: &StrategyState,
    target: u32,
    messages: Vec<MessageIndex>,
) -> Result<(), MechanismError> {
    if let Some(parent) = shared.chain.known.get(&target).and_then(|facts| facts.parent) {
        inject(context, shared, parent)?;
    }
    context.apply(Op::Recall(messages.clone()))?;
    if let Some(own) = shared.session_summary(target) {
        // Next to the messages themselves, the summary stands for none of them.
        fold(context, entries(messages.iter().copied()), OWN, own)?;
        context.apply(Op::Recall(messages))?;
    }
    Ok(())
}

/// The session that a user names by its number, or the one closed last.
fn target(context: &Context, shared: &StrategyState) -> Option<u32> {
    let newest = context.original(EntryId::message(context.seen_count().checked_sub(1)?))?;
    let number = match newest.first_text().split_whitespace().nth(1) {
        Some(word) => word.parse().ok()?,
        None => shared.sessions.last()?.id.parse().ok()?,
    };
    shared.past_session(number).map(|_| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed 002: LIS_RESUME_TOKEN_BUDGET, 70 % of budget
    #[test]
    fn session_reopens_in_full_up_to_70_percent() {
        assert!(fits(105_000, 150_000, 0.7));
        assert!(!fits(105_001, 150_000, 0.7));
    }
}
