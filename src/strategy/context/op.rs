//! The vocabulary of a context: what an entry is called, and everything that
//! can happen to one.

use serde::{Deserialize, Serialize};

use crate::model::{CallId, MessageIndex, Role};

/// Identity of an entry, stable for the life of a context. Recorded messages
/// keep their index; synthetic entries are numbered after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntryId(pub(crate) u32);

/// First id of the synthetic entries: recorded messages keep the lower half.
pub(super) const SYNTHETIC: u32 = 1 << 31;

impl EntryId {
    /// The entry of a recorded message.
    pub fn message(index: MessageIndex) -> Self {
        Self(index)
    }

    /// The recorded message, unless the entry is synthetic.
    pub fn index(self) -> Option<MessageIndex> {
        (self.0 < SYNTHETIC).then_some(self.0)
    }

    pub(super) fn synthetic(ordinal: usize) -> Self {
        Self(SYNTHETIC + ordinal as u32)
    }

    /// Its number among the synthetic entries, if it is one.
    pub(crate) fn ordinal(self) -> Option<usize> {
        (self.0 >= SYNTHETIC).then(|| (self.0 - SYNTHETIC) as usize)
    }
}

/// Where the entries that take the place of folded ones go (semantics §23).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// After the preamble, behind older synthetic entries that stand there.
    #[default]
    Head,
    /// Where the first covered entry stood.
    InPlace,
    /// Behind this entry.
    Behind(EntryId),
    /// In the preamble, as the note of this name: the note carries what was
    /// folded, and takes over what a note of that name carried before.
    Note(String),
}

/// Everything that can happen to a context. The log of these is the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Leave entries out of what is sent, until the stage is looked at again:
    /// recorded messages before one but for some, and entries by name.
    Hide {
        /// Hides recorded messages with a smaller index.
        before: MessageIndex,
        /// Does not hide these of them.
        except: Vec<EntryId>,
        /// Hides these as well.
        also: Vec<EntryId>,
    },
    /// Replace the text of a call's result.
    EditResult(CallId, String),
    /// Remove a call and its result together.
    RemoveCall(CallId),
    /// Drop entries for good.
    Evict(Vec<EntryId>),
    /// Store recorded messages again that were dropped or folded, each in its
    /// place and as it was last sent. Those that are stored stay as they are.
    Recall(Vec<MessageIndex>),
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
