//! Changes of a context, except folds.

use std::collections::BTreeSet;

use super::entry::{Edit, Note, edited_blocks};
use super::ledger::{Hidden, MessageState};
use super::op::{EntryId, Op, OpError};
use super::{Applied, Context};
use recap_core::model::{CallId, MessageIndex, sent};
use recap_core::tokens::{Shrink, Weight};

impl Context {
    /// Applies a change, and returns the entries that it creates.
    pub fn apply(&mut self, op: Op) -> Result<Vec<EntryId>, OpError> {
        let logged = self.log.is_some().then(|| op.clone());
        let made = self.perform(op)?;
        if let (Some(log), Some(op)) = (&mut self.log, logged) {
            log.push(Applied { op, made: made.clone() });
        }
        Ok(made)
    }

    pub(super) fn perform(&mut self, op: Op) -> Result<Vec<EntryId>, OpError> {
        match op {
            Op::Hide { before, except, also } => self.hide(before, except, also),
            Op::EditResult(call, text) => self.edit_result(call, text),
            Op::Rewrite(message, text) => self.rewrite(message, text),
            Op::Preamble(text) => {
                let weigh = |text: &String| Weight {
                    messages: 0,
                    ..Weight::of_text("system", text, &self.recording.counter)
                };
                self.other_preamble = text.map(|text| (weigh(&text), text));
                self.preamble_changes += 1;
                Ok(Vec::new())
            }
            Op::RemoveCall(call) => self.remove_call(call),
            Op::Evict(ids) => self.evict(ids),
            Op::Recall(messages) => self.recall(messages),
            Op::Fold { range, into, at } => self.fold(range, into, at),
            Op::Note { key, text } => {
                self.note(key, text, None);
                Ok(Vec::new())
            }
        }
    }

    /// The slot of a stored entry.
    pub(super) fn known(&self, id: EntryId) -> Result<usize, OpError> {
        self.positions.get(&id).copied().ok_or(OpError::UnknownEntry(id))
    }

    fn hide(
        &mut self,
        before: MessageIndex,
        except: Vec<EntryId>,
        also: Vec<EntryId>,
    ) -> Result<Vec<EntryId>, OpError> {
        for &id in except.iter().chain(&also) {
            self.known(id)?;
        }
        let is_before = |id: &EntryId| id.index().is_some_and(|i| i < before);
        let except = except.into_iter().filter(is_before).collect();
        let also = also.into_iter().filter(|id| !is_before(id)).collect();
        self.hidden.insert(self.stage, Hidden { before, except, also });
        Ok(Vec::new())
    }

    fn edit_result(&mut self, call: CallId, text: String) -> Result<Vec<EntryId>, OpError> {
        let result = (self.recording.calls.get(call.0 as usize))
            .and_then(|c| c.result)
            .filter(|&r| r < self.seen && self.positions.contains_key(&EntryId(r)))
            .ok_or(OpError::UnknownCall(call))?;
        self.edit(result, |edit| edit.result = Some(text));
        Ok(Vec::new())
    }

    /// Sends a recorded message with another text, or as recorded again. Its size differs from the
    /// recorded one by what the texts differ: where a provider counted less than the text alone
    /// has, in proportion, and what came with it unseen stays.
    fn rewrite(
        &mut self,
        message: MessageIndex,
        text: Option<String>,
    ) -> Result<Vec<EntryId>, OpError> {
        let id = EntryId(message);
        let slot = self.known(id)?;
        let old = self.weight_of(id);
        let Some(text) = text else {
            if self.edits.remove(&message).is_some() {
                self.resized(message, slot, old);
            }
            return Ok(Vec::new());
        };
        let source = &self.recording.session.messages[message as usize];
        let counter = &self.recording.counter;
        let (recorded, counted) = (self.recorded_weight(message), counter.count(&source.sent()));
        let new = Weight::of_text(source.role.as_str(), &text, counter);
        let tokens = match counted.checked_sub(new.tokens) {
            Some(less) if recorded.tokens < counted => {
                let share = u128::from(less) * u128::from(recorded.tokens) / u128::from(counted);
                recorded.tokens - share as u64
            }
            Some(less) => recorded.tokens - less,
            None => recorded.tokens + (new.tokens - counted),
        };
        let tool_tokens = if recorded.tool_tokens > 0 { new.tokens.min(tokens) } else { 0 };
        let edit = Edit {
            weight: Weight { tokens, tool_tokens, ..new },
            removed_blocks: BTreeSet::new(),
            result: None,
            whole: Some(text.clone()),
            text,
        };
        self.edits.insert(message, edit);
        self.resized(message, slot, old);
        Ok(Vec::new())
    }

    /// Takes over the new size of a message.
    fn resized(&mut self, message: MessageIndex, slot: usize, old: Weight) {
        let new = self.weight_of(EntryId(message));
        self.stale.slots.push(slot);
        self.weights.change(slot, old, new);
        self.total = self.total + new - old;
        self.touched.push(message);
        self.changes += 1;
    }

    /// Sets the entries behind which the next request has cache breakpoints, in the place of those
    /// that the strategy plans; `None`: these. An entry that is not sent stands for the one before.
    pub(crate) fn set_breakpoints(&mut self, at: Option<Vec<Option<EntryId>>>) {
        self.breakpoints = at;
    }

