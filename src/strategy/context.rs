//! What the model would see now, and where every recorded message is.
//!
//! Invariant: the fields are private and change only through [`Context::apply`]
//! (and by appending), so the ledger (verbatim, edited, folded, gone) is known
//! at every request without a judge. Sums are kept incrementally: appending,
//! editing, evicting and asking for sizes are logarithmic in the length of the
//! context; only folds rebuild it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ledger::{Cover, Fate, Hidden};
use crate::model::{
    Block, Call, CallId, LedgerState, Message, MessageIndex, Role, Transcript, sent,
};
use crate::tokens::{Counter, Sizes, Weight, WeightTree};

/// Identity of an entry, stable for the life of a context. Recorded messages
/// keep their index; synthetic entries are numbered after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntryId(pub(crate) u32);

const SYNTHETIC: u32 = 1 << 31;

impl EntryId {
    /// The entry of a recorded message.
    pub fn message(index: MessageIndex) -> Self {
        Self(index)
    }

    /// The recorded message, unless the entry is synthetic.
    pub fn index(self) -> Option<MessageIndex> {
        (self.0 < SYNTHETIC).then_some(self.0)
    }

    fn synthetic(ordinal: usize) -> Self {
        Self(SYNTHETIC + ordinal as u32)
    }

    fn ordinal(self) -> Option<usize> {
        (self.0 >= SYNTHETIC).then(|| (self.0 - SYNTHETIC) as usize)
    }
}

/// Where the entries that take the place of folded ones go (`semantics` 23).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// After the preamble, behind older synthetic entries that stand there.
    #[default]
    Head,
    /// Where the first covered entry stood.
    InPlace,
    /// In the preamble, as the note of this name: the note carries what was
    /// folded, and takes over what a note of that name carried before.
    Note(String),
}

/// Everything that can happen to a context. The log of these is the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Leave entries out of what is sent, until the stage is looked at again:
    /// recorded messages before one, and entries by name.
    Hide {
        /// Hides recorded messages with a smaller index.
        before: MessageIndex,
        /// Hides these as well.
        also: Vec<EntryId>,
    },
    /// Replace the text of a call's result.
    EditResult(CallId, String),
    /// Remove a call and its result together.
    RemoveCall(CallId),
    /// Drop entries for good.
    Evict(Vec<EntryId>),
    /// Replace entries by synthetic ones that cover them; several (a pair)
    /// share one cover.
    Fold {
        /// What is covered, all of it live.
        range: Vec<EntryId>,
        /// What stands in its place.
        into: Vec<(Role, String)>,
        /// Where.
        at: Place,
    },
    /// Set, replace or (with `None`) remove a note in the preamble.
    Note {
        /// Its name.
        key: String,
        /// Its text.
        text: Option<String>,
    },
    /// Set a cache breakpoint behind an entry.
    Mark {
        /// Its name.
        key: String,
        /// The last entry of the cached prefix.
        after: EntryId,
    },
}

/// An operation that the context refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// The entry is not in the context.
    #[error("entry {0:?} is not in the context")]
    UnknownEntry(EntryId),
    /// The call is not known, or has no result that is still there.
    #[error("call {0:?} has no result in the context")]
    UnknownCall(CallId),
    /// A fold of nothing, or into nothing.
    #[error("a fold needs at least one entry to cover and one to put in its place")]
    EmptyFold,
    /// A note has one text, and that is the system's.
    #[error("a fold into note `{0}` needs exactly one text, of role system")]
    NotANote(String),
}

/// An entry as it is sent now.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its identity.
    pub id: EntryId,
    /// Its role.
    pub role: Role,
    /// Its text as sent.
    pub text: Cow<'a, str>,
    /// Its size.
    pub weight: Weight,
    /// Whether part of a recorded message was replaced or removed.
    pub edited: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Synthetic {
    role: Role,
    text: String,
    weight: Weight,
    cover: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    text: String,
    weight: Weight,
    removed_blocks: BTreeSet<u32>,
    result: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    /// Distinct for every text that a note ever had.
    revision: u32,
    text: String,
    weight: Weight,
    /// What it stands for, if something was folded into it.
    cover: Option<u32>,
}

