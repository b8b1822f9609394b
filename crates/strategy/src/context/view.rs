//! Queries about a context: its entries, stored and sent, and their sizes.

use std::borrow::Cow;
use std::sync::Arc;

use super::entry::{Entry, EntryId, MessageState, edited_blocks};
use super::{AllHidden, Context, Recording, SentText};
use recap_core::model::{Block, Call, CallId, LedgerState, Message, MessageIndex};
use recap_core::tokens::Weight;

impl Context {
    /// An entry that is or was in the context, as it was last sent.
    pub fn entry(&self, id: EntryId) -> Option<Entry<'_>> {
        let text = self.text(id)?;
        let role = match id.ordinal() {
            Some(ordinal) => self.synthetic[ordinal].role,
            None => self.original(id)?.role,
        };
        Some(Entry { id, role, text, weight: self.weight_of(id), edited: self.is_edited(id) })
    }

    /// The text of such an entry.
    pub(crate) fn text(&self, id: EntryId) -> Option<&Arc<SentText>> {
        if let Some(ordinal) = id.ordinal() {
            return self.synthetic.get(ordinal).map(|entry| &entry.text);
        }
        self.original(id)?;
        Some(self.edits.get(&id.0).map_or_else(|| self.recording.text(id.0), |edit| &edit.text))
    }

    /// The recorded message of an entry, if it has been appended.
    pub fn original(&self, id: EntryId) -> Option<&Message> {
        id.index().filter(|&i| i < self.seen).map(|i| &self.recording.session.messages[i as usize])
    }

    /// The blocks of a live recorded message as they are sent, edits applied.
    pub fn blocks(&self, message: MessageIndex) -> Cow<'_, [Block]> {
        let source = &self.recording.session.messages[message as usize];
        match self.edits.get(&message) {
            Some(edit) => Cow::Owned(edited_blocks(source, edit)),
            None => Cow::Borrowed(&source.blocks),
        }
    }

    /// Every recorded message that was ever appended.
    pub fn seen(&self) -> impl DoubleEndedIterator<Item = EntryId> + use<> {
        (0..self.seen).map(EntryId)
    }

    /// How many recorded messages were ever appended.
    pub fn seen_count(&self) -> u32 {
        self.seen
    }

    /// The entries that are stored, in order, hidden ones included.
    pub fn stored(&self) -> impl DoubleEndedIterator<Item = EntryId> + '_ {
        self.slots.order().iter().copied().filter(|&id| self.contains(id))
    }

    /// The entries that would be sent now, in order. The cost depends on the
    /// visible entries, not on the hidden ones before them.
    pub fn visible(&self) -> impl DoubleEndedIterator<Item = EntryId> + '_ {
        let cut = self.cut();
        let entries =
            self.in_front(cut).into_iter().chain(self.slots.order()[cut..].iter().copied());
        entries.filter(|&id| self.contains(id) && !self.is_hidden(id))
    }

    /// Strategies' entries before the slot [`Context::cut`], in order.
    fn in_front(&self, cut: usize) -> Vec<EntryId> {
        let slots = self.synthetic_live.iter().filter_map(|id| Some((self.slots.of(*id)?, *id)));
        let mut slots: Vec<(usize, EntryId)> = slots.filter(|(slot, _)| *slot < cut).collect();
        slots.sort_unstable();
        slots.into_iter().map(|(_, id)| id).collect()
    }

    /// Slot before which every recorded message is hidden.
    pub(super) fn cut(&self) -> usize {
        match self.all_hidden.before {
            0 => 0,
            before => self.slots.first_from(before),
        }
    }

    /// Whether an entry is stored.
    pub fn contains(&self, id: EntryId) -> bool {
        match id.index() {
            Some(message) => self.fates.get(message as usize) == Some(&MessageState::Live),
            None => self.slots.of(id).is_some(),
        }
    }

    /// Whether an entry is left out of what is sent now.
    pub fn is_hidden(&self, id: EntryId) -> bool {
        self.all_hidden.covers(id)
    }

    /// What is left out of what is sent now.
    pub fn all_hidden(&self) -> &Arc<AllHidden> {
        &self.all_hidden
    }

    /// Indices of the user messages that open exchanges, all that were ever appended.
    pub fn exchanges(&self) -> &[MessageIndex] {
        &self.exchanges
    }

    /// The recorded messages that a synthetic entry stands for.
    pub fn covered_by(&self, id: EntryId) -> &[MessageIndex] {
        let Some(ordinal) = id.ordinal() else { return &[] };
        let entry = self.synthetic.get(ordinal);
        entry.map_or(&[], |entry| &self.covers[entry.cover as usize].messages)
    }

    /// The state of a recorded message, as sent now.
    pub fn state(&self, message: MessageIndex) -> LedgerState {
        match self.fates.get(message as usize) {
            None | Some(MessageState::Gone) => LedgerState::Gone,
            Some(MessageState::Folded(cover)) => {
                let cover = &self.covers[*cover as usize];
                let shown = cover.entries.iter().any(|&entry| !self.is_hidden(entry));
                if shown || cover.note.is_some() { LedgerState::Folded } else { LedgerState::Gone }
            }
            Some(MessageState::Live) if self.is_hidden(EntryId(message)) => LedgerState::Gone,
            Some(MessageState::Live) if self.edits.contains_key(&message) => LedgerState::Edited,
            Some(MessageState::Live) => LedgerState::Verbatim,
        }
    }

    /// The call that a tool result answers.
    pub fn call_of(&self, result: EntryId) -> Option<(CallId, &Call)> {
        let call = self.recording.call_of(result.index()?)?;
        Some((call, &self.recording.calls[call.0 as usize]))
    }

    /// Whether a call was removed from its message.
    pub fn is_call_removed(&self, call: &Call) -> bool {
        self.edits.get(&call.message).is_some_and(|edit| edit.removed_blocks.contains(&call.block))
    }

    /// Whether a recorded message was changed.
    pub fn is_edited(&self, id: EntryId) -> bool {
        id.index().is_some_and(|i| self.edits.contains_key(&i))
    }

    /// The notes in the preamble, by key.
    pub fn notes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.notes.iter().map(|(key, note)| (key.as_str(), note.text.as_str()))
    }

    /// The text that is sent before the entries: the current recorded preamble,
    /// then the notes.
    pub fn head(&self) -> String {
        if let Some((_, text)) = &self.other_preamble {
            return text.clone();
        }
        let preamble: &str = self.recording.preamble(self.next_preamble.checked_sub(1));
        let notes = self.notes().map(|(_, text)| text);
        let texts = std::iter::once(preamble).chain(notes).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// The recorded session that this is a context of. Mechanisms must look at
    /// the past only: use [`Context::original`].
    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Calls `each` with the id and text of every stored synthetic entry from
    /// an ordinal on and of every note of a later revision. Ids are distinct
    /// for every text of a context.
    pub fn each_written(&self, entries: u32, notes: u32, each: &mut dyn FnMut(u32, &str)) {
        let from = (entries as usize).min(self.synthetic.len());
        for (ordinal, entry) in self.synthetic.iter().enumerate().skip(from) {
            let id = EntryId::synthetic(ordinal);
            if self.contains(id) {
                each(id.0, &entry.text);
            }
        }
        for (&revision, key) in self.note_keys.range(notes + 1..) {
            // Ids in the lower half belong to recorded messages.
            each(revision, &self.notes[key].text);
        }
    }

    /// How many synthetic entries and texts of notes there ever were.
    pub fn written(&self) -> (u32, u32) {
        (self.synthetic.len() as u32, self.revisions)
    }

    /// The text with an id of [`Context::each_written`], while it is stored,
    /// and whether it is sent now.
    pub fn written_text(&self, id: u32) -> Option<(&str, bool)> {
        let entry = EntryId(id);
        match entry.ordinal() {
            Some(ordinal) if self.contains(entry) => {
                Some((&self.synthetic[ordinal].text, !self.is_hidden(entry)))
            }
            Some(_) => None,
            None => self.note_keys.get(&id).map(|key| (self.notes[key].text.as_str(), true)),
        }
    }

    /// The oldest recorded message that may be sent now; none before it is.
    pub fn oldest_sent(&self) -> MessageIndex {
        self.slots.next_stored(self.all_hidden.before).unwrap_or(self.seen)
    }

    /// Increases whenever an entry is edited or removed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Text of a recorded message that is sent edited.
    pub fn edited_text(&self, message: MessageIndex) -> Option<&str> {
        let edit = self.edits.get(&message)?;
        let sent = self.contains(EntryId(message)) && !self.is_hidden(EntryId(message));
        sent.then_some(&*edit.text)
    }

    /// Synthetic entries that were ever created.
    pub fn synthetic_count(&self) -> usize {
        self.synthetic.len()
    }

    /// Texts of the synthetic entries from an ordinal on.
    pub fn synthetic_texts(&self, from: usize) -> impl Iterator<Item = &str> {
        self.synthetic[from..].iter().map(|s| &**s.text)
    }
}