    fn remove_call(&mut self, call: CallId) -> Result<Vec<EntryId>, OpError> {
        let known = self.recording.calls.get(call.0 as usize).ok_or(OpError::UnknownCall(call))?;
        let (message, block, result) = (known.message, known.block, known.result);
        self.known(EntryId(message)).map_err(|_| OpError::UnknownCall(call))?;
        self.edit(message, |edit| {
            edit.removed_blocks.insert(block);
        });
        let mut emptied: Vec<EntryId> = Vec::new();
        if self.edits[&message].text.is_empty() {
            emptied.push(EntryId(message));
        }
        let result = result.map(EntryId).filter(|r| self.positions.contains_key(r));
        emptied.extend(result);
        if emptied.is_empty() { Ok(Vec::new()) } else { self.evict(emptied) }
    }

    /// Rewrites a recorded message that is in the context. The rest of it keeps
    /// its position.
    fn edit(&mut self, message: MessageIndex, change: impl FnOnce(&mut Edit)) {
        let old = self.weight_of(EntryId(message));
        let mut edit = self.edits.remove(&message).unwrap_or_else(|| Edit {
            text: String::new(),
            weight: Weight::default(),
            removed_blocks: BTreeSet::new(),
            result: None,
            whole: None,
        });
        change(&mut edit);
        let source = &self.recording.session.messages[message as usize];
        let blocks = edited_blocks(source, &edit);
        edit.text = sent(&blocks);
        edit.weight = Weight::of_text(source.role.as_str(), &edit.text, &self.recording.counter);
        let position = self.positions[&EntryId(message)];
        self.stale.slots.push(position);
        self.weights.change(position, old, edit.weight);
        self.total = self.total + edit.weight - old;
        self.edits.insert(message, edit);
        self.touched.push(message);
        self.changes += 1;
    }

    /// Sends a recorded message with fewer tokens from now on. One that is not
    /// sent as recorded keeps the size of its own text.
    pub(super) fn shrink(&mut self, shrink: &Shrink) {
        let id = EntryId(shrink.message);
        let old = self.weight_of(id);
        *self.shrunk.entry(shrink.message).or_default() += shrink.tokens;
        let new = self.weight_of(id);
        if let Some(&position) = self.positions.get(&id) {
            self.stale.slots.push(position);
            self.weights.change(position, old, new);
            self.total = self.total + new - old;
            self.changes += 1;
        }
    }

    /// Gives the entries of a summary the size that the provider counted for
    /// all of them, in proportion to their texts.
    pub(crate) fn size_written(&mut self, entries: &[EntryId], tokens: u64) {
        let all: u64 = entries.iter().map(|&id| self.weight_of(id).tokens).sum();
        let mut left = tokens;
        for (at, &id) in entries.iter().enumerate() {
            let old = self.weight_of(id);
            let share = u128::from(tokens) * u128::from(old.tokens) / u128::from(all.max(1));
            let share = if at + 1 == entries.len() { left } else { share as u64 };
            left -= share;
            let (Some(ordinal), Some(&slot)) = (id.ordinal(), self.positions.get(&id)) else {
                continue;
            };
            let new = Weight { tokens: share, ..old };
            self.synthetic[ordinal].weight = new;
            self.stale.slots.push(slot);
            self.weights.change(slot, old, new);
            self.total = self.total + new - old;
        }
    }

    fn evict(&mut self, ids: Vec<EntryId>) -> Result<Vec<EntryId>, OpError> {
        for &id in &ids {
            self.known(id)?;
        }
        for &id in &ids {
            self.settle(id, None);
            let weight = self.weight_of(id);
            if let Some(slot) = self.positions.remove(&id) {
                self.stale.slots.push(slot);
                self.weights.change(slot, weight, Weight::default());
                self.total -= weight;
            }
            self.forget(id);
            self.synthetic_live.retain(|&entry| entry != id);
        }
        if self.positions.len() * 2 < self.order.len() {
            self.rebuild(&BTreeSet::new(), None);
        }
        Ok(Vec::new())
    }

    /// Drops the references to an entry that was removed.
    pub(super) fn forget(&mut self, id: EntryId) {
        for hidden in self.hidden.values_mut() {
            hidden.also.remove(&id);
            hidden.except.remove(&id);
        }
    }

    /// Sets or removes a note, and what it stands for.
    pub(super) fn note(&mut self, key: String, text: Option<String>, cover: Option<u32>) {
        self.preamble_changes += 1;
        let old = match text {
            Some(text) => {
                let weight = Weight::of_text("system", &text, &self.recording.counter);
                self.notes_total += weight;
                self.revisions += 1;
                self.note_keys.insert(self.revisions, key.clone());
                self.notes.insert(key, Note { revision: self.revisions, text, weight, cover })
            }
            None => self.notes.remove(&key),
        };
        let Some(old) = old else {
            return;
        };
        self.notes_total -= old.weight;
        self.note_keys.remove(&old.revision);
        // What only the old text stood for is lost with it; a fold has moved it already.
        if let Some(own) = old.cover {
            self.covers[own as usize].note = None;
            let union = std::mem::take(&mut self.covers[own as usize].messages);
            for &message in &union {
                self.fates[message as usize] = MessageState::Gone;
            }
            self.touched.extend(union);
        }
    }

    /// Recorded messages whose stored state changed since the last call.
    pub fn take_touched(&mut self) -> Vec<MessageIndex> {
        std::mem::take(&mut self.touched)
    }
}