/// What a context shares with every other context of its transcript.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The session.
    pub transcript: Arc<Transcript>,
    /// Its sizes, counted once.
    pub sizes: Arc<Sizes>,
    /// Its calls and their results.
    pub calls: Arc<Vec<Call>>,
    /// The counter for texts that a strategy writes.
    pub counter: Arc<Counter>,
    call_of_result: Arc<BTreeMap<MessageIndex, CallId>>,
}

impl Recording {
    /// Counts and indexes a transcript.
    pub fn new(transcript: Arc<Transcript>, counter: Arc<Counter>) -> Self {
        let sizes = Arc::new(Sizes::of(&transcript, &counter));
        let calls = Arc::new(transcript.calls());
        let by_result = (0u32..)
            .zip(calls.iter())
            .filter_map(|(at, call)| call.result.map(|result| (result, CallId(at))));
        let call_of_result = Arc::new(by_result.collect());
        Self { transcript, sizes, calls, counter, call_of_result }
    }

    /// The calls that an assistant message makes, in order.
    pub fn calls_in(&self, message: MessageIndex) -> &[Call] {
        let from = self.calls.partition_point(|c| c.message < message);
        let to = self.calls.partition_point(|c| c.message <= message);
        &self.calls[from..to]
    }

    /// The call that a tool-result message answers.
    pub fn call_of(&self, message: MessageIndex) -> Option<CallId> {
        self.call_of_result.get(&message).copied()
    }
}

/// What the model would see now.
#[derive(Clone, Debug)]
pub struct Context {
    recording: Recording,
    seen: u32,
    /// Slots in order; an evicted entry leaves an empty slot (no position, no weight).
    order: Vec<EntryId>,
    positions: BTreeMap<EntryId, usize>,
    weights: WeightTree,
    total: Weight,
    preamble: Weight,
    next_preamble: usize,
    notes: BTreeMap<String, Note>,
    /// Keys of the notes by the revision of their text.
    note_keys: BTreeMap<u32, String>,
    notes_total: Weight,
    revisions: u32,
    synthetic: Vec<Synthetic>,
    /// Synthetic entries that are stored, in order.
    synthetic_live: Vec<EntryId>,
    edits: BTreeMap<MessageIndex, Edit>,
    fates: Vec<Fate>,
    covers: Vec<Cover>,
    hidden: BTreeMap<u32, Hidden>,
    marks: BTreeMap<String, EntryId>,
    results: BTreeMap<String, Vec<EntryId>>,
    exchanges: Vec<MessageIndex>,
    touched: Vec<MessageIndex>,
    /// Entries that were ever edited or left: caches over entries compare it.
    changes: u64,
    stage: u32,
}

impl Context {
    /// An empty context at the start of a recording.
    pub fn new(recording: Recording) -> Self {
        let preamble = recording.sizes.preamble;
        Self {
            recording,
            seen: 0,
            order: Vec::new(),
            positions: BTreeMap::new(),
            weights: WeightTree::default(),
            total: Weight::default(),
            preamble,
            next_preamble: 0,
            notes: BTreeMap::new(),
            note_keys: BTreeMap::new(),
            notes_total: Weight::default(),
            revisions: 0,
            synthetic: Vec::new(),
            synthetic_live: Vec::new(),
            edits: BTreeMap::new(),
            fates: Vec::new(),
            covers: Vec::new(),
            hidden: BTreeMap::new(),
            marks: BTreeMap::new(),
            results: BTreeMap::new(),
            exchanges: Vec::new(),
            touched: Vec::new(),
            changes: 0,
            stage: 0,
        }
    }

    /// Appends the next recorded message.
    pub(crate) fn append(&mut self) {
        let index = self.seen;
        let transcript = Arc::clone(&self.recording.transcript);
        let message = &transcript.messages[index as usize];
        self.seen += 1;
        self.fates.push(Fate::Live);
        self.push_entry(EntryId(index), self.recording.sizes.messages[index as usize]);
        if message.opens_exchange() {
            self.exchanges.push(index);
        }
        if let Some(call) = self.recording.call_of(index) {
            let tool = &self.recording.calls[call.0 as usize].tool;
            self.results.entry(tool.clone()).or_default().push(EntryId(index));
        }
    }

