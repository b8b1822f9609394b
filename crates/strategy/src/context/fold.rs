//! Folding: entries are replaced by others that stand for them.

use std::collections::BTreeSet;

use super::Context;
use super::entry::Synthetic;
use super::ledger::{Cover, MessageState};
use super::op::{EntryId, InsertAt, OpError};
use recap_core::model::Role;
use recap_core::tokens::{Weight, WeightTree};

impl Context {
    /// Replaces `range` by `into`; returns the new entries.
    pub(super) fn fold(
        &mut self,
        range: Vec<EntryId>,
        into: Vec<(Role, String)>,
        at: InsertAt,
    ) -> Result<Vec<EntryId>, OpError> {
        if range.is_empty() || into.is_empty() {
            return Err(OpError::EmptyFold);
        }
        if let InsertAt::Note(key) = &at
            && !matches!(into.as_slice(), [(Role::System, _)])
        {
            return Err(OpError::NotANote(key.clone()));
        }
        let slots: Result<Vec<usize>, OpError> = range.iter().map(|&id| self.known(id)).collect();
        let first = slots?.into_iter().min().unwrap_or(0);
        let behind = if let InsertAt::Behind(id) = at { self.known(id)? + 1 } else { 0 };
        let cover = self.covers.len() as u32;
        self.covers.push(Cover::default());
        for &id in &range {
            self.settle(id, Some(cover));
        }
        let gone: BTreeSet<EntryId> = range.into_iter().collect();
        let new = match at {
            InsertAt::InPlace => self.insert_cover(&gone, into, cover, first),
            InsertAt::Behind(_) => self.insert_cover(&gone, into, cover, behind),
            InsertAt::Head => {
                let head = self.order.iter().take_while(|id| id.index().is_none()).count();
                self.insert_cover(&gone, into, cover, head)
            }
            InsertAt::Note(key) => {
                let text = into.into_iter().map(|(_, text)| text).collect();
                self.carry(key, text, cover);
                self.rebuild(&gone, None);
                Vec::new()
            }
        };
        for &id in &gone {
            self.forget(id);
        }
        Ok(new)
    }

    /// Removes entries and inserts new ones with a cover before a slot.
    fn insert_cover(
        &mut self,
        gone: &BTreeSet<EntryId>,
        into: Vec<(Role, String)>,
        cover: u32,
        anchor: usize,
    ) -> Vec<EntryId> {
        let new: Vec<EntryId> =
            into.into_iter().map(|(role, text)| self.create(role, text, cover)).collect();
        self.covers[cover as usize].entries.clone_from(&new);
        let stays = |id: &&EntryId| !gone.contains(id) && self.positions.contains_key(id);
        let before_anchor = self.order[..anchor].iter().filter(stays).count();
        self.rebuild(gone, Some((before_anchor, &new)));
        new
    }

    /// Makes a note the carrier of a cover, in addition to what it already stands for.
    fn carry(&mut self, key: String, text: String, cover: u32) {
        if let Some(own) = self.notes.get(&key).and_then(|note| note.cover) {
            let union = std::mem::take(&mut self.covers[own as usize].messages);
            self.covers[own as usize].note = None;
            for &message in &union {
                self.fates[message as usize] = MessageState::Folded(cover);
            }
            self.covers[cover as usize].messages.extend(union);
        }
        self.covers[cover as usize].note = Some(key.clone());
        self.note(key, Some(text), Some(cover));
    }

    fn create(&mut self, role: Role, text: String, cover: u32) -> EntryId {
        let id = EntryId::synthetic(self.synthetic.len());
        let weight = Weight::of_text(role.as_str(), &text, &self.recording.counter);
        self.synthetic.push(Synthetic { role, text, weight, cover });
        id
    }

    /// Records the new state of a removed entry: covered, or gone.
    pub(super) fn settle(&mut self, id: EntryId, by: Option<u32>) {
        self.changes += 1;
        if let Some(index) = id.index() {
            self.fates[index as usize] = by.map_or(MessageState::Gone, MessageState::Folded);
            if let Some(cover) = by {
                self.covers[cover as usize].messages.push(index);
            }
            self.touched.push(index);
            return;
        }
        let ordinal = id.ordinal().expect("an entry is recorded or synthetic");
        let own = self.synthetic[ordinal].cover;
        if self.hidden.values().any(|hidden| !hidden.also.is_empty()) {
            // Messages covered by a hidden entry were gone, and may be covered again.
            self.touched.extend_from_slice(&self.covers[own as usize].messages);
        }
        self.covers[own as usize].entries.retain(|&entry| entry != id);
        if let Some(cover) = by {
            let union = std::mem::take(&mut self.covers[own as usize].messages);
            for &message in &union {
                self.fates[message as usize] = MessageState::Folded(cover);
            }
            self.covers[cover as usize].messages.extend(union);
        } else if self.covers[own as usize].entries.is_empty() {
            let union = std::mem::take(&mut self.covers[own as usize].messages);
            for &message in &union {
                self.fates[message as usize] = MessageState::Gone;
            }
            self.touched.extend(union);
        }
    }

    /// Drops empty slots and the entries in `gone`, inserts entries at a slot
    /// of the rest, and recomputes the sums.
    pub(super) fn rebuild(
        &mut self,
        gone: &BTreeSet<EntryId>,
        insert: Option<(usize, &[EntryId])>,
    ) {
        let positions = std::mem::take(&mut self.positions);
        let leaves = |id: &EntryId| gone.contains(id) || !positions.contains_key(id);
        self.stale.all = true;
        self.order.retain(|id| !leaves(id));
        if let Some((at, new)) = insert {
            self.order.splice(at..at, new.iter().copied());
        }
        self.positions = self.order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        self.synthetic_live =
            self.order.iter().copied().filter(|id| id.index().is_none()).collect();
        self.weights = WeightTree::new(self.order.iter().map(|&id| self.weight_of(id)));
        self.total = self.weights.prefix(self.order.len());
    }
}
