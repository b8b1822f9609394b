//! The slots of a context's entries, in order.

use super::EntryId;
use recap_core::model::MessageIndex;

/// The slot of an entry that is not stored.
const NONE: u32 = u32::MAX;

/// The slots of entries, in order. Recorded messages stand in the order of their indices; between
/// them stand synthetic entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// The entry of each slot; a removed one leaves an empty slot.
    order: Vec<EntryId>,
    /// For each slot the number of recorded messages up to the last one that has this slot or one
    /// before it.
    through: Vec<MessageIndex>,
    /// The slots of recorded messages, by index, and of synthetic entries, by number.
    recorded: Vec<u32>,
    synthetic: Vec<u32>,
    stored: usize,
    /// No recorded message before this one is stored.
    oldest: MessageIndex,
}

impl Slots {
    /// A slot for each of these entries.
    pub fn new(order: impl IntoIterator<Item = EntryId>) -> Self {
        let mut slots = Self::default();
        order.into_iter().for_each(|id| slots.push(id));
        slots.skip_removed();
        slots
    }

    /// The entries by slot, with those that were removed.
    pub fn order(&self) -> &[EntryId] {
        &self.order
    }

    /// Number of entries that are stored.
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// The slot of a stored entry.
    pub fn of(&self, id: EntryId) -> Option<usize> {
        let slot = match id.ordinal() {
            Some(ordinal) => self.synthetic.get(ordinal),
            None => self.recorded.get(id.0 as usize),
        };
        slot.filter(|&&slot| slot != NONE).map(|&slot| slot as usize)
    }

    fn slot(&mut self, id: EntryId) -> &mut u32 {
        let (slots, at) = match id.ordinal() {
            Some(ordinal) => (&mut self.synthetic, ordinal),
            None => (&mut self.recorded, id.0 as usize),
        };
        if at >= slots.len() {
            slots.resize(at + 1, NONE);
        }
        &mut slots[at]
    }

    /// Stores an entry behind all others.
    pub fn push(&mut self, id: EntryId) {
        *self.slot(id) = self.order.len() as u32;
        let before = self.through.last().copied().unwrap_or(0);
        self.through.push(id.index().map_or(before, |index| index + 1));
        self.order.push(id);
        self.stored += 1;
    }

    /// Removes a stored entry, and returns the slot that it had.
    pub fn remove(&mut self, id: EntryId) -> Option<usize> {
        let slot = self.of(id)?;
        *self.slot(id) = NONE;
        self.stored -= 1;
        self.skip_removed();
        Some(slot)
    }

    fn skip_removed(&mut self) {
        while self.recorded.get(self.oldest as usize) == Some(&NONE) {
            self.oldest += 1;
        }
    }

    /// A slot that divides the recorded messages before this one from the others.
    pub fn first_from(&self, message: MessageIndex) -> usize {
        self.through.partition_point(|&through| through <= message)
    }

    /// The first stored recorded message from this one on.
    pub fn next_stored(&self, message: MessageIndex) -> Option<MessageIndex> {
        let from = self.first_from(message.max(self.oldest));
        let mut later = self.order[from..].iter().filter_map(|id| id.index());
        later.find(|&index| self.of(EntryId(index)).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A summary, messages 1 to 3, a summary, and message 5.
    fn slots() -> Slots {
        let written = EntryId::synthetic;
        let [one, two, three, five] = [1, 2, 3, 5].map(EntryId);
        Slots::new([written(1), one, two, three, written(0), five])
    }

    #[test]
    fn removed_entries_leave_their_slots() {
        let mut slots = slots();
        assert_eq!(
            (slots.of(EntryId(3)), slots.of(EntryId(4)), slots.stored()),
            (Some(3), None, 6)
        );
        assert_eq!(slots.of(EntryId::synthetic(0)), Some(4));
        assert_eq!(slots.remove(EntryId(2)), Some(2));
        assert_eq!(slots.remove(EntryId(2)), None);
        assert_eq!((slots.of(EntryId(2)), slots.stored(), slots.order().len()), (None, 5, 6));
        slots.push(EntryId(6));
        assert_eq!((slots.of(EntryId(6)), slots.stored()), (Some(6), 6));
    }

    #[test]
    fn recorded_messages_are_found_between_removed_and_synthetic_ones() {
        let mut slots = slots();
        // The slots before the one that is found have the messages before.
        let first: Vec<usize> = (0..7).map(|message| slots.first_from(message)).collect();
        assert_eq!(first, [1, 1, 2, 3, 5, 5, 6]);
        let next = |slots: &Slots| (0..7).map(|message| slots.next_stored(message)).collect();
        let found: Vec<_> = next(&slots);
        assert_eq!(found, [Some(1), Some(1), Some(2), Some(3), Some(5), Some(5), None]);
        for gone in [1, 3] {
            slots.remove(EntryId(gone));
        }
        let found: Vec<_> = next(&slots);
        assert_eq!(found, [Some(2), Some(2), Some(2), Some(5), Some(5), Some(5), None]);
    }
}