    /// Switches to the system prompt that is in force before a message.
    pub(crate) fn enter(&mut self, message: MessageIndex) {
        let changes = &self.recording.transcript.preamble_changes;
        while changes.get(self.next_preamble).is_some_and(|c| c.before <= message) {
            self.preamble = self.recording.sizes.preamble_changes[self.next_preamble];
            self.next_preamble += 1;
        }
    }

    fn push_entry(&mut self, id: EntryId, weight: Weight) {
        self.positions.insert(id, self.order.len());
        self.order.push(id);
        self.weights.push(weight);
        self.total += weight;
    }

    /// Makes a change. Entries that it creates are returned.
    pub fn apply(&mut self, op: Op) -> Result<Vec<EntryId>, OpError> {
        match op {
            Op::Hide { before, also } => {
                for &id in &also {
                    self.known(id)?;
                }
                let also = also.into_iter().filter(|id| id.index().is_none_or(|i| i >= before));
                self.hidden.insert(self.stage, Hidden { before, also: also.collect() });
                Ok(Vec::new())
            }
            Op::EditResult(call, text) => self.edit_result(call, text),
            Op::RemoveCall(call) => self.remove_call(call),
            Op::Evict(ids) => self.evict(ids),
            Op::Fold { range, into, at } => self.fold(range, into, at),
            Op::Note { key, text } => {
                self.note(key, text, None);
                Ok(Vec::new())
            }
            Op::Mark { key, after } => {
                self.known(after)?;
                self.marks.insert(key, after);
                Ok(Vec::new())
            }
        }
    }

    fn known(&self, id: EntryId) -> Result<usize, OpError> {
        self.positions.get(&id).copied().ok_or(OpError::UnknownEntry(id))
    }

