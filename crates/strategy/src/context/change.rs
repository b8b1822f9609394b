//! Changes of a context.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::entry::{
    AllHidden, Cover, Edit, EntryId, Hidden, InsertAt, MessageState, Note, Op, OpError, Synthetic,
    ascending, edited_blocks,
};
use super::slots::Slots;
use super::{Context, SentText};
use recap_core::model::{CallId, MessageIndex, Role, sent};
use recap_core::tokens::{Shrink, Weight, WeightTree};

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

    fn perform(&mut self, op: Op) -> Result<Vec<EntryId>, OpError> {
        match op {
            Op::Recall(messages) => return self.recall(messages),
            Op::Fold { range, into, at } => return self.fold(range, into, at),
            Op::Hide { before, also } => self.hide(before, also)?,
            Op::EditResult(call, text) => self.edit_result(call, text)?,
            Op::Rewrite(message, text) => self.rewrite(message, text)?,
            Op::Preamble(text) => {
                let weigh = |text: &String| Weight {
                    messages: 0,
                    ..Weight::of_text("system", text, &self.recording.counter)
                };
                self.other_preamble = text.map(|text| (weigh(&text), text));
                self.preamble_changes += 1;
            }
            Op::RemoveCall(call) => self.remove_call(call)?,
            Op::Evict(ids) => self.evict(ids)?,
            Op::Note { key, text } => self.note(key, text, None),
        }
        Ok(Vec::new())
    }

    /// The slot of a stored entry.
    pub(super) fn known(&self, id: EntryId) -> Result<usize, OpError> {
        self.slots.of(id).ok_or(OpError::UnknownEntry(id))
    }

    fn hide(&mut self, before: MessageIndex, mut also: Vec<EntryId>) -> Result<(), OpError> {
        for &id in &also {
            self.known(id)?;
        }
        also.retain(|id| id.index().is_none_or(|index| index >= before));
        self.hidden.insert(self.stage, Hidden { before, also: ascending(also) });
        self.all_hidden = Arc::new(AllHidden::by(&self.hidden));
        Ok(())
    }

    fn edit_result(&mut self, call: CallId, text: String) -> Result<(), OpError> {
        let result = (self.recording.calls.get(call.0 as usize))
            .and_then(|c| c.result)
            .filter(|&r| r < self.seen && self.slots.of(EntryId(r)).is_some())
            .ok_or(OpError::UnknownCall(call))?;
        self.edit(result, |edit| edit.result = Some(text));
        Ok(())
    }

    /// Sends a recorded message with another text, or as recorded again. Its size differs from the
    /// recorded one by what the texts differ: where a provider counted less than the text alone
    /// has, in proportion, and what came with it unseen stays.
    fn rewrite(&mut self, message: MessageIndex, text: Option<String>) -> Result<(), OpError> {
        let id = EntryId(message);
        let slot = self.known(id)?;
        let old = self.weight_of(id);
        let Some(text) = text else {
            if self.edits.remove(&message).is_some() {
                self.resized(message, slot, old);
            }
            return Ok(());
        };
        let source = &self.recording.session.messages[message as usize];
        let counter = &self.recording.counter;
        let recorded = self.recorded_weight(message);
        let counted = counter.count(self.recording.text(message));
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
            text: SentText::new(text),
            weight: Weight { tokens, tool_tokens, ..new },
            whole: true,
            ..Edit::default()
        };
        self.edits.insert(message, edit);
        self.resized(message, slot, old);
        Ok(())
    }

    /// Takes over the new size of a message.
    fn resized(&mut self, message: MessageIndex, slot: usize, old: Weight) {
        self.reweigh(slot, old, self.weight_of(EntryId(message)));
        self.touched.push(message);
        self.changes += 1;
    }

    /// Takes over the new size of what is in a slot.
    fn reweigh(&mut self, slot: usize, old: Weight, new: Weight) {
        self.stale.slots.push(slot);
        self.weights.change(slot, old, new);
        self.total = self.total + new - old;
    }

    /// Sets the entries after which the next request has cache breakpoints, in the place of those
    /// that the strategy plans; `None`: these. An entry that is not sent stands for the one before.
    pub(crate) fn set_breakpoints(&mut self, at: Option<Vec<Option<EntryId>>>) {
        self.breakpoints = at;
    }

    fn remove_call(&mut self, call: CallId) -> Result<(), OpError> {
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
        let result = result.map(EntryId).filter(|&r| self.slots.of(r).is_some());
        emptied.extend(result);
        self.evict(emptied)
    }

    /// Rewrites a recorded message that is in the context. The rest of it keeps
    /// its position.
    fn edit(&mut self, message: MessageIndex, change: impl FnOnce(&mut Edit)) {
        let old = self.weight_of(EntryId(message));
        let mut edit = self.edits.remove(&message).unwrap_or_default();
        change(&mut edit);
        let source = &self.recording.session.messages[message as usize];
        let blocks = edited_blocks(source, &edit);
        edit.text = SentText::new(sent(&blocks));
        edit.weight = Weight::of_text(source.role.as_str(), &edit.text, &self.recording.counter);
        self.edits.insert(message, edit);
        let slot = self.slots.of(EntryId(message)).expect("a message that is edited is stored");
        self.resized(message, slot, old);
    }

    /// Sends a recorded message with fewer tokens from now on. One that is not
    /// sent as recorded keeps the size of its own text.
    pub(super) fn shrink(&mut self, shrink: &Shrink) {
        let id = EntryId(shrink.message);
        let old = self.weight_of(id);
        *self.shrunk.entry(shrink.message).or_default() += shrink.tokens;
        let new = self.weight_of(id);
        if let Some(slot) = self.slots.of(id) {
            self.reweigh(slot, old, new);
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
            let (Some(ordinal), Some(slot)) = (id.ordinal(), self.slots.of(id)) else {
                continue;
            };
            let new = Weight { tokens: share, ..old };
            self.synthetic[ordinal].weight = new;
            self.reweigh(slot, old, new);
        }
    }

    fn evict(&mut self, ids: Vec<EntryId>) -> Result<(), OpError> {
        for &id in &ids {
            self.known(id)?;
        }
        for &id in &ids {
            self.settle(id, None);
            let weight = self.weight_of(id);
            if let Some(slot) = self.slots.remove(id) {
                self.reweigh(slot, weight, Weight::default());
            }
            self.synthetic_live.retain(|&entry| entry != id);
        }
        self.forget(&ids.into_iter().collect());
        if self.slots.stored() * 2 < self.slots.order().len() {
            self.rebuild(&BTreeSet::new(), None);
        }
        Ok(())
    }

    /// Drops the references to entries that were removed.
    fn forget(&mut self, gone: &BTreeSet<EntryId>) {
        for hidden in self.hidden.values_mut() {
            hidden.also.retain(|id| !gone.contains(id));
        }
        if !self.hidden.is_empty() {
            self.all_hidden = Arc::new(AllHidden::by(&self.hidden));
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
            self.pass_on(own, None);
        }
    }

    /// Lets another cover stand for what one stood for; `None`: nothing does.
    fn pass_on(&mut self, from: u32, to: Option<u32>) {
        let union = std::mem::take(&mut self.covers[from as usize].messages);
        for &message in &union {
            self.fates[message as usize] = to.map_or(MessageState::Gone, MessageState::Folded);
        }
        match to {
            Some(to) => self.covers[to as usize].messages.extend(union),
            None => self.touched.extend(union),
        }
    }

    /// Recorded messages whose stored state changed since the last call.
    pub fn take_touched(&mut self) -> Vec<MessageIndex> {
        std::mem::take(&mut self.touched)
    }
}

