//! The entries of a context (recorded messages unchanged, edited ones, synthetic ones, and
//! notes), the operations on them, and the state of every recorded message.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::SentText;
use recap_core::model::{Block, CallId, Message, MessageIndex, Role};
use recap_core::tokens::Weight;

/// An entry as it is sent now.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The identity of the entry.
    pub id: EntryId,
    /// Whom the entry is attributed to.
    pub role: Role,
    /// Its text as sent.
    pub text: &'a str,
    /// The size of the entry.
    pub weight: Weight,
    /// Whether part of a recorded message was replaced or removed.
    pub edited: bool,
}

/// Text that a fold put into the context.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Synthetic {
    pub role: Role,
    pub text: Arc<SentText>,
    pub weight: Weight,
    pub cover: u32,
}

/// The change of a recorded message that is not sent as recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Edit {
    pub text: Arc<SentText>,
    pub weight: Weight,
    pub removed_blocks: BTreeSet<u32>,
    pub result: Option<String>,
    /// Whether the text is that of the whole message, and stands for all of its blocks.
    pub whole: bool,
}

/// A text of the preamble that a strategy wrote.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Note {
    /// A number that is different for every text that a note ever had.
    pub revision: u32,
    pub text: String,
    pub weight: Weight,
    /// What the note stands for, if something was folded into it.
    pub cover: Option<u32>,
}

/// The blocks of a recorded message with an edit applied.
pub(super) fn edited_blocks(source: &Message, edit: &Edit) -> Vec<Block> {
    if edit.whole {
        return vec![Block::Text { text: edit.text.to_string() }];
    }
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

/// Identity of an entry, stable for the life of a context. Recorded messages
/// keep their index; synthetic entries are numbered after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u32);

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

/// The position of the entries that replace folded ones (how-it-works §23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsertAt {
    /// After the preamble, and after older synthetic entries there.
    Head,
    /// The position of the first covered entry.
    InPlace,
    /// Directly after this entry.
    Behind(EntryId),
    /// In the preamble, as the note of this name: the note carries what was
    /// folded, and takes over what a note of that name carried before.
    Note(String),
}

/// The operations on a context. Their log is the ledger.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Hide entries until the stage is run again: recorded messages before one, and single
    /// entries.
    Hide {
        /// Hides recorded messages with a smaller index.
        before: MessageIndex,
        /// Other entries to hide.
        also: Vec<EntryId>,
    },
    /// Replace the text of a call's result.
    EditResult(CallId, String),
    /// Send a recorded message with another text; `None`: as recorded.
    Rewrite(MessageIndex, Option<String>),
    /// Send another text in the place of system prompt and tools; `None`: as recorded.
    Preamble(Option<String>),
    /// Remove a call and its result together.
    RemoveCall(CallId),
    /// Remove these entries permanently.
    Evict(Vec<EntryId>),
    /// Store recorded messages again that were dropped or folded, each at its
    /// position and as it was last sent. Those that are stored are not changed.
    Recall(Vec<MessageIndex>),
    /// Replace entries by synthetic ones that cover them; several (a pair)
    /// share one cover.
    Fold {
        /// The covered entries, all of them stored.
        range: Vec<EntryId>,
        /// The texts of the new entries, with their roles.
        into: Vec<(Role, String)>,
        /// The position of the new entries.
        at: InsertAt,
    },
    /// Set, replace or (with `None`) remove a note in the preamble.
    Note {
        /// The name of the note.
        key: String,
        /// The text of the note; `None` removes it.
        text: Option<String>,
    },
}

/// An operation that the context refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// The entry is not in the context.
    #[error("entry {0:?} is not in the context")]
    UnknownEntry(EntryId),
    /// The call is not known, or its result is no longer there.
    #[error("call {0:?} has no result in the context")]
    UnknownCall(CallId),
    /// A fold with nothing to cover, or without new entries.
    #[error("a fold needs at least one entry to cover and one to put in its place")]
    EmptyFold,
    /// A note has one text, with the role of the system.
    #[error("a fold into note `{0}` needs exactly one text, of role system")]
    NotANote(String),
}

/// The state of a recorded message in the stored context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageState {
    /// It is stored, possibly edited or hidden.
    Live,
    /// Entries with this cover stand for it.
    Folded(u32),
    /// It was dropped, or the summary that covered it was.
    Gone,
}

/// What synthetic entries, or a note, stand for. Several entries (a pair) may share one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cover {
    /// Recorded messages that it covers; a fold of a fold takes over the union.
    pub messages: Vec<MessageIndex>,
    /// The entries that carry it; a pair has two.
    pub entries: Vec<EntryId>,
    /// The note that carries it instead of entries.
    pub note: Option<String>,
}

/// What one stage hides.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hidden {
    /// Recorded messages with a smaller index are hidden.
    pub before: MessageIndex,
    /// Other entries that are hidden, ascending.
    pub also: Vec<EntryId>,
}

/// What all stages hide together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllHidden {
    /// Recorded messages before this one are hidden.
    pub before: MessageIndex,
    /// Other entries that are hidden, ascending.
    pub by_name: Vec<EntryId>,
}

impl AllHidden {
    pub(super) fn by(stages: &BTreeMap<u32, Hidden>) -> Self {
        let before = stages.values().map(|stage| stage.before).max().unwrap_or(0);
        let also = stages.values().flat_map(|stage| stage.also.iter().copied());
        let by_name = also.filter(|id| id.index().is_none_or(|index| index >= before));
        Self { before, by_name: ascending(by_name.collect()) }
    }

    /// Whether an entry is hidden.
    pub fn covers(&self, id: EntryId) -> bool {
        match id.index() {
            Some(index) if index < self.before => true,
            _ => self.by_name.binary_search(&id).is_ok(),
        }
    }

    /// The entries that one of both names and the other does not.
    pub fn named_otherwise<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = EntryId> + 'a {
        let only = |of: &'a [EntryId], not: &'a [EntryId]| {
            of.iter().copied().filter(move |id| not.binary_search(id).is_err())
        };
        let (own, others) = (&self.by_name, &other.by_name);
        only(own, others).chain(only(others, own))
    }
}

/// Entries in their order, each once.
pub(super) fn ascending(mut ids: Vec<EntryId>) -> Vec<EntryId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}