    fn edit_result(&mut self, call: CallId, text: String) -> Result<Vec<EntryId>, OpError> {
        let result = (self.recording.calls.get(call.0 as usize))
            .and_then(|c| c.result)
            .filter(|&r| r < self.seen && self.positions.contains_key(&EntryId(r)))
            .ok_or(OpError::UnknownCall(call))?;
        self.edit(result, |edit| edit.result = Some(text));
        Ok(Vec::new())
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

    /// Rewrites a live recorded message. What is left of it keeps its place.
    fn edit(&mut self, message: MessageIndex, change: impl FnOnce(&mut Edit)) {
        let old = self.weight_of(EntryId(message));
        let mut edit = self.edits.remove(&message).unwrap_or_else(|| Edit {
            text: String::new(),
            weight: Weight::default(),
            removed_blocks: BTreeSet::new(),
            result: None,
        });
        change(&mut edit);
        let source = &self.recording.transcript.messages[message as usize];
        let blocks = edited_blocks(source, &edit);
        edit.text = sent(&blocks);
        edit.weight = Weight::of_text(source.role.as_str(), &edit.text, &self.recording.counter);
        let position = self.positions[&EntryId(message)];
        self.weights.change(position, old, edit.weight);
        self.total = self.total + edit.weight - old;
        self.edits.insert(message, edit);
        self.touched.push(message);
        self.changes += 1;
    }

    fn evict(&mut self, ids: Vec<EntryId>) -> Result<Vec<EntryId>, OpError> {
        for &id in &ids {
            self.known(id)?;
        }
        for &id in &ids {
            self.settle(id, None);
            let weight = self.weight_of(id);
            if let Some(slot) = self.positions.remove(&id) {
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

    /// Drops what else refers to an entry that left.
    fn forget(&mut self, id: EntryId) {
        for hidden in self.hidden.values_mut() {
            hidden.also.remove(&id);
        }
        self.marks.retain(|_, &mut marked| marked != id);
        if let Some(call) = id.index().and_then(|i| self.recording.call_of(i)) {
            let tool = &self.recording.calls[call.0 as usize].tool;
            if let Some(results) = self.results.get_mut(tool)
                && let Ok(at) = results.binary_search(&id)
            {
                results.remove(at);
            }
        }
    }

    fn fold(
        &mut self,
        range: Vec<EntryId>,
        into: Vec<(Role, String)>,
        at: Place,
    ) -> Result<Vec<EntryId>, OpError> {
        if range.is_empty() || into.is_empty() {
            return Err(OpError::EmptyFold);
        }
        if let Place::Note(key) = &at
            && !matches!(into.as_slice(), [(Role::System, _)])
        {
            return Err(OpError::NotANote(key.clone()));
        }
        let slots: Result<Vec<usize>, OpError> = range.iter().map(|&id| self.known(id)).collect();
        let first = slots?.into_iter().min().unwrap_or(0);
        let cover = self.covers.len() as u32;
        self.covers.push(Cover::default());
        for &id in &range {
            self.settle(id, Some(cover));
        }
        let gone: BTreeSet<EntryId> = range.into_iter().collect();
        let new = match at {
            Place::InPlace => self.insert_cover(&gone, into, cover, first),
            Place::Head => {
                let head = self.order.iter().take_while(|id| id.index().is_none()).count();
                self.insert_cover(&gone, into, cover, head)
            }
            Place::Note(key) => {
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

    /// Takes entries out and puts new ones with a cover before a slot.
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

    /// Makes a note the carrier of a cover, with what it carried before.
    fn carry(&mut self, key: String, text: String, cover: u32) {
        if let Some(own) = self.notes.get(&key).and_then(|note| note.cover) {
            let union = std::mem::take(&mut self.covers[own as usize].messages);
            self.covers[own as usize].note = None;
            for &message in &union {
                self.fates[message as usize] = Fate::Folded(cover);
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

    /// Records what becomes of an entry that leaves: covered, or gone.
    fn settle(&mut self, id: EntryId, by: Option<u32>) {
        self.changes += 1;
        if let Some(index) = id.index() {
            self.fates[index as usize] = by.map_or(Fate::Gone, Fate::Folded);
            if let Some(cover) = by {
                self.covers[cover as usize].messages.push(index);
            }
            self.touched.push(index);
            return;
        }
        let ordinal = id.ordinal().expect("an entry is recorded or synthetic");
        let own = self.synthetic[ordinal].cover;
        self.covers[own as usize].entries.retain(|&entry| entry != id);
        if let Some(cover) = by {
            let union = std::mem::take(&mut self.covers[own as usize].messages);
            for &message in &union {
                self.fates[message as usize] = Fate::Folded(cover);
            }
            self.covers[cover as usize].messages.extend(union);
        } else if self.covers[own as usize].entries.is_empty() {
            let union = std::mem::take(&mut self.covers[own as usize].messages);
            for &message in &union {
                self.fates[message as usize] = Fate::Gone;
            }
            self.touched.extend(union);
        }
    }

    fn rebuild(&mut self, gone: &BTreeSet<EntryId>, insert: Option<(usize, &[EntryId])>) {
        let positions = std::mem::take(&mut self.positions);
        self.order.retain(|id| !gone.contains(id) && positions.contains_key(id));
        if let Some((at, new)) = insert {
            self.order.splice(at..at, new.iter().copied());
        }
        self.positions = self.order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        self.synthetic_live =
            self.order.iter().copied().filter(|id| id.index().is_none()).collect();
        self.weights = WeightTree::new(self.order.iter().map(|&id| self.weight_of(id)));
        self.total = self.weights.prefix(self.order.len());
    }

    fn note(&mut self, key: String, text: Option<String>, cover: Option<u32>) {
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
        // What only the old text stood for goes with it; a fold has taken it over already.
        if let Some(own) = old.cover {
            self.covers[own as usize].note = None;
            let union = std::mem::take(&mut self.covers[own as usize].messages);
            for &message in &union {
                self.fates[message as usize] = Fate::Gone;
            }
            self.touched.extend(union);
        }
    }

    /// Size of an entry that is or was in the context, as it was last sent.
    pub fn weight_of(&self, id: EntryId) -> Weight {
        match id.ordinal() {
            Some(ordinal) => self.synthetic[ordinal].weight,
            None => match self.edits.get(&id.0) {
                Some(edit) => edit.weight,
                None => self.recording.sizes.messages[id.0 as usize],
            },
        }
    }

    /// An entry that is or was in the context, as it was last sent.
    pub fn entry(&self, id: EntryId) -> Option<Entry<'_>> {
        let weight = || self.weight_of(id);
        if let Some(ordinal) = id.ordinal() {
            let entry = self.synthetic.get(ordinal)?;
            let text = Cow::Borrowed(entry.text.as_str());
            return Some(Entry { id, role: entry.role, text, weight: weight(), edited: false });
        }
        let message = self.original(id)?;
        let edit = self.edits.get(&id.0);
        let text = match edit {
            Some(edit) => Cow::Borrowed(edit.text.as_str()),
            None => Cow::Owned(message.sent()),
        };
        Some(Entry { id, role: message.role, text, weight: weight(), edited: edit.is_some() })
    }

    /// The recorded message behind an entry, if it has been appended.
    pub fn original(&self, id: EntryId) -> Option<&Message> {
        id.index()
            .filter(|&i| i < self.seen)
            .map(|i| &self.recording.transcript.messages[i as usize])
    }

    /// The blocks of a live recorded message as they are sent, edits applied.
    pub fn blocks(&self, message: MessageIndex) -> Vec<Block> {
        let source = &self.recording.transcript.messages[message as usize];
        match self.edits.get(&message) {
            Some(edit) => edited_blocks(source, edit),
            None => source.blocks.clone(),
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
        self.order.iter().copied().filter(|id| self.positions.contains_key(id))
    }

    /// The entries that would be sent now, in order. The cost is that of what
    /// is visible, not of what is hidden before it.
    pub fn visible(&self) -> impl DoubleEndedIterator<Item = EntryId> + '_ {
        let cut = self.cut();
        let in_front = self.synthetic_live.iter().filter(move |id| self.positions[id] < cut);
        let entries = in_front.chain(&self.order[cut..]).copied();
        entries.filter(|&id| self.positions.contains_key(&id) && !self.is_hidden(id))
    }

    /// Slot before which every recorded message is hidden.
    fn cut(&self) -> usize {
        match self.hidden_before() {
            0 => 0,
            before => self.position_of_first_from(before),
        }
    }

    /// Whether an entry is left out of what is sent now.
    pub fn is_hidden(&self, id: EntryId) -> bool {
        self.hidden.values().any(|h| h.covers(id))
    }

    /// Whether an entry is stored.
    pub fn contains(&self, id: EntryId) -> bool {
        self.positions.contains_key(&id)
    }

    /// The recorded messages before this one are hidden by some stage.
    pub fn hidden_before(&self) -> MessageIndex {
        self.hidden.values().map(|h| h.before).max().unwrap_or(0)
    }

    /// Entries hidden by name, not by [`Context::hidden_before`].
    pub fn hidden_by_name(&self) -> BTreeSet<EntryId> {
        let before = self.hidden_before();
        let named = self.hidden.values().flat_map(|h| h.also.iter().copied());
        named.filter(|id| id.index().is_none_or(|i| i >= before)).collect()
    }

    /// Size of everything that would be sent: preamble, notes and visible entries.
    pub fn weight(&self) -> Weight {
        self.preamble_weight() + self.messages_weight()
    }

    /// Size of the preamble, notes and hidden part of the recording included.
    pub fn preamble_weight(&self) -> Weight {
        let hidden = self.recording.sizes.hidden_tokens;
        // The hidden part has no text: estimators that count characters are
        // given the four a token that they assume.
        let hidden = Weight {
            tokens: hidden,
            units: hidden * 4,
            json_units: hidden * 4,
            ..Weight::default()
        };
        self.preamble + self.notes_total + hidden
    }

    /// Size of the visible entries.
    pub fn messages_weight(&self) -> Weight {
        let mut weight = self.total - self.recorded_weight_before(self.hidden_before());
        for id in self.hidden_by_name() {
            weight -= self.weight_of(id);
        }
        weight
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

    /// Number of messages that would be sent.
    pub fn message_count(&self) -> u32 {
        self.messages_weight().messages as u32
    }

    /// Position of the first stored recorded message with at least this index.
    fn position_of_first_from(&self, index: MessageIndex) -> usize {
        let next = self.positions.range(EntryId(index)..EntryId(SYNTHETIC)).next();
        next.map_or_else(|| self.after_last_recorded(), |(_, &at)| at)
    }

    fn after_last_recorded(&self) -> usize {
        let last = self.positions.range(..EntryId(SYNTHETIC)).next_back();
        last.map_or(self.order.len(), |(_, &at)| at + 1)
    }

    /// First entry of the longest stored tail within a number of tokens; `None`
    /// when not even the newest entry fits.
    pub fn tail_within(&self, tokens: u64) -> Option<EntryId> {
        let spare = self.total.tokens.saturating_sub(tokens);
        let mut dropped = self.weights.leading_within(spare);
        if self.weights.prefix(dropped).tokens < spare {
            dropped += 1;
        }
        self.order.get(dropped..)?.iter().copied().find(|id| self.positions.contains_key(id))
    }

    /// Size of the stored entries from one on.
    pub fn weight_from(&self, id: EntryId) -> Weight {
        match self.positions.get(&id) {
            Some(&at) => self.total - self.weights.prefix(at),
            None => Weight::default(),
        }
    }

    /// Results of a tool that are still stored, oldest first.
    pub fn results_of(&self, tool: &str) -> &[EntryId] {
        self.results.get(tool).map_or(&[], Vec::as_slice)
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

    /// Indices of the user messages that open exchanges, all that were ever appended.
    pub fn exchanges(&self) -> &[MessageIndex] {
        &self.exchanges
    }

    /// The call that a tool result answers.
    pub fn call_of(&self, result: EntryId) -> Option<(CallId, &Call)> {
        let call = self.recording.call_of(result.index()?)?;
        Some((call, &self.recording.calls[call.0 as usize]))
    }

    /// Whether a call was taken out of its message.
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

    /// Calls `each` with the id and text of every stored synthetic entry from
    /// an ordinal on and of every note of a later revision. Ids are distinct
    /// for every text of a context.
    pub(crate) fn each_written(&self, entries: u32, notes: u32, each: &mut dyn FnMut(u32, &str)) {
        let from = (entries as usize).min(self.synthetic.len());
        for (ordinal, entry) in self.synthetic.iter().enumerate().skip(from) {
            let id = EntryId::synthetic(ordinal);
            if self.contains(id) {
                each(id.0, &entry.text);
            }
        }
        for (&revision, key) in self.note_keys.range(notes + 1..) {
            // Recorded messages keep the lower half of the ids to themselves.
            each(revision, &self.notes[key].text);
        }
    }

    /// How many synthetic entries and texts of notes there ever were.
    pub(crate) fn written(&self) -> (u32, u32) {
        (self.synthetic.len() as u32, self.revisions)
    }

    /// The text with an id of [`Context::each_written`], while it is stored,
    /// and whether it is sent now.
    pub(crate) fn written_text(&self, id: u32) -> Option<(&str, bool)> {
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
    pub(crate) fn oldest_sent(&self) -> MessageIndex {
        let from = EntryId(self.hidden_before())..EntryId(SYNTHETIC);
        self.positions.range(from).next().map_or(self.seen, |(id, _)| id.0)
    }

    /// Grows whenever an entry is edited or leaves.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Text of a recorded message that is sent edited.
    pub(crate) fn edited_text(&self, message: MessageIndex) -> Option<&str> {
        let edit = self.edits.get(&message)?;
        let sent = self.contains(EntryId(message)) && !self.is_hidden(EntryId(message));
        sent.then_some(edit.text.as_str())
    }

    /// The cache breakpoints, by key.
    pub fn marks(&self) -> &BTreeMap<String, EntryId> {
        &self.marks
    }

    /// The recorded session that this is a context of. Mechanisms must look at
    /// the past only: use [`Context::original`].
    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// What became of a recorded message, as sent now.
    pub fn state(&self, message: MessageIndex) -> LedgerState {
        match self.fates.get(message as usize) {
            None | Some(Fate::Gone) => LedgerState::Gone,
            Some(Fate::Folded(cover)) => {
                let cover = &self.covers[*cover as usize];
                let shown = cover.entries.iter().any(|&entry| !self.is_hidden(entry));
                if shown || cover.note.is_some() { LedgerState::Folded } else { LedgerState::Gone }
            }
            Some(Fate::Live) if self.is_hidden(EntryId(message)) => LedgerState::Gone,
            Some(Fate::Live) if self.edits.contains_key(&message) => LedgerState::Edited,
            Some(Fate::Live) => LedgerState::Verbatim,
        }
    }

    /// Recorded messages whose stored state changed since the last call.
    pub(crate) fn take_touched(&mut self) -> Vec<MessageIndex> {
        std::mem::take(&mut self.touched)
    }

    /// Synthetic entries that were ever created.
    pub(crate) fn synthetic_count(&self) -> usize {
        self.synthetic.len()
    }

    /// Texts of the synthetic entries from an ordinal on.
    pub(crate) fn synthetic_texts(&self, from: usize) -> impl Iterator<Item = &str> {
        self.synthetic[from..].iter().map(|s| s.text.as_str())
    }

    /// Says which stage the coming operations belong to and lifts what that
    /// stage had hidden before.
    pub(crate) fn begin_stage(&mut self, stage: u32) {
        self.stage = stage;
        self.hidden.remove(&stage);
    }
}

fn edited_blocks(source: &Message, edit: &Edit) -> Vec<Block> {
    let kept = (0u32..).zip(&source.blocks).filter(|(at, _)| !edit.removed_blocks.contains(at));
    kept.map(|(_, block)| match (block, &edit.result) {
        (Block::ToolResult { call, is_error, .. }, Some(text)) => Block::ToolResult {
            call: call.clone(),
            text: text.clone(),
            images: 0,
            is_error: *is_error,
        },
        _ => block.clone(),
    })
    .collect()
}

/// A context's own part, to save and to go on from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    seen: u32,
    order: Vec<EntryId>,
    notes: BTreeMap<String, Note>,
    synthetic: Vec<Synthetic>,
    edits: BTreeMap<MessageIndex, Edit>,
    fates: Vec<Fate>,
    covers: Vec<Cover>,
    hidden: BTreeMap<u32, Hidden>,
    marks: BTreeMap<String, EntryId>,
}

impl Context {
    /// Everything that a later process needs to go on with the same context.
    pub fn save(&self) -> Saved {
        Saved {
            seen: self.seen,
            order: self.stored().collect(),
            notes: self.notes.clone(),
            synthetic: self.synthetic.clone(),
            edits: self.edits.clone(),
            fates: self.fates.clone(),
            covers: self.covers.clone(),
            hidden: self.hidden.clone(),
            marks: self.marks.clone(),
        }
    }

    /// The context that was saved.
    pub fn restore(recording: Recording, saved: Saved) -> Self {
        let mut context = Context::new(recording);
        for _ in 0..saved.seen {
            context.append();
        }
        context.enter(saved.seen);
        context.notes_total = saved.notes.values().fold(Weight::default(), |s, n| s + n.weight);
        context.revisions = saved.notes.values().map(|n| n.revision).max().unwrap_or(0);
        let by_revision = saved.notes.iter().map(|(key, note)| (note.revision, key.clone()));
        context.note_keys = by_revision.collect();
        context.notes = saved.notes;
        context.synthetic = saved.synthetic;
        context.edits = saved.edits;
        context.fates = saved.fates;
        context.covers = saved.covers;
        context.hidden = saved.hidden;
        context.marks = saved.marks;
        context.order = saved.order;
        context.positions = context.order.iter().map(|&id| (id, 0)).collect();
        context.touched.clear();
        let stored: BTreeSet<EntryId> = context.order.iter().copied().collect();
        for results in context.results.values_mut() {
            results.retain(|id| stored.contains(id));
        }
        context.rebuild(&BTreeSet::new(), None);
        context
    }
}

#[cfg(test)]
mod notes_as_carriers {
    use super::*;
    use crate::strategy::testkit::Talk;
    use crate::tokens::Encoding;

    fn context() -> Context {
        let talk = Talk::new("S").user("a").assistant("b").user("c").assistant("d").end();
        let counter = Arc::new(Counter::new(Encoding::O200k));
        let mut context = Context::new(Recording::new(Arc::new(talk), counter));
        (0..4).for_each(|_| context.append());
        context
    }

    fn fold(context: &mut Context, range: std::ops::Range<u32>, key: &str, text: &str) {
        let range = range.map(EntryId).collect();
        let into = vec![(Role::System, text.to_owned())];
        let new = context.apply(Op::Fold { range, into, at: Place::Note(key.to_owned()) });
        assert_eq!(new, Ok(Vec::new()));
    }

    fn states(context: &Context) -> Vec<LedgerState> {
        (0..4).map(|at| context.state(at)).collect()
    }

    use LedgerState::{Folded, Gone, Verbatim};

    #[test]
    fn what_is_folded_into_a_note_is_folded_and_weighs_in_the_preamble() {
        let mut context = context();
        let before = context.preamble_weight().tokens;
        fold(&mut context, 0..2, "state", "a and b");
        assert_eq!(states(&context), [Folded, Folded, Verbatim, Verbatim]);
        assert_eq!(context.preamble_weight().tokens, before + 3);
        assert_eq!(context.messages_weight().tokens, 2);
        assert_eq!(context.visible().count(), 2);
    }

    #[test]
    fn a_second_fold_takes_over_what_the_note_carried() {
        let mut context = context();
        fold(&mut context, 0..2, "state", "a and b");
        fold(&mut context, 2..3, "state", "a, b and c");
        assert_eq!(states(&context), [Folded, Folded, Folded, Verbatim]);
        assert_eq!(context.notes().collect::<Vec<_>>(), [("state", "a, b and c")]);
        context.apply(Op::Note { key: "state".to_owned(), text: None }).unwrap();
        assert_eq!(states(&context), [Gone, Gone, Gone, Verbatim]);
    }

    #[test]
    fn another_text_in_its_place_loses_what_the_note_carried() {
        let mut context = context();
        fold(&mut context, 0..2, "state", "a and b");
        context.apply(Op::Note { key: "other".to_owned(), text: Some("x".to_owned()) }).unwrap();
        assert_eq!(states(&context)[0], Folded);
        context.apply(Op::Note { key: "state".to_owned(), text: Some("x".to_owned()) }).unwrap();
        assert_eq!(states(&context), [Gone, Gone, Verbatim, Verbatim]);
        let touched: BTreeSet<_> = context.take_touched().into_iter().collect();
        assert_eq!(touched, BTreeSet::from([0, 1]));
    }

    #[test]
    fn a_note_has_one_text_of_the_systems() {
        let mut context = context();
        let one = |role| vec![(role, "x".to_owned())];
        for into in [one(Role::User), [one(Role::System), one(Role::System)].concat()] {
            let (range, at) = (vec![EntryId(0)], Place::Note("state".to_owned()));
            let refused = context.apply(Op::Fold { range, into, at });
            assert_eq!(refused, Err(OpError::NotANote("state".to_owned())));
        }
        assert_eq!(states(&context), [Verbatim; 4]);
    }

    #[test]
    fn a_carrying_note_survives_saving() {
        let mut context = context();
        fold(&mut context, 0..2, "state", "a and b");
        let json = serde_json::to_string(&context.save()).unwrap();
        let saved = serde_json::from_str(&json).unwrap();
        let mut restored = Context::restore(context.recording().clone(), saved);
        assert_eq!(states(&restored), states(&context));
        assert_eq!(restored.weight(), context.weight());
        restored.apply(Op::Note { key: "state".to_owned(), text: None }).unwrap();
        assert_eq!(states(&restored)[..2], [Gone, Gone]);
    }
}