/// The size of a context and of its parts.
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
        let mut weight = self.total - self.recorded_weight_before(self.all_hidden.before);
        for &id in &self.all_hidden.by_name {
            weight -= self.weight_of(id);
        }
        weight
    }

    /// Size of the stored recorded messages with a smaller index.
    pub fn recorded_weight_before(&self, message: MessageIndex) -> Weight {
        if message == 0 {
            return Weight::default();
        }
        let slot = self.slots.first_from(message);
        let synthetic = self.synthetic_live.iter().filter(|id| self.slots.of(**id) < Some(slot));
        synthetic.fold(self.weights.prefix(slot), |sum, &id| sum - self.weight_of(id))
    }

    /// Size of what would be sent but for the recorded messages from this one on.
    pub fn weight_before(&self, message: MessageIndex) -> Weight {
        let before = self.preamble_weight() + self.recorded_weight_before(message);
        let whole = self.synthetic_live.iter().fold(before, |sum, &id| sum + self.weight_of(id));
        let named = self.all_hidden.by_name.iter();
        let named = named.filter(|id| id.index().is_none_or(|index| index < message));
        let hidden = message.min(self.all_hidden.before);
        let sent = whole - self.recorded_weight_before(hidden);
        named.fold(sent, |sum, &id| sum - self.weight_of(id))
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

    /// Tokens of tool output that has not been replaced, after an entry.
    pub fn tool_tokens_after(&self, id: Option<EntryId>) -> u64 {
        let from = match id {
            None => 0,
            Some(id) => match (self.slots.of(id), id.index()) {
                (Some(at), _) => at + 1,
                (None, Some(index)) => self.slots.first_from(index),
                (None, None) => 0,
            },
        };
        (self.total - self.weights.prefix(from)).tool_tokens
    }

    /// Number of messages that would be sent.
    pub fn message_count(&self) -> u32 {
        self.messages_weight().messages as u32
    }
}
