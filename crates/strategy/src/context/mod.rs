//! The context that the model would see now, with the state of every recorded
//! message.
//!
//! Invariant: the fields are private and change only through [`Context::apply`]
//! (and by appending), so the ledger (verbatim, edited, folded, gone) is known
//! at every request without a judge. Sums are kept incrementally: appending,
//! editing, evicting and asking for sizes are logarithmic in the length of the
//! context; only folds rebuild it.
//!
//! One file each: entries and operations ([`entry`]), their places ([`slots`]), what every context
//! of a session shares ([`recording`]), with its texts ([`text`]), changes ([`change`]), queries
//! ([`view`]), and sending ([`sent`]).

mod change;
mod entry;
mod recording;
mod sent;
mod slots;
mod text;
mod view;

#[cfg(test)]
mod ledger_tests;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use entry::{Cover, Edit, Hidden, MessageState, Note, Synthetic};
use recap_core::model::MessageIndex;
use recap_core::tokens::{Weight, WeightTree};
use slots::Slots;

pub use change::Applied;
pub use entry::{AllHidden, Entry, EntryId, InsertAt, Op, OpError};
pub use recording::Recording;
pub use sent::{Sent, Step};
pub use text::SentText;
pub(crate) use text::{without_escapes, word_hash};

/// The context that the model would see now.
#[derive(Clone, Debug, Default)]
pub struct Context {
    recording: Recording,
    seen: u32,
    slots: Slots,
    /// The weights of the slots; an empty one has none.
    weights: WeightTree,
    total: Weight,
    preamble: Weight,
    /// What is sent in the place of the recorded preamble.
    other_preamble: Option<(Weight, String)>,
    /// The entries after which cache breakpoints stand, in the place of the strategy's plan;
    /// `None` among them: after the preamble.
    breakpoints: Option<Vec<Option<EntryId>>>,
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
    fates: Vec<MessageState>,
    covers: Vec<Cover>,
    /// What each stage hides, and all of them.
    hidden: BTreeMap<u32, Hidden>,
    all_hidden: Arc<AllHidden>,
    exchanges: Vec<MessageIndex>,
    touched: Vec<MessageIndex>,
    /// Number of changes of entries by editing or removal: caches over entries compare it.
    changes: u64,
    /// Tokens that recorded messages lost without being edited.
    shrunk: BTreeMap<MessageIndex, u64>,
    next_shrink: usize,
    stage: u32,
    stale: Stale,
    /// Increases whenever the preamble or a note changes.
    preamble_changes: u64,
    /// The operations since this copy was made; `None` for a context that is not a copy.
    log: Option<Vec<Applied>>,
}

/// What changed since the prompt was last updated.
#[derive(Clone, Debug, Default)]
struct Stale {
    slots: Vec<usize>,
    /// Whether entries have other slots now.
    all: bool,
}

impl Context {
    /// An empty context at the start of a recording.
    pub fn new(recording: Recording) -> Self {
        Self { preamble: recording.sizes.preamble, recording, ..Self::default() }
    }

    /// Appends the next recorded message.
    pub fn append(&mut self) {
        let index = self.seen;
        self.seen += 1;
        self.fates.push(MessageState::Live);
        self.push_entry(EntryId(index), self.weight_of(EntryId(index)));
        if self.recording.session.messages[index as usize].opens_exchange() {
            self.exchanges.push(index);
        }
    }

    /// Switches to the system prompt and the message sizes that apply before a
    /// message.
    pub fn enter(&mut self, message: MessageIndex) {
        let changes = &self.recording.session.preamble_changes;
        while changes.get(self.next_preamble).is_some_and(|c| c.before <= message) {
            self.preamble = self.recording.sizes.preamble_changes[self.next_preamble];
            self.next_preamble += 1;
            self.preamble_changes += 1;
        }
        while let Some(&shrink) = self.recording.sizes.shrinks.get(self.next_shrink)
            && shrink.before <= message
        {
            self.next_shrink += 1;
            self.shrink(&shrink);
        }
    }

    fn push_entry(&mut self, id: EntryId, weight: Weight) {
        self.slots.push(id);
        self.weights.push(weight);
        self.total += weight;
    }

    /// Whether a stage hides anything now.
    pub fn hides(&self, stage: u32) -> bool {
        self.hidden.contains_key(&stage)
    }

    /// Sets the stage of the coming operations, and shows again what that stage
    /// had hidden before.
    pub fn begin_stage(&mut self, stage: u32) {
        self.stage = stage;
        if self.hidden.remove(&stage).is_some() {
            self.all_hidden = Arc::new(AllHidden::by(&self.hidden));
        }
    }
}
