//! Converts entries to blocks of the prompt.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::Context;
use super::ledger::MessageState;
use super::op::EntryId;
use recap_billing::prompt_cache::{Piece, Unit};
use recap_core::model::{Block, Role};

/// The hash of a block's content.
pub(super) fn hash(content: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    content.hash(&mut hasher);
    hasher.finish()
}

impl Context {
    /// The block of a slot; `None` if it is empty.
    pub(super) fn piece(&self, slot: usize) -> Option<Piece> {
        let id = self.order[slot];
        let sent = self.is_stored(id) && !self.is_hidden(id);
        sent.then(|| {
            let (content, parts, unit) = self.content(id);
            Piece { content, tokens: self.weight_of(id).tokens, parts, unit }
        })
    }

    /// Whether an entry that has a slot is still stored in it.
    fn is_stored(&self, id: EntryId) -> bool {
        match id.index() {
            Some(message) => self.fates[message as usize] == MessageState::Live,
            None => self.positions.contains_key(&id),
        }
    }

    /// The hash of an entry's content, the number of its content blocks, and its unit.
    fn content(&self, id: EntryId) -> (u64, u32, Unit) {
        let unit = |role| if role == Role::Assistant { Unit::Output } else { Unit::Input };
        if let Some(ordinal) = id.ordinal() {
            let entry = &self.synthetic[ordinal];
            return (hash(&(4u8, entry.role.as_str(), &entry.text)), 1, unit(entry.role));
        }
        let message = &self.recording.session.messages[id.0 as usize];
        let sendable = message.blocks.iter().filter(|b| !matches!(b, Block::Reasoning { .. }));
        let parts = sendable.count();
        match self.edits.get(&id.0) {
            None => {
                let lost = self.shrunk.get(&id.0);
                (hash(&(5u8, id.0, lost)), parts.max(1) as u32, unit(message.role))
            }
            Some(edit) => {
                let parts = parts.saturating_sub(edit.removed_blocks.len()).max(1);
                (hash(&(6u8, id.0, &edit.text)), parts as u32, unit(message.role))
            }
        }
    }
}
