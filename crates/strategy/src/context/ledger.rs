//! The state of every recorded message in a context.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::op::EntryId;
use recap_core::model::MessageIndex;

/// The state of a recorded message in the stored context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageState {
    /// It is stored, possibly edited or hidden.
    Live,
    /// Entries with this cover stand for it.
    Folded(u32),
    /// It was dropped, or the summary that covered it was.
    Gone,
}

/// What synthetic entries, or a note, stand for. Several entries (a pair) may share one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cover {
    /// Recorded messages that it covers; a fold of a fold takes over the union.
    pub messages: Vec<MessageIndex>,
    /// The entries that carry it; a pair has two.
    pub entries: Vec<EntryId>,
    /// The note that carries it instead of entries.
    pub note: Option<String>,
}

/// What one stage hides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hidden {
    /// Recorded messages with a smaller index are hidden.
    pub before: MessageIndex,
    /// Entries among them that are not hidden.
    pub except: BTreeSet<EntryId>,
    /// Other entries that are hidden.
    pub also: BTreeSet<EntryId>,
}

impl Hidden {
    pub(super) fn covers(&self, id: EntryId) -> bool {
        let is_before = id.index().is_some_and(|i| i < self.before);
        is_before && !self.except.contains(&id) || self.also.contains(&id)
    }
}
