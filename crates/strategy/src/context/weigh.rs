//! The size of a context and of its parts.

use super::Context;
use super::op::{EntryId, SYNTHETIC};
use recap_core::model::MessageIndex;
use recap_core::tokens::Weight;

impl Context {
    /// Size of everything that would be sent: preamble, notes and visible entries.
    pub fn weight(&self) -> Weight {
        self.preamble_weight() + self.messages_weight()
    }

    /// Size of the preamble, notes and hidden part of the recording included.
    pub fn preamble_weight(&self) -> Weight {
        let hidden = self.recording.sizes.hidden_tokens;
        // The hidden part has no text: estimators that count characters assume
        // four for each of its tokens.
        let hidden = Weight {
            tokens: hidden,
            units: hidden * 4,
            json_units: hidden * 4,
            ..Weight::default()
        };
        let preamble = self.other_preamble.as_ref().map_or(self.preamble, |(weight, _)| *weight);
        preamble + self.notes_total + hidden
    }

    /// Size of the visible entries.
    pub fn messages_weight(&self) -> Weight {
        if self.hidden.is_empty() {
            return self.total;
        }
        let mut weight = self.total - self.hidden_weight_before(self.seen);
        for id in self.hidden_by_name() {
            weight -= self.weight_of(id);
        }
        weight
    }

    /// Size of the recorded messages with a smaller index that are hidden, but
    /// for [`Context::hidden_by_name`].
    pub(crate) fn hidden_weight_before(&self, message: MessageIndex) -> Weight {
        let before = self.recorded_weight_before(message.min(self.hidden_before()));
        let shown = self.shown_by_name().into_iter().take_while(|id| id.0 < message);
        shown.fold(before, |sum, id| sum - self.weight_of(id))
    }

    /// Size of the stored recorded messages with a smaller index.
    pub fn recorded_weight_before(&self, message: MessageIndex) -> Weight {
        if message == 0 {
            return Weight::default();
        }
        let slot = self.position_of_first_from(message);
        let synthetic = self.synthetic_live.iter().filter(|id| self.positions[id] < slot);
        synthetic.fold(self.weights.prefix(slot), |sum, &id| sum - self.weight_of(id))
    }

    /// Size of an entry that is or was in the context, as it was last sent.
    ///
    /// # Panics
    ///
    /// If the id is of another context.
    pub fn weight_of(&self, id: EntryId) -> Weight {
        match id.ordinal() {
            Some(ordinal) => self.synthetic[ordinal].weight,
            None => match self.edits.get(&id.0) {
                Some(edit) => edit.weight,
                None => self.recorded_weight(id.0),
            },
        }
    }

    /// Size of a message as recorded, less what it lost since it came.
    pub(super) fn recorded_weight(&self, message: MessageIndex) -> Weight {
        let whole = self.recording.sizes.messages[message as usize];
        let lost = self.shrunk.get(&message).copied().unwrap_or(0);
        let tokens = whole.tokens - lost;
        Weight { tokens, tool_tokens: whole.tool_tokens.min(tokens), ..whole }
    }

    /// Tokens of tool output that has not been replaced, behind an entry.
    pub fn tool_tokens_after(&self, id: Option<EntryId>) -> u64 {
        let from = match id {
            None => 0,
            Some(id) => match (self.positions.get(&id), id.index()) {
                (Some(&at), _) => at + 1,
                (None, Some(index)) => self.position_of_first_from(index),
                (None, None) => 0,
            },
        };
        (self.total - self.weights.prefix(from)).tool_tokens
    }

    /// Number of messages that would be sent.
    pub fn message_count(&self) -> u32 {
        self.messages_weight().messages as u32
    }

    /// Position of the first stored recorded message with at least this index.
    pub(super) fn position_of_first_from(&self, index: MessageIndex) -> usize {
        let next = self.positions.range(EntryId(index)..EntryId(SYNTHETIC)).next();
        next.map_or_else(|| self.after_last_recorded(), |(_, &at)| at)
    }

    fn after_last_recorded(&self) -> usize {
        let last = self.positions.range(..EntryId(SYNTHETIC)).next_back();
        last.map_or(self.order.len(), |(_, &at)| at + 1)
    }
}