/// Folding: entries are replaced by others that stand for them.
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
        let slots = range.iter().map(|&id| self.known(id)).collect::<Result<Vec<_>, _>>()?;
        let anchor = match &at {
            InsertAt::InPlace => slots.into_iter().min().unwrap_or(0),
            InsertAt::Behind(id) => self.known(*id)? + 1,
            InsertAt::Head => {
                self.slots.order().iter().take_while(|id| id.index().is_none()).count()
            }
            InsertAt::Note(_) if matches!(into.as_slice(), [(Role::System, _)]) => 0,
            InsertAt::Note(key) => return Err(OpError::NotANote(key.clone())),
        };
        let cover = self.covers.len() as u32;
        self.covers.push(Cover::default());
        for &id in &range {
            self.settle(id, Some(cover));
        }
        let gone: BTreeSet<EntryId> = range.into_iter().collect();
        let new = match at {
            InsertAt::InPlace | InsertAt::Behind(_) | InsertAt::Head => {
                self.insert_cover(&gone, into, cover, anchor)
            }
            InsertAt::Note(key) => {
                let text = into.into_iter().map(|(_, text)| text).collect();
                self.carry(key, text, cover);
                self.rebuild(&gone, None);
                Vec::new()
            }
        };
        self.forget(&gone);
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
        let stays = |id: &&EntryId| !gone.contains(id) && self.slots.of(**id).is_some();
        let before_anchor = self.slots.order()[..anchor].iter().filter(stays).count();
        self.rebuild(gone, Some((before_anchor, &new)));
        new
    }

    /// Makes a note the carrier of a cover, in addition to what it already stands for.
    fn carry(&mut self, key: String, text: String, cover: u32) {
        if let Some(own) = self.notes.get(&key).and_then(|note| note.cover) {
            self.covers[own as usize].note = None;
            self.pass_on(own, Some(cover));
        }
        self.covers[cover as usize].note = Some(key.clone());
        self.note(key, Some(text), Some(cover));
    }

    fn create(&mut self, role: Role, text: String, cover: u32) -> EntryId {
        let id = EntryId::synthetic(self.synthetic.len());
        let weight = Weight::of_text(role.as_str(), &text, &self.recording.counter);
        self.synthetic.push(Synthetic { role, text: SentText::new(text), weight, cover });
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
        if by.is_some() || self.covers[own as usize].entries.is_empty() {
            self.pass_on(own, by);
        }
    }

    /// Drops empty slots and the entries in `gone`, inserts entries at a slot
    /// of the rest, and recomputes the sums.
    pub(super) fn rebuild(
        &mut self,
        gone: &BTreeSet<EntryId>,
        insert: Option<(usize, &[EntryId])>,
    ) {
        let stays = |id: &EntryId| !gone.contains(id) && self.slots.of(*id).is_some();
        let mut order: Vec<EntryId> = self.slots.order().iter().copied().filter(stays).collect();
        if let Some((at, new)) = insert {
            order.splice(at..at, new.iter().copied());
        }
        self.synthetic_live = order.iter().copied().filter(|id| id.index().is_none()).collect();
        self.weights = WeightTree::new(order.iter().map(|&id| self.weight_of(id)));
        self.total = self.weights.prefix(order.len());
        self.slots = Slots::new(order);
        self.stale.all = true;
    }
}

