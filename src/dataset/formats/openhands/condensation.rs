//! What OpenHands' condensers remove from the events that are sent.

use std::collections::BTreeMap;

use crate::dataset::check::Draft;
use crate::dataset::error::Problem;
use crate::model::{MessageIndex, Piece, RecordedCompaction, RecordedTrigger, Role};

use super::wire::Event;

/// The events that are still sent, by id, each with its message.
#[derive(Default)]
pub(super) struct View {
    sent: BTreeMap<i64, MessageIndex>,
    /// First and last message that was removed.
    removed: Option<(MessageIndex, MessageIndex)>,
    /// Whether the user asked for the next condensation.
    asked: bool,
}

impl View {
    /// Adds the message of an event.
    pub(super) fn add(&mut self, event: Option<i64>, message: MessageIndex) {
        self.sent.extend(event.map(|id| (id, message)));
    }

    /// Somebody asked for a condensation.
    pub(super) fn ask(&mut self, event: &Event) {
        self.asked = event.source == "user";
    }

    /// A condensation: events are forgotten, and a summary may stand for them.
    pub(super) fn condense(
        &mut self,
        event: Event,
        before: Option<u64>,
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        let args = event.args;
        let mut gone = self.forget(args.forgotten_event_ids.unwrap_or_default());
        let range = args.forgotten_events_start_id.zip(args.forgotten_events_end_id);
        if let Some((first, last)) = range.filter(|(first, last)| first <= last) {
            let within = self.sent.range(first..=last).map(|(id, _)| *id).collect();
            gone.extend(self.forget(within));
        }
        let asked = std::mem::take(&mut self.asked);
        let (Some(first), Some(last)) = (gone.iter().min(), gone.iter().max()) else {
            draft.leave_out("condensation that removed no message", 1);
            return Ok(());
        };
        let removed = self.removed.map_or((*first, *last), |(a, b)| (a.min(*first), b.max(*last)));
        self.removed = Some(removed);
        let summary = args.summary.filter(|text| !text.is_empty());
        draft.compact(RecordedCompaction {
            after: draft.next_index(),
            kept_from: removed.1 + 1,
            pieces: self.pieces(removed, summary.clone()),
            summary,
            trigger: if asked { RecordedTrigger::Manual } else { RecordedTrigger::Auto },
            tokens_before: before,
            at: event.timestamp,
            ..RecordedCompaction::default()
        })
    }

    /// Removes events; returns their messages.
    fn forget(&mut self, ids: Vec<i64>) -> Vec<MessageIndex> {
        ids.iter().filter_map(|id| self.sent.remove(id)).collect()
    }

    /// The messages in front of the last one that was removed, with the summary
    /// in the place of the first.
    fn pieces(&self, removed: (MessageIndex, MessageIndex), summary: Option<String>) -> Vec<Piece> {
        let (first, last) = removed;
        // Ids ascend, except in logs that were put together.
        let front = self.sent.values().copied().take_while(|&message| message <= last);
        let mut front: Vec<MessageIndex> = front.collect();
        front.sort_unstable();
        front.dedup();
        let behind = front.split_off(front.partition_point(|&message| message < first));
        let text = summary.map(|text| Piece::Text { role: Role::User, text });
        let messages = |all: Vec<MessageIndex>| all.into_iter().map(Piece::Message);
        messages(front).chain(text).chain(messages(behind)).collect()
    }
}
