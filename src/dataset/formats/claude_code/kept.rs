//! What a compaction of Claude Code kept besides its summary.
//!
//! A partial compaction keeps records verbatim. They stand behind their
//! anchor: the summary, where what came before them was summarised, or the
//! boundary itself, where what came after them was.

use super::wire::CompactMetadata;
use crate::model::{Piece, Role};

/// The messages that a boundary kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// In order, each once.
    messages: Vec<u32>,
    /// Whether the summary comes after them.
    summary_behind: bool,
}

impl Kept {
    /// What the boundary with the id `own`, after `after` messages, kept.
    /// Records that are not messages of the conversation are skipped.
    pub(super) fn of(
        metadata: &CompactMetadata,
        own: Option<&str>,
        after: u32,
        index_of: impl Fn(&str) -> Option<u32>,
    ) -> Kept {
        let segment = metadata.preserved_segment.as_ref();
        let listed = metadata.preserved_messages.as_ref().filter(|kept| !kept.uuids.is_empty());
        let mut messages: Vec<u32> = match (listed, segment) {
            (Some(kept), _) => kept.uuids.iter().filter_map(|uuid| index_of(uuid)).collect(),
            (None, Some(segment)) => {
                let tail = segment.tail_uuid.as_deref().and_then(&index_of);
                let end = tail.map_or(after, |tail| tail + 1);
                index_of(&segment.head_uuid).map_or_else(Vec::new, |head| (head..end).collect())
            }
            (None, None) => Vec::new(),
        };
        messages.retain(|&message| message < after);
        messages.sort_unstable();
        messages.dedup();
        let anchor = listed.and_then(|kept| kept.anchor_uuid.as_deref());
        let anchor = anchor.or_else(|| segment?.anchor_uuid.as_deref());
        Kept { messages, summary_behind: anchor.is_some() && anchor == own }
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// The first message from which on everything after the summary was kept.
    pub(super) fn tail_from(&self, after: u32) -> u32 {
        let mut from = after;
        if !self.summary_behind {
            while from > 0 && self.messages.binary_search(&(from - 1)).is_ok() {
                from -= 1;
            }
        }
        from
    }

    /// What was sent before that tail, if it was more than the summary.
    pub(super) fn pieces(&self, tail_from: u32, summary: &str) -> Vec<Piece> {
        let apart = self.messages.iter().copied().take_while(|&message| message < tail_from);
        let mut pieces: Vec<Piece> = apart.map(Piece::Message).collect();
        if !pieces.is_empty() {
            let at = if self.summary_behind { pieces.len() } else { 0 };
            let text = Piece::Text { role: Role::User, text: summary.to_owned() };
            pieces.insert(at, text);
        }
        pieces
    }
}