/// Restores recorded messages when an abandoned session is reopened.
impl Context {
    /// Stores recorded messages again, as they were last sent. Summaries that
    /// covered them stay, and stand for what else they covered.
    fn recall(&mut self, messages: Vec<MessageIndex>) -> Result<Vec<EntryId>, OpError> {
        if let Some(&unseen) = messages.iter().find(|&&message| message >= self.seen) {
            return Err(OpError::UnknownEntry(EntryId(unseen)));
        }
        let is_out = |message: &MessageIndex| self.fates[*message as usize] != MessageState::Live;
        let back: BTreeSet<MessageIndex> = messages.into_iter().filter(is_out).collect();
        if back.is_empty() {
            return Ok(Vec::new());
        }
        self.uncover(&back);
        self.merge(&back);
        for &message in &back {
            self.fates[message as usize] = MessageState::Live;
            self.changes += 1;
        }
        self.touched.extend(&back);
        Ok(back.into_iter().map(EntryId).collect())
    }

    /// Removes messages from the covers that stand for them.
    fn uncover(&mut self, back: &BTreeSet<MessageIndex>) {
        let folded = back.iter().filter_map(|&message| match self.fates[message as usize] {
            MessageState::Folded(cover) => Some(cover),
            MessageState::Live | MessageState::Gone => None,
        });
        for cover in folded.collect::<BTreeSet<u32>>() {
            self.covers[cover as usize].messages.retain(|message| !back.contains(message));
        }
    }

    /// Inserts recorded messages before the first stored one that came after them.
    fn merge(&mut self, back: &BTreeSet<MessageIndex>) {
        let mut waiting = back.iter().copied().peekable();
        let mut order = Vec::with_capacity(self.slots.stored() + back.len());
        for id in self.stored() {
            if let Some(index) = id.index() {
                while let Some(earlier) = waiting.next_if(|&message| message < index) {
                    order.push(EntryId(earlier));
                }
            }
            order.push(id);
        }
        order.extend(waiting.map(EntryId));
        self.slots = Slots::new(order);
        self.rebuild(&BTreeSet::new(), None);
    }
}

