//! Tracks the state of every message, at a cost that depends only on the number
//! of changes.

use std::collections::BTreeSet;

use recap_core::model::{LedgerState, LossRow, MessageIndex};
use recap_strategy::{Context, EntryId};

/// Messages that changed state, by their new state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub folded: u32,
    pub gone: u32,
    pub edited: u32,
}

/// The last known state of every message, and the rows of the loss map.
#[derive(Debug, Default)]
pub(super) struct Loss {
    states: Vec<LedgerState>,
    last_row: Vec<Option<usize>>,
    hidden_before: MessageIndex,
    hidden_by_name: BTreeSet<EntryId>,
    shown_by_name: BTreeSet<EntryId>,
    rows: Vec<LossRow>,
}

impl Loss {
    /// The states of a context that is resumed: only later changes are reported.
    pub fn resumed(context: &Context) -> Self {
        Self {
            states: (0..context.seen_count()).map(|message| context.state(message)).collect(),
            hidden_before: context.hidden_before(),
            hidden_by_name: context.hidden_by_name(),
            shown_by_name: context.shown_by_name(),
            ..Self::default()
        }
    }

    /// Recorded messages whose state may have changed since the last call: new
    /// messages, messages that operations changed, and messages that were newly
    /// hidden or shown.
    pub(super) fn take_moved(&mut self, context: &mut Context) -> BTreeSet<MessageIndex> {
        let mut moved: BTreeSet<MessageIndex> = context.take_touched().into_iter().collect();
        moved.extend(self.states.len() as MessageIndex..context.seen_count());
        let before = context.hidden_before();
        moved.extend(self.hidden_before.min(before)..self.hidden_before.max(before));
        let by_name = context.hidden_by_name();
        for &id in self.hidden_by_name.symmetric_difference(&by_name) {
            moved.extend(id.index());
            moved.extend(context.covered_by(id));
        }
        let shown = context.shown_by_name();
        moved.extend(self.shown_by_name.symmetric_difference(&shown).filter_map(|id| id.index()));
        self.shown_by_name = shown;
        self.hidden_before = before;
        self.hidden_by_name = by_name;
        moved
    }

    /// Records the new states of the messages that changed; `request` is the
    /// ordinal of the first request after the change.
    pub fn observe(
        &mut self,
        context: &Context,
        moved: &BTreeSet<MessageIndex>,
        request: u32,
    ) -> Changes {
        let seen = context.seen_count() as usize;
        self.states.resize(seen, LedgerState::Verbatim);
        self.last_row.resize(seen, None);
        let mut changes = Changes::default();
        for &message in moved {
            let Some(old) = self.states.get(message as usize).copied() else { continue };
            let new = context.state(message);
            if new == old {
                continue;
            }
            match new {
                LedgerState::Folded => changes.folded += 1,
                LedgerState::Gone => changes.gone += 1,
                LedgerState::Edited => changes.edited += 1,
                LedgerState::Verbatim => {}
            }
            self.states[message as usize] = new;
            self.write(LossRow { message, request, state: new });
        }
        changes
    }

    /// A change before the same request replaces the recorded one.
    fn write(&mut self, row: LossRow) {
        let last = &mut self.last_row[row.message as usize];
        match last {
            Some(at) if self.rows[*at].request == row.request => self.rows[*at].state = row.state,
            _ => {
                *last = Some(self.rows.len());
                self.rows.push(row);
            }
        }
    }

    /// The rows, by request and message; those without an effective change are
    /// left out.
    pub(super) fn into_rows(self) -> Vec<LossRow> {
        let mut rows = self.rows;
        rows.sort_unstable_by_key(|r| (r.message, r.request));
        let mut last: Option<LossRow> = None;
        rows.retain(|row| {
            let before = match last {
                Some(l) if l.message == row.message => l.state,
                _ => LedgerState::Verbatim,
            };
            last = Some(*row);
            before != row.state
        });
        rows.sort_unstable_by_key(|r| (r.request, r.message));
        rows
    }
}

#[cfg(test)]
mod tests;
