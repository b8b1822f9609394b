//! Saves and restores a context.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::entry::{Edit, Note, Synthetic};
use super::ledger::{Cover, Hidden, MessageState};
use super::op::EntryId;
use super::{Context, Recording};
use recap_core::model::MessageIndex;
use recap_core::tokens::Weight;

/// The state of a context, without what the session determines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    seen: u32,
    order: Vec<EntryId>,
    notes: BTreeMap<String, Note>,
    synthetic: Vec<Synthetic>,
    edits: BTreeMap<MessageIndex, Edit>,
    fates: Vec<MessageState>,
    covers: Vec<Cover>,
    hidden: BTreeMap<u32, Hidden>,
}

impl Context {
    /// Everything that a later process needs to resume with the same context.
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
        context.order = saved.order;
        context.positions = context.order.iter().map(|&id| (id, 0)).collect();
        context.touched.clear();
        context.rebuild(&BTreeSet::new(), None);
        context
    }
}