// Background work: changes of a copy are applied to the original later, as far
// as they still apply (how-it-works §25).

/// An operation on the copy, with the entries that it created there.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    pub(super) op: Op,
    pub(super) made: Vec<EntryId>,
}

impl Context {
    /// A copy that logs its changes.
    pub fn fork(&self) -> Self {
        Self { log: Some(Vec::new()), ..self.clone() }
    }

    /// The stored entries that were written into the context after so many.
    pub fn written_since(&self, count: usize) -> Vec<EntryId> {
        self.stored().filter(|id| id.ordinal().is_some_and(|at| at >= count)).collect()
    }

    /// The logged changes of a copy.
    pub fn into_log(self) -> Vec<Applied> {
        self.log.unwrap_or_default()
    }

    /// Applies the changes of a copy. Those about entries that were removed
    /// meanwhile are dropped.
    pub fn apply_log(&mut self, log: Vec<Applied>) {
        let mut here: BTreeMap<EntryId, EntryId> = BTreeMap::new();
        for Applied { op, made } in log {
            let Some(op) = self.applicable(op, &here) else { continue };
            // An operation that is refused now is about entries that were
            // removed meanwhile.
            if let Ok(now) = self.perform(op) {
                here.extend(made.into_iter().zip(now));
            }
        }
    }

