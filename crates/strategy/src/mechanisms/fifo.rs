//! FIFO truncation: drop the oldest until the rest fits.
//!
//! Source: Arachne, "drops the oldest messages entirely when the token budget
//! is exceeded", its hard fallback above 85 %. That a call goes together with
//! its results, and that the newest message stays, is ours (how-it-works §18).

use std::collections::BTreeSet;
use std::ops::Range;

use async_trait::async_trait;
use serde::Deserialize;

use crate::context::{Context, EntryId, Op};
use crate::mechanism::{Mechanism, MechanismError, MechanismSpec, Outcome, Work};
use recap_core::model::{MessageIndex, Role};
use recap_core::tokens::Weight;

/// Hides the oldest messages.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "fifo",
    summary: "Drops the oldest messages, a call with its results, until under target; the newest stays",
    is_view: true,
    build: |build| Ok(Box::new(build.read::<Fifo>()?)),
    ..MechanismSpec::PLAIN
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fifo {
    /// For each call of the recording, the last message that answers it or one before it.
    #[serde(skip)]
    furthest: Vec<MessageIndex>,
}

#[async_trait]
impl Mechanism for Fifo {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, host, .. } = work;
        // By how much the context is too large, as the strategy estimates it.
        let excess = host.believed.unwrap_or(0).saturating_sub(host.target);
        let newest = context.stored().rev().find_map(EntryId::index);
        let Some(newest) = newest.filter(|_| excess > 0) else {
            return Ok(Outcome::default());
        };
        if self.furthest.is_empty() {
            let results = context.recording().calls.iter().map(|call| call.result.unwrap_or(0));
            let furthest = results.scan(0, |most, result| {
                *most = result.max(*most);
                Some(*most)
            });
            self.furthest = furthest.collect();
        }
        let first_kept = group(context, newest);
        let kept = kept(context, first_kept);
        let stays = kept.iter().copied().chain(hidden(context));
        let stays: Vec<(MessageIndex, Weight)> =
            stays.map(|index| (group(context, index), weight(context, index))).collect();
        let from = context.all_hidden().before;
        let unsent = context.recorded_weight_before(from);
        let freed = |cut| {
            let groups = context.recorded_weight_before(cut) + self.behind(context, cut);
            let stays = stays.iter().filter(|(group, _)| *group < cut);
            host.size(stays.fold(groups - unsent, |rest, (_, weight)| rest - *weight))
        };
        let before = first_that(from..newest.max(from), |cut| freed(cut) >= excess);
        // What stands between the newest message and its call is dropped by name, and results
        // after the cut with their call.
        let leaves = |index: &MessageIndex| {
            group(context, *index) < before
                && context.contains(EntryId::message(*index))
                && !kept.contains(index)
        };
        let results = self.results_after(context, before);
        let named = (first_kept..before).chain(results).filter(leaves);
        let mut also: Vec<EntryId> = named.map(EntryId::message).collect();
        let before = before.min(first_kept);
        context.apply(Op::Hide { before, also: also.clone() })?;
        if let Some(answer) = doubled_answer(context) {
            also.push(answer);
            context.apply(Op::Hide { before, also })?;
        }
        Ok(Outcome::default())
    }
}

/// The messages of the newest group, which stay. What an earlier stage hides is not shown again.
fn kept(context: &Context, group: MessageIndex) -> BTreeSet<MessageIndex> {
    let results = context.recording().calls_in(group).iter().filter_map(|call| call.result);
    let is_sent = |index: &MessageIndex| {
        let id = EntryId::message(*index);
        context.contains(id) && !context.is_hidden(id)
    };
    [group].into_iter().chain(results).filter(is_sent).collect()
}

/// The answer of a synthetic pair, if the first recorded message that is sent
/// is the assistant's too: roles go on taking turns, as where the pair is put.
fn doubled_answer(context: &Context) -> Option<EntryId> {
    let mut before = None;
    for id in context.visible() {
        let role = context.entry(id)?.role;
        if id.index().is_some() {
            return before.filter(|_| role == Role::Assistant);
        }
        before = (role == Role::Assistant).then_some(id);
    }
    None
}

/// The message with which another is dropped: a result is dropped with its call.
fn group(context: &Context, index: MessageIndex) -> MessageIndex {
    let call = context.call_of(EntryId::message(index)).map(|(_, call)| call);
    let stands = call.filter(|call| {
        context.contains(EntryId::message(call.message)) && !context.is_call_removed(call)
    });
    stands.map_or(index, |call| call.message)
}

impl Fifo {
    /// Results after a cut whose call is before it, those to come included.
    fn results_after(&self, context: &Context, cut: MessageIndex) -> Vec<MessageIndex> {
        let calls = &context.recording().calls;
        let before = calls.partition_point(|call| call.message < cut);
        let reaching = (0..before).rev().take_while(|&call| self.furthest[call] >= cut);
        let results = reaching.filter_map(|call| calls[call].result);
        results.filter(|&result| result >= cut).collect()
    }

    /// Size of the stored messages after a cut that are dropped with one before it.
    fn behind(&self, context: &Context, cut: MessageIndex) -> Weight {
        let results = self.results_after(context, cut).into_iter();
        let goes = |index: &MessageIndex| {
            context.contains(EntryId::message(*index)) && group(context, *index) < cut
        };
        results.filter(goes).fold(Weight::default(), |sum, index| sum + weight(context, index))
    }
}

/// The first number of a range that satisfies a monotone condition; the end of
/// the range if none does.
fn first_that(range: Range<MessageIndex>, holds: impl Fn(MessageIndex) -> bool) -> MessageIndex {
    let (mut from, mut to) = (range.start, range.end);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}

/// Recorded messages that an earlier stage hides by name: they are not sent, so
/// dropping them frees nothing (how-it-works §16).
fn hidden(context: &Context) -> impl Iterator<Item = MessageIndex> {
    context.all_hidden().by_name.iter().filter_map(|id| id.index())
}

fn weight(context: &Context, index: MessageIndex) -> Weight {
    context.weight_of(EntryId::message(index))
}