    /// The part of an operation that still applies, with the ids that its
    /// entries have here.
    fn applicable(&self, op: Op, here: &BTreeMap<EntryId, EntryId>) -> Option<Op> {
        let named = |id: EntryId| here.get(&id).copied().unwrap_or(id);
        let left = |ids: Vec<EntryId>| {
            let left: Vec<EntryId> =
                ids.into_iter().map(named).filter(|&id| self.contains(id)).collect();
            (!left.is_empty()).then_some(left)
        };
        Some(match op {
            Op::Evict(ids) => Op::Evict(left(ids)?),
            Op::Fold { range, into, at: InsertAt::Behind(id) } => {
                let anchor = Some(named(id)).filter(|&id| self.contains(id));
                let at = anchor.map_or(InsertAt::InPlace, InsertAt::Behind);
                Op::Fold { range: left(range)?, into, at }
            }
            Op::Fold { range, into, at } => Op::Fold { range: left(range)?, into, at },
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::entry::{InsertAt, Op};
    use crate::testkit::{Rig, Scripted, Talk};
    use recap_core::model::{CallId, Role};

    /// With so many of its five messages there.
    fn rig(there: u32) -> Rig {
        let talk = Talk::new("sys")
            .user("zero")
            .calls(&[("c1", "read", serde_json::json!({}))])
            .result("c1", "two")
            .user("three")
            .assistant("four");
        let mut rig = Rig::new("full", &[], 100_000, talk, Arc::new(Scripted::default()));
        rig.feed(there);
        rig
    }

    fn ids(messages: impl IntoIterator<Item = u32>) -> Vec<EntryId> {
        messages.into_iter().map(EntryId::message).collect()
    }

    fn texts(rig: &Rig) -> Vec<String> {
        rig.sent().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn recalled_messages_return_in_place_as_last_sent() {
        let mut rig = rig(5);
        let before = rig.context.weight();
        rig.context.apply(Op::EditResult(CallId(0), "read".to_owned())).unwrap();
        let edited = rig.context.weight();
        rig.context.apply(Op::Evict(ids(0..4))).unwrap();
        assert_eq!(rig.ledger(), "----v");
        let back = rig.context.apply(Op::Recall(vec![2, 1, 4])).unwrap();
        assert_eq!(back, ids([1, 2]), "the last is there already");
        assert_eq!(rig.ledger(), "-ve-v");
        rig.context.apply(Op::Recall(vec![0, 3])).unwrap();
        assert_eq!(rig.ledger(), "vvevv");
        assert_eq!(rig.context.visible().collect::<Vec<_>>(), ids(0..5));
        assert!(rig.context.weight() == edited && edited != before);
    }

    #[test]
    fn recalled_messages_leave_summary_for_the_rest() {
        let mut rig = rig(5);
        let into = vec![(Role::User, "summary".to_owned())];
        rig.context.apply(Op::Fold { range: ids(0..4), into, at: InsertAt::Head }).unwrap();
        rig.context.apply(Op::Recall(vec![0, 3])).unwrap();
        assert_eq!(texts(&rig), ["summary", "zero", "three", "four"]);
        assert_eq!(rig.ledger(), "vffvv");
        let summary = rig.context.stored().next().unwrap();
        rig.context.apply(Op::Evict(vec![summary])).unwrap();
        assert_eq!(rig.ledger(), "v--vv");
    }

    #[test]
    fn what_has_not_come_yet_cannot_come_back() {
        let mut rig = rig(5);
        let refused = rig.context.apply(Op::Recall(vec![0, 5]));
        assert_eq!(refused, Err(OpError::UnknownEntry(EntryId::message(5))));
    }

    #[test]
    fn a_copy_may_call_back_what_it_folds() {
        let mut rig = rig(5);
        rig.context.apply(Op::Evict(ids(0..3))).unwrap();
        let mut copy = rig.context.fork();
        copy.apply(Op::Recall(vec![0, 1, 2])).unwrap();
        let into = vec![(Role::User, "summary".to_owned())];
        copy.apply(Op::Fold { range: ids(0..3), into, at: InsertAt::Head }).unwrap();
        rig.context.apply_log(copy.into_log());
        assert_eq!((texts(&rig), rig.ledger()), (texts(&rig), "fffvv".to_owned()));
        assert_eq!(texts(&rig), ["summary", "three", "four"]);
    }

    #[test]
    fn each_message_that_comes_back_is_a_change() {
        let mut rig = rig(5);
        rig.context.apply(Op::Evict(ids(0..4))).unwrap();
        let before = rig.context.changes();
        rig.context.apply(Op::Recall(vec![0, 3])).unwrap();
        assert_eq!(rig.context.changes(), before + 2);
        rig.context.apply(Op::Recall(vec![0, 4])).unwrap();
        assert_eq!(rig.context.changes(), before + 2, "both are there already");
    }

    // What is changed in a copy while the context goes on.

    fn id(index: u32) -> EntryId {
        EntryId::message(index)
    }

    fn fold(ids: &[u32], text: &str) -> Op {
        let range = ids.iter().map(|&i| id(i)).collect();
        Op::Fold { range, into: vec![(Role::User, text.to_owned())], at: InsertAt::Head }
    }

    #[test]
    fn copy_changes_apply_later_and_newer_messages_stay() {
        let mut rig = rig(4);
        let mut copy = rig.context.fork();
        copy.apply(fold(&[0, 1, 2], "sum")).unwrap();
        rig.feed(1);
        assert_eq!(rig.ledger(), "vvvvv", "nothing is done yet");
        rig.context.apply_log(copy.into_log());
        assert_eq!(rig.ledger(), "fffvv");
        assert_eq!(texts(&rig), ["sum", "three", "four"]);
    }

    #[test]
    fn fold_omits_removed_entries_and_empty_is_dropped() {
        let mut rig = rig(4);
        let mut copy = rig.context.fork();
        copy.apply(fold(&[0, 3], "sum")).unwrap();
        copy.apply(fold(&[1, 2], "calls")).unwrap();
        rig.context.apply(Op::Evict(vec![id(1), id(2), id(3)])).unwrap();
        rig.context.apply_log(copy.into_log());
        assert_eq!(rig.ledger(), "f---");
        assert_eq!(rig.sent().len(), 1);
    }

    #[test]
    fn edit_of_a_result_removed_meanwhile_is_dropped() {
        let mut rig = rig(4);
        let mut copy = rig.context.fork();
        copy.apply(Op::EditResult(CallId(0), "short".to_owned())).unwrap();
        rig.context.apply(Op::RemoveCall(CallId(0))).unwrap();
        rig.context.apply_log(copy.into_log());
        assert_eq!(rig.ledger(), "v--v");
    }

    #[test]
    fn entries_made_in_copy_are_renamed_on_applying() {
        let mut rig = rig(4);
        let mut copy = rig.context.fork();
        let made = copy.apply(fold(&[0], "first")).unwrap();
        copy.apply(Op::Fold {
            range: vec![made[0], id(3)],
            into: vec![(Role::User, "second".to_owned())],
            at: InsertAt::Head,
        })
        .unwrap();
        rig.context.apply(fold(&[1, 2], "meanwhile")).unwrap();
        rig.context.apply_log(copy.into_log());
        assert_eq!(texts(&rig), ["meanwhile", "second"]);
        assert_eq!(rig.ledger(), "ffff");
    }
}
